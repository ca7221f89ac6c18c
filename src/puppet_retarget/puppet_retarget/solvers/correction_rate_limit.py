# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rate limit of the correction that resolves self-penetration (kernel).

No rule that takes all of a body to its surface is continuous: in its middle two ways out are
equally near, and a knee that has to leave a belly can turn to either side. Where the correction
changes its mind, the limb goes over at a bounded speed. What it adds is kept as the way of the
wrist and the turn of the elbow about the line from shoulder to wrist, so that a planted foot
stays where it is while its knee goes round. Slower changes pass as they are.

"""

import math

from puppet_core.math import (
    copy,
    Floats,
    kernel,
    multiply,
    Quat,
    Quats,
    rotate,
    Vec3,
    Vec3s,
    work_array,
)
from puppet_retarget.solvers.limbs import bend_hint, place_elbow, turn_limb

MAX_PUSH_M_S = 3.0  # of wrist and elbow, in a puppet of the performer's size
MAX_TURN_RAD_S = 30.0  # of an elbow that is hardly bent
WRIST, TURN = 0, 3  # columns of a limb's push: way of the wrist [m], turn of the elbow [rad]
PUSH_SIZE = 4
STILL = 1e-12  # change of an elbow or wrist that is none [m]


@kernel
def _swivel(shoulder: Vec3, wrist: Vec3, a: Vec3, b: Vec3) -> float:
    """Return the angle about the line shoulder-wrist from elbow a to elbow b [rad]."""
    axis, square = work_array(3), 0.0
    for k in range(3):
        axis[k] = wrist[k] - shoulder[k]
        square += axis[k] * axis[k]
    norm = math.sqrt(square)
    if norm < 1e-9:
        return 0.0
    along_a, along_b, dot = 0.0, 0.0, 0.0
    for k in range(3):
        axis[k] /= norm
        along_a += axis[k] * (a[k] - shoulder[k])
        along_b += axis[k] * (b[k] - shoulder[k])
        dot += (a[k] - shoulder[k]) * (b[k] - shoulder[k])
    ax, ay, az = a[0] - shoulder[0], a[1] - shoulder[1], a[2] - shoulder[2]
    bx, by, bz = b[0] - shoulder[0], b[1] - shoulder[1], b[2] - shoulder[2]
    cross = (
        axis[0] * (ay * bz - az * by)
        + axis[1] * (az * bx - ax * bz)
        + axis[2] * (ax * by - ay * bx)
    )
    return math.atan2(cross, dot - along_a * along_b)


@kernel
def _turn_about(shoulder: Vec3, wrist: Vec3, angle: float, elbow: Vec3) -> float:
    """Turn an elbow about the line shoulder-wrist, in place; return its distance from it [m]."""
    axis, side, square, along = work_array(3), work_array(3), 0.0, 0.0
    for k in range(3):
        axis[k] = wrist[k] - shoulder[k]
        square += axis[k] * axis[k]
    norm = math.sqrt(square)
    if norm < 1e-9:
        return 0.0
    for k in range(3):
        axis[k] /= norm
        along += axis[k] * (elbow[k] - shoulder[k])
    for k in range(3):
        side[k] = elbow[k] - shoulder[k] - along * axis[k]
    radius = math.sqrt(side[0] * side[0] + side[1] * side[1] + side[2] * side[2])
    c, s = math.cos(angle), math.sin(angle)
    x = axis[1] * side[2] - axis[2] * side[1]
    y = axis[2] * side[0] - axis[0] * side[2]
    z = axis[0] * side[1] - axis[1] * side[0]
    elbow[0] = shoulder[0] + along * axis[0] + c * side[0] + s * x
    elbow[1] = shoulder[1] + along * axis[1] + c * side[1] + s * y
    elbow[2] = shoulder[2] + along * axis[2] + c * side[2] + s * z
    return radius


@kernel
def _places(
    q_parent: Quat,
    shoulder: Vec3,
    own: Quats,
    offsets: Vec3s,
    q_upper: Quat,
    elbow: Vec3,
    wrist: Vec3,
) -> None:
    """Write the upper segment's orientation and where elbow and wrist of joint rotations are."""
    q_lower = work_array(4)
    multiply(q_parent, own[0], q_upper)
    rotate(q_upper, offsets[0], elbow)
    multiply(q_upper, own[1], q_lower)
    rotate(q_lower, offsets[1], wrist)
    for k in range(3):
        elbow[k] += shoulder[k]
        wrist[k] += elbow[k]


@kernel
def limit_correction_rate(
    limb: int,
    q_parent: Quat,
    shoulder: Vec3,
    free: Quats,
    q_end: Quat,
    offsets: Vec3s,
    upper: float,
    lower: float,
    scale: float,
    dt: float,
    push: Floats,
    own: Quats,
) -> bool:
    """
    Bring a limb from where it would be without correction to where the correction may bring it.

    Parameters
    ----------
    limb : int
        Which limb.
    q_parent, shoulder : ndarray, shapes (4,), (3,)
        What carries the limb, and where it starts, in world [m].
    free : ndarray, shape (3, 4)
        Its joint rotations before resolving penetration.
    q_end : ndarray, shape (4,)
        Orientation of hand or foot in world, which stays.
    offsets : ndarray, shape (2, 3)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    upper, lower : float
        Lengths of `offsets` [m].
    scale : float
        Size of the puppet's world over the performer's.
    dt : float
        Time since the frame before [s]; infinity takes the whole push at once.
    push : ndarray, shape (PUSH_SIZE,)
        In and out: what was added to the frame before, and is to this one.
    own : ndarray, shape (3, 4)
        In: joint rotations after resolving penetration; out: those that are allowed.

    Returns
    -------
    is_pushed : bool
        Whether anything is added.

    """
    elbow, wrist, pushed_elbow, pushed_wrist = (
        work_array(3),
        work_array(3),
        work_array(3),
        work_array(3),
    )
    q_upper, hint, base, goal = work_array(4), work_array(3), work_array(3), work_array(3)
    _places(q_parent, shoulder, own, offsets, q_upper, pushed_elbow, pushed_wrist)
    _places(q_parent, shoulder, free, offsets, q_upper, elbow, wrist)
    moved, held = 0.0, 0.0
    for k in range(3):
        moved += abs(pushed_elbow[k] - elbow[k]) + abs(pushed_wrist[k] - wrist[k])
    for k in range(PUSH_SIZE):
        push[k] = push[k] if dt < math.inf else 0.0
        held += abs(push[k])
    if moved + held < STILL:
        return False
    bend_hint(limb, q_upper, hint)
    # how the elbow is turned against where it would be with the wrist there
    _bring(shoulder, elbow, wrist, upper, lower, pushed_wrist, hint, base, goal)
    turn = _swivel(shoulder, goal, base, pushed_elbow)
    turn -= 2.0 * math.pi * math.floor((turn - push[TURN] + math.pi) / (2.0 * math.pi))
    most, way, square = MAX_PUSH_M_S * scale * dt, work_array(3), 0.0
    for k in range(3):
        way[k] = pushed_wrist[k] - wrist[k] - push[WRIST + k]
        square += way[k] * way[k]
    share = min(most / math.sqrt(square), 1.0) if square > 0.0 else 1.0
    for k in range(3):
        push[WRIST + k] += share * way[k]
        way[k] = wrist[k] + push[WRIST + k]
    _bring(shoulder, elbow, wrist, upper, lower, way, hint, base, goal)
    radius = _turn_about(shoulder, goal, 0.0, base)
    bound = min(most / radius if radius > 0.0 else math.inf, MAX_TURN_RAD_S * dt)
    push[TURN] += min(max(turn - push[TURN], -bound), bound)
    _turn_about(shoulder, goal, push[TURN], base)
    turn_limb(q_parent, shoulder, free, q_end, offsets, base, goal, 1.0, 1.0, own)
    return True


@kernel
def _bring(
    shoulder: Vec3,
    elbow: Vec3,
    wrist: Vec3,
    upper: float,
    lower: float,
    goal: Vec3,
    hint: Vec3,
    out_elbow: Vec3,
    out_wrist: Vec3,
) -> None:
    """Write elbow and wrist of a limb whose wrist goes to a place, on the side it is bent to."""
    square = 0.0
    for k in range(3):
        square += (goal[k] - shoulder[k]) ** 2
    copy(elbow, out_elbow)
    copy(wrist, out_wrist)
    place_elbow(shoulder, out_elbow, out_wrist, upper, lower, goal, math.sqrt(square), hint)
