# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TrackerFrame message <-> SensorFrame arrays, PoseFrame message <-> FilteredFrame arrays."""

from functools import partial

import numpy as np
from puppet_core.sensor_frames import FilteredFrame, SensorFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, StreamReader, StreamWriter

POSE_WIDTH = 7  # x y z qx qy qz qw
TWIST_WIDTH = 6  # linear, angular
COVARIANCE_WIDTH = 36  # 6 x 6, row-major


def from_tracker_frame(msg: TrackerFrame) -> SensorFrame:
    """
    Return the arrays of one raw frame.

    Positions and quaternions are contiguous copies, ages and status views on the message. Raises
    MessageError if an array does not fit the number of sensors.
    """
    n = len(msg.sensors)
    poses = flat_array.float_rows('poses', msg.poses, n, POSE_WIDTH)
    ages = flat_array.float_rows('ages_s', msg.ages_s, n, 1)
    return SensorFrame(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        sensors=tuple(msg.sensors),
        positions=np.ascontiguousarray(poses[:, :3]),
        quaternions=flat_array.wxyz(poses[:, 3:]),
        ages_s=ages.reshape(n),
        status=flat_array.bytes_row('status', msg.status, n),
    )


def _fields_of_tracker_frame(frame: SensorFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'poses': flat_array.pose_rows(frame.positions, frame.quaternions),
        'ages_s': frame.ages_s,
        'status': frame.status,
    }


def from_pose_frame(msg: PoseFrame) -> FilteredFrame:
    """
    Return the arrays of one filtered frame.

    Poses and velocities are contiguous copies, covariances and status views on the message. Raises
    MessageError if an array does not fit the number of sensors.
    """
    n = len(msg.sensors)
    poses = flat_array.float_rows('poses', msg.poses, n, POSE_WIDTH)
    twists = flat_array.float_rows('twists', msg.twists, n, TWIST_WIDTH)
    covariances = flat_array.float_rows('covariances', msg.covariances, n, COVARIANCE_WIDTH)
    twist_covariances = UNKNOWN
    if len(msg.twist_covariances) > 0:
        twist_covariances = flat_array.float_rows(
            'twist_covariances', msg.twist_covariances, n, COVARIANCE_WIDTH
        ).reshape(n, 6, 6)
    return FilteredFrame(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        sensors=tuple(msg.sensors),
        positions=np.ascontiguousarray(poses[:, :3]),
        quaternions=flat_array.wxyz(poses[:, 3:]),
        linear_velocities=np.ascontiguousarray(twists[:, :3]),
        angular_velocities=np.ascontiguousarray(twists[:, 3:]),
        covariances=covariances.reshape(n, 6, 6),
        status=flat_array.bytes_row('status', msg.status, n),
        twist_covariances=twist_covariances,
    )


def _fields_of_pose_frame(frame: FilteredFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'poses': flat_array.pose_rows(frame.positions, frame.quaternions),
        'twists': np.concatenate((frame.linear_velocities, frame.angular_velocities), axis=1),
        'covariances': frame.covariances,
        'twist_covariances': frame.twist_covariances,
        'status': frame.status,
    }


TrackerFrameWriter = partial(StreamWriter, TrackerFrame, fields=_fields_of_tracker_frame)
TrackerFrameReader = partial(StreamReader[SensorFrame], TrackerFrame, from_tracker_frame)
PoseFrameWriter = partial(StreamWriter, PoseFrame, fields=_fields_of_pose_frame)
PoseFrameReader = partial(StreamReader[FilteredFrame], PoseFrame, from_pose_frame)
