# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TrackerFrame message <-> SensorFrame arrays."""

import numpy as np
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, message_of, StreamReader, StreamWriter
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
    """Return a new message; the header is used as it is."""
    return message_of(TrackerFrame, header, _fields(frame)[1])


class TrackerFrameWriter(StreamWriter):
    """Messages of frames."""

    def __init__(self, frame_id: str) -> None:
        super().__init__(TrackerFrame, frame_id, _fields)


class TrackerFrameReader(StreamReader[SensorFrame]):
    """Frames from the bytes of their messages."""

    def __init__(self) -> None:
        super().__init__(TrackerFrame, from_msg)


def _fields(frame: SensorFrame) -> tuple[int, Fields]:
    return frame.stamp_ns, {
        'frame_index': frame.frame_index,
        'sensors': frame.sensors,
        'poses': np.hstack((frame.positions, flat_array.xyzw(frame.quaternions))).ravel(),
        'ages_s': frame.ages_s,
        'status': frame.status,
    }
