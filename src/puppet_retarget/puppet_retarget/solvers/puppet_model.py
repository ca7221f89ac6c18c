# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a solver's kernels know of the puppet and of their tuning, as tuples of arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.io import ConfigError, setting
from puppet_core.math import Floats, Vec3s
from puppet_retarget.importance import body_arrays, BodyArrays
from puppet_retarget.solvers.joint_limits import limit_arrays, LimitArrays

ROOT_FORMS = ('projection', 'mean', 'mean_as_printed', 'reference')
PROJECTION, MEAN, MEAN_AS_PRINTED, REFERENCE = 0, 1, 2, 3
CAPTURED_SIDE, ELBOW_CIRCLE = 0, 1  # limb_form


@dataclass(frozen=True, slots=True)
class SolverConfig:
    """Tuning of the importance-based solver; see the parameter table for ranges."""

    root_form: str = setting(
        'projection',
        description='Offset of the root before it goes into reach of the goals.',
        choices=ROOT_FORMS,
    )
    root_softness: float = setting(
        0.9,
        '-',
        0.0,
        0.9,
        "Share of a limb's reach over which its sideways pull on the root sets in.",
    )
    root_smoothing_s: float = setting(
        0.02, 's', 0.0, 1.0, "Time constant with which the root's added offset settles."
    )
    stretch_limit: float = setting(
        0.998, '-', 0.5, 1.0, "Share of a limb's length within which goals count as reachable."
    )
    root_height_ratio: float = setting(
        0.0,
        '-',
        0.0,
        100.0,
        "Reference root height over the performer's; 0 is the character's own.",
    )
    eased_blend: bool = setting(
        True,
        description='Blend captured and solved rotations by an ease of w instead of w, eq. 5.14.',
    )
    posture_weight: float = setting(
        0.01, '-', 0.0, 100.0, 'alpha of Shin2002 eq. 5.3.', low_open=True
    )
    orientation_weight: float = setting(
        1.0, '-', 0.0, 100.0, 'beta of Shin2002 eq. 5.5.', low_open=True
    )
    position_weight: float = setting(
        1.0, '-', 0.0, 100.0, 'gamma of Shin2002 eq. 5.5.', low_open=True
    )
    max_iterations: int = setting(20, '-', 0, 200, 'Cap of the body minimiser.')
    torso_segments: int = setting(
        2, '-', 1, 2, 'Parts that the body minimiser bends the torso in: 2 are spine and chest.'
    )
    self_push_out: bool = setting(
        True, description="Whether palms, soles, elbows and knees leave the puppet's own body."
    )

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
