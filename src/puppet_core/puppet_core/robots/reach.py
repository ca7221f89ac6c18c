# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's limb moved within its limits until palm or sole is where it should be (kernels).

Damped least squares on the limb's own joints: J'J + lambda I with lambda from the error that is
left, which stays well behaved where there is no solution (Sugihara2011). Each step is the
minimum of a quadratic within the box of the joint limits.
"""

import math
from typing import Any

from puppet_core.body import LIMB_SEGMENTS, PARENTS
from puppet_core.math import (
    conjugate,
    copy,
    Floats,
    kernel,
    log,
    multiply,
    Quats,
    rotate,
    Vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.robots.follow import body_point, move_body

MAX_VARIABLES = 9
MAX_CHANGES = 40  # of the variables at their bounds; some 10 are usual
LEAVE_TOL = 1e-12  # of the greatest gradient, what a variable gains at least [-]

# what a radian of a hand's or foot's orientation counts as of its place
ORIENTATION_M = (0.01, 0.01, 0.004, 0.004)
PART_M = (0.006, 0.006, 0.0, 0.0)  # of those of the parts above it
MIDDLE = (0.3, 0.3, 0.02, 0.02)  # what an elbow's or knee's place counts, of the end's [-]
HOLD_M = (0.006, 0.006, 0.0, 0.0)  # what a radian of a joint's way since the last frame does
MAX_ITERATIONS = 30
MAX_FIRST_ITERATIONS = 300
PLACE_TOL_M = 1e-9
STEP_TOL_RAD = 1e-7
ERRORS = 15
MIN_DAMPING = 1e-9  # [m^2]
ERROR_DAMPING = 0.5  # of the squared error, at first [-]
MIN_SHARE = 1e-4
DAMPING_CHANGE = 4.0  # a better place lowers the damping so many times, a worse one raises it
MAX_STEP_RAD = 0.3
_ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])
_ABOVE = tuple(int(PARENTS[s]) for s in LIMB_SEGMENTS[:, 0])


# The least of 1/2 x' H x - g' x with low <= x <= high.
#
# By active sets (NocedalWright2006, section 16.5): along the way to the least of the free
# variables the first that gets to its bound stays there, and the others go on; where they are at
# their least, the variable that would gain most by leaving its bound is let go. What is found is
# the least of all since H is positive definite. To cut each variable's step by itself, or to go
# without a variable for good, ends in corners that are none.


@kernel
def bounded_step(
    matrix: Floats, right: Floats, low: Floats, high: Floats, count: int, out: Floats
) -> None:
    """
    Write the least of a quadratic within a box.

    Parameters
    ----------
    matrix : ndarray, shape (9, 9)
        H, positive definite; rows and columns up to `count` count.
    right : ndarray, shape (9,)
        g.
    low, high : ndarray, shape (9,)
        The box, low <= 0 <= high.
    count : int
        How many variables there are, at most MAX_VARIABLES.
    out : ndarray, shape (9,)
        Out: x.

    """
    left, way, stopped = work_array(9), work_array(9), work_array(9)
    scale = 0.0
    for i in range(count):
        out[i], stopped[i] = 0.0, 0.0
        scale = max(scale, abs(right[i]))
    for _ in range(MAX_CHANGES):
        for i in range(count):
            left[i] = right[i]
            for k in range(count):
                left[i] -= matrix[i, k] * out[k]
        _free_way(matrix, left, stopped, count, way)
        if _go(way, low, high, count, stopped, out):
            continue
        for i in range(count):
            # at the least of the free ones: what is left of those that are stopped
            left[i] = right[i]
            for k in range(count):
                left[i] -= matrix[i, k] * out[k]
        if not _let_go(left, LEAVE_TOL * scale, count, stopped):
            return


@kernel
def _go(way: Floats, low: Floats, high: Floats, count: int, stopped: Floats, out: Floats) -> bool:
    """Go along a way to the first bound; return whether there is one on the way."""
    share, first = 1.0, -1
    for i in range(count):
        if stopped[i] == 0.0 and way[i] != 0.0:
            room = (high[i] if way[i] > 0.0 else low[i]) - out[i]
            if room / way[i] < share:
                share, first = max(room / way[i], 0.0), i
    for i in range(count):
        out[i] = min(max(out[i] + share * way[i], low[i]), high[i])
    if first < 0:
        return False
    stopped[first] = 1.0 if way[first] > 0.0 else -1.0
    out[first] = high[first] if way[first] > 0.0 else low[first]
    return True


@kernel
def _let_go(left: Floats, least: float, count: int, stopped: Floats) -> bool:
    """Free the variable that would gain most by leaving its bound; return whether any would."""
    best, found = least, -1
    for i in range(count):
        gain = -stopped[i] * left[i]
        if gain > best:
            best, found = gain, i
    if found >= 0:
        stopped[found] = 0.0
    return found >= 0


@kernel
def _free_way(matrix: Floats, left: Floats, stopped: Floats, count: int, out: Floats) -> None:
    """Write the solution for the variables that are not stopped, 0 for others, by Cholesky."""
    lower = work_table(9, 9)
    for i in range(count):
        for k in range(i + 1):
            is_free = stopped[i] == 0.0 and stopped[k] == 0.0
            total = matrix[i, k] if is_free else (1.0 if i == k else 0.0)
            for m in range(k):
                total -= lower[i, m] * lower[k, m]
            lower[i, k] = math.sqrt(max(total, 1e-300)) if i == k else total / lower[k, k]
    for i in range(count):
        total = left[i] if stopped[i] == 0.0 else 0.0
        for m in range(i):
            total -= lower[i, m] * out[m]
        out[i] = total / lower[i, i]
    for i in range(count - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, count):
            total -= lower[m, i] * out[m]
        out[i] = total / lower[i, i]


# Which errors count, and how much.
#
# Damped least squares on the limb's own joints: J'J + lambda I with lambda from the error that is
# left, which stays well behaved where there is no solution (Sugihara2011); it shrinks while steps
# better the place, or the search ends before its end. Each step is the best that limits allow.
# The place of palm or sole counts far more than its orientation: where a limit lets only one of
# them be right, the foot stays where it is and tilts. Elbow and knee count too: with six joints a
# hand or foot that is turned as no wrist or ankle turns would else swing them about. So do the
# orientations of upper arm and forearm, or an arm that cannot get where it should rolls over for
# little. Of arms the way of each joint from where it was counts as well, or angles rush past
# where two axes are one.


@kernel
def reach(robot: Any, state: Any, limb: int, ends: Vec3s, q_world: Quats, is_first: bool) -> None:
    """
    Move a limb's joints so that its palm or sole comes to a place.

    Parameters
    ----------
    robot, state : RobotArrays, RobotState
        The robot; in and out: its pose.
    limb : int
        Which limb, 0 .. 3.
    ends : ndarray, shape (8, 3)
        Where general end-effectors should be, in world [m].
    q_world : ndarray, shape (16, 4)
        Orientations asked of the segments, in world.
    is_first : bool
        Whether there is no frame before.

    """
    end = _ENDS[limb]
    first = robot.first[end - 2]
    count = robot.first[end] + robot.n_joints[end] - first
    rows, step, error = work_table(9, 15), work_array(9), work_array(15)
    kept, hold = work_array(9), 0.0 if is_first else HOLD_M[limb] ** 2
    square = _error(robot, state, limb, ends, q_world, error)
    least = square + hold * _way(state, first, count)
    share = ERROR_DAMPING
    for _ in range(MAX_FIRST_ITERATIONS if is_first else MAX_ITERATIONS):
        if not square > PLACE_TOL_M**2:
            return
        _jacobian(robot, state, limb, rows)
        damping = MIN_DAMPING + share * square
        moved = _step(rows, error, damping, hold, state, first, count, step)
        for k in range(count):
            i = first + k
            kept[k] = state.angles[i]
            state.angles[i] = min(max(kept[k] + step[k], state.low[i]), state.high[i])
        _move(robot, state, limb)
        square = _error(robot, state, limb, ends, q_world, error)
        total = square + hold * _way(state, first, count)
        if total <= least:
            least = total
            share = max(share / DAMPING_CHANGE, MIN_SHARE)
        else:
            for k in range(count):
                state.angles[first + k] = kept[k]
            _move(robot, state, limb)
            square = _error(robot, state, limb, ends, q_world, error)
            share *= DAMPING_CHANGE
        if moved < STEP_TOL_RAD:
            return


@kernel
def _way(state: Any, first: int, count: int) -> float:
    """Return the squared way of some joints since the last frame [rad^2]."""
    total = 0.0
    for i in range(first, first + count):
        total += (state.angles[i] - state.before[i]) ** 2
    return total


@kernel
def _move(robot: Any, state: Any, limb: int) -> None:
    """Put the bodies of a limb where its angles put them."""
    for segment in range(_ENDS[limb] - 2, _ENDS[limb] + 1):
        move_body(robot, segment, state.angles, state.q_body, state.p_body)


@kernel
def _error(robot: Any, state: Any, limb: int, ends: Vec3s, q_world: Quats, error: Floats) -> float:
    """Write what is missing: place, middle, orientations, (15,) [m]; return its square."""
    end = _ENDS[limb]
    here, turn, vector, middle = work_array(3), work_array(4), work_array(3), work_array(3)
    body_point(state.q_body[end], state.p_body[end], robot.points[limb], here)
    body_point(state.q_body[end - 2], state.p_body[end - 2], robot.centres[end - 1], middle)
    for k in range(3):
        error[k] = ends[limb, k] - here[k]
        error[3 + k] = MIDDLE[limb] * (ends[4 + limb, k] - middle[k])
    for part in range(3):
        segment = end - part
        conjugate(state.q_body[segment], turn)
        multiply(robot.rest[segment], turn, turn)
        multiply(q_world[segment], turn, turn)
        log(turn, vector)
        weight = ORIENTATION_M[limb] if part == 0 else PART_M[limb]
        for k in range(3):
            error[6 + 3 * part + k] = weight * vector[k]
    square = 0.0
    for k in range(ERRORS):
        square += error[k] ** 2
    return square


@kernel
def _jacobian(robot: Any, state: Any, limb: int, rows: Floats) -> None:
    """Write how the errors shrink with each joint of the limb, a row of 15 each [m/rad]."""
    end = _ENDS[limb]
    q, p = work_array(4), work_array(3)
    here, middle, axis = work_array(3), work_array(3), work_array(3)
    arm, turn = work_array(3), work_array(4)
    body_point(state.q_body[end], state.p_body[end], robot.points[limb], here)
    body_point(state.q_body[end - 2], state.p_body[end - 2], robot.centres[end - 1], middle)
    above = _ABOVE[limb]
    copy(state.q_body[above], q)
    copy(state.p_body[above], p)
    first, lower, hand = robot.first[end - 2], robot.first[end - 1], robot.first[end]
    for i in range(first, robot.first[end] + robot.n_joints[end]):
        rotate(q, robot.axes[i], axis)
        rotate(q, robot.origins[i], arm)
        half = 0.5 * state.angles[i]
        turn[0] = math.cos(half)
        for k in range(3):
            turn[1 + k] = math.sin(half) * robot.axes[i, k]
            p[k] += arm[k]
        row = rows[i - first]
        _turned(axis, p, here, 1.0, row[:3])
        # joints of the lower part do not move its upper end
        _turned(axis, p, middle, MIDDLE[limb] if i < lower else 0.0, row[3:6])
        multiply(q, turn, q)
        rotate(q, robot.origins[i], arm)
        for k in range(3):
            row[6 + k] = ORIENTATION_M[limb] * axis[k]
            row[9 + k] = PART_M[limb] * axis[k] if i < hand else 0.0
            row[12 + k] = PART_M[limb] * axis[k] if i < lower else 0.0
            p[k] -= arm[k]


@kernel
def _turned(axis: Vec3, centre: Vec3, point: Vec3, weight: float, out: Vec3) -> None:
    """Write how a point moves with a turn about a line, times a weight [m/rad]."""
    x, y, z = point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]
    out[0] = weight * (axis[1] * z - axis[2] * y)
    out[1] = weight * (axis[2] * x - axis[0] * z)
    out[2] = weight * (axis[0] * y - axis[1] * x)


@kernel
def _step(
    rows: Floats,
    error: Floats,
    damping: float,
    hold: float,
    state: Any,
    first: int,
    count: int,
    step: Floats,
) -> float:
    """Write the damped step of each joint within what the frame allows; return the longest."""
    matrix, right = work_table(9, 9), work_array(9)
    low, high = work_array(9), work_array(9)
    for i in range(count):
        joint = first + i
        angle = state.angles[joint]
        right[i] = hold * (state.before[joint] - angle)
        for m in range(ERRORS):
            right[i] += rows[i, m] * error[m]
        for k in range(i + 1):
            matrix[i, k] = damping + hold if i == k else 0.0
            for m in range(ERRORS):
                matrix[i, k] += rows[i, m] * rows[k, m]
            matrix[k, i] = matrix[i, k]
        low[i] = min(max(state.low[joint] - angle, -MAX_STEP_RAD), 0.0)
        high[i] = max(min(state.high[joint] - angle, MAX_STEP_RAD), 0.0)
    bounded_step(matrix, right, low, high, count, step)
    longest = 0.0
    for i in range(count):
        longest = max(longest, abs(step[i]))
    return longest
