# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the kernels of rate control share, as tuples of arrays that are packed into one argument.

Arrays have room for the largest tree, so that the kernels are compiled once for all of them.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_retarget.rate_control.tree import BASE_DOFS, MAX_ROWS, MAX_SEGMENTS, MAX_TASKS

MAX_DOFS = BASE_DOFS + 3 * (MAX_SEGMENTS - 1)


class TreeArrays(NamedTuple):
    """A `BodyTree`, its tasks, and the base that holds now."""

    sizes: Ints  # (3,) segments, degrees of freedom, tasks
    base: Ints  # (1,) segment
    parents: Ints  # (S,)
    offsets: Vec3s  # (S, 3)
    kinds: Ints  # (S,)
    axes: Vec3s  # (S, 2, 3)
    first_dofs: Ints  # (S,)
    orders: Ints  # (S, S)
    neighbours: Ints  # (S, S)
    segments: Ints  # (T,) of each task
    task_kinds: Ints  # (T,)
    points: Vec3s  # (T, 3)
    task_axes: Vec3s  # (T, 3, 3)
    n_axes: Ints  # (T,)
    task_weights: Floats  # (T,)


class Inputs(NamedTuple):
    """What is asked of a frame; the controller keeps the views, callers fill them."""

    active: Ints  # (T,) 1 where the task counts
    carried: Floats  # (T,) fraction of the base's way from its given place that a goal goes along
    positions: Vec3s  # (T, 3) goals in world [m]
    orientations: Quats  # (T, 4) goals in world
    frames: Quats  # (T, 4) in which each task's axes are given
    imitated: Quats  # (S, 4) joint rotations to imitate; row 0 is not used
    base_position: Floats  # (3,) of the base segment's frame [m]
    base_orientation: Floats  # (4,)
    mobilities: Floats  # (D,) W: how readily each moves for the tasks; 0 is driven
    gains: Floats  # (D,) K2: fraction of what is to imitate that a frame takes up
    extra: Floats  # (D,) another secondary rate, added to the imitation


class State(NamedTuple):
    """The body and what is remembered between frames."""

    rotations: Quats  # (S, 4) joint rotations
    q_world: Quats  # (S, 4)
    p_world: Vec3s  # (S, 3)
    before_positions: Vec3s  # (T, 3) goals of the frame before
    before_orientations: Quats  # (T, 4)
    before_base: Floats  # (3,) given place of the base [m]
    strongest: Floats  # (R,) direction of the largest singular value
    weakest: Floats  # (R,) and of the smallest
    gap: Floats  # (6,) from the given pose of a new base: shift [m], turn [rad]
    measures: Floats  # (5,) see DEXTERITY and those that follow


# In State.measures; ASTRAY: how long the live body has been astray, or -, will be brought back [s]
DEXTERITY, DAMPING, STEPS, ERROR, ASTRAY = range(5)


class Work(NamedTuple):
    """Working space; nothing in it outlives a step."""

    jacobian: Floats  # (D, R) transposed: a row for each degree of freedom
    gram: Floats  # (R, R) J W J^T
    factor: Floats  # (R, R)
    errors: Floats  # (R,)
    moves: Floats  # (R,) of the goals since the step before
    inputs: Floats  # (R,) what goes into the pseudo-inverse
    solved: Floats  # (R,)
    spare: Floats  # (R,)
    wish: Floats  # (D,) secondary rate
    driven: Floats  # (D,) the part of it that no task may change
    rates: Floats  # (D,) outcome
    tried: Floats  # (D,)
    goal_positions: Vec3s  # (T, 3) of this sub-step
    goal_orientations: Quats  # (T, 4)
    goal_base: Floats  # (3,)
    kept_rotations: Quats  # (S, 4)
    kept_base: Floats  # (7,)


class Settings(NamedTuple):
    """Numbers of `RateConfig`, in its order."""

    estimate: int
    max_sub_steps: int
    sub_step_m: float
    sub_step_rad: float
    max_corrections: int
    tolerance: float
    max_damping: float
    damped_below: float
    full_gain_dexterity: float
    least_gain: float
    full_gain_error: float
    max_input_m: float
    max_input_rad: float
    max_turn_rad: float
    kept_gap: float
    slack: float
    guarded: bool


class Script(NamedTuple):
    """What is asked of each frame of a clip, for n frames, s segments and t tasks."""

    bases: Ints  # (n,) segment that the tree hangs on
    base_positions: Vec3s  # (n, 3) [m]
    base_orientations: Quats  # (n, 4)
    entry_positions: Vec3s  # (n, 3) of the same segment in the frame before [m]
    entry_orientations: Quats  # (n, 4)
    active: Ints  # (n, t)
    positions: Vec3s  # (n, t, 3) goals [m]
    orientations: Quats  # (n, t, 4) goals
    imitated: Quats  # (n, s, 4) joint rotations


class RateArrays(NamedTuple):
    """Everything a controller's kernels need, packed into one argument."""

    tree: TreeArrays
    inputs: Inputs
    state: State
    work: Work
    settings: Settings


def _units(n: int) -> Quats:
    quats = np.zeros((n, 4))
    quats[:, 0] = 1.0
    return quats


def _ints(*shape: int) -> Ints:
    return np.zeros(shape, dtype=np.int64)


def empty_arrays(settings: Settings) -> RateArrays:
    """Return arrays with room for any tree."""
    s, t, d, r = MAX_SEGMENTS, MAX_TASKS, MAX_DOFS, MAX_ROWS
    floats = np.zeros
    return RateArrays(
        TreeArrays(
            _ints(3),
            _ints(1),
            _ints(s),
            floats((s, 3)),
            _ints(s),
            floats((s, 2, 3)),
            _ints(s),
            _ints(s, s),
            _ints(s, s),
            _ints(t),
            _ints(t),
            floats((t, 3)),
            floats((t, 3, 3)),
            _ints(t),
            floats(t),
        ),
        Inputs(
            _ints(t),
            floats(t),
            floats((t, 3)),
            _units(t),
            _units(t),
            _units(s),
            floats(3),
            _units(1)[0],
            floats(d),
            floats(d),
            floats(d),
        ),
        State(
            _units(s),
            _units(s),
            floats((s, 3)),
            floats((t, 3)),
            _units(t),
            floats(3),
            floats(r),
            floats(r),
            floats(6),
            floats(5),
        ),
        Work(
            floats((d, r)),
            floats((r, r)),
            floats((r, r)),
            floats(r),
            floats(r),
            floats(r),
            floats(r),
            floats(r),
            floats(d),
            floats(d),
            floats(d),
            floats(d),
            floats((t, 3)),
            _units(t),
            floats(3),
            _units(s),
            floats(7),
        ),
        settings,
    )
