# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TrackerFrame message <-> SensorFrame arrays."""

import numpy as np
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros import flat_array
from std_msgs.msg import Header

POSE_WIDTH = 7  # x y z qx qy qz qw


def from_msg(msg: TrackerFrame) -> SensorFrame:
    """
    Return the arrays of one raw frame.

    Positions and quaternions are contiguous copies, ages and status views on the message.

    Raises
    ------
    MessageError : if an array does not fit the number of sensors.

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


def to_msg(frame: SensorFrame, header: Header) -> TrackerFrame:
    """Return a new message; the header is used as it is. Streams use TrackerFrameWriter."""
    writer = TrackerFrameWriter(frame.sensors, header.frame_id)
    msg = writer.fill(frame)
    msg.header = header
    return msg


class TrackerFrameWriter:
    """One kept message that `fill` rewrites: publish it before filling again."""

    def __init__(self, sensors: tuple[str, ...], frame_id: str) -> None:
        n = len(sensors)
        self._msg = TrackerFrame(sensors=list(sensors))
        self._msg.header.frame_id = frame_id
        self._poses = flat_array.keep_floats(self._msg, 'poses', n, POSE_WIDTH)
        self._ages = flat_array.keep_floats(self._msg, 'ages_s', n, 1)
        self._status = flat_array.keep_bytes(self._msg, 'status', n)

    def fill(self, frame: SensorFrame) -> TrackerFrame:
        """Return the kept message with this frame in it; the sensors must be the same."""
        flat_array.write_stamp(frame.stamp_ns, self._msg.header.stamp)
        self._msg.frame_index = frame.frame_index
        self._poses[:, :3] = frame.positions
        flat_array.write_xyzw(frame.quaternions, self._poses[:, 3:])
        self._ages[:, 0] = frame.ages_s
        self._status[:] = frame.status
        return self._msg
