# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Sensors of one frame, put on their segments and into the world (kernel layer).

Arrays with 16 rows go by segment.

"""

from typing import NamedTuple

from numpy.typing import NDArray
from puppet_core.body import MAX_COORDINATE_M, N_SEGMENTS, PARENTS
from puppet_core.math import Ints, kernel, multiply, normalize, Quat, Quats, rotate, Vec3, Vec3s
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)

# Quality of a segment's sensor in a frame
ABSENT, MEASURED, PREDICTED, RESTARTED = 0, 1, 2, 3

MAX_SPEED = 1e4  # [m/s] and [rad/s]
UNIT_TOL = 0.1  # of a quaternion's squared length [-]

_PARENTS = tuple(int(p) for p in PARENTS)


class Mounting(NamedTuple):
    """How the sensors sit on the body, and where the tracker stands."""

    q_sensor_segment: Quats  # (16, 4)
    p_segment_sensor: Vec3s  # (16, 3) [m]
    q_world_tracker: Quat  # (4,)
    p_world_tracker: Vec3  # (3,) [m]


class Sensed(NamedTuple):
    """The sensors of one frame in world; rows of absent sensors are old."""

    quality: Ints  # (16,)
    positions: Vec3s  # of the sensors, (16, 3) [m]
    orientations: Quats  # of the segments, (16, 4)
    linear: Vec3s  # velocities of the sensors, (16, 3) [m/s]
    angular: Vec3s  # (16, 3) [rad/s]


@kernel
def read_sensors(
    positions: Vec3s,
    rotations: Quats,
    linear: Vec3s,
    angular: Vec3s,
    status: NDArray,
    rows: Ints,
    mounting: Mounting,
    sensed: Sensed,
) -> None:
    """
    Fill `sensed` from a filtered frame in the tracker's axes.

    Parameters
    ----------
    positions, rotations, linear, angular : ndarray, shapes (n, 3), (n, 4), (n, 3), (n, 3)
        Pose [m] and velocities [m/s], [rad/s] of each sensor.
    status : ndarray of uint8, shape (n,)
        FILTER_*.
    rows : ndarray of int, shape (16,)
        Row of each segment's sensor, -1 for none.
    mounting : Mounting
        Of the calibration.
    sensed : Sensed
        Out; a row that is lost, not finite, out of range or no rotation is ABSENT.

    """
    for segment in range(N_SEGMENTS):
        row = rows[segment]
        sensed.quality[segment] = ABSENT
        if row < 0 or status[row] >= FILTER_LOST:
            continue
        if not _is_usable(positions[row], rotations[row], linear[row], angular[row]):
            continue
        sensed.quality[segment] = _quality(status[row])
        q = sensed.orientations[segment]
        multiply(mounting.q_world_tracker, rotations[row], q)
        multiply(q, mounting.q_sensor_segment[segment], q)
        normalize(q, q)
        rotate(mounting.q_world_tracker, positions[row], sensed.positions[segment])
        rotate(mounting.q_world_tracker, linear[row], sensed.linear[segment])
        rotate(mounting.q_world_tracker, angular[row], sensed.angular[segment])
        for k in range(3):
            sensed.positions[segment, k] += mounting.p_world_tracker[k]


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
def joint_of_sensor(segment: int, sensed: Sensed, mounting: Mounting, out: Vec3) -> None:
    """Write the world position of a segment's joint as its own sensor has it [m]."""
    rotate(sensed.orientations[segment], mounting.p_segment_sensor[segment], out)
    for k in range(3):
        out[k] = sensed.positions[segment, k] - out[k]


@kernel
def nearest_carrier(segment: int, sensed: Sensed) -> int:
    """Return the nearest measured segment from this one towards the root, -1 if none is."""
    while segment >= 0 and sensed.quality[segment] == ABSENT:
        segment = _PARENTS[segment]
    return segment


@kernel
def carried_velocity(point: Vec3, carrier: int, sensed: Sensed, out: Vec3) -> None:
    """Write the velocity of a point that moves rigidly with a segment's sensor [m/s]."""
    w, v = sensed.angular[carrier], sensed.linear[carrier]
    x = point[0] - sensed.positions[carrier, 0]
    y = point[1] - sensed.positions[carrier, 1]
    z = point[2] - sensed.positions[carrier, 2]
    out[0] = v[0] + w[1] * z - w[2] * y
    out[1] = v[1] + w[2] * x - w[0] * z
    out[2] = v[2] + w[0] * y - w[1] * x
