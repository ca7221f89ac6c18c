# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a solver's kernels know of the puppet and of their tuning, as tuples of arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Vec3s
from puppet_core.character import Character
from puppet_core.errors import ConfigError
from puppet_core.skeleton import LIMB_SEGMENTS

ROOT_FORMS = ('projection', 'mean', 'mean_as_printed')
PROJECTION, MEAN, MEAN_AS_PRINTED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class SolverConfig:
    """Tuning of the importance-based solver; see the parameter table for ranges."""

    root_form: str = 'projection'
    """Offset of the root before the ball intersection, one of ROOT_FORMS (SPEC 5.12)."""

    root_softness: float = 0.8
    """Share of a limb's reach over which its sideways pull on the root sets in; 0 at once [-]."""

    root_smoothing_s: float = 0.025
    """Time constant with which the root's offset from the performer's settles [s]."""

    stretch_limit: float = 0.998
    """Share of a limb's full length within which goals count as reachable [-]."""

    root_height_ratio: float = 0.0
    """Reference root height over the performer's; 0 takes the character's own [-]."""

    eased_blend: bool = True
    """Whether captured and solved rotations are blended by an ease of w instead of w itself."""

    posture_weight: float = 0.01
    """alpha of Shin2002 eq. 5.3 [m^2/rad^2]."""

    orientation_weight: float = 1.0
    """beta_j of eq. 5.5, for every body segment [-]."""

    position_weight: float = 1.0
    """gamma of eq. 5.5 [rad^2/m^2]."""

    max_iterations: int = 20
    """Cap of the body minimiser [-]."""

    def __post_init__(self) -> None:
        if self.root_form not in ROOT_FORMS:
            raise ConfigError(
                f'root_form: expected one of {", ".join(ROOT_FORMS)}, got {self.root_form!r}'
            )


class PuppetModel(NamedTuple):
    """The puppet's lengths."""

    offsets: Vec3s  # (16, 3)
    interaction_points: Vec3s  # (4, 3)
    upper_lengths: Floats  # (4,)
    lower_lengths: Floats  # (4,)
    hip_centre: Floats  # (3,) mean of the hip joints in the pelvis' frame


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


def puppet_model(character: Character) -> PuppetModel:
    """Return a character's lengths as writable kernel arrays."""
    skeleton = character.skeleton
    lengths = skeleton.limb_lengths
    return PuppetModel(
        skeleton.offsets.copy(),
        skeleton.interaction_points.copy(),
        np.ascontiguousarray(lengths[:, 0]),
        np.ascontiguousarray(lengths[:, 1]),
        skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
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
    )
