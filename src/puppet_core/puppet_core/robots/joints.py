# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Our posture as a robot's joint angles: within limits, continuous in time, feet where asked.

`robots.follow` turns the segments; here each limb is moved within its limits until palm or sole
is where it should be, by damped least squares on the limb's own joints: J'J + lambda I with
lambda from the error that is left, which stays well behaved where there is no solution
(Sugihara2011); it shrinks while steps better the place, or the search ends before its end. Each
step is the minimum of a quadratic within the box of the joint limits.
"""

from typing import Any

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS, Robot, Skeleton
from puppet_core.math import (
    copy,
    factorise_in_place,
    Floats,
    kernel,
    Quats,
    solve_factorised,
    Vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math import quaternions as qb
from puppet_core.math.values import (
    clamp,
    conjugate,
    cross,
    log,
    multiply,
    quat,
    rotate,
    scale,
    sub,
    vec3,
)
from puppet_core.robots.follow import (
    body_point,
    follow_segments,
    move_body,
    read_posture,
    RobotArrays,
    RobotState,
    turn_joint,
)

MAX_CHANGES = 40  # of the variables at their bounds; some 10 are usual
LEAVE_TOL = 1e-12  # of the greatest gradient, what a variable gains at least [-]

# The place of palm or sole counts far more than its orientation: where a limit lets only one of
# them be right, the foot stays where it is and tilts. Elbow and knee count too: with six joints a
# hand or foot that is turned as no wrist or ankle turns would else swing them about. So do the
# orientations of upper arm and forearm, or an arm that cannot get where it should rolls over for
# little. Of arms the way of each joint from where it was counts as well, or angles rush past
# where two axes are one. A radian counts as so many metres of the end's place:
ORIENTATION_M = (0.01, 0.01, 0.004, 0.004)  # of a hand or foot
PART_M = (0.006, 0.006, 0.0, 0.0)  # of the parts above it
HOLD_M = (0.006, 0.006, 0.0, 0.0)  # of a joint's way since the last frame
MIDDLE = (0.3, 0.3, 0.02, 0.02)  # what an elbow's or knee's place counts, of the end's [-]
MAX_ITERATIONS = 30
MAX_FIRST_ITERATIONS = 300
PLACE_TOL_M = 1e-9
STEP_TOL_RAD = 1e-7
ERRORS = 15
MIN_DAMPING = 1e-9  # [m^2]
ERROR_DAMPING = 0.5  # of the squared error, at first [-]
MIN_RATIO = 1e-4
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
def bounded_step(matrix: Floats, right: Floats, low: Floats, high: Floats, out: Floats) -> None:
    """
    Write the least x of a quadratic within a box, low <= 0 <= high.

    `matrix` is H (n, n), positive definite, n at most 9; `right` is g.
    """
    count = len(right)
    left, way = work_array(9)[:count], work_array(9)[:count]
    stopped = work_array(9)  # -1 at its lower bound, 1 at its upper one
    tolerance = 0.0
    for i in range(count):
        out[i] = stopped[i] = 0.0
        tolerance = max(tolerance, LEAVE_TOL * abs(right[i]))
    for _ in range(MAX_CHANGES):
        _gradient(matrix, right, out, left)
        _free_way(matrix, left, stopped, way)
        fraction, first = 1.0, -1
        for i in range(count):
            if stopped[i] == 0.0 and way[i] != 0.0:
                room = ((high[i] if way[i] > 0.0 else low[i]) - out[i]) / way[i]
                if room < fraction:
                    fraction, first = max(room, 0.0), i
        for i in range(count):
            out[i] = clamp(out[i] + fraction * way[i], low[i], high[i])
        if first >= 0:
            stopped[first] = 1.0 if way[first] > 0.0 else -1.0
            out[first] = high[first] if way[first] > 0.0 else low[first]
            continue
        # at the least of the free ones: what is left of those that are stopped
        _gradient(matrix, right, out, left)
        gain, best = tolerance, -1
        for i in range(count):
            if -stopped[i] * left[i] > gain:
                gain, best = -stopped[i] * left[i], i
        if best < 0:
            return
        stopped[best] = 0.0


@kernel
def _gradient(matrix: Floats, right: Floats, x: Floats, out: Floats) -> None:
    """Write g - H x."""
    for i in range(len(right)):
        out[i] = right[i]
        for k in range(len(right)):
            out[i] -= matrix[i, k] * x[k]


@kernel
def _free_way(matrix: Floats, left: Floats, stopped: Floats, out: Floats) -> None:
    """Write the solution for the variables that are not stopped, 0 for others, by Cholesky."""
    count, factor, right = len(left), work_table(9, 9), work_array(9)
    for i in range(count):
        for k in range(i + 1):
            is_free = stopped[i] == 0.0 and stopped[k] == 0.0
            factor[i, k] = matrix[i, k] if is_free else (1.0 if i == k else 0.0)
        right[i] = left[i] if stopped[i] == 0.0 else 0.0
    factorise_in_place(factor, count, True)
    solve_factorised(factor, right, count, out)


# A limb's search.


@kernel
def reach(robot: Any, state: Any, limb: int, ends: Vec3s, q_world: Quats, is_first: bool) -> None:
    """
    Move the joints of a limb, 0 .. 3, so that its palm or sole comes to a place.

    `ends` (8, 3) is where general end-effectors should be [m], `q_world` (16, 4) are the
    orientations asked of the segments, in world.
    """
    end = _ENDS[limb]
    first, last = robot.first[end - 2], robot.first[end] + robot.n_joints[end]
    angles, before = state.angles[first:last], state.before[first:last]
    count = len(angles)
    error, rows = work_array(15), work_table(9, 15)[:count]
    step, kept = work_array(9)[:count], work_array(9)[:count]
    hold = 0.0 if is_first else HOLD_M[limb] ** 2
    square = _error(robot, state, limb, ends, q_world, error)
    least = square + hold * _way(angles, before)
    ratio = ERROR_DAMPING
    for _ in range(MAX_FIRST_ITERATIONS if is_first else MAX_ITERATIONS):
        if not square > PLACE_TOL_M**2:
            return
        _jacobian(robot, state, limb, rows)
        moved = _step(rows, error, MIN_DAMPING + ratio * square, hold, state, first, step)
        copy(angles, kept)
        for k in range(count):
            angles[k] = clamp(kept[k] + step[k], state.low[first + k], state.high[first + k])
        _move(robot, state, limb)
        square = _error(robot, state, limb, ends, q_world, error)
        total = square + hold * _way(angles, before)
        if total <= least:
            least = total
            ratio = max(ratio / DAMPING_CHANGE, MIN_RATIO)
        else:
            copy(kept, angles)
            _move(robot, state, limb)
            square = _error(robot, state, limb, ends, q_world, error)
            ratio *= DAMPING_CHANGE
        if moved < STEP_TOL_RAD:
            return


@kernel
def _way(angles: Floats, before: Floats) -> float:
    """Return the squared way of some joints since the last frame [rad^2]."""
    total = 0.0
    for k in range(len(angles)):
        total += (angles[k] - before[k]) ** 2
    return total


@kernel
def _move(robot: Any, state: Any, limb: int) -> None:
    """Put the bodies of a limb where its angles put them."""
    for segment in range(_ENDS[limb] - 2, _ENDS[limb] + 1):
        move_body(robot, state, segment)


@kernel
def _error(robot: Any, state: Any, limb: int, ends: Vec3s, q_world: Quats, error: Floats) -> float:
    """Write what is missing: place, middle, orientations, (15,) [m]; return its square."""
    end = _ENDS[limb]
    error[:3] = sub(vec3(ends[limb]), body_point(state, end, robot.points[limb]))
    middle = body_point(state, end - 2, robot.centres[end - 1])
    error[3:6] = scale(sub(vec3(ends[4 + limb]), middle), MIDDLE[limb])
    for part in range(3):
        segment = end - part
        has = multiply(quat(robot.rest[segment]), conjugate(quat(state.q_body[segment])))
        left = log(multiply(quat(q_world[segment]), has))
        weight = ORIENTATION_M[limb] if part == 0 else PART_M[limb]
        error[6 + 3 * part : 9 + 3 * part] = scale(left, weight)
    square = 0.0
    for k in range(ERRORS):
        square += error[k] ** 2
    return square


@kernel
def _jacobian(robot: Any, state: Any, limb: int, rows: Floats) -> None:
    """Write how the errors shrink with each joint of the limb, a row of 15 each [m/rad]."""
    end, above = _ENDS[limb], _ABOVE[limb]
    here = body_point(state, end, robot.points[limb])
    middle = body_point(state, end - 2, robot.centres[end - 1])
    q, p = quat(state.q_body[above]), vec3(state.p_body[above])
    first, lower, hand = robot.first[end - 2], robot.first[end - 1], robot.first[end]
    for i in range(first, first + len(rows)):
        axis, origin = rotate(q, vec3(robot.axes[i])), vec3(robot.origins[i])
        q, p = turn_joint(robot, i, state.angles[i], q, p)
        # a point of the joint's line, which its own turn leaves where it is
        arm = rotate(q, origin)
        row = rows[i - first]
        row[:3] = cross(axis, sub(sub(here, p), arm))
        # joints of the lower part do not move its upper end
        row[3:6] = scale(cross(axis, sub(sub(middle, p), arm)), MIDDLE[limb] if i < lower else 0.0)
        row[6:9] = scale(axis, ORIENTATION_M[limb])
        row[9:12] = scale(axis, PART_M[limb] if i < hand else 0.0)
        row[12:] = scale(axis, PART_M[limb] if i < lower else 0.0)


@kernel
def _step(
    rows: Floats, error: Floats, damping: float, hold: float, state: Any, first: int, step: Floats
) -> float:
    """Write the damped step of each joint within what the frame allows; return the longest."""
    count = len(step)
    matrix, right = work_table(9, 9)[:count, :count], work_array(9)[:count]
    low, high = work_array(9)[:count], work_array(9)[:count]
    for i in range(count):
        angle = state.angles[first + i]
        right[i] = hold * (state.before[first + i] - angle)
        for m in range(ERRORS):
            right[i] += rows[i, m] * error[m]
        for k in range(i + 1):
            matrix[i, k] = damping + hold if i == k else 0.0
            for m in range(ERRORS):
                matrix[i, k] += rows[i, m] * rows[k, m]
            matrix[k, i] = matrix[i, k]
        low[i] = clamp(state.low[first + i] - angle, -MAX_STEP_RAD, 0.0)
        high[i] = clamp(state.high[first + i] - angle, 0.0, MAX_STEP_RAD)
    bounded_step(matrix, right, low, high, step)
    longest = 0.0
    for i in range(count):
        longest = max(longest, abs(step[i]))
    return longest


# The joint angles of a robot over time.


def robot_arrays(robot: Robot, skeleton: Skeleton) -> RobotArrays:
    """Return a robot as kernels need it, with the skeleton of its character."""
    segments = np.arange(N_SEGMENTS)
    first = np.searchsorted(robot.segments, segments)
    centres = robot.centres(skeleton)
    ends = LIMB_SEGMENTS[:, 2]
    points = centres[ends] + qb.rotate(qb.conjugate(robot.rest[ends]), skeleton.interaction_points)
    counts = np.searchsorted(robot.segments, segments, side='right') - first
    parts = (robot.axes, robot.origins, robot.lower, robot.upper, robot.rest)
    return RobotArrays._make([first, counts, *(p.copy() for p in parts), centres, points])


class RobotJoints:
    """
    The joint angles of a robot that follows postures of its character.

    Every angle is within its limits and moves at a bounded ratio of what is asked of it. The
    posture that the robot cannot take is replaced by the one that it takes.
    """

    def __init__(self, robot: Robot, skeleton: Skeleton) -> None:
        self.names = robot.published_names
        """Names of the angles that `step` returns."""
        self._robot = robot_arrays(robot, skeleton)
        n = len(robot.names)
        self._angles = np.concatenate((np.zeros(n), [angle for _, angle in robot.held]))
        turns, points = (N_SEGMENTS, 4), (N_SEGMENTS, 3)
        shapes: list[Any] = [n, n, n, turns, N_SEGMENTS, (4, 3), turns, points]
        self._state = RobotState._make([self._angles[:n], *map(np.zeros, shapes)])
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next step takes the angles nearest to the zero pose."""
        self._is_first = True
        self._state.angles[:] = np.clip(0.0, self._robot.lower, self._robot.upper)

    def resume(self, angles: Floats, rotations: Quats, points: Vec3s) -> None:
        """
        Go on from what was published before.

        Angles (n,) in the order of `names` [rad], joint rotations (16, 4), palms and soles (4, 3)
        from the pelvis and in its axes [m].
        """
        state = self._state
        state.angles[:] = np.clip(
            angles[: len(state.angles)], self._robot.lower, self._robot.upper
        )
        state.asked[:] = rotations
        state.points[:] = points
        self._is_first = False

    def step(
        self,
        root: Vec3,
        rotations: Quats,
        q_world: Quats,
        p_world: Vec3s,
        ends: Vec3s,
        is_reaching: bool = True,
    ) -> Floats:
        """
        Return the angles of the next posture, and make the posture that of the robot.

        Asked for are `root` (3,), orientations `q_world` (16, 4) and general end-effectors `ends`
        (8, 3) in world [m]; out are those that the robot has, joint `rotations` (16, 4) and joint
        centres `p_world` (16, 3). Without `is_reaching` palms and soles do not count: segments
        turn as far as they can. The angles, in the order of `names` [rad], are overwritten by the
        next step; they stay if what is asked for is not finite.
        """
        if not all(np.isfinite(values).all() for values in (root, q_world, ends)):
            return self._angles
        follow_segments(self._robot, self._state, root, q_world, ends, self._is_first)
        for limb in range(4 if is_reaching else 0):
            reach(self._robot, self._state, limb, ends, q_world, self._is_first)
        self._is_first = False
        read_posture(self._robot, self._state, rotations, q_world, p_world, ends)
        return self._angles
