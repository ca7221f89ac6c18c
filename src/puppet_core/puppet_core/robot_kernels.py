# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's joint angles from the orientations of our segments, within limits (kernel layer).

From the pelvis outwards each segment's joints turn it as near to its orientation in world as
they can, so what a limited waist leaves undone the shoulders make up for. Where axes do not
meet in one point, or are fewer than three, or a limit stops a joint, palms and soles are not where
they should be: `robot_reach_kernels.reach` then moves the limb's own joints.

Angles move by at most SPEED_RATIO times what the joints asked for, from the pelvis to theirs, have
turned since the frame before, and REST_STEP_RAD, whatever the branch: near gimbal lock, past half
a turn, at the change from one solution to the other. Meanwhile the other axes do what they can.

"""

import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import angle_between, conjugate, multiply, rotate
from puppet_core.robot_turn_kernels import (
    axis_turn,
    place_angle,
    refine_angles,
    turn_angles,
    turn_left,
)  # fmt: skip
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.work_array import work_array

SPEED_RATIO = 8.0  # a motor's, so less than that of `joint_split`; exact 7 degrees off a lock [-]
REST_STEP_RAD = 0.002  # a frame
STAY_COST = 0.02  # of an angle's way from where it is, when both solutions would do [-]
CLAMPED_RAD = 1e-12
_PARENTS = tuple(int(p) for p in PARENTS)
_MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])
_ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])


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
        cost = turn_left(q, robot.axes[first: first + count], trial, 0, count) + STAY_COST * way
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
        body_point(state.q_body[parent], state.p_body[parent], robot.centres[segment],
                   p_world[segment])  # fmt: skip
    for limb in range(4):
        end = _ENDS[limb]
        body_point(state.q_body[end], state.p_body[end], robot.points[limb], ends[limb])
        copy(p_world[_MIDDLES[limb]], ends[4 + limb])
