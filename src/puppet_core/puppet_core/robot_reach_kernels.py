# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's limb moved within its limits until palm or sole is where it should be (kernel layer).

Damped least squares on the limb's own joints: J'J + lambda I with lambda from the error that is
left, which stays well behaved where there is no solution (Sugihara2011). The place of palm or
sole counts far more than its orientation: where a limit lets only one of them be right, the foot
stays where it is and tilts. Elbow and knee count too: with six joints a hand or foot that is
turned as no wrist or ankle turns would else swing them about. Of arms the way of each joint from
where it was counts a little, or angles rush past where two axes are one.

"""

import math
from typing import Any

from puppet_core.arrays import Floats, Quat, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import conjugate, log, multiply, rotate
from puppet_core.robot_kernels import body_point, move_body
from puppet_core.skeleton import LIMB_SEGMENTS, PARENTS
from puppet_core.work_array import work_array, work_table

# what a radian of a hand's or foot's orientation counts as of its place
ORIENTATION_M = (0.01, 0.01, 0.004, 0.004)
MIDDLE = (0.3, 0.3, 0.02, 0.02)  # what an elbow's or knee's place counts, of the end's [-]
HOLD_M = (0.006, 0.006, 0.0, 0.0)  # what a radian of a joint's way since the last frame does
MAX_ITERATIONS = 30
PLACE_TOL_M = 1e-9
STEP_TOL_RAD = 1e-7
MIN_DAMPING = 1e-9  # [m^2]
ERROR_DAMPING = 0.5  # of the squared error [-]
MAX_STEP_RAD = 0.3
_ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])
_ABOVE = tuple(int(PARENTS[s]) for s in LIMB_SEGMENTS[:, 0])


@kernel
def reach(robot: Any, state: Any, limb: int, ends: Vec3s, q_end: Quat, is_first: bool) -> None:
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
    q_end : ndarray, shape (4,)
        Orientation that the body of hand or foot should have, in world.
    is_first : bool
        Whether there is no frame before.

    """
    end = _ENDS[limb]
    first = robot.first[end - 2]
    count = robot.first[end] + robot.n_joints[end] - first
    rows, step, error = work_table(9, 9), work_array(9), work_array(9)
    for _ in range(MAX_ITERATIONS):
        square = _error(robot, state, limb, ends, q_end, error)
        if not square > PLACE_TOL_M**2:
            return
        _jacobian(robot, state, limb, rows)
        damping = MIN_DAMPING + ERROR_DAMPING * square
        hold = 0.0 if is_first else HOLD_M[limb] ** 2
        moved = _step(rows, error, damping, hold, state, first, count, step)
        for k in range(count):
            i = first + k
            state.angles[i] = min(max(state.angles[i] + step[k], state.low[i]), state.high[i])
        _move(robot, state, limb)
        if moved < STEP_TOL_RAD:
            return


@kernel
def _move(robot: Any, state: Any, limb: int) -> None:
    """Put the bodies of a limb where its angles say."""
    for segment in range(_ENDS[limb] - 2, _ENDS[limb] + 1):
        move_body(robot, segment, state.angles, state.q_body, state.p_body)


@kernel
def _error(
    robot: Any, state: Any, limb: int, ends: Vec3s, q_end: Quat, error: Floats
) -> float:
    """Write what is missing of place, orientation and middle, (9,) [m]; return its square."""
    end = _ENDS[limb]
    here, turn, vector, middle = work_array(3), work_array(4), work_array(3), work_array(3)
    body_point(state.q_body[end], state.p_body[end], robot.points[limb], here)
    body_point(state.q_body[end - 2], state.p_body[end - 2], robot.centres[end - 1], middle)
    conjugate(state.q_body[end], turn)
    multiply(q_end, turn, turn)
    log(turn, vector)
    square = 0.0
    for k in range(3):
        error[k] = ends[limb, k] - here[k]
        error[3 + k] = ORIENTATION_M[limb] * vector[k]
        error[6 + k] = MIDDLE[limb] * (ends[4 + limb, k] - middle[k])
        square += error[k] ** 2 + error[3 + k] ** 2 + error[6 + k] ** 2
    return square


@kernel
def _jacobian(robot: Any, state: Any, limb: int, rows: Floats) -> None:
    """Write how the errors shrink with each joint of the limb, a row of 9 each [m/rad]."""
    end = _ENDS[limb]
    q, p = work_array(4), work_array(3)
    here, middle, axis = work_array(3), work_array(3), work_array(3)
    arm, turn = work_array(3), work_array(4)
    body_point(state.q_body[end], state.p_body[end], robot.points[limb], here)
    body_point(state.q_body[end - 2], state.p_body[end - 2], robot.centres[end - 1], middle)
    above = _ABOVE[limb]
    copy(state.q_body[above], q)
    copy(state.p_body[above], p)
    first, lower = robot.first[end - 2], robot.first[end - 1]
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
        _turned(axis, p, middle, MIDDLE[limb] if i < lower else 0.0, row[6:])
        multiply(q, turn, q)
        rotate(q, robot.origins[i], arm)
        for k in range(3):
            row[3 + k] = ORIENTATION_M[limb] * axis[k]
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
    rows: Floats, error: Floats, damping: float, hold: float, state: Any, first: int, count: int,
    step: Floats,
) -> float:  # fmt: skip
    """Write the damped step of each joint, 0 for one that its limit stops; return the longest."""
    matrix, right = work_table(9, 9), work_array(9)
    for i in range(count):
        right[i] = hold * (state.before[first + i] - state.angles[first + i])
        for k in range(9):
            right[i] += rows[i, k] * error[k]
    for _ in range(count):
        for i in range(count):
            for k in range(i + 1):
                matrix[i, k] = damping + hold if i == k else 0.0
                for m in range(9):
                    matrix[i, k] += rows[i, m] * rows[k, m]
        _solve_positive(matrix, right, count, step)
        # a step out of a limit is none, and the others have to do without it
        if not _stop(rows, right, step, state, first, count):
            break
    longest = 0.0
    for i in range(count):
        longest = max(longest, abs(step[i]))
    if longest > MAX_STEP_RAD:
        for i in range(count):
            step[i] *= MAX_STEP_RAD / longest
    return longest


@kernel
def _stop(
    rows: Floats, right: Floats, step: Floats, state: Any, first: int, count: int
) -> bool:
    """Take joints that would leave their limits out of the equations; return whether any."""
    found = False
    for i in range(count):
        angle = state.angles[first + i]
        leaves_high = angle >= state.high[first + i] and step[i] > 0.0
        if leaves_high or (angle <= state.low[first + i] and step[i] < 0.0):
            found = True
            right[i] = 0.0
            for k in range(9):
                rows[i, k] = 0.0
    return found


@kernel
def _solve_positive(matrix: Floats, right: Floats, count: int, out: Floats) -> None:
    """Write the solution for a positive definite matrix, lower half given, Cholesky in place."""
    for i in range(count):
        for k in range(i + 1):
            total = matrix[i, k]
            for m in range(k):
                total -= matrix[i, m] * matrix[k, m]
            matrix[i, k] = math.sqrt(max(total, 1e-300)) if i == k else total / matrix[k, k]
    for i in range(count):
        total = right[i]
        for m in range(i):
            total -= matrix[i, m] * out[m]
        out[i] = total / matrix[i, i]
    for i in range(count - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, count):
            total -= matrix[m, i] * out[m]
        out[i] = total / matrix[i, i]
