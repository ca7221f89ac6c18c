# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Constraints as residuals, with their derivatives (kernel, LeeShin1999 eq. 6).

Every row of a residual is a length [m]: angles are multiplied by that of a lever. Derivatives
are forces: a row changes with the motion of a point and the turn of its segment as the work
of a force at the point and a torque would.

"""

import math
from typing import NamedTuple

from puppet_core.arrays import Floats, Quat, Vec3
from puppet_core.kernel import kernel
from puppet_core.quaternion import conjugate, log, multiply, rotate
from puppet_core.work_array import work_array
from puppet_retarget.editing.pose_arrays import (
    cross,
    DATA,
    DISTANCE,
    dot,
    KIND,
    LOOK,
    MASK,
    OFFSET,
    ORIENTATION,
    OTHER,
    PLANE,
    POINT,
    Pose,
    SCALAR,
    SECOND,
    SEGMENT,
    SEGMENT_PARENTS,
    VECTOR,
)

LEVER_M = 0.1  # at which an angle counts as a length: a hand's
NO_DIRECTION_M = 1e-9


class Residual(NamedTuple):
    """Rows of one constraint, up to three, and what they change with."""

    values: Vec3  # (3,) [m]
    point: Vec3  # (3,) where the forces act on the segment
    other: Vec3  # (3,) and on the other segment
    forces: Floats  # (3, 3) one a row
    torques: Floats  # (3, 3)
    counter: Floats  # (3, 3) forces on the other segment


@kernel
def world_point(pose: Pose, segment: int, offset: Vec3, out: Vec3) -> None:
    """Write a point of a segment in world [m]."""
    rotate(pose.q_world[segment], offset, out)
    for k in range(3):
        out[k] += pose.p_world[segment, k]


@kernel
def _orientation(goal: Quat, pose: Pose, segment: int, out: Residual) -> None:
    turn = work_array(4)
    conjugate(goal, turn)
    multiply(turn, pose.q_world[segment], turn)
    log(turn, out.values)
    for row in range(3):
        out.values[row] *= LEVER_M
        for k in range(3):
            # of log(goal^-1 q exp(d)) by d to first order; times the values it is exact
            out.torques[row, k] = LEVER_M * pose.matrices[3 * segment + k, row]


@kernel
def _look(item: Floats, pose: Pose, segment: int, out: Residual) -> None:
    axis, line = work_array(3), work_array(3)
    rotate(pose.q_world[segment], item[SECOND:SECOND + 3], axis)
    for k in range(3):
        line[k] = item[DATA + k] - out.point[k]
    distance = math.sqrt(dot(line, line))
    if distance < NO_DIRECTION_M:
        return
    for k in range(3):
        line[k] /= distance
    for row in range(3):
        out.values[row] = LEVER_M * (axis[row] - line[row])
        for k in range(3):
            unit = 1.0 if k == row else 0.0
            out.forces[row, k] = LEVER_M * (unit - line[row] * line[k]) / distance
    out.torques[0, 1], out.torques[0, 2] = LEVER_M * axis[2], -LEVER_M * axis[1]
    out.torques[1, 0], out.torques[1, 2] = -LEVER_M * axis[2], LEVER_M * axis[0]
    out.torques[2, 0], out.torques[2, 1] = LEVER_M * axis[1], -LEVER_M * axis[0]


@kernel
def _plane(item: Floats, out: Residual) -> None:
    value = dot(item[DATA:DATA + 3], out.point) - item[DATA + 3]
    side = item[SCALAR]
    if side * value > 0.0:
        return
    out.values[0] = value
    for k in range(3):
        out.forces[0, k] = item[DATA + k]


@kernel
def _between(kind: int, item: Floats, out: Residual) -> None:
    if kind == VECTOR:
        for row in range(3):
            out.values[row] = out.other[row] - out.point[row] - item[DATA + row]
            out.forces[row, row], out.counter[row, row] = -1.0, 1.0
        return
    distance = 0.0
    for k in range(3):
        distance += (out.other[k] - out.point[k]) ** 2
    distance = math.sqrt(distance)
    out.values[0] = distance - item[SCALAR]
    for k in range(3):
        # two points on each other part along any line
        way = (out.other[k] - out.point[k]) / distance if distance > NO_DIRECTION_M else (
            1.0 if k == 0 else 0.0
        )
        out.forces[0, k], out.counter[0, k] = -way, way


@kernel
def constraint_residual(item: Floats, pose: Pose, out: Residual) -> None:
    """Fill the rows of one constraint; those that it does not have are zero."""
    out.values[:] = 0.0
    out.forces[:] = 0.0
    out.torques[:] = 0.0
    out.counter[:] = 0.0
    kind, segment = int(item[KIND]), int(item[SEGMENT])
    world_point(pose, segment, item[OFFSET:OFFSET + 3], out.point)
    if kind == POINT:
        for row in range(3):
            out.values[row] = item[MASK + row] * (out.point[row] - item[DATA + row])
            out.forces[row, row] = item[MASK + row]
    elif kind == PLANE:
        _plane(item, out)
    elif kind == ORIENTATION:
        _orientation(item[DATA:DATA + 4], pose, segment, out)
    elif kind == LOOK:
        _look(item, pose, segment, out)
    elif kind == VECTOR or kind == DISTANCE:
        world_point(pose, int(item[OTHER]), item[SECOND:SECOND + 3], out.other)
        _between(kind, item, out)


@kernel
def pull_back(
    pose: Pose, segment: int, point: Vec3, force: Vec3, torque: Vec3, out: Floats
) -> None:
    """
    Add what a force and a torque on a segment do to all unknowns, shape (51,).

    A turn of a joint by delta in its segment's frame moves a point below it by
    (R delta) x (point - joint).

    """
    for k in range(3):
        out[k] += force[k]
    moment, lever = work_array(3), work_array(3)
    while segment >= 0:
        for k in range(3):
            lever[k] = point[k] - pose.p_world[segment, k]
        cross(lever, force, moment)
        for k in range(3):
            moment[k] += torque[k]
        rows = pose.matrices[3 * segment:3 * segment + 3]
        for k in range(3):
            out[3 + 3 * segment + k] += (
                rows[0, k] * moment[0] + rows[1, k] * moment[1] + rows[2, k] * moment[2]
            )
        segment = SEGMENT_PARENTS[segment]


@kernel
def pull_row_back(item: Floats, pose: Pose, residual: Residual, row: int, out: Floats) -> None:
    """Write the derivative of one row by all unknowns, shape (51,)."""
    out[:] = 0.0
    pull_back(
        pose, int(item[SEGMENT]), residual.point, residual.forces[row], residual.torques[row], out
    )
    if item[KIND] == VECTOR or item[KIND] == DISTANCE:
        nothing = work_array(3)
        nothing[:] = 0.0
        pull_back(pose, int(item[OTHER]), residual.other, residual.counter[row], nothing, out)
