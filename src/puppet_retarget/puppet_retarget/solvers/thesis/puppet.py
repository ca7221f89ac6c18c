# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The puppet, its pose, the numbers and the goals of a frame: what the three steps are given."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    Character,
    end_effector_positions,
    forward_kinematics,
    LIMB_SEGMENTS,
    ShapeArrays,
)
from puppet_core.math import Floats, frozen, kernel, Quats, Vec3s
from puppet_retarget.importance import body_arrays
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.thesis.errata import Errata, errata_of

STARTS = (4, 7, 10, 13)  # segment with which each limb begins
CARRIED_BY = (2, 2, 0, 0)  # segment that carries the limb
FIRST_OF_LIMBS = 4  # of the segments; those before are torso and head
REACH_TOL_M = 1e-9
LEAST_FALL = 1e-14  # of the objective in an iteration of the second step, which ends it [-]


class Puppet(NamedTuple):
    """The puppet's lengths and shape."""

    offsets: Vec3s  # (16, 3) of each joint in the frame of the segment before [m]
    palms: Vec3s  # (4, 3) palm and sole centres in the frames of hands and feet [m]
    lengths: Floats  # (4, 2) of the limbs' upper and lower segments [m]
    hip_centre: Floats  # (3,) mid-point of the hip joints in the pelvis' frame [m]
    samples: Floats  # (16, 3, 40) points of the surface in the segments' frames [m]
    shape: ShapeArrays


class Settings(NamedTuple):
    """Numbers of a solver."""

    errata: Errata
    world_scale: float  # the puppet's world over the performer's
    height_ratio: float  # of hips over the floor, puppet over performer
    has_mean: bool  # whether the root has the offset of eq. 5.1
    estimates_root: bool  # whether there is a first step
    alpha: float
    beta: float
    gamma: float
    max_iterations: int
    torso_segments: int
    least_fall: float = LEAST_FALL
    on_circle: bool = False  # limbs as of `elbow_circle`


class Pose(NamedTuple):
    """The puppet in its world; default arrays are copied when they are packed."""

    root: Floats = frozen(np.zeros(3))  # [m]
    rotations: Quats = frozen(np.zeros((16, 4)))  # of the joints, row 0 the pelvis in world
    q: Quats = frozen(np.zeros((16, 4)))  # of the segments
    p: Vec3s = frozen(np.zeros((16, 3)))  # of the joints [m]
    points: Vec3s = frozen(np.zeros((8, 3)))  # general end-effectors [m]


class Goals(NamedTuple):
    """What the environment asks of hands and feet, and of wrists and ankles as they are turned."""

    palms: Vec3s = frozen(np.zeros((4, 3)))  # goal positions [m]
    wrists: Vec3s = frozen(np.zeros((4, 3)))  # where wrist or ankle is then [m]
    importances: Floats = frozen(np.zeros(4))  # w
    radii: Floats = frozen(np.zeros(4))  # of the range balls, eq. 5.10 [m]
    q_ends: Quats = frozen(np.zeros((4, 4)))  # captured orientations of hands and feet


def puppet_of(character: Character) -> Puppet:
    """Return the arrays of a character."""
    skeleton = character.skeleton
    body = body_arrays(skeleton, character.capsules)
    return Puppet(
        skeleton.offsets.copy(),
        skeleton.interaction_points.copy(),
        skeleton.limb_lengths,
        skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
        body.samples,
        body.shape,
    )


def settings_of(
    config: SolverConfig, character: Character, performer_leg_length: float
) -> Settings:
    """Return the numbers for this puppet and a performer's leg length [m]."""
    errata = errata_of(config.errata)
    ratio = config.root_height_ratio or character.root_ratio_for(performer_leg_length)
    return Settings(
        errata,
        character.scale_for(performer_leg_length),
        ratio,
        not errata.no_mean or config.root_form == 'mean',
        config.root_form != 'reference',
        config.posture_weight,
        config.orientation_weight,
        config.position_weight,
        config.max_iterations,
        config.torso_segments,
    )


@kernel
def update(puppet: Puppet, pose: Pose) -> None:
    """Bring segments and end-effectors up to date with root and joint rotations."""
    forward_kinematics(puppet.offsets, pose.root, pose.rotations, pose.q, pose.p)
    end_effector_positions(puppet.palms, pose.q, pose.p, pose.points)
