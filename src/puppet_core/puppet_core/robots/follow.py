# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's joint angles from the orientations of our segments, within limits (kernels).

From the pelvis outwards each segment's joints turn it as near to its orientation in world as
they can, so the shoulders make up for what a limited waist leaves undone. Angles move by at most
SPEED_RATIO times what the joints asked for, from the pelvis to theirs, have turned since the
frame before, and REST_STEP_RAD, whatever the branch: near gimbal lock, past half a turn, at the
change from one solution to the other. Palms and soles are then placed by `robots.reach`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import (
    angle_between,
    conjugate,
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
    work_table,
)

TINY = 1e-12  # [-]
SWEEPS = 12
SWEEP_TOL_RAD = 1e-7

SPEED_RATIO = 8.0  # a motor's, so less than in `continuous_euler`; exact 7 degrees off a lock [-]
REST_STEP_RAD = 0.002  # a frame
STAY_COST = 0.02  # of an angle's way from where it is, when both solutions would do [-]
CLAMPED_RAD = 1e-12
_PARENTS = tuple(int(p) for p in PARENTS)
_MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])
_ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])


# One rotation as turns about one, two or three fixed axes, any axes in any order.
#
# With half angles h, e_i = cos h_i + sin h_i a_i, and <q, e_1 e_2 ..> is the cosine of half the
# angle that is left between q and the product. It is linear in (cos h_i, sin h_i) for each i:
#
# - one axis: the greatest |m . u| over unit u = (cos h, sin h) is at u along m;
# - two axes: the greatest |u1 M u2| is at the first singular vectors of the 2 x 2 matrix M;
# - three axes: a1 . R a3 depends on the middle angle alone, A cos t + B sin t + C
#   (PiovanBullo2012), which gives two angles, or the one that comes nearest to a1 . R a3 where
#   the axes cannot reach R; with it the outer two are a case of two axes.
#
# For one and two axes what comes out is the nearest rotation that they have. For three it is the
# rotation itself where they have it, and else near it: `refine_angles` goes on from there.


@kernel
def axis_turn(axis: Vec3, angle: float, out: Quat) -> None:
    """Write the turn by an angle about a unit axis [rad]."""
    sine = math.sin(0.5 * angle)
    out[0] = math.cos(0.5 * angle)
    out[1], out[2], out[3] = sine * axis[0], sine * axis[1], sine * axis[2]


@kernel
def _dot4(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def _dot3(a: Vec3, b: Vec3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def compose_turns(axes: Vec3s, angles: Floats, first: int, end: int, out: Quat) -> None:
    """Write the product of the turns of joints first .. end - 1 in their order."""
    turn, product = work_array(4), work_array(4)
    product[0], product[1], product[2], product[3] = 1.0, 0.0, 0.0, 0.0
    for i in range(first, end):
        axis_turn(axes[i], angles[i], turn)
        multiply(product, turn, product)
    copy(product, out)


@kernel
def best_angle(before: Quat, axis: Vec3, after: Quat, q: Quat, near: float) -> float:
    """Return the angle about an axis between two rotations that brings the product nearest q."""
    m, turn = work_array(2), work_array(4)
    for k in range(2):
        # cos h and sin h one after the other
        axis_turn(axis, 0.0 if k == 0 else math.pi, turn)
        multiply(before, turn, turn)
        multiply(turn, after, turn)
        m[k] = _dot4(q, turn)
    if m[0] * m[0] + m[1] * m[1] < TINY:
        return near  # half a turn away whatever the angle
    return 2.0 * math.atan2(m[1], m[0])


@kernel
def _two_angles(first: Vec3, middle: Quat, last: Vec3, q: Quat, near: float, out: Floats) -> None:
    """
    Write the angles about two axes, with a rotation between them, that come nearest to q.

    Where the two directions are one (both singular values equal) the first is `near`.

    """
    m, one, other = work_table(2, 2), work_array(4), work_array(4)
    for i in range(2):
        for k in range(2):
            axis_turn(first, 0.0 if i == 0 else math.pi, one)
            axis_turn(last, 0.0 if k == 0 else math.pi, other)
            multiply(one, middle, one)
            multiply(one, other, one)
            m[i, k] = _dot4(q, one)
    # u1 M u2 = E cos(h1 - h2 - e) + F cos(h1 + h2 - f): greatest where both cosines are 1
    even_x, even_y = 0.5 * (m[0, 0] + m[1, 1]), 0.5 * (m[1, 0] - m[0, 1])
    odd_x, odd_y = 0.5 * (m[0, 0] - m[1, 1]), 0.5 * (m[1, 0] + m[0, 1])
    has_even = even_x * even_x + even_y * even_y > TINY
    has_odd = odd_x * odd_x + odd_y * odd_y > TINY
    difference = math.atan2(even_y, even_x)
    total = math.atan2(odd_y, odd_x)
    if has_even and has_odd:
        out[0], out[1] = total + difference, total - difference
    elif has_even:
        out[0], out[1] = near, near - 2.0 * difference
    else:
        out[0], out[1] = near, 2.0 * total - near


@kernel
def _middle_angles(axes: Vec3s, first: int, q: Quat, out: Floats) -> None:
    """Write both middle angles that give three axes their a1 . R a3, PiovanBullo2012."""
    a, b, c = axes[first], axes[first + 1], axes[first + 2]
    turned = work_array(3)
    rotate(q, c, turned)
    constant = _dot3(a, b) * _dot3(b, c)
    cosine = _dot3(a, c) - constant
    sine = (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )
    size = math.sqrt(cosine * cosine + sine * sine)
    phase = math.atan2(sine, cosine)
    share = (_dot3(a, turned) - constant) / max(size, TINY)
    spread = math.acos(min(max(share, -1.0), 1.0))
    out[0], out[1] = phase + spread, phase - spread


@kernel
def turn_angles(
    axes: Vec3s, first: int, count: int, q: Quat, near: Floats, family: int, out: Floats
) -> None:
    """
    Write the angles of one to three joints whose turns come nearest to a rotation.

    Parameters
    ----------
    axes : ndarray, shape (n, 3)
        Unit axes of all joints.
    first, count : int
        The joints.
    q : ndarray, shape (4,)
        The rotation.
    near : ndarray, shape (n,)
        Angles to keep where any will do [rad].
    family : int
        Which of the two solutions of three axes, 0 or 1.
    out : ndarray, shape (3,)
        Out: the angles, modulo whole turns [rad].

    """
    between, both, pair = work_array(4), work_array(2), work_array(2)
    between[0], between[1], between[2], between[3] = 1.0, 0.0, 0.0, 0.0
    if count == 1:
        out[0] = best_angle(between, axes[first], between, q, near[first])
    elif count == 2:
        _two_angles(axes[first], between, axes[first + 1], q, near[first], pair)
        out[0], out[1] = pair[0], pair[1]
    else:
        _middle_angles(axes, first, q, both)
        axis_turn(axes[first + 1], both[family], between)
        _two_angles(axes[first], between, axes[first + 2], q, near[first], pair)
        out[0], out[1], out[2] = pair[0], both[family], pair[1]


@kernel
def place_angle(angle: float, lower: float, upper: float, near: float) -> float:
    """Return the angle within limits that is nearest to one modulo whole turns, then to `near`."""
    turn = 2.0 * math.pi
    angle += turn * round((near - angle) / turn)
    if lower <= angle <= upper:
        return angle
    for k in (-1.0, 1.0, -2.0, 2.0):
        if lower <= angle + k * turn <= upper:
            return angle + k * turn
    below = (lower - angle) % turn
    above = (angle - upper) % turn
    return lower if below < above else upper


@kernel
def refine_angles(
    axes: Vec3s, first: int, count: int, q: Quat, lower: Floats, upper: Floats, angles: Floats
) -> None:
    """
    Move the angles of some joints, each in turn, to the best that its limits allow.

    Each step is exact, the greatest of a sinusoid over an interval, so the angle that is left
    never grows. Rows first .. first + count - 1 of `lower`, `upper` and `angles`, (n,), count.

    """
    before, after = work_array(4), work_array(4)
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(first, first + count):
            compose_turns(axes, angles, first, i, before)
            compose_turns(axes, angles, i + 1, first + count, after)
            best = best_angle(before, axes[i], after, q, angles[i])
            best = place_angle(best, lower[i], upper[i], angles[i])
            moved = max(moved, abs(best - angles[i]))
            angles[i] = best
        if moved < SWEEP_TOL_RAD:
            return


@kernel
def turn_left(q: Quat, axes: Vec3s, angles: Floats, first: int, count: int) -> float:
    """Return the angle between a rotation and the turns of some joints, in [0, pi] [rad]."""
    product = work_array(4)
    compose_turns(axes, angles, first, first + count, product)
    conjugate(product, product)
    multiply(product, q, product)
    sine = math.sqrt(product[1] ** 2 + product[2] ** 2 + product[3] ** 2)
    return 2.0 * math.atan2(sine, abs(product[0]))


# The robot, from the pelvis outwards.


class RobotArrays(NamedTuple):
    """A robot's joints as kernels need them; of n joints, at zero pose."""

    first: np.ndarray  # (16,) int64, first joint of each segment
    n_joints: np.ndarray  # (16,) int64, how many it has
    axes: Vec3s  # (n, 3) unit
    origins: Vec3s  # (n, 3) [m]
    lower: Floats  # (n,) [rad]
    upper: Floats  # (n,) [rad]
    rest: Quats  # (16, 4) from zero pose to T-pose
    centres: Vec3s  # (16, 3) joint centres [m]
    points: Vec3s  # (4, 3) palms and soles [m]


class RobotState(NamedTuple):
    """What lives from frame to frame, and the pose of the bodies: x -> q x + p."""

    angles: Floats  # (n,) [rad]
    before: Floats  # (n,) those of the last frame [rad]
    low: Floats  # (n,) what this frame allows [rad]
    high: Floats  # (n,) [rad]
    asked: Quats  # (16, 4) joint rotations asked for, last frame
    turned: Floats  # (16,) how far they have turned since, summed from the pelvis [rad]
    points: Vec3s  # (4, 3) palms and soles in the pelvis asked for, last frame [m]
    q_body: Quats  # (16, 4)
    p_body: Vec3s  # (16, 3) [m]


@kernel
def move_body(robot: Any, segment: int, angles: Floats, q_body: Quats, p_body: Vec3s) -> None:
    """Write the pose of a segment's body from that of its parent and its joints' angles."""
    parent = _PARENTS[segment]
    q, p = q_body[segment], p_body[segment]
    turn, arm = work_array(4), work_array(3)
    copy(q_body[parent], q)
    copy(p_body[parent], p)
    first = robot.first[segment]
    for i in range(first, first + robot.n_joints[segment]):
        # about a line through o: p + q o - q' o
        rotate(q, robot.origins[i], arm)
        for k in range(3):
            p[k] += arm[k]
        axis_turn(robot.axes[i], angles[i], turn)
        multiply(q, turn, q)
        rotate(q, robot.origins[i], arm)
        for k in range(3):
            p[k] -= arm[k]


@kernel
def body_point(q: Quat, p: Vec3, point: Vec3, out: Vec3) -> None:
    """Write where a point of the zero pose is, moved with a body [m]."""
    rotate(q, point, out)
    for k in range(3):
        out[k] += p[k]


@kernel
def _solve_turn(robot: Any, segment: int, q: Quat, step: float, state: Any) -> None:
    """Turn a segment's joints as near to a rotation as limits and the step allow."""
    first, count = robot.first[segment], robot.n_joints[segment]
    angles, trial, best = state.angles, work_array(3), work_array(3)
    least = math.inf
    for family in range(2 if count == 3 else 1):
        turn_angles(robot.axes, first, count, q, angles, family, trial)
        way = 0.0
        for k in range(count):
            i = first + k
            trial[k] = place_angle(trial[k], robot.lower[i], robot.upper[i], angles[i])
            way = max(way, abs(trial[k] - angles[i]))
        cost = turn_left(q, robot.axes[first : first + count], trial, 0, count) + STAY_COST * way
        if cost < least:
            least = cost
            copy(trial, best)
    for k in range(count):
        i = first + k
        state.low[i] = max(robot.lower[i], angles[i] - step)
        state.high[i] = min(robot.upper[i], angles[i] + step)
        angles[i] = min(max(best[k], state.low[i]), state.high[i])
    if turn_left(q, robot.axes, angles, first, count) > CLAMPED_RAD:
        refine_angles(robot.axes, first, count, q, state.low, state.high, angles)


@kernel
def _widen(robot: Any, segment: int, step: float, state: Any) -> None:
    """Let the joints of a segment move by another step from where this frame began."""
    for i in range(robot.first[segment], robot.first[segment] + robot.n_joints[segment]):
        state.low[i] = max(robot.lower[i], state.low[i] - step)
        state.high[i] = min(robot.upper[i], state.high[i] + step)


@kernel
def follow_segments(
    robot: Any, state: Any, root: Vec3, q_world: Quats, ends: Vec3s, is_first: bool
) -> None:
    """
    Fill the angles and the pose of all bodies.

    Parameters
    ----------
    robot : RobotArrays
        The robot.
    state : RobotState
        In: the last frame's; out: this one's.
    root : ndarray, shape (3,)
        Pelvis joint in world [m].
    q_world : ndarray, shape (16, 4)
        Orientations asked of the segments.
    ends : ndarray, shape (8, 3)
        General end-effectors asked for, in world; palms and soles count for the step [m].
    is_first : bool
        Whether there is no frame before.

    """
    asked, back, reached = work_array(4), work_array(4), work_array(3)
    copy(state.angles, state.before)
    copy(q_world[0], state.q_body[0])
    copy(root, state.p_body[0])
    state.turned[0] = 0.0
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        conjugate(q_world[parent], back)
        multiply(back, q_world[segment], asked)
        turned = state.turned[parent] + angle_between(state.asked[segment], asked)
        copy(asked, state.asked[segment])
        state.turned[segment] = turned
        if robot.n_joints[segment] > 0:
            conjugate(state.q_body[parent], back)
            multiply(q_world[segment], robot.rest[segment], asked)
            multiply(back, asked, asked)
            step = math.inf if is_first else SPEED_RATIO * turned + REST_STEP_RAD
            _solve_turn(robot, segment, asked, step, state)
        move_body(robot, segment, state.angles, state.q_body, state.p_body)
    conjugate(q_world[0], back)
    for limb in range(4):
        moved, length = 0.0, 1e-9
        for k in range(3):
            reached[k] = ends[limb, k] - root[k]
        rotate(back, reached, reached)
        for k in range(3):
            moved += (reached[k] - state.points[limb, k]) ** 2
            length += (robot.points[limb, k] - robot.centres[_ENDS[limb] - 2, k]) ** 2
        copy(reached, state.points[limb])
        step = math.inf if is_first else SPEED_RATIO * math.sqrt(moved / length)
        for segment in range(_ENDS[limb] - 2, _ENDS[limb] + 1):
            _widen(robot, segment, step, state)


@kernel
def read_posture(
    robot: Any, state: Any, rotations: Quats, q_world: Quats, p_world: Vec3s, ends: Vec3s
) -> None:
    """
    Write the posture of our skeleton that the robot's bodies have.

    Parameters
    ----------
    robot, state : RobotArrays, RobotState
        The robot and its pose.
    rotations, q_world : ndarray, shape (16, 4)
        Out: joint rotations, orientations in world.
    p_world : ndarray, shape (16, 3)
        Out: joint centres in world [m].
    ends : ndarray, shape (8, 3)
        Out: general end-effectors [m].

    """
    back = work_array(4)
    for segment in range(N_SEGMENTS):
        conjugate(robot.rest[segment], back)
        multiply(state.q_body[segment], back, q_world[segment])
        if segment == 0:
            copy(q_world[0], rotations[0])
            copy(state.p_body[0], p_world[0])
            continue
        parent = _PARENTS[segment]
        conjugate(q_world[parent], back)
        multiply(back, q_world[segment], rotations[segment])
        body_point(
            state.q_body[parent], state.p_body[parent], robot.centres[segment], p_world[segment]
        )
    for limb in range(4):
        end = _ENDS[limb]
        body_point(state.q_body[end], state.p_body[end], robot.points[limb], ends[limb])
        copy(p_world[_MIDDLES[limb]], ends[4 + limb])
