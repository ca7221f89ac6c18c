# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint rotations of one limb by its swivel angle (kernel, ShinSlides 3.3).

A wrist at its goal leaves the elbow a circle about the line from shoulder to wrist. The limb
is bent in its own plane until the wrist is as far from the shoulder as the goal, turned onto
the goal's line, and swivelled about that line to where the upper segment is oriented most
like the captured one. The joint between the segments only bends, about the axis about which
it was captured bent; `limb_rotation` keeps the elbow's side instead and lets that axis turn.

"""

import math

from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import between, multiply, rotate
from puppet_core.work_array import work_array
from puppet_retarget.solvers.limb_position import place_elbow
from puppet_retarget.solvers.limb_rotation import bend_hint, blend_joint

NO_SWIVEL = 1e-12  # amplitude below which all swivel angles are equally good [-]
MIN_DISTANCE_M = 1e-9  # shorter lines have no direction, as in `place_elbow`


@kernel
def swivel_angle(q_start: Quat, axis: Vec3, q_captured: Quat) -> float:
    """
    Return the turn about an axis that brings one orientation nearest to another.

    Maximises |q* . q(theta)| with q(theta) = e^(theta k / 2) q0. Of the rotation t from q* to
    q0 only the scalar part and the component along k count, so that the product is
    t_w cos(theta / 2) - (k . t) sin(theta / 2) = A sin(theta / 2 + alpha), which is +-A where
    the tangent of theta / 2 is -(k . t) / t_w.

    Parameters
    ----------
    q_start, q_captured : ndarray, shape (4,)
        q0 and q*, in the same coordinates; either may have either sign.
    axis : ndarray, shape (3,)
        k, unit, in those coordinates.

    Returns
    -------
    angle : float
        theta in [-pi, pi]; 0 where A = 0 and so every angle is as good [rad].

    """
    a, b = q_start, q_captured
    scalar = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    # vector part of q0 q*^-1
    x = -a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = -a[0] * b[2] + a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = -a[0] * b[3] + a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    along = axis[0] * x + axis[1] * y + axis[2] * z
    if scalar * scalar + along * along < NO_SWIVEL * NO_SWIVEL:
        return 0.0
    if scalar < 0.0:
        scalar, along = -scalar, -along
    return -2.0 * math.atan2(along, scalar)


@kernel
def _line(a: Vec3, b: Vec3, out: Vec3) -> float:
    """Write the unit vector from a to b, if they are apart; return how far they are [m]."""
    square = 0.0
    for k in range(3):
        out[k] = b[k] - a[k]
        square += out[k] * out[k]
    distance = math.sqrt(square)
    if distance >= MIN_DISTANCE_M:
        for k in range(3):
            out[k] /= distance
    return distance


@kernel
def _turn_onto(
    q: Quat, offset: Vec3, start: Vec3, end: Vec3, before: Vec3, after: Vec3, turn: Quat
) -> None:
    """Turn a segment, in place, by the least rotation that points it from start to end."""
    rotate(q, offset, before)
    for k in range(3):
        after[k] = end[k] - start[k]
    between(before, after, turn)
    multiply(turn, q, q)


@kernel
def _bend(
    limb: int, shoulder: Vec3, offsets: Vec3s, upper: float, lower: float, goal: Vec3,
    current: float, line: Vec3, axis: Vec3, q_upper: Quat, q_lower: Quat,
) -> bool:  # fmt: skip
    """
    Bend the captured limb in its plane to the goal's distance, the wrist staying on its line.

    Fills `line` and `axis`, the unit vectors to the captured wrist and to the goal; returns
    False, and bends nothing, if either is undefined.

    """
    elbow, wrist, hint = work_array(3), work_array(3), work_array(3)
    before, after, turn = work_array(3), work_array(3), work_array(4)
    rotate(q_upper, offsets[0], before)
    rotate(q_lower, offsets[1], after)
    for k in range(3):
        elbow[k] = shoulder[k] + before[k]
        wrist[k] = elbow[k] + after[k]
    distance = _line(shoulder, goal, axis)
    if distance < MIN_DISTANCE_M or _line(shoulder, wrist, line) < MIN_DISTANCE_M:
        return False
    bend_hint(limb, q_upper, hint)
    on_line = work_array(3)
    for k in range(3):
        on_line[k] = shoulder[k] + distance * line[k]
    place_elbow(shoulder, elbow, wrist, upper, lower, on_line, current, hint)
    # both turns are about the normal of the limb's plane: the joint bends and does not twist
    _turn_onto(q_upper, offsets[0], shoulder, elbow, before, after, turn)
    _turn_onto(q_lower, offsets[1], elbow, wrist, before, after, turn)
    return True


@kernel
def solve_limb_on_circle(
    limb: int, q_parent: Quat, shoulder: Vec3, captured: Quats, q_end: Quat, offsets: Vec3s,
    upper: float, lower: float, goal: Vec3, current: float, weight: float, out: Quats,
) -> None:  # fmt: skip
    """
    Write the three joint rotations of a limb; see `limb_rotation.solve_limb` for all of them.

    Notes
    -----
    The best of all swivel angles gives the least rotation that takes the wrist's direction,
    as the bent limb had it with its upper segment as captured, to the goal's direction. It is
    smooth in everything but where these directions are opposite: there A = 0, and no choice
    could be continuous, for no field of rotations over a sphere is.

    """
    q_upper, q_lower, turn = work_array(4), work_array(4), work_array(4)
    q_captured, line, axis = work_array(4), work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    multiply(q_upper, captured[1], q_lower)
    copy(q_upper, q_captured)
    if _bend(
        limb, shoulder, offsets, upper, lower, goal, current, line, axis, q_upper, q_lower
    ):
        between(line, axis, turn)
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
        half = 0.5 * swivel_angle(q_upper, axis, q_captured)
        turn[0] = math.cos(half)
        for k in range(3):
            turn[k + 1] = math.sin(half) * axis[k]
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
    blend_joint(q_upper, q_lower, captured[1], weight, turn, out[1])
    blend_joint(q_parent, q_upper, captured[0], weight, turn, out[0])
    # the blended forearm's, not the solved one's: the hand keeps its orientation all the way
    multiply(q_parent, out[0], q_lower)
    multiply(q_lower, out[1], q_lower)
    blend_joint(q_lower, q_end, captured[2], weight, turn, out[2])
