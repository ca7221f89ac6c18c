# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A limb of which only hand or foot is measured (kernel layer).

Wrist and segment lengths leave the elbow a circle, and something must say where on it the
elbow is. That is the sum of three vectors square to the line from shoulder to wrist: one
that the trunk carries, turned with the line by the least rotation from the middle of the
workspace, one fixed in the hand, and one square to another vector fixed in the hand. The first
is a unit vector and the other two together are shorter, so that the sum never vanishes:
the elbow is continuous wherever the hand goes, but straight away from the middle of the
workspace, where no limb can point.

The numbers are fitted by least squares to elbows and knees of captured people (nine clips of
the CMU Graphics Lab database: walk, run, jump, climbing, washing, fight, three dances) and of
the procedural performer.

"""

import math

import numpy as np
from puppet_core.arrays import Quat, Vec3
from puppet_core.kernel import kernel
from puppet_core.limb_triangle import polar_limit, soft_distance
from puppet_core.quaternion import between, exp, multiply, rotate, rotate_inverse
from puppet_core.work_array import work_array
from puppet_retarget.performer.limb_goal_kernels import KEPT_BACK_M, set_bend_axis, take_out

MIN_DISTANCE_M = 1e-9  # a shorter line has no direction

# rows, left side: middle of the workspace, and where the elbow then stands, both in the
# trunk's axes; the vectors in the hand's or foot's axes
_ARM = [
    [0.797, 0.576, -0.179],
    [-0.496, 0.458, -0.738],
    [-0.018, -0.257, 0.030],
    [0.209, -0.288, -0.261],
]
_LEG = [
    [0.442, -0.001, -0.897],
    [0.875, 0.220, 0.431],
    [0.428, -0.090, 0.476],
    [0.026, 0.048, -0.008],
]


def _mirrored(rows: list[list[float]]) -> list[list[float]]:
    """Return the right side's: the last row goes through a cross product, hence the sign."""
    across = [1.0, -1.0, 1.0]
    signs = (1.0, 1.0, 1.0, -1.0)
    return [[s * a * x for a, x in zip(across, row)] for s, row in zip(signs, rows)]


_SWIVEL = np.array([_ARM, _mirrored(_ARM), _LEG, _mirrored(_LEG)])


@kernel
def _swivel_row(limb: int, row: int, out: Vec3) -> None:
    for k in range(3):
        out[k] = _SWIVEL[limb, row, k]


@kernel
def _elbow_side(limb: int, q_trunk: Quat, q_end: Quat, axis: Vec3, out: Vec3) -> None:
    """Write the unit vector, square to the axis, to which elbow or knee stands."""
    own, given, turn = work_array(3), work_array(3), work_array(4)
    rotate_inverse(q_trunk, axis, own)
    _swivel_row(limb, 0, given)
    between(given, own, turn)
    _swivel_row(limb, 1, given)
    rotate(turn, given, given)
    rotate(q_trunk, given, out)
    _swivel_row(limb, 2, own)
    rotate(q_end, own, own)
    _swivel_row(limb, 3, given)
    rotate(q_end, given, given)
    out[0] += own[0] + axis[1] * given[2] - axis[2] * given[1]
    out[1] += own[1] + axis[2] * given[0] - axis[0] * given[2]
    out[2] += own[2] + axis[0] * given[1] - axis[1] * given[0]
    take_out(axis, out)
    _to_unit(out)


@kernel
def infer_limb(
    limb: int, q_trunk: Quat, q_end: Quat, to_elbow: Vec3, to_wrist: Vec3, goal: Vec3,
    q_upper: Quat, q_lower: Quat,
) -> None:  # fmt: skip
    """
    Write the orientations of both segments of a limb by where its wrist is.

    Both bend in the plane of the limb; what the hand is turned about the forearm, its joint
    has to take.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    q_trunk, q_end : ndarray, shape (4,)
        Chest or pelvis, and hand or foot, in world.
    to_elbow, to_wrist : ndarray, shape (3,)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    goal : ndarray, shape (3,)
        Wrist from the shoulder, in world; one out of reach is pointed at [m].
    q_upper, q_lower : ndarray, shape (4,)
        Out: the orientations in world; of the trunk if the goal has no direction.

    """
    axis, side = work_array(3), work_array(3)
    rest, rest_side, segment, segment_side = (
        work_array(3), work_array(3), work_array(3), work_array(3)
    )  # fmt: skip
    for k in range(4):
        q_upper[k] = q_lower[k] = q_trunk[k]
    for k in range(3):
        axis[k] = goal[k]
    distance = _to_unit(axis)
    if distance < MIN_DISTANCE_M:
        return
    _elbow_side(limb, q_trunk, q_end, axis, side)
    upper = math.sqrt(to_elbow[0] ** 2 + to_elbow[1] ** 2 + to_elbow[2] ** 2)
    lower = math.sqrt(to_wrist[0] ** 2 + to_wrist[1] ** 2 + to_wrist[2] ** 2)
    distance = soft_distance(distance, 0.0, upper, lower, KEPT_BACK_M)
    angle = polar_limit(upper, distance, lower)
    set_bend_axis(limb, rest_side)
    # the two segments differ from the axis by these angles, to opposite sides
    for is_lower in range(2):
        if is_lower:
            angle = -polar_limit(lower, distance, upper)
        cosine, sine = math.cos(angle), math.sin(angle)
        for k in range(3):
            segment[k] = cosine * axis[k] + sine * side[k]
            segment_side[k] = cosine * side[k] - sine * axis[k]
            rest[k] = to_wrist[k] if is_lower else to_elbow[k]
        point_segment(rest, rest_side, segment, segment_side, q_lower if is_lower else q_upper)


@kernel
def point_segment(rest: Vec3, rest_side: Vec3, to: Vec3, side: Vec3, out: Quat) -> None:
    """
    Write the orientation of a segment from where it points and where its side shows.

    Parameters
    ----------
    rest, rest_side : ndarray, shape (3,)
        Direction and side of the segment in its own frame, any lengths, not parallel.
    to, side : ndarray, shape (3,)
        The same in world, unit and square to each other.
    out : ndarray, shape (4,)
        The orientation.

    """
    turned, twist = work_array(3), work_array(4)
    between(rest, to, out)
    rotate(out, rest_side, turned)
    sine = (
        to[0] * (turned[1] * side[2] - turned[2] * side[1])
        + to[1] * (turned[2] * side[0] - turned[0] * side[2])
        + to[2] * (turned[0] * side[1] - turned[1] * side[0])
    )
    cosine = turned[0] * side[0] + turned[1] * side[1] + turned[2] * side[2]
    angle = math.atan2(sine, cosine)
    for k in range(3):
        turned[k] = angle * to[k]
    exp(turned, twist)
    multiply(twist, out, out)


@kernel
def follow_segment(
    q_known: Quat, along: Vec3, to: Vec3, turn: Quat, work: Vec3, out: Quat
) -> None:
    """Write the orientation of a segment that points somewhere and is else like another's."""
    rotate(q_known, along, work)
    between(work, to, turn)
    multiply(turn, q_known, out)


@kernel
def _to_unit(v: Vec3) -> float:
    """Bring a vector to length one, if it has a length; return that."""
    length = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if length > 0.0:
        for k in range(3):
            v[k] /= length
    return length
