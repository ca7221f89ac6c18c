# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TrackerFrame message <-> SensorFrame arrays, PoseFrame message <-> FilteredFrame arrays."""

from functools import partial
from typing import Any

from puppet_core.math import Quats
from puppet_core.sensor_frames import FilteredFrame, SensorFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, StreamReader, StreamWriter

N_COVARIANCE = 36  # 6 x 6, row-major


def from_tracker_frame(msg: TrackerFrame) -> SensorFrame:
    """
    Return the arrays of one raw frame.

    Quaternions are a contiguous copy, the others views on the message. Raises MessageError if an
    array does not fit the number of sensors.
    """
    n = len(msg.sensors)
    return SensorFrame(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        sensors=tuple(msg.sensors),
        positions=flat_array.float_rows('positions', msg.positions, n, 3),
        quaternions=_quaternions(msg, n),
        ages_s=flat_array.float_rows('ages_s', msg.ages_s, n, 1).reshape(n),
        status=flat_array.bytes_row('status', msg.status, n),
    )


def _fields_of_tracker_frame(frame: SensorFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'positions': frame.positions,
        'orientations': flat_array.xyzw(frame.quaternions),
        'ages_s': frame.ages_s,
        'status': frame.status,
    }


def from_pose_frame(msg: PoseFrame) -> FilteredFrame:
    """
    Return the arrays of one filtered frame.

    Quaternions are a contiguous copy, the others views on the message. Raises MessageError if an
    array does not fit the number of sensors.
    """
    n, rows = len(msg.sensors), flat_array.float_rows
    covariances = rows('pose_covariances', msg.pose_covariances, n, N_COVARIANCE)
    of_twists = UNKNOWN
    if len(msg.twist_covariances) > 0:
        of_twists = rows('twist_covariances', msg.twist_covariances, n, N_COVARIANCE)
    return FilteredFrame(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        sensors=tuple(msg.sensors),
        positions=rows('positions', msg.positions, n, 3),
        quaternions=_quaternions(msg, n),
        linear_velocities=rows('linear_velocities', msg.linear_velocities, n, 3),
        angular_velocities=rows('angular_velocities', msg.angular_velocities, n, 3),
        covariances=covariances.reshape(n, 6, 6),
        status=flat_array.bytes_row('status', msg.status, n),
        twist_covariances=of_twists.reshape(-1, 6, 6),
    )


def _fields_of_pose_frame(frame: FilteredFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'status': frame.status,
        'positions': frame.positions,
        'orientations': flat_array.xyzw(frame.quaternions),
        'linear_velocities': frame.linear_velocities,
        'angular_velocities': frame.angular_velocities,
        'pose_covariances': frame.covariances,
        'twist_covariances': frame.twist_covariances,
    }


def _quaternions(msg: Any, n: int) -> Quats:
    return flat_array.wxyz(flat_array.float_rows('orientations', msg.orientations, n, 4))


TrackerFrameWriter = partial(StreamWriter, TrackerFrame, fields=_fields_of_tracker_frame)
TrackerFrameReader = partial(StreamReader[SensorFrame], TrackerFrame, from_tracker_frame)
PoseFrameWriter = partial(StreamWriter, PoseFrame, fields=_fields_of_pose_frame)
PoseFrameReader = partial(StreamReader[FilteredFrame], PoseFrame, from_pose_frame)
