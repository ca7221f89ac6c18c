# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""PoseFrame message <-> FilteredFrame arrays."""

import numpy as np
from puppet_core.sensor_frames import FilteredFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame
from puppet_ros import flat_array
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
    """Return a new message; the header is used as it is. Streams use PoseFrameWriter."""
    msg = PoseFrameWriter(frame.sensors, header.frame_id).fill(frame)
    msg.header = header
    return msg


class PoseFrameWriter:
    """One kept message that `fill` rewrites: publish it before filling again."""

    def __init__(self, sensors: tuple[str, ...], frame_id: str) -> None:
        n = len(sensors)
        self._msg = PoseFrame(sensors=list(sensors))
        self._msg.header.frame_id = frame_id
        self._poses = flat_array.keep_floats(self._msg, 'poses', n, POSE_WIDTH)
        self._twists = flat_array.keep_floats(self._msg, 'twists', n, TWIST_WIDTH)
        covariances = flat_array.keep_floats(self._msg, 'covariances', n, COVARIANCE_WIDTH)
        self._covariances = covariances.reshape(n, 6, 6)
        self._twist_covariances = np.zeros((0, 6, 6))
        self._status = flat_array.keep_bytes(self._msg, 'status', n)

    def fill(self, frame: FilteredFrame) -> PoseFrame:
        """Return the kept message with this frame in it; the sensors must be the same."""
        flat_array.write_stamp(frame.stamp_ns, self._msg.header.stamp)
        self._msg.frame_index = frame.frame_index
        self._poses[:, :3] = frame.positions
        flat_array.write_xyzw(frame.quaternions, self._poses[:, 3:])
        self._twists[:, :3] = frame.linear_velocities
        self._twists[:, 3:] = frame.angular_velocities
        self._covariances[:] = frame.covariances
        if len(frame.twist_covariances) != len(self._twist_covariances):
            self._twist_covariances = flat_array.keep_floats(
                self._msg, 'twist_covariances', len(frame.twist_covariances), COVARIANCE_WIDTH
            ).reshape(-1, 6, 6)
        self._twist_covariances[:] = frame.twist_covariances
        self._status[:] = frame.status
        return self._msg
