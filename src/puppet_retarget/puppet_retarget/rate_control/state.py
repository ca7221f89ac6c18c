# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the kernels of rate control share, as tuples of arrays that are packed into one argument.

Arrays have room for the largest tree, so that the kernels are compiled once for all of them.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, frozen, Ints, Quats, Vec3s
from puppet_retarget.rate_control.tree import BASE_DOFS, MAX_ROWS, MAX_SEGMENTS, MAX_TASKS

MAX_DOFS = BASE_DOFS + 3 * (MAX_SEGMENTS - 1)

# segments, tasks, degrees of freedom, rows
S, T, D, R = MAX_SEGMENTS, MAX_TASKS, MAX_DOFS, MAX_ROWS


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


class TreeArrays(NamedTuple):
    """A `BodyTree`, its tasks, and the base that holds now."""

    sizes: Ints = ints(3)  # segments, degrees of freedom, tasks
    base: Ints = ints(1)  # segment
    parents: Ints = ints(S)
    offsets: Vec3s = floats(S, 3)
    kinds: Ints = ints(S)
    axes: Vec3s = floats(S, 2, 3)
    first_dofs: Ints = ints(S)
    orders: Ints = ints(S, S)
    neighbours: Ints = ints(S, S)
    segments: Ints = ints(T)  # of each task
    task_kinds: Ints = ints(T)
    points: Vec3s = floats(T, 3)
    task_axes: Vec3s = floats(T, 3, 3)
    n_axes: Ints = ints(T)
    task_weights: Floats = floats(T)


class Inputs(NamedTuple):
    """What is asked of a frame; the controller keeps the views, callers fill them."""

    active: Ints = ints(T)  # 1 where the task counts
    carried: Floats = floats(
        T
    )  # fraction of the base's way from its given place that a goal goes along
    positions: Vec3s = floats(T, 3)  # goals in world [m]
    orientations: Quats = units(T)  # goals in world
    frames: Quats = units(T)  # in which each task's axes are given
    imitated: Quats = units(S)  # joint rotations to imitate; row 0 is not used
    base_position: Floats = floats(3)  # of the base segment's frame [m]
    base_orientation: Floats = units(1)[0]
    mobilities: Floats = floats(D)  # W: how readily each moves for the tasks; 0 is driven
    gains: Floats = floats(D)  # K2: fraction of what is to imitate that a frame takes up
    extra: Floats = floats(D)  # another secondary rate, added to the imitation


class State(NamedTuple):
    """The body and what is remembered between frames."""

    rotations: Quats = units(S)  # joint rotations
    q_world: Quats = units(S)
    p_world: Vec3s = floats(S, 3)
    before_positions: Vec3s = floats(T, 3)  # goals of the frame before
    before_orientations: Quats = units(T)
    before_base: Floats = floats(3)  # given place of the base [m]
    strongest: Floats = floats(R)  # direction of the largest singular value
    weakest: Floats = floats(R)  # and of the smallest
    gap: Floats = floats(6)  # from the given pose of a new base: shift [m], turn [rad]
    measures: Floats = floats(5)  # see DEXTERITY and those that follow


# In State.measures; ASTRAY: how long the live body has been astray, or -, will be brought back [s]
DEXTERITY, DAMPING, STEPS, ERROR, ASTRAY = range(5)


class Work(NamedTuple):
    """Working space; nothing in it outlives a step."""

    jacobian: Floats = floats(D, R)  # transposed: a row for each degree of freedom
    gram: Floats = floats(R, R)  # J W J^T
    factor: Floats = floats(R, R)
    errors: Floats = floats(R)
    moves: Floats = floats(R)  # of the goals since the step before
    inputs: Floats = floats(R)  # what goes into the pseudo-inverse
    solved: Floats = floats(R)
    spare: Floats = floats(R)
    wish: Floats = floats(D)  # secondary rate
    driven: Floats = floats(D)  # the part of it that no task may change
    rates: Floats = floats(D)  # outcome
    tried: Floats = floats(D)
    goal_positions: Vec3s = floats(T, 3)  # of this sub-step
    goal_orientations: Quats = units(T)
    goal_base: Floats = floats(3)
    kept_rotations: Quats = units(S)
    kept_base: Floats = floats(7)


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


class RateArrays(NamedTuple):
    """Everything a controller's kernels need, packed into one argument."""

    settings: Settings
    tree: TreeArrays = TreeArrays()
    inputs: Inputs = Inputs()
    state: State = State()
    work: Work = Work()
