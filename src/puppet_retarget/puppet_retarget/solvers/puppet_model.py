# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a solver's kernels know of the puppet and of their tuning, as tuples of arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Vec3s
from puppet_retarget.importance import body_arrays, BodyArrays
from puppet_retarget.solvers.joint_limits import limit_arrays, LimitArrays

ROOT_FORMS = ('projection', 'mean', 'mean_as_printed', 'reference')
PROJECTION, MEAN, MEAN_AS_PRINTED, REFERENCE = 0, 1, 2, 3
CAPTURED_SIDE, ELBOW_CIRCLE = 0, 1  # limb_form


@dataclass(frozen=True, slots=True)
class SolverConfig:
    """Tuning of the importance-based solver; see the parameter table for ranges."""

    root_form: str = 'projection'
    """Offset of the root before the ball intersection; `reference` leaves it (errata 12)."""

    root_softness: float = 0.9
    """Fraction of a limb's reach over which its sideways pull on the root grows; 0 at once [-]."""

    root_smoothing_s: float = 0.02
    """Time constant with which the root's offset from the performer's settles [s]."""

    stretch_limit: float = 0.998
    """Fraction of a limb's full length within which goals count as reachable [-]."""

    root_height_ratio: float = 0.0
    """Reference root height over the performer's; 0 takes the character's own [-]."""

    eased_blend: bool = True
    """Whether blend, range ball and reach use a smooth step of w instead of w itself."""

    posture_weight: float = 0.01
    """alpha of Shin2002 eq. 5.3 [m^2/rad^2]."""

    orientation_weight: float = 1.0
    """beta_j of Shin2002 eq. 5.5, for every body segment [-]."""

    position_weight: float = 1.0
    """gamma of Shin2002 eq. 5.5 [rad^2/m^2]."""

    max_iterations: int = 20
    """Cap of the body minimiser [-]."""

    torso_segments: int = 2
    """Parts that the body minimiser bends the torso in: 1 as a whole, 2 spine and chest."""

    self_push_out: bool = True
    """Whether end-effectors, elbows and knees are moved out of the puppet's own body."""

    def __post_init__(self) -> None:
        if self.root_form not in ROOT_FORMS:
            raise ConfigError(
                f'root_form: expected one of {", ".join(ROOT_FORMS)}, got {self.root_form!r}'
            )


class PuppetModel(NamedTuple):
    """The puppet's lengths and shape."""

    offsets: Vec3s  # (16, 3)
    interaction_points: Vec3s  # (4, 3)
    upper_lengths: Floats  # (4,)
    lower_lengths: Floats  # (4,)
    hip_centre: Floats  # (3,) mean of the hip joints in the pelvis' frame
    body: BodyArrays
    limits: LimitArrays


class Tuning(NamedTuple):
    """Numbers the kernels need, world scale and root ratio already worked out."""

    world_scale: float
    root_ratio: float
    root_form: int
    root_softness: float
    root_smoothing: float
    stretch_limit: float
    eased_blend: bool
    posture_weight: float
    orientation_weight: float
    position_weight: float
    max_iterations: int
    torso_segments: int
    self_push_out: bool
    joint_limits: bool
    limb_form: int = CAPTURED_SIDE


def puppet_model(character: Character) -> PuppetModel:
    """Return a character's lengths and shape as writable kernel arrays."""
    skeleton = character.skeleton
    lengths = skeleton.limb_lengths
    return PuppetModel(
        skeleton.offsets.copy(),
        skeleton.interaction_points.copy(),
        np.ascontiguousarray(lengths[:, 0]),
        np.ascontiguousarray(lengths[:, 1]),
        skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
        body_arrays(skeleton, character.capsules),
        limit_arrays(character),
    )


def tuning(config: SolverConfig, character: Character, performer_leg_length: float) -> Tuning:
    """Return the kernels' numbers for this puppet and a performer's leg length [m]."""
    scale = character.scale_for(performer_leg_length)
    ratio = config.root_height_ratio or character.root_ratio_for(performer_leg_length)
    return Tuning(
        scale,
        ratio,
        ROOT_FORMS.index(config.root_form),
        config.root_softness,
        config.root_smoothing_s,
        config.stretch_limit,
        config.eased_blend,
        config.posture_weight,
        config.orientation_weight,
        config.position_weight,
        config.max_iterations,
        config.torso_segments,
        config.self_push_out,
        bool(character.joint_limits),
    )
