# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where the segments of a tree are, and how joint rates move them (kernels)."""

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
)
from puppet_retarget.rate_control.state import Inputs, State, TreeArrays
from puppet_retarget.rate_control.tree import BALL, FIXED, HINGE


@kernel
def pose_tree(tree: TreeArrays, rotations: Quats, q_world: Quats, p_world: Vec3s) -> None:
    """
    Bring all segments up to date with the base, whose rows hold, and the joint rotations.

    Parameters
    ----------
    tree : TreeArrays
        Which segment is the base, too.
    rotations : ndarray, shape (S, 4)
        Joint rotations.
    q_world, p_world : ndarray, shapes (S, 4) and (S, 3)
        In and out.

    """
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

    ChoiKo2000 eq. 20 with its error as in eq. 15: x2 are the joints' rotations and the pose of
    the base, f2 is the identity. Driven degrees of freedom, those of no mobility, take up all
    of the way.

    Parameters
    ----------
    tree, inputs, state : TreeArrays, Inputs, State
        The body and what it imitates.
    share : float
        Of the way, for this sub-step [-].
    out : ndarray, shape (D,)
        Out [m], [rad].

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
