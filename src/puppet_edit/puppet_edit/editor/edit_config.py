# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the motion editor and what it reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from puppet_core.body import JointLimit, Motion, N_SEGMENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, read_only, Vec3s

HYBRID, FULL = 'hybrid', 'full'
SOLVERS = (HYBRID, FULL)
MAX_LEVELS = 12
ROOT_RIGIDITY = 100.0  # of the root's position [1/m^2]: a decimetre is as dear as a radian
# of the orientations of pelvis, spine and chest, with which much turns, where a joint of a limb
# has 1 [1/rad^2]
TORSO_RIGIDITY = (10.0, 8.0, 8.0)
HEAD_JOINT_HEIGHT = 0.87  # of the body's height, where the head turns [-]


@dataclass(frozen=True, slots=True)
class EditConfig:
    """How a motion is edited."""

    levels: int = 4
    """Of the hierarchy; 0 for the exact pass alone."""

    frames_per_knot: float = 16.0
    """At the first level; each level halves it."""

    tolerance_percent: float = 0.0
    """Maximum error at which no further level is needed, of the body's height."""

    exact: bool = True
    """Whether a last pass brings every constrained frame in place."""

    root_shift: bool = True
    """Whether the root goes along with contacts from the start (LeeShin1999 section 4.5)."""

    solver: str = HYBRID
    """One of SOLVERS."""

    root_rigidity: float = ROOT_RIGIDITY
    """What displacing the root costs [1/m^2] (alpha_0 of eq. 4)."""

    joint_rigidity: Floats = field(
        default_factory=lambda: np.array([*TORSO_RIGIDITY, *[1.0] * (N_SEGMENTS - 3)])
    )
    """What turning each joint costs, shape (16,) [1/rad^2]; row 0 the root's orientation."""

    joint_limits: Sequence[JointLimit] = ()
    """Limits of the character's joints, if they are to be kept."""

    max_iterations: int = 40
    """Of the inverse kinematics, for one frame."""

    body_height_m: float = 0.0
    """What errors are compared with; 0 for that of the skeleton."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ('levels', 0, MAX_LEVELS),
            ('frames_per_knot', 1e-3, 1e6),
            ('tolerance_percent', 0.0, 100.0),
            ('root_rigidity', 1e-6, 1e6),
            ('max_iterations', 1, 10_000),
            ('body_height_m', 0.0, 100.0),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(
                    f'{name}: expected {low:g} .. {high:g}, got {getattr(self, name)}'
                )
        if self.solver not in SOLVERS:
            raise ConfigError(f'solver: expected one of {", ".join(SOLVERS)}, got {self.solver!r}')
        rigidity = read_only(check_array('joint_rigidity', self.joint_rigidity, (N_SEGMENTS,)))
        if np.any(rigidity < 1e-6) or np.any(rigidity > 1e6):
            raise ConfigError('joint_rigidity: expected 1e-6 .. 1e6')
        object.__setattr__(self, 'joint_rigidity', rigidity)
        object.__setattr__(self, 'joint_limits', tuple(self.joint_limits))


@dataclass(frozen=True, slots=True)
class Bodies:
    """A body whose lengths change from frame to frame."""

    offsets: Vec3s
    """As of a skeleton, in each frame, shape (n, 16, 3) [m]."""

    interaction_points: Vec3s
    """As of a skeleton, in each frame, shape (n, 4, 3) [m]."""

    def __post_init__(self) -> None:
        offsets = check_array('offsets', self.offsets, (None, N_SEGMENTS, 3))
        points = check_array('interaction_points', self.interaction_points, (len(offsets), 4, 3))
        object.__setattr__(self, 'offsets', read_only(offsets))
        object.__setattr__(self, 'interaction_points', read_only(points))

    @classmethod
    def constant(cls, skeleton: Skeleton, n_frames: int) -> 'Bodies':
        """Return one body in all frames."""
        return cls(
            np.broadcast_to(skeleton.offsets, (n_frames, N_SEGMENTS, 3)),
            np.broadcast_to(skeleton.interaction_points, (n_frames, 4, 3)),
        )


@dataclass(frozen=True, slots=True)
class LevelReport:
    """What one level of the hierarchy came to: a column of LeeShin1999 table 1."""

    frames_per_knot: float
    """Spacing of its knots."""

    knots: int
    """Control points of each curve."""

    time_s: float
    """Of the level."""

    max_error_percent: float
    """Largest error of a constraint after it, of the body's height."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """An edited motion."""

    motion: Motion
    """End-effectors are those of its angles, and of the frame's body where that changes."""

    levels: tuple[LevelReport, ...]
    """In order."""

    exact_max_error_percent: float | None
    """After the exact pass, of the body's height; None without."""

    total_time_s: float
    """All of it."""

    frames_constrained: int
    """Frames with at least one constraint."""

    constraint_count: int
    """Numbers that were constrained, as LeeShin1999 table 1 counts: three for a place."""

    constraint_errors_m: Floats
    """Largest error of each constraint at the end, in their order [m]; see `motion_edit`."""

    initial_max_error_percent: float = 0.0
    """Before anything was done."""


def body_height(skeleton: Skeleton) -> float:
    """Return how tall a body is that stands upright [m]."""
    head = skeleton.rest_positions()[3, 2] + skeleton.rest_root_height
    return float(head / HEAD_JOINT_HEIGHT)
