# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a tree, its Jacobian and how far goals are (ChoiKo2000 eqs. 2-3, kernels)."""

import math

import numpy as np
from puppet_core.math import array_kernel, copy, Floats, kernel
from puppet_core.math.values import (
    add,
    conjugate,
    cross,
    dot,
    exp,
    log,
    multiply,
    normalize,
    QuatLike,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)
from puppet_retarget.rate_control.state import GoalArrays, Inputs, RateArrays, State, TreeArrays
from puppet_retarget.rate_control.tree import BALL, HINGE, POSITION


@kernel
def pose_tree(tree: TreeArrays, state: State) -> None:
    """Bring all segments up to date with the base, whose rows hold, and the joint rotations."""
    base, q, p = tree.base[0], state.q_world, state.p_world
    segment = base
    while segment > 0:  # from the base to the root ..
        parent = tree.parents[segment]
        copy(multiply(q[segment], conjugate(state.rotations[segment])), q[parent])
        copy(sub(p[segment], rotate(q[parent], tree.offsets[segment])), p[parent])
        segment = parent
    for segment in range(1, tree.n_segments):  # .. and from there to all others
        if segment != base:
            parent = tree.parents[segment]
            copy(multiply(q[parent], state.rotations[segment]), q[segment])
            copy(add(p[parent], rotate(q[parent], tree.offsets[segment])), p[segment])


@kernel
def move_tree(tree: TreeArrays, rates: Floats, state: State) -> None:
    """Move base and joints by their rates, shape (dofs,), and pose the tree."""
    base = tree.base[0]
    copy(add(state.p_world[base], rates), state.p_world[base])
    copy(normalize(multiply(exp(rates[3:6]), state.q_world[base])), state.q_world[base])
    for joint in range(1, tree.n_segments):
        first, q = tree.first_dofs[joint], state.rotations[joint]
        if tree.kinds[joint] == BALL:
            copy(normalize(multiply(q, exp(rates[first : first + 3]))), q)
        elif tree.kinds[joint] == HINGE:
            copy(normalize(multiply(q, exp(scale(tree.axes[joint], rates[first])))), q)
    pose_tree(tree, state)


@kernel
def joint_difference(kind: int, axis: Vec3Like, q: QuatLike, goal: QuatLike) -> Vec3:
    """Return the rates that take a joint to another rotation [rad], the first `kind` of three."""
    difference = log(multiply(conjugate(q), goal))
    return (dot(difference, axis), 0.0, 0.0) if kind == HINGE else difference


@kernel
def base_difference(
    tree: TreeArrays, inputs: Inputs, state: State
) -> tuple[float, float, float, float, float, float]:
    """Return shift [m] and turn [rad] that take the base to its given pose."""
    base = tree.base[0]
    shift = sub(inputs.base_position, state.p_world[base])
    return shift + turn_between(state.q_world[base], inputs.base_orientation)


@kernel
def change_base(c: RateArrays, segment: int) -> None:
    """
    Make a segment the base and note how far it is from its pose in `inputs`.

    So a base that is switched at a step's end begins where its segment was as an end-effector,
    whatever error that had, and does not jump.
    """
    c.tree.base[0] = segment
    copy(base_difference(c.tree, c.inputs, c.state), c.state.gap)
    for k in range(6):
        c.state.gap[k] = -c.state.gap[k]


# Primary tasks as rows.


@kernel
def task_point(tree: TreeArrays, state: State, task: int) -> Vec3:
    """Return where a task's point is in world [m]."""
    segment = tree.segments[task]
    return add(rotate(state.q_world[segment], tree.points[task]), state.p_world[segment])


@kernel
def turn_between(q: QuatLike, goal: QuatLike) -> Vec3:
    """Return the rotation vector in world that takes one orientation to another [rad]."""
    return log(multiply(goal, conjugate(q)))


@kernel
def count_rows(c: RateArrays) -> int:
    """Return how many rows the active tasks have."""
    n = 0
    for task in range(c.tree.n_tasks):
        n += c.tree.n_axes[task] * c.inputs.active[task]
    return n


@array_kernel
def goal_rows(c: RateArrays, goals: GoalArrays, before: GoalArrays) -> Floats:
    """Return how far the goals of active tasks have gone since some before, shape (rows,)."""
    tree, rows, n = c.tree, np.empty(count_rows(c)), 0
    root = sub(goals.root, before.root)
    for task in range(tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        if tree.task_kinds[task] == POSITION:
            step = sub(goals.positions[task], before.positions[task])
            away = sub(step, scale(root, c.inputs.carried[task]))
        else:
            away = turn_between(before.orientations[task], goals.orientations[task])
        for i in range(tree.n_axes[task]):
            rows[n] = tree.task_weights[task] * dot(tree.task_axes[task, i], away)
            n += 1
    return rows


@array_kernel
def error_rows(c: RateArrays, goals: GoalArrays) -> Floats:
    """Return how far the goals are, shape (rows,) (ChoiKo2000 eq. 9)."""
    here = GoalArrays(np.empty((c.tree.n_tasks, 3)), np.empty((c.tree.n_tasks, 4)), np.empty(3))
    note_tasks(c.tree, c.state, here)
    return goal_rows(c, goals, here)


@kernel
def note_tasks(tree: TreeArrays, state: State, here: GoalArrays) -> None:
    """Write where root and tasks are."""
    copy(state.p_world[0], here.root)
    for task in range(tree.n_tasks):
        copy(task_point(tree, state, task), here.positions[task])
        copy(state.q_world[tree.segments[task]], here.orientations[task])


@array_kernel
def clamped(c: RateArrays, rows: Floats) -> Floats:
    """Return rows of which each task's are together not above its limit."""
    tree, settings, first = c.tree, c.settings, 0
    for task in range(tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        own = rows[first : first + tree.n_axes[task]]
        is_position = tree.task_kinds[task] == POSITION
        limit = settings.max_input_m if is_position else settings.max_input_rad
        length = math.sqrt(np.sum(own * own))
        own *= min(1.0, limit * tree.task_weights[task] / max(length, 1e-300))
        first += tree.n_axes[task]
    return rows


@kernel
def _turning_axes(kind: int, axis: Vec3Like, q: QuatLike) -> tuple[Vec3, Vec3, Vec3]:
    """Return the axes that a joint's rates turn about, in world; the first `kind` of three."""
    if kind == HINGE:
        return rotate(q, axis), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return rotate(q, (1.0, 0.0, 0.0)), rotate(q, (0.0, 1.0, 0.0)), rotate(q, (0.0, 0.0, 1.0))


@kernel
def _add_row(
    c: RateArrays, is_position: bool, segment: int, point: Vec3, row: Vec3, out: Floats
) -> None:
    """Add how a point of a segment moves, or the segment turns, along a row's direction."""
    tree, state, base = c.tree, c.state, c.tree.base[0]
    # by the joints between root and segment, less those between root and base
    for begin, sign in ((segment, 1.0), (base, -1.0)):
        joint = begin
        while joint > 0:
            kind, first = tree.kinds[joint], tree.first_dofs[joint]
            # d(u . x) = (w x (x - c)) . u = w . ((x - c) x u)
            lever = cross(sub(point, state.p_world[joint]), row) if is_position else row
            axes = _turning_axes(kind, tree.axes[joint], state.q_world[joint])
            for d in range(kind):
                out[first + d] += sign * dot(axes[d], lever)
            joint = tree.parents[joint]
    lever = cross(sub(point, state.p_world[base]), row) if is_position else row
    for k in range(3):
        out[k] += row[k] if is_position else 0.0  # by world axes
        out[3 + k] += lever[k]


@array_kernel
def jacobian_of(c: RateArrays) -> Floats:
    """Return the stacked Jacobian of all active tasks, shape (rows, dofs)."""
    tree, state, n = c.tree, c.state, 0
    jacobian = np.zeros((count_rows(c), tree.n_dofs))
    for task in range(tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        is_position, carried = tree.task_kinds[task] == POSITION, c.inputs.carried[task]
        point = task_point(tree, state, task)
        for i in range(tree.n_axes[task]):
            row = scale(tree.task_axes[task, i], tree.task_weights[task])
            _add_row(c, is_position, tree.segments[task], point, row, jacobian[n])
            if is_position and carried > 0.0:  # less the way of the root that the goal goes along
                root = vec3(state.p_world[0])
                _add_row(c, is_position, 0, root, scale(row, -carried), jacobian[n])
            n += 1
    return jacobian
