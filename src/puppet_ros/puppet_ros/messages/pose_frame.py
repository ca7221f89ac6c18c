# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""PoseFrame message <-> FilteredFrame arrays."""

import numpy as np
from puppet_core.sensor_frames import FilteredFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, message_of, StreamReader, StreamWriter
from std_msgs.msg import Header

POSE_WIDTH = 7  # x y z qx qy qz qw
TWIST_WIDTH = 6  # linear, angular
COVARIANCE_WIDTH = 36  # 6 x 6, row-major


def from_msg(msg: PoseFrame) -> FilteredFrame:
    """
    Return the arrays of one filtered frame.

    Poses and velocities are contiguous copies, covariances and status views on the message.

    Raises
    ------
    MessageError : if an array does not fit the number of sensors.

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


def to_msg(frame: FilteredFrame, header: Header) -> PoseFrame:
    """Return a new message; the header is used as it is."""
    return message_of(PoseFrame, header, _fields(frame)[1])


class PoseFrameWriter(StreamWriter):
    """Messages of frames."""

    def __init__(self, frame_id: str) -> None:
        super().__init__(PoseFrame, frame_id, _fields)


class PoseFrameReader(StreamReader[FilteredFrame]):
    """Frames from the bytes of their messages."""

    def __init__(self) -> None:
        super().__init__(PoseFrame, from_msg)


def _fields(frame: FilteredFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'poses': np.hstack((frame.positions, flat_array.xyzw(frame.quaternions))).ravel(),
        'twists': np.hstack((frame.linear_velocities, frame.angular_velocities)).ravel(),
        'covariances': frame.covariances,
        'twist_covariances': frame.twist_covariances,
        'status': frame.status,
    }
