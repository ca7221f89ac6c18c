# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of one frame share: goals in, posture out, and working space between."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import end_effector_positions, forward_kinematics
from puppet_core.math import Floats, kernel, Quats, Vec3, Vec3s
from puppet_retarget.solvers.correction_rate_limit import PUSH_SIZE
from puppet_retarget.solvers.limb_ranges import empty_ranges, LimbRanges
from puppet_retarget.solvers.puppet_model import PuppetModel
from puppet_retarget.solvers.root import empty_balls, LimbBalls
from puppet_retarget.solvers.self_contact import empty_self_balls, SelfBalls

STARTS = (4, 7, 10, 13)  # upper segment of each limb
ATTACHED_TO = (2, 2, 0, 0)  # segment that carries the limb


class RangeGoals(NamedTuple):
    """What the environment asks of the puppet, in its own world; kept by a solver."""

    positions: Vec3s  # (4, 3) [m]
    importances: Floats  # (4,)
    radii: Floats  # (4,) of the range balls [m]


class Goals(NamedTuple):
    """What the puppet should do, in its own world."""

    positions: Vec3s  # (4, 3) [m]
    importances: Floats  # (4,)
    radii: Floats  # (4,) of the range balls [m]
    self_rows: Floats  # (8, SELF_ROW) the performer's self-interaction


class Frame(NamedTuple):
    """The puppet's posture and working space, owned by a solver and refilled each frame."""

    root: Vec3  # (3,)
    rotations: Quats  # (16, 4)
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3)
    end_effectors: Vec3s  # (8, 3)
    root_offset: Vec3  # (3,) from the reference root to the estimate
    goal_errors: Floats  # (4,)
    penetrations: Floats  # (4,)
    self_depths: Floats  # (8,) depth inside the puppet's own body
    wrist_goals: Vec3s  # (4, 3)
    q_ends: Quats  # (4, 4) captured orientations of hands and feet in world
    balls: LimbBalls
    self_balls: SelfBalls
    ranges: LimbRanges
    bounding_centres: Vec3s  # (16, 3)
    clear_points: Vec3s  # (8, 3) where end-effectors are outside of the body
    clear_balls: Vec3s  # (4, 3) centres of the balls that elbows and knees are in
    clear_radii: Floats  # (4,) their radii
    q_body: Quats  # (3, 4)
    p_body: Vec3s  # (3, 3)
    unknowns: Floats  # (12,)
    relaxation: Floats  # (1,) growth of the balls that gives them a common point; 0 in reach
    free_rotations: Quats  # (16, 4) of the limbs before resolving self-penetration
    follower: Floats  # (3, 2) smoothing of the root; with those below, the memory between frames
    pushes: Floats  # (4, PUSH_SIZE) what resolving self-penetration adds to each limb
    passed: Vec3s  # (2, 3, 3) each sole in the frames of the other leg, the frame before
    room: Floats  # (2, 3, 2) smoothing of the room that each swinging foot makes


def empty_goals() -> RangeGoals:
    """Return goals without importance."""
    return RangeGoals(np.zeros((4, 3)), np.zeros(4), np.zeros(4))


def empty_frame() -> Frame:
    """Return a frame of zeros."""
    return Frame(
        np.zeros(3),
        np.zeros((16, 4)),
        np.zeros((16, 4)),
        np.zeros((16, 3)),
        np.zeros((8, 3)),
        np.zeros(3),
        np.zeros(4),
        np.zeros(4),
        np.zeros(8),
        np.zeros((4, 3)),
        np.zeros((4, 4)),
        empty_balls(),
        empty_self_balls(),
        empty_ranges(),
        np.zeros((16, 3)),
        np.zeros((8, 3)),
        np.zeros((4, 3)),
        np.zeros(4),
        np.zeros((3, 4)),
        np.zeros((3, 3)),
        np.zeros(12),
        np.zeros(1),
        np.zeros((16, 4)),
        np.zeros((3, 2)),
        np.zeros((4, PUSH_SIZE)),
        np.zeros((2, 3, 3)),
        np.zeros((2, 3, 2)),
    )


@kernel
def update_kinematics(model: PuppetModel, frame: Frame) -> None:
    """Bring segments and end-effectors up to date with root and rotations."""
    forward_kinematics(model.offsets, frame.root, frame.rotations, frame.q_world, frame.p_world)
    end_effector_positions(
        model.interaction_points, frame.q_world, frame.p_world, frame.end_effectors
    )
