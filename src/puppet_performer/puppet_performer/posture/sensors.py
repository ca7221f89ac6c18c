# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of one frame, put on their segments and into the world (kernels)."""

import numpy as np
from puppet_core.body import MAX_COORDINATE_M, N_SEGMENTS
from puppet_core.math import kernel, vec3
from puppet_core.math.values import (
    add,
    cross,
    multiply,
    normalize,
    Quat,
    quat,
    rotate,
    sub,
    Vec3,
)
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_performer.posture.state import PARENT_OF, Record

# Quality of a segment's sensor in a frame
ABSENT, MEASURED, PREDICTED, RESTARTED = 0, 1, 2, 3

MAX_SPEED = 1e4  # [m/s] and [rad/s]
UNIT_TOL = 0.1  # of a quaternion's squared length [-]


@kernel
def read_sensors(
    positions: np.ndarray,
    rotations: np.ndarray,
    linear: np.ndarray,
    angular: np.ndarray,
    status: np.ndarray,
    state: Record,
) -> None:
    """
    Fill the sensors of the state from a filtered frame in the tracker's axes.

    A sensor that is lost, not finite, out of range or no rotation is ABSENT. Poses (n, 3) [m] and
    (n, 4), velocities (n, 3) [m/s] and [rad/s], status FILTER_*.
    """
    q_tracker, p_tracker = quat(state.q_world_tracker), vec3(state.p_world_tracker)
    for segment in range(N_SEGMENTS):
        sensor = state.sensors[segment]
        row = sensor.row
        sensor.quality = ABSENT
        if row < 0 or status[row] >= FILTER_LOST:
            continue
        p, q = vec3(positions[row]), quat(rotations[row])
        v, w = vec3(linear[row]), vec3(angular[row])
        if not _is_usable(p, q, v, w):
            continue
        sensor.quality = _quality(status[row])
        turn = multiply(multiply(q_tracker, q), quat(sensor.q_sensor_segment))
        sensor.orientation[:] = normalize(turn)
        sensor.position[:] = add(rotate(q_tracker, p), p_tracker)
        sensor.linear[:] = rotate(q_tracker, v)
        sensor.angular[:] = rotate(q_tracker, w)


@kernel
def _is_usable(position: Vec3, rotation: Quat, linear: Vec3, angular: Vec3) -> bool:
    """Return whether the numbers of a row are in range and the quaternion is about unit."""
    square = 0.0
    # every comparison is false for NaN
    for k in range(3):
        if not abs(position[k]) <= MAX_COORDINATE_M:
            return False
        if not (abs(linear[k]) <= MAX_SPEED and abs(angular[k]) <= MAX_SPEED):
            return False
    for k in range(4):
        square += rotation[k] * rotation[k]
    return abs(square - 1.0) <= UNIT_TOL


@kernel
def _quality(status: int) -> int:
    if status == FILTER_REINITIALISED:
        return RESTARTED
    if status == FILTER_PREDICTED or status == FILTER_REJECTED:
        return PREDICTED
    return MEASURED


@kernel
def joint_of_sensor(segment: int, state: Record) -> Vec3:
    """Return the world position of a segment's joint as its own sensor has it [m]."""
    sensor = state.sensors[segment]
    offset = rotate(quat(sensor.orientation), vec3(sensor.p_segment_sensor))
    return sub(vec3(sensor.position), offset)


@kernel
def is_absent(segment: int, state: Record) -> bool:
    """Return whether a segment has no usable sensor in this frame."""
    return state.sensors[segment].quality == ABSENT


@kernel
def has_restarted(source: int, state: Record) -> bool:
    """Return whether a source is a sensor that began anew in this frame."""
    return source >= 0 and state.sensors[source].quality == RESTARTED


@kernel
def nearest_carrier(segment: int, state: Record) -> int:
    """Return the nearest measured segment from this one towards the root, -1 if none is."""
    while segment >= 0 and is_absent(segment, state):
        segment = PARENT_OF[segment]
    return segment


@kernel
def carried_velocity(point: Vec3, carrier: int, state: Record) -> Vec3:
    """Return the velocity of a point that moves rigidly with a segment's sensor [m/s]."""
    sensor = state.sensors[carrier]
    arm = sub(point, vec3(sensor.position))
    return add(vec3(sensor.linear), cross(vec3(sensor.angular), arm))
