# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's joint angles from the orientations of our segments, within limits (kernels).

From the pelvis outwards each segment's joints turn it as near to its orientation in world as
they can, so the shoulders make up for what a limited waist leaves undone. Angles move by at most
SPEED_RATIO times what the joints asked for, from the pelvis to theirs, have turned since the
frame before, and REST_STEP_RAD, whatever the branch: near gimbal lock, past half a turn, at the
change from one solution to the other. Palms and soles are then placed by `robots.joints`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import copy, Floats, kernel, Quats, Vec3s, work_array
from puppet_core.math.values import (
    add,
    clamp,
    conjugate,
    cross,
    dot,
    IDENTITY,
    multiply,
    norm,
    Quat,
    quat,
    rotate,
    sub,
    Vec3,
    vec3,
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
def axis_turn(axis: np.ndarray, angle: float) -> Quat:
    """Return the turn by an angle about a unit axis [rad]."""
    sine = math.sin(0.5 * angle)
    return math.cos(0.5 * angle), sine * axis[0], sine * axis[1], sine * axis[2]


@kernel
def _half_turn(axis: np.ndarray) -> Quat:
    return 0.0, axis[0], axis[1], axis[2]


@kernel
def _dot4(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def compose_turns(axes: Vec3s, angles: Floats, first: int, end: int) -> Quat:
    """Return the product of the turns of joints first .. end - 1 in their order."""
    product = IDENTITY
    for i in range(first, end):
        product = multiply(product, axis_turn(axes[i], angles[i]))
    return product


@kernel
def best_angle(before: Quat, axis: np.ndarray, after: Quat, q: Quat, near: float) -> float:
    """Return the angle about an axis between two rotations that brings the product nearest q."""
    cosine = _dot4(q, multiply(before, after))
    sine = _dot4(q, multiply(multiply(before, _half_turn(axis)), after))
    if cosine * cosine + sine * sine < TINY:
        return near  # half a turn away whatever the angle
    return 2.0 * math.atan2(sine, cosine)


@kernel
def _two_angles(
    first: np.ndarray, middle: Quat, last: np.ndarray, q: Quat, near: float
) -> tuple[float, float]:
    """
    Return the angles about two axes, with a rotation between them, that come nearest to q.

    Where the two directions are one (both singular values equal) the first is `near`.
    """
    turned = multiply(_half_turn(first), middle)
    m00, m10 = _dot4(q, middle), _dot4(q, turned)
    m01 = _dot4(q, multiply(middle, _half_turn(last)))
    m11 = _dot4(q, multiply(turned, _half_turn(last)))
    # u1 M u2 = E cos(h1 - h2 - e) + F cos(h1 + h2 - f): greatest where both cosines are 1
    even_x, even_y = 0.5 * (m00 + m11), 0.5 * (m10 - m01)
    odd_x, odd_y = 0.5 * (m00 - m11), 0.5 * (m10 + m01)
    has_even = even_x * even_x + even_y * even_y > TINY
    has_odd = odd_x * odd_x + odd_y * odd_y > TINY
    difference, total = math.atan2(even_y, even_x), math.atan2(odd_y, odd_x)
    if has_even and has_odd:
        return total + difference, total - difference
    if has_even:
        return near, near - 2.0 * difference
    return near, 2.0 * total - near


@kernel
def _middle_angle(axes: Vec3s, first: int, q: Quat, family: int) -> float:
    """Return one of both middle angles that give three axes their a1 . R a3, PiovanBullo2012."""
    a, b, c = vec3(axes[first]), vec3(axes[first + 1]), vec3(axes[first + 2])
    constant = dot(a, b) * dot(b, c)
    cosine, sine = dot(a, c) - constant, dot(a, cross(b, c))
    size, phase = math.sqrt(cosine * cosine + sine * sine), math.atan2(sine, cosine)
    cosine_of_spread = (dot(a, rotate(q, c)) - constant) / max(size, TINY)
    spread = math.acos(clamp(cosine_of_spread, -1.0, 1.0))
    return phase + spread if family == 0 else phase - spread


@kernel
def turn_angles(
    axes: Vec3s, first: int, count: int, q: Quat, near: Floats, family: int
) -> tuple[float, float, float]:
    """
    Return the angles of one to three joints whose turns come nearest to a rotation [rad].

    Modulo whole turns, 0 for joints that are not there; `near` (n,) where any angle will do,
    `family` is which of the two solutions of three axes, 0 or 1.
    """
    if count == 1:
        return best_angle(IDENTITY, axes[first], IDENTITY, q, near[first]), 0.0, 0.0
    if count == 2:
        a, b = _two_angles(axes[first], IDENTITY, axes[first + 1], q, near[first])
        return a, b, 0.0
    middle = _middle_angle(axes, first, q, family)
    between = axis_turn(axes[first + 1], middle)
    a, b = _two_angles(axes[first], between, axes[first + 2], q, near[first])
    return a, middle, b


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
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(first, first + count):
            before = compose_turns(axes, angles, first, i)
            after = compose_turns(axes, angles, i + 1, first + count)
            best = best_angle(before, axes[i], after, q, angles[i])
            best = place_angle(best, lower[i], upper[i], angles[i])
            moved = max(moved, abs(best - angles[i]))
            angles[i] = best
        if moved < SWEEP_TOL_RAD:
            return


@kernel
def _angle(q: Quat) -> float:
    """Return the angle of a rotation, in [0, pi] [rad]."""
    return 2.0 * math.atan2(norm((q[1], q[2], q[3])), abs(q[0]))


@kernel
def remaining_angle(q: Quat, axes: Vec3s, angles: Floats, first: int, count: int) -> float:
    """Return the angle between a rotation and the turns of some joints, in [0, pi] [rad]."""
    return _angle(multiply(conjugate(compose_turns(axes, angles, first, first + count)), q))


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
def turn_joint(robot: Any, i: int, angle: float, q: Quat, p: Vec3) -> tuple[Quat, Vec3]:
    """Return the pose of the body behind a joint, from that of the body before it."""
    # about a line through o: p + q o - q' o
    origin = vec3(robot.origins[i])
    turned = multiply(q, axis_turn(robot.axes[i], angle))
    return turned, sub(add(p, rotate(q, origin)), rotate(turned, origin))


@kernel
def move_body(robot: Any, state: Any, segment: int) -> None:
    """Write the pose of a segment's body from that of its parent and its joints' angles."""
    q, p = quat(state.q_body[_PARENTS[segment]]), vec3(state.p_body[_PARENTS[segment]])
    first = robot.first[segment]
    for i in range(first, first + robot.n_joints[segment]):
        q, p = turn_joint(robot, i, state.angles[i], q, p)
    state.q_body[segment], state.p_body[segment] = q, p


@kernel
def body_point(state: Any, segment: int, point: np.ndarray) -> Vec3:
    """Return where a point of the zero pose is, moved with a body [m]."""
    return add(rotate(quat(state.q_body[segment]), vec3(point)), vec3(state.p_body[segment]))


@kernel
def _solve_turn(robot: Any, segment: int, q: Quat, step: float, state: Any) -> None:
    """Turn a segment's joints as near to a rotation as limits and the step allow."""
    first, count = robot.first[segment], robot.n_joints[segment]
    angles, trial, best = state.angles, work_array(3), work_array(3)
    least = math.inf
    for family in range(2 if count == 3 else 1):
        found = turn_angles(robot.axes, first, count, q, angles, family)
        way = 0.0
        for k in range(count):
            i = first + k
            trial[k] = place_angle(found[k], robot.lower[i], robot.upper[i], angles[i])
            way = max(way, abs(trial[k] - angles[i]))
        cost = (
            remaining_angle(q, robot.axes[first : first + count], trial, 0, count)
            + STAY_COST * way
        )
        if cost < least:
            least = cost
            copy(trial, best)
    for k in range(count):
        i = first + k
        state.low[i] = max(robot.lower[i], angles[i] - step)
        state.high[i] = min(robot.upper[i], angles[i] + step)
        angles[i] = clamp(best[k], state.low[i], state.high[i])
    if remaining_angle(q, robot.axes, angles, first, count) > CLAMPED_RAD:
        refine_angles(robot.axes, first, count, q, state.low, state.high, angles)


@kernel
def follow_segments(
    robot: Any, state: Any, root: np.ndarray, q_world: Quats, ends: Vec3s, is_first: bool
) -> None:
    """
    Fill the state's angles and poses of all bodies, in: those of the last frame.

    Asked for are `root` (3,), orientations `q_world` (16, 4) and general end-effectors `ends`
    (8, 3) in world [m]; of these palms and soles count for the step.
    """
    copy(state.angles, state.before)
    state.q_body[0], state.p_body[0] = quat(q_world[0]), vec3(root)
    state.turned[0] = 0.0
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        q = quat(q_world[segment])
        asked = multiply(conjugate(quat(q_world[parent])), q)
        before = quat(state.asked[segment])
        turned = state.turned[parent] + _angle(multiply(conjugate(before), asked))
        state.asked[segment], state.turned[segment] = asked, turned
        if robot.n_joints[segment] > 0:
            rest = multiply(q, quat(robot.rest[segment]))
            goal = multiply(conjugate(quat(state.q_body[parent])), rest)
            step = math.inf if is_first else SPEED_RATIO * turned + REST_STEP_RAD
            _solve_turn(robot, segment, goal, step, state)
        move_body(robot, state, segment)
    back = conjugate(quat(q_world[0]))
    for limb in range(4):
        first = _ENDS[limb] - 2
        reached = rotate(back, sub(vec3(ends[limb]), vec3(root)))
        moved = sub(reached, vec3(state.points[limb]))
        length = sub(vec3(robot.points[limb]), vec3(robot.centres[first]))
        state.points[limb] = reached
        # the limb's joints may move by another step for its end's sake
        step = (
            math.inf
            if is_first
            else SPEED_RATIO * math.sqrt(dot(moved, moved) / (dot(length, length) + 1e-9))
        )
        for i in range(robot.first[first], robot.first[first + 2] + robot.n_joints[first + 2]):
            state.low[i] = max(robot.lower[i], state.low[i] - step)
            state.high[i] = min(robot.upper[i], state.high[i] + step)


@kernel
def read_posture(
    robot: Any, state: Any, rotations: Quats, q_world: Quats, p_world: Vec3s, ends: Vec3s
) -> None:
    """
    Write the posture of our skeleton that the robot's bodies have.

    Joint rotations (16, 4); orientations (16, 4), joint centres (16, 3) and general end-effectors
    (8, 3) in world [m].
    """
    for segment in range(N_SEGMENTS):
        q = multiply(quat(state.q_body[segment]), conjugate(quat(robot.rest[segment])))
        q_world[segment] = rotations[segment] = q
        p_world[segment] = vec3(state.p_body[segment])
        if segment > 0:
            parent = _PARENTS[segment]
            rotations[segment] = multiply(conjugate(quat(q_world[parent])), q)
            p_world[segment] = body_point(state, parent, robot.centres[segment])
    for limb in range(4):
        ends[limb] = body_point(state, _ENDS[limb], robot.points[limb])
        ends[4 + limb] = vec3(p_world[_MIDDLES[limb]])
