# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where the segments of a tree are, how joint rates move them, and how far the goals are (kernels).

Primary tasks are rows: errors and the stacked Jacobian (ChoiKo2000 eqs. 2-3).
"""

import math

from puppet_core.math import (
    conjugate,
    copy,
    exp,
    Floats,
    kernel,
    log,
    multiply,
    normalize,
    Quat,
    Quats,
    rotate,
    rotate_inverse,
    Vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_retarget.rate_control.state import Inputs, State, TreeArrays
from puppet_retarget.rate_control.tree import BALL, FIXED, HINGE, POSITION


@kernel
def pose_tree(tree: TreeArrays, rotations: Quats, q_world: Quats, p_world: Vec3s) -> None:
    """Bring all segments up to date with the base, whose rows hold, and the joint rotations."""
    base = tree.base[0]
    for i in range(1, tree.sizes[0]):
        segment = tree.orders[base, i]
        nearer = tree.neighbours[base, segment]
        if tree.parents[segment] == nearer:
            multiply(q_world[nearer], rotations[segment], q_world[segment])
            rotate(q_world[nearer], tree.offsets[segment], p_world[segment])
            sign = 1.0
        else:
            conjugate(rotations[nearer], q_world[segment])
            multiply(q_world[nearer], q_world[segment], q_world[segment])
            rotate(q_world[segment], tree.offsets[nearer], p_world[segment])
            sign = -1.0
        for k in range(3):
            p_world[segment, k] = p_world[nearer, k] + sign * p_world[segment, k]


@kernel
def _turn(axis: Vec3, angle: float, out: Quat) -> None:
    """Write the rotation about a unit axis."""
    rotvec = work_array(3)
    for k in range(3):
        rotvec[k] = angle * axis[k]
    exp(rotvec, out)


@kernel
def turn_joint(kind: int, axes: Vec3s, rates: Floats, q: Quat) -> None:
    """Turn a joint by its rates, shape (kind,) or more [rad], in place."""
    if kind == FIXED:
        return
    turn = work_array(4)
    if kind == BALL:
        exp(rates[:3], turn)
        multiply(q, turn, q)
    elif kind == HINGE:
        _turn(axes[0], rates[0], turn)
        multiply(q, turn, q)
    else:
        _turn(axes[0], rates[0], turn)
        multiply(turn, q, q)
        _turn(axes[1], rates[1], turn)
        multiply(q, turn, q)
    normalize(q, q)


@kernel
def move_tree(tree: TreeArrays, rates: Floats, share: float, tried: Floats, state: State) -> None:
    """Move base and joints by a fraction of their rates, shape (D,), and pose the tree."""
    for d in range(tree.sizes[1]):
        tried[d] = share * rates[d]
    base = tree.base[0]
    turn = work_array(4)
    for k in range(3):
        state.p_world[base, k] += tried[k]
    exp(tried[3:6], turn)
    multiply(turn, state.q_world[base], state.q_world[base])
    normalize(state.q_world[base], state.q_world[base])
    for joint in range(1, tree.sizes[0]):
        first = tree.first_dofs[joint]
        turn_joint(
            tree.kinds[joint], tree.axes[joint], tried[first : first + 3], state.rotations[joint]
        )
    pose_tree(tree, state.rotations, state.q_world, state.p_world)


@kernel
def joint_difference(kind: int, axes: Vec3s, q: Quat, goal: Quat, out: Floats) -> None:
    """
    Write the rates that take a joint to another rotation, shape (kind,) or more [rad].

    Exact for balls and hinges. Of a universal joint it is the first order, by least squares:
    the two axes need not be square to each other.
    """
    if kind == FIXED:
        return
    away, difference, first = work_array(4), work_array(3), work_array(3)
    conjugate(q, away)
    multiply(away, goal, away)
    log(away, difference)  # in the child's frame
    if kind == BALL:
        copy(difference, out[:3])
        return
    if kind == HINGE:
        out[0] = _dot(difference, axes[0])
        return
    rotate_inverse(q, axes[0], first)
    a, b, c = _dot(difference, first), _dot(difference, axes[1]), _dot(first, axes[1])
    scale = 1.0 / max(1.0 - c * c, 1e-6)
    out[0] = scale * (a - c * b)
    out[1] = scale * (b - c * a)


@kernel
def _dot(a: Vec3, b: Vec3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def base_difference(tree: TreeArrays, inputs: Inputs, state: State, out: Floats) -> None:
    """Write shift and turn, shape (6,) or more, that take the base to its given pose."""
    base = tree.base[0]
    away = work_array(4)
    for k in range(3):
        out[k] = inputs.base_position[k] - state.p_world[base, k]
    conjugate(state.q_world[base], away)
    multiply(inputs.base_orientation, away, away)
    log(away, out[3:6])


@kernel
def hang_on(
    tree: TreeArrays, inputs: Inputs, state: State, segment: int, difference: Floats
) -> None:
    """
    Make a segment the base and note how far it is from its pose in `inputs`.

    So a base that is switched at a step's end begins where its segment was as an end-effector,
    whatever error that had, and does not jump.
    """
    tree.base[0] = segment
    base_difference(tree, inputs, state, difference)
    for k in range(6):
        state.gap[k] = -difference[k]


@kernel
def wish_rates(tree: TreeArrays, inputs: Inputs, state: State, share: float, out: Floats) -> None:
    """
    Write the secondary rate: towards what is to be imitated, and whatever else is wished.

    ChoiKo2000 eq. 20 with its error as in eq. 15: x2 are the joints' rotations and the pose of the
    base, f2 is the identity. Driven degrees of freedom, those of no mobility, take up all of the
    way; the others the share of this sub-step.
    """
    base_difference(tree, inputs, state, out)
    if inputs.mobilities[0] == 0.0:
        for k in range(6):
            out[k] += state.gap[k]
    for joint in range(1, tree.sizes[0]):
        first = tree.first_dofs[joint]
        joint_difference(
            tree.kinds[joint],
            tree.axes[joint],
            state.rotations[joint],
            inputs.imitated[joint],
            out[first : first + 3],
        )
    for d in range(tree.sizes[1]):
        gain = inputs.gains[d] if inputs.mobilities[d] > 0.0 else 1.0
        out[d] = share * (gain * out[d] + inputs.extra[d])


# Primary tasks as rows.


@kernel
def task_point(tree: TreeArrays, state: State, task: int, out: Vec3) -> None:
    """Write where a task's point is in world, shape (3,) [m]."""
    segment = tree.segments[task]
    rotate(state.q_world[segment], tree.points[task], out)
    for k in range(3):
        out[k] += state.p_world[segment, k]


@kernel
def _add_rows(
    tree: TreeArrays, inputs: Inputs, task: int, away: Vec3, first: int, rows: Floats
) -> int:
    """Write the rows of a displacement in world, from `first` on; return the next row."""
    axis = work_array(3)
    for i in range(tree.n_axes[task]):
        rotate(inputs.frames[task], tree.task_axes[task, i], axis)
        along = axis[0] * away[0] + axis[1] * away[1] + axis[2] * away[2]
        rows[first + i] = tree.task_weights[task] * along
    return first + tree.n_axes[task]


@kernel
def _turn_between(q: Quat, goal: Quat, out: Vec3) -> None:
    """Write the rotation vector in world that takes one orientation to another [rad]."""
    away = work_array(4)
    conjugate(q, away)
    multiply(goal, away, away)
    log(away, out)


@kernel
def error_rows(
    tree: TreeArrays,
    inputs: Inputs,
    state: State,
    positions: Vec3s,
    orientations: Quats,
    reference: Vec3,
    rows: Floats,
) -> int:
    """Write how far the goals are (ChoiKo2000 eq. 9); return the number of rows."""
    n = 0
    away = work_array(3)
    for task in range(tree.sizes[2]):
        if inputs.active[task] == 0:
            continue
        if tree.task_kinds[task] == POSITION:
            task_point(tree, state, task, away)
            for k in range(3):
                shift = state.p_world[tree.base[0], k] - reference[k]
                away[k] = positions[task, k] + inputs.carried[task] * shift - away[k]
        else:
            _turn_between(state.q_world[tree.segments[task]], orientations[task], away)
        n = _add_rows(tree, inputs, task, away, n, rows)
    return n


@kernel
def move_rows(
    tree: TreeArrays,
    inputs: Inputs,
    state: State,
    positions: Vec3s,
    orientations: Quats,
    reference: Vec3,
    rows: Floats,
) -> int:
    """Write how far the goals have gone since the step before; return the number of rows."""
    n = 0
    away = work_array(3)
    for task in range(tree.sizes[2]):
        if inputs.active[task] == 0:
            continue
        if tree.task_kinds[task] == POSITION:
            for k in range(3):
                shift = reference[k] - state.before_base[k]
                step = positions[task, k] - state.before_positions[task, k]
                away[k] = step - inputs.carried[task] * shift
        else:
            _turn_between(state.before_orientations[task], orientations[task], away)
        n = _add_rows(tree, inputs, task, away, n, rows)
    return n


@kernel
def clamp_rows(
    tree: TreeArrays, inputs: Inputs, max_m: float, max_rad: float, rows: Floats
) -> None:
    """Shorten what goes into the pseudo-inverse to a limit for each task, in place."""
    n = 0
    for task in range(tree.sizes[2]):
        if inputs.active[task] == 0:
            continue
        square = 0.0
        for i in range(n, n + tree.n_axes[task]):
            square += rows[i] * rows[i]
        limit = max_m if tree.task_kinds[task] == POSITION else max_rad
        limit *= tree.task_weights[task]
        if square > limit * limit:
            scale = limit / math.sqrt(square)
            for i in range(n, n + tree.n_axes[task]):
                rows[i] *= scale
        n += tree.n_axes[task]


@kernel
def _joint_axes(tree: TreeArrays, state: State, joint: int, axes: Floats) -> None:
    """Write the axes that a joint's rates turn about, in world, a row for each."""
    kind = tree.kinds[joint]
    q = state.q_world[joint]
    if kind == BALL:
        for i in range(3):
            for k in range(3):
                axes[i, k] = 0.0
            axes[i, i] = 1.0
            rotate(q, axes[i], axes[i])
    elif kind == HINGE:
        rotate(q, tree.axes[joint, 0], axes[0])
    else:
        rotate(state.q_world[tree.parents[joint]], tree.axes[joint, 0], axes[0])
        rotate(q, tree.axes[joint, 1], axes[1])


@kernel
def _fill_path(
    tree: TreeArrays,
    state: State,
    task: int,
    rows: Floats,
    point: Vec3,
    first: int,
    jacobian: Floats,
) -> None:
    """Fill the columns of all joints between a task's segment and the base."""
    axes, lever = work_table(3, 3), work_array(3)
    base = tree.base[0]
    segment = tree.segments[task]
    is_position = tree.task_kinds[task] == POSITION
    while segment != base:
        nearer = tree.neighbours[base, segment]
        is_forward = tree.parents[segment] == nearer
        # past a joint that is walked from child to parent, the parent turns the other way
        joint, sign = (segment, 1.0) if is_forward else (nearer, -1.0)
        if tree.kinds[joint] > 0:
            _joint_axes(tree, state, joint, axes)
        for i in range(tree.n_axes[task]):
            if is_position:
                # d(u . x) = (w x (x - c)) . u = w . ((x - c) x u)
                x = point[0] - state.p_world[joint, 0]
                y = point[1] - state.p_world[joint, 1]
                z = point[2] - state.p_world[joint, 2]
                lever[0] = y * rows[i, 2] - z * rows[i, 1]
                lever[1] = z * rows[i, 0] - x * rows[i, 2]
                lever[2] = x * rows[i, 1] - y * rows[i, 0]
            else:
                for k in range(3):
                    lever[k] = rows[i, k]
            for d in range(tree.kinds[joint]):
                along = axes[d, 0] * lever[0] + axes[d, 1] * lever[1] + axes[d, 2] * lever[2]
                jacobian[tree.first_dofs[joint] + d, first + i] = sign * along
        segment = nearer


@kernel
def _fill_base(
    tree: TreeArrays,
    state: State,
    task: int,
    carried: float,
    rows: Floats,
    point: Vec3,
    first: int,
    jacobian: Floats,
) -> None:
    """Fill the columns of the base, by world axes; goals that go along want no shift."""
    base = tree.base[0]
    is_position = tree.task_kinds[task] == POSITION
    x = point[0] - state.p_world[base, 0]
    y = point[1] - state.p_world[base, 1]
    z = point[2] - state.p_world[base, 2]
    for i in range(tree.n_axes[task]):
        u, v, w = rows[i, 0], rows[i, 1], rows[i, 2]
        for k in range(3):
            jacobian[k, first + i] = (1.0 - carried) * rows[i, k] if is_position else 0.0
            jacobian[3 + k, first + i] = rows[i, k]
        if is_position:
            jacobian[3, first + i] = y * w - z * v
            jacobian[4, first + i] = z * u - x * w
            jacobian[5, first + i] = x * v - y * u


@kernel
def fill_jacobian(tree: TreeArrays, inputs: Inputs, state: State, jacobian: Floats) -> int:
    """Write the stacked Jacobian of all active tasks, transposed; return the number of rows."""
    n = 0
    for task in range(tree.sizes[2]):
        if inputs.active[task] != 0:
            n += tree.n_axes[task]
    for d in range(tree.sizes[1]):
        for i in range(n):
            jacobian[d, i] = 0.0
    rows, point = work_table(3, 3), work_array(3)
    first = 0
    for task in range(tree.sizes[2]):
        if inputs.active[task] == 0:
            continue
        task_point(tree, state, task, point)
        for i in range(tree.n_axes[task]):
            rotate(inputs.frames[task], tree.task_axes[task, i], rows[i])
            for k in range(3):
                rows[i, k] *= tree.task_weights[task]
        _fill_path(tree, state, task, rows, point, first, jacobian)
        _fill_base(tree, state, task, inputs.carried[task], rows, point, first, jacobian)
        first += tree.n_axes[task]
    return n
