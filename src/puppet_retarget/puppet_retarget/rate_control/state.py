# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of rate control share: packed arrays with room for the largest tree."""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, frozen, Ints, Quats, Vec3s
from puppet_retarget.rate_control.tree import BASE_DOFS, MAX_SEGMENTS, MAX_TASKS

NO_ESTIMATE, TASKS_ONLY, ALL_RATES, SECONDARY_ONLY = 0, 1, 2, 3  # RateConfig.estimate

# segments, tasks, degrees of freedom
S, T, D = MAX_SEGMENTS, MAX_TASKS, BASE_DOFS + 3 * (MAX_SEGMENTS - 1)


# Defaults are copied when a controller packs its arrays.


def floats(*shape: int) -> Floats:
    """Return zeros that refuse writes."""
    return frozen(np.zeros(shape))


def ints(*shape: int) -> Ints:
    """Return whole zeros that refuse writes."""
    return frozen(np.zeros(shape, dtype=np.int64))


def units(n: int) -> Quats:
    """Return n turns by nothing that refuse writes."""
    return frozen(np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)))


class RateConfig(NamedTuple):
    """Tuning of rate control; `AS_PRINTED` is the paper's."""

    # How the coming error is estimated: NO_ESTIMATE, TASKS_ONLY, ALL_RATES or SECONDARY_ONLY
    estimate: int = ALL_RATES
    # K1 and K2: fractions of the tasks' error, and of what is to be imitated, that a step takes up
    k1: float = 1.0
    k2: float = 1.0
    max_sub_steps: int = 16  # Most parts that a frame is divided into [-]
    sub_step_m: float = 0.10  # How far a goal may go in a sub-step [m]
    sub_step_rad: float = 0.5  # How far an orientation that is a goal may turn in a sub-step [rad]
    # Most steps after the last sub-step, taken while goals are missed [-]
    max_corrections: int = 4
    tolerance: float = 1e-5  # Error of all tasks together that is left [m], [rad]
    max_damping: float = 0.05  # lambda at a singularity [m/rad]
    damped_below: float = 0.05  # Smallest singular value below which damping sets in [m/rad]
    # sigma_min over sigma_max below which the gains fall; 0: they are 1 always [-]
    full_gain_dexterity: float = 0.01
    least_gain: float = 0.2  # Gains at a singularity [-]
    # Error left by the frame before beyond which the second task's gain falls [m], [rad]
    full_gain_error: float = 0.03
    max_input_m: float = 0.2  # Most that a position task puts into the pseudo-inverse at once [m]
    max_input_rad: float = 0.7  # Most that an orientation task puts into it at once [rad]
    max_turn_rad: float = 0.5  # Most that a degree of freedom turns in a sub-step [rad]
    # What is left after a frame of how far a new driven base was from its given pose [-]
    kept_gap: float = 0.8
    slack: float = 0.02  # Error that a guarded step may leave to the corrections [m], [rad]
    guarded: bool = True  # Whether steps that lead away from the goals are shortened

    def require_valid(self) -> None:
        """Raise a ConfigError that names what is out of range."""
        if self.estimate not in {NO_ESTIMATE, TASKS_ONLY, ALL_RATES, SECONDARY_ONLY}:
            raise ConfigError(f'estimate: expected 0 to 3, got {self.estimate}')
        positive = {'max_sub_steps', 'sub_step_m', 'sub_step_rad', 'max_turn_rad'}
        for name, value in self._asdict().items():
            # ChoiKo2000 eq. 13: the error grows unless 1 - K is between -1 and 1
            if name in {'k1', 'k2'} and not value < 2.0:
                raise ConfigError(f'{name}: expected a number < 2, got {value}')
            if not 0.0 <= value < math.inf or (value == 0.0 and name in positive):
                least = '> 0' if name in positive else '>= 0'
                raise ConfigError(f'{name}: expected a number {least}, got {value}')


AS_PRINTED = RateConfig(
    estimate=TASKS_ONLY,
    max_sub_steps=1,
    max_corrections=0,
    full_gain_dexterity=0.0,
    full_gain_error=1e3,
    max_input_m=1e3,
    max_input_rad=1e3,
    max_turn_rad=1e3,
    kept_gap=0.0,
    guarded=False,
)
"""One step a frame, K = I, the estimate of steps 1 to 3, damped least squares; no clamping."""


class TreeArrays(NamedTuple):
    """A `BodyTree`, its tasks, and the base that holds now."""

    n_segments: int = 0
    n_dofs: int = 0
    n_tasks: int = 0
    base: Ints = ints(1)  # segment
    parents: Ints = ints(S)
    offsets: Vec3s = floats(S, 3)
    kinds: Ints = ints(S)
    axes: Vec3s = floats(S, 3)
    first_dofs: Ints = ints(S)
    segments: Ints = ints(T)  # of each task
    task_kinds: Ints = ints(T)
    points: Vec3s = floats(T, 3)
    task_axes: Vec3s = floats(T, 3, 3)
    n_axes: Ints = ints(T)
    task_weights: Floats = floats(T)


class GoalArrays(NamedTuple):
    """Where tasks and root are to be in world, at one time."""

    positions: Vec3s = floats(T, 3)  # [m]
    orientations: Quats = units(T)
    root: Floats = floats(3)  # [m]


class Inputs(NamedTuple):
    """What is asked of a frame; the controller keeps the views, callers fill them."""

    active: Ints = ints(T)  # 1 where the task counts
    carried: Floats = floats(T)  # fraction of the root's way from its place that a goal goes along
    positions: Vec3s = floats(T, 3)  # goals in world [m]
    orientations: Quats = units(T)  # goals in world
    imitated: Quats = units(S)  # joint rotations to imitate; row 0 is not used
    root_position: Floats = floats(3)  # place of the first segment that goals are carried from [m]
    base_position: Floats = floats(3)  # of the base segment's frame [m]
    base_orientation: Floats = units(1)[0]
    mobilities: Floats = floats(D)  # W: how readily each moves for the tasks; 0 is driven
    extra: Floats = floats(D)  # another secondary rate, added to the imitation


class State(NamedTuple):
    """The body and what is remembered between frames."""

    rotations: Quats = units(S)  # joint rotations
    q_world: Quats = units(S)
    p_world: Vec3s = floats(S, 3)
    before: GoalArrays = GoalArrays()  # goals of the step before
    gap: Floats = floats(6)  # from the given pose of a new base: shift [m], turn [rad]
    steps: Ints = ints(1)  # of the last frame, with corrections
    error: Floats = floats(1)  # of all tasks together after the last frame [m], [rad]
    astray: Floats = floats(1)  # how long the body has been astray, or -, will be brought back [s]


class RateArrays(NamedTuple):
    """Everything a controller's kernels need, packed into one argument."""

    settings: RateConfig = RateConfig()
    tree: TreeArrays = TreeArrays()
    inputs: Inputs = Inputs()
    state: State = State()
