# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""PoseFrame message <-> FilteredFrame arrays."""

from typing import Any

import numpy as np
from puppet_core.sensor_frames import FilteredFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame
from puppet_ros.messages import flat_array
from puppet_ros.messages.kept_message import Arrays, BytesTarget, KeptMessage, Target
from puppet_ros.messages.raw_header import Head
from puppet_ros.messages.record_reader import Fields, RecordReader
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
    """One kept message that `fill` and `data` rewrite: publish it before filling again."""

    def __init__(self, sensors: tuple[str, ...], frame_id: str) -> None:
        n = len(sensors)
        msg = PoseFrame(sensors=list(sensors))
        msg.header.frame_id = frame_id
        flat_array.keep_floats(msg, 'poses', n, POSE_WIDTH)
        flat_array.keep_floats(msg, 'twists', n, TWIST_WIDTH)
        flat_array.keep_floats(msg, 'covariances', n, COVARIANCE_WIDTH)
        flat_array.keep_bytes(msg, 'status', n)
        self._kept = KeptMessage(msg, lambda arrays: _views(arrays, n))
        self._n_twist_covariances = 0

    def fill(self, frame: FilteredFrame) -> PoseFrame:
        """Return the kept message with this frame in it; the sensors must be the same."""
        self._fit(len(frame.twist_covariances))
        _put(self._kept.message(), frame)
        return self._kept.msg

    def data(self, frame: FilteredFrame) -> bytes:
        """Return the bytes of that message."""
        self._fit(len(frame.twist_covariances))
        target = self._kept.bytes()
        _put(target, frame)
        return target.data()

    def _fit(self, n: int) -> None:
        """Have room for so many covariances of twists."""
        if n != self._n_twist_covariances:
            self._n_twist_covariances = n
            flat_array.keep_floats(self._kept.msg, 'twist_covariances', n, COVARIANCE_WIDTH)
            self._kept.renew()


class PoseFrameReader(RecordReader[FilteredFrame]):
    """Frames from the bytes of their messages."""

    kind = PoseFrame

    def _first(self, msg: PoseFrame) -> FilteredFrame:
        return from_msg(msg)

    def _lay_out(self, fields: Fields, record: FilteredFrame) -> tuple[Any, ...]:
        poses = fields.places['poses'].reshape(-1, POSE_WIDTH)
        twists = fields.places['twists'].reshape(-1, TWIST_WIDTH)
        own = fields.kept(
            poses[:, :3], flat_array.wxyz(poses[:, 3:]), twists[:, :3], twists[:, 3:]
        )
        *_, covariances, of_twists, status = _views(fields.arrays, len(record.sensors))
        return (
            record.sensors,
            *own,
            covariances,
            status,
            of_twists if len(of_twists) else UNKNOWN,
        )

    def _record(self, head: Head, target: BytesTarget, parts: Any) -> FilteredFrame:
        return FilteredFrame(*head, *parts)


def _views(arrays: Arrays, n: int) -> tuple[Any, ...]:
    poses = arrays['poses'].reshape(n, POSE_WIDTH)
    twists = arrays['twists'].reshape(n, TWIST_WIDTH)
    return (
        poses[:, :3],
        poses[:, 3:],
        twists[:, :3],
        twists[:, 3:],
        arrays['covariances'].reshape(n, 6, 6),
        arrays['twist_covariances'].reshape(-1, 6, 6),
        arrays['status'],
    )


def _put(target: Target, frame: FilteredFrame) -> None:
    positions, quaternions, linear, angular, covariances, of_twists, status = target.views
    target.put_head(frame.stamp_ns, frame.frame_index)
    positions[:] = frame.positions
    flat_array.write_xyzw(frame.quaternions, quaternions)
    linear[:] = frame.linear_velocities
    angular[:] = frame.angular_velocities
    covariances[:] = frame.covariances
    of_twists[:] = frame.twist_covariances
    status[:] = frame.status
