# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a tree, its Jacobian and how far goals are (ChoiKo2000 eqs. 2-3, kernels)."""

import math

from puppet_core.math import (
    add,
    copy,
    cross,
    dot,
    Floats,
    kernel,
    Quat,
    scale,
    sub,
    vec3,
    Vec3s,
    work_table,
)
from puppet_core.math.values import (
    conjugate,
    exp,
    log,
    multiply,
    normalize,
    rotate,
    rotate_inverse,
    Vec3,
    Vec3Like,
)
from puppet_retarget.rate_control.state import GoalArrays, Inputs, RateArrays, State, TreeArrays
from puppet_retarget.rate_control.tree import BALL, FIXED, HINGE, POSITION, UNIVERSAL


@kernel
def pose_tree(tree: TreeArrays, state: State) -> None:
    """Bring all segments up to date with the base, whose rows hold, and the joint rotations."""
    base, q, p = tree.base[0], state.q_world, state.p_world
    for i in range(1, tree.n_segments):
        segment = tree.orders[base, i]
        nearer = tree.neighbours[base, segment]
        if tree.parents[segment] == nearer:
            copy(multiply(q[nearer], state.rotations[segment]), q[segment])
            copy(add(p[nearer], rotate(q[nearer], tree.offsets[segment])), p[segment])
        else:
            copy(multiply(q[nearer], conjugate(state.rotations[nearer])), q[segment])
            copy(sub(p[nearer], rotate(q[segment], tree.offsets[nearer])), p[segment])


@kernel
def turn_joint(kind: int, axes: Vec3s, rates: Floats, q: Quat) -> None:
    """Turn a joint by its rates, shape (kind,) or more [rad], in place."""
    if kind == BALL:
        copy(normalize(multiply(q, exp(rates))), q)
    elif kind == HINGE:
        copy(normalize(multiply(q, exp(scale(axes[0], rates[0])))), q)
    elif kind == UNIVERSAL:
        turned = multiply(exp(scale(axes[0], rates[0])), q)
        copy(normalize(multiply(turned, exp(scale(axes[1], rates[1])))), q)


@kernel
def move_tree(tree: TreeArrays, rates: Floats, state: State) -> None:
    """Move base and joints by their rates, shape (D,), and pose the tree."""
    base = tree.base[0]
    copy(add(state.p_world[base], rates), state.p_world[base])
    copy(normalize(multiply(exp(rates[3:6]), state.q_world[base])), state.q_world[base])
    for joint in range(1, tree.n_segments):
        own = rates[tree.first_dofs[joint] : tree.first_dofs[joint] + 3]
        turn_joint(tree.kinds[joint], tree.axes[joint], own, state.rotations[joint])
    pose_tree(tree, state)


@kernel
def joint_difference(kind: int, axes: Vec3s, q: Quat, goal: Quat, out: Floats) -> None:
    """
    Write the rates that take a joint to another rotation, shape (kind,) or more [rad].

    Exact for balls and hinges. Of a universal joint it is the first order, by least squares:
    the two axes need not be square to each other.
    """
    if kind == FIXED:
        return
    difference = log(multiply(conjugate(q), goal))  # in the child's frame
    if kind == BALL:
        copy(difference, out)
    elif kind == HINGE:
        out[0] = dot(difference, axes[0])
    else:
        first = rotate_inverse(q, axes[0])
        a, b, c = dot(difference, first), dot(difference, axes[1]), dot(first, axes[1])
        factor = 1.0 / max(1.0 - c * c, 1e-6)
        out[0] = factor * (a - c * b)
        out[1] = factor * (b - c * a)


@kernel
def base_difference(tree: TreeArrays, inputs: Inputs, state: State, out: Floats) -> None:
    """Write shift and turn, shape (6,) or more, that take the base to its given pose."""
    base = tree.base[0]
    copy(sub(inputs.base_position, state.p_world[base]), out[:3])
    copy(turn_between(state.q_world[base], inputs.base_orientation), out[3:6])


@kernel
def change_base(c: RateArrays, segment: int) -> None:
    """
    Make a segment the base and note how far it is from its pose in `inputs`.

    So a base that is switched at a step's end begins where its segment was as an end-effector,
    whatever error that had, and does not jump.
    """
    c.tree.base[0] = segment
    base_difference(c.tree, c.inputs, c.state, c.state.gap)
    for k in range(6):
        c.state.gap[k] = -c.state.gap[k]


# Primary tasks as rows.


@kernel
def task_point(tree: TreeArrays, state: State, task: int) -> Vec3:
    """Return where a task's point is in world [m]."""
    segment = tree.segments[task]
    return add(rotate(state.q_world[segment], tree.points[task]), state.p_world[segment])


@kernel
def _add_rows(c: RateArrays, task: int, away: Vec3, first: int, rows: Floats) -> int:
    """Write the rows of a displacement in world, from `first` on; return the next row."""
    for i in range(c.tree.n_axes[task]):
        axis = rotate(c.inputs.frames[task], c.tree.task_axes[task, i])
        rows[first + i] = c.tree.task_weights[task] * dot(axis, away)
    return first + c.tree.n_axes[task]


@kernel
def turn_between(q: Quat, goal: Quat) -> Vec3:
    """Return the rotation vector in world that takes one orientation to another [rad]."""
    return log(multiply(goal, conjugate(q)))


@kernel
def error_rows(c: RateArrays, goals: GoalArrays) -> int:
    """Fill `work.errors`, how far the goals are (ChoiKo2000 eq. 9); return the number of rows."""
    tree, state, n = c.tree, c.state, 0
    for task in range(tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        if tree.task_kinds[task] == POSITION:
            shift = sub(state.p_world[0], goals.root)
            goal = add(goals.positions[task], scale(shift, c.inputs.carried[task]))
            away = sub(goal, task_point(tree, state, task))
        else:
            away = turn_between(state.q_world[tree.segments[task]], goals.orientations[task])
        n = _add_rows(c, task, away, n, c.work.errors)
    return n


@kernel
def move_rows(c: RateArrays) -> None:
    """Fill `work.moves`, how far the goals have gone since the step before."""
    goals, before, n = c.work.goal, c.state.before, 0
    for task in range(c.tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        if c.tree.task_kinds[task] == POSITION:
            shift = sub(goals.root, before.root)
            step = sub(goals.positions[task], before.positions[task])
            away = sub(step, scale(shift, c.inputs.carried[task]))
        else:
            away = turn_between(before.orientations[task], goals.orientations[task])
        n = _add_rows(c, task, away, n, c.work.moves)


@kernel
def clamp_rows(c: RateArrays) -> None:
    """Shorten what goes into the pseudo-inverse to a limit for each task, in place."""
    tree, rows, n = c.tree, c.work.inputs, 0
    for task in range(tree.n_tasks):
        if c.inputs.active[task] == 0:
            continue
        square = 0.0
        for i in range(n, n + tree.n_axes[task]):
            square += rows[i] * rows[i]
        is_position = tree.task_kinds[task] == POSITION
        limit = c.settings.max_input_m if is_position else c.settings.max_input_rad
        limit *= tree.task_weights[task]
        if square > limit * limit:
            factor = limit / math.sqrt(square)
            for i in range(n, n + tree.n_axes[task]):
                rows[i] *= factor
        n += tree.n_axes[task]


@kernel
def _joint_axes(tree: TreeArrays, state: State, joint: int, axes: Floats) -> None:
    """Write the axes that a joint's rates turn about, in world, a row for each."""
    kind, q = tree.kinds[joint], state.q_world[joint]
    if kind == BALL:
        copy(rotate(q, (1.0, 0.0, 0.0)), axes[0])
        copy(rotate(q, (0.0, 1.0, 0.0)), axes[1])
        copy(rotate(q, (0.0, 0.0, 1.0)), axes[2])
    elif kind == HINGE:
        copy(rotate(q, tree.axes[joint, 0]), axes[0])
    elif kind == UNIVERSAL:
        copy(rotate(state.q_world[tree.parents[joint]], tree.axes[joint, 0]), axes[0])
        copy(rotate(q, tree.axes[joint, 1]), axes[1])


@kernel
def _lever(is_position: bool, point: Vec3, pivot: Vec3Like, row: Vec3Like) -> Vec3:
    """Return the derivative of a row by turns about a pivot, along the world's axes."""
    # d(u . x) = (w x (x - c)) . u = w . ((x - c) x u)
    return cross(sub(point, pivot), row) if is_position else vec3(row)


@kernel
def _fill_task(c: RateArrays, task: int, first: int) -> None:
    """Fill the rows of a task; of a goal that goes along with the root, less the root's way."""
    point, carried = task_point(c.tree, c.state, task), c.inputs.carried[task]
    _add_task(c, task, c.tree.segments[task], point, 1.0, first)
    if c.tree.task_kinds[task] == POSITION and carried > 0.0:
        _add_task(c, task, 0, vec3(c.state.p_world[0]), -carried, first)


@kernel
def _add_task(
    c: RateArrays, task: int, segment: int, point: Vec3, factor: float, first: int
) -> None:
    """Add to a task's rows a point of a segment: the joints between it and the base, the base."""
    tree, state, jacobian = c.tree, c.state, c.work.jacobian
    rows, axes = work_table(3, 3), work_table(3, 3)
    base, is_position = tree.base[0], tree.task_kinds[task] == POSITION
    for i in range(tree.n_axes[task]):
        axis = rotate(c.inputs.frames[task], tree.task_axes[task, i])
        copy(scale(axis, factor * tree.task_weights[task]), rows[i])
    while segment != base:
        nearer = tree.neighbours[base, segment]
        is_forward = tree.parents[segment] == nearer
        # past a joint that is walked from child to parent, the parent turns the other way
        joint, sign = (segment, 1.0) if is_forward else (nearer, -1.0)
        _joint_axes(tree, state, joint, axes)
        for i in range(tree.n_axes[task]):
            lever = _lever(is_position, point, state.p_world[joint], rows[i])
            for d in range(tree.kinds[joint]):
                jacobian[tree.first_dofs[joint] + d, first + i] += sign * dot(axes[d], lever)
        segment = nearer
    for i in range(tree.n_axes[task]):
        lever = _lever(is_position, point, state.p_world[base], rows[i])
        for k in range(3):
            if is_position:
                jacobian[k, first + i] += rows[i, k]  # by world axes
            jacobian[3 + k, first + i] += lever[k]


@kernel
def fill_jacobian(c: RateArrays) -> int:
    """Fill the stacked Jacobian of all active tasks, transposed; return the number of rows."""
    n, first = 0, 0
    for task in range(c.tree.n_tasks):
        if c.inputs.active[task] != 0:
            n += c.tree.n_axes[task]
    for d in range(c.tree.n_dofs):
        for i in range(n):
            c.work.jacobian[d, i] = 0.0
    for task in range(c.tree.n_tasks):
        if c.inputs.active[task] != 0:
            _fill_task(c, task, first)
            first += c.tree.n_axes[task]
    return n
