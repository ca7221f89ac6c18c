# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TrackerFrame message <-> SensorFrame arrays."""

from typing import Any

import numpy as np
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.kept_message import Arrays, BytesTarget, KeptMessage, Target
from puppet_ros.messages.raw_header import Head
from puppet_ros.messages.record_reader import Fields, RecordReader
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
    """One kept message that `fill` and `data` rewrite: publish it before filling again."""

    def __init__(self, sensors: tuple[str, ...], frame_id: str) -> None:
        n = len(sensors)
        self._kept = KeptMessage(_blank(sensors, frame_id), lambda arrays: _views(arrays, n))

    def fill(self, frame: SensorFrame) -> TrackerFrame:
        """Return the kept message with this frame in it; the sensors must be the same."""
        _put(self._kept.message(), frame)
        return self._kept.msg

    def data(self, frame: SensorFrame) -> bytes:
        """Return the bytes of that message."""
        target = self._kept.bytes()
        _put(target, frame)
        return target.data()


class TrackerFrameReader(RecordReader[SensorFrame]):
    """Frames from the bytes of their messages."""

    kind = TrackerFrame

    def _first(self, msg: TrackerFrame) -> SensorFrame:
        return from_msg(msg)

    def _lay_out(self, fields: Fields, record: SensorFrame) -> tuple[Any, ...]:
        poses = fields.places['poses'].reshape(-1, POSE_WIDTH)
        positions, quaternions = fields.kept(poses[:, :3], flat_array.wxyz(poses[:, 3:]))
        ages, status = fields.arrays['ages_s'], fields.arrays['status']
        return record.sensors, positions, quaternions, ages, status

    def _record(self, head: Head, target: BytesTarget, parts: Any) -> SensorFrame:
        return SensorFrame(*head, *parts)


def _blank(sensors: tuple[str, ...], frame_id: str) -> TrackerFrame:
    n = len(sensors)
    msg = TrackerFrame(sensors=list(sensors))
    msg.header.frame_id = frame_id
    flat_array.keep_floats(msg, 'poses', n, POSE_WIDTH)
    flat_array.keep_floats(msg, 'ages_s', n, 1)
    flat_array.keep_bytes(msg, 'status', n)
    return msg


def _views(arrays: Arrays, n: int) -> tuple[Any, ...]:
    return arrays['poses'].reshape(n, POSE_WIDTH), arrays['ages_s'], arrays['status']


def _put(target: Target, frame: SensorFrame) -> None:
    poses, ages, status = target.views
    target.put_head(frame.stamp_ns, frame.frame_index)
    poses[:, :3] = frame.positions
    flat_array.write_xyzw(frame.quaternions, poses[:, 3:])
    ages[:] = frame.ages_s
    status[:] = frame.status
