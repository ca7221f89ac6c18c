# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Posture message <-> puppet_core Posture with the body's world positions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import is_posture, MAX_COORDINATE_M, N_SEGMENTS, Posture
from puppet_core.math import Vec3s
from puppet_msgs.msg import Posture as PostureMsg
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import decoded
from puppet_ros.messages.kept_message import Arrays, BytesTarget, KeptMessage, Target
from puppet_ros.messages.raw_header import Head
from puppet_ros.messages.record_reader import Fields, RecordReader
from std_msgs.msg import Header

WORLD = 'world'
N_POINTS = 8  # general end-effectors


class PostureRecord(NamedTuple):
    """A posture with the other fields of its message."""

    stamp_ns: int
    """Acquisition time of the tracker frame [ns]."""

    frame_index: int
    """The tracker frame's index."""

    body: str
    """Whose posture: a character's name."""

    posture: Posture
    """Root, joint rotations, end-effectors."""

    segments: Vec3s
    """Segment joints in world, shape (16, 3) [m]."""

    status: NDArray[np.uint8]
    """Posture message STATUS_* per segment, shape (16,)."""

    leg_length: float
    """Hip to sole [m]."""


def from_msg(msg: PostureMsg) -> PostureRecord:
    """
    Return the arrays of one posture.

    Rotations are a contiguous copy; the others are views on the message.

    Raises
    ------
    MessageError : if an array does not have the length given in the message file.

    """
    rows = flat_array.float_rows
    root = rows('root', msg.root, 1, 7)
    rotations = rows('rotations', msg.rotations, N_SEGMENTS, 4)
    points = rows('end_effectors', msg.end_effectors, N_POINTS, 3)
    velocities = rows('end_effector_velocities', msg.end_effector_velocities, N_POINTS, 3)
    return PostureRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        body=msg.body,
        posture=Posture(root[0, :3], flat_array.wxyz(rotations), points, velocities),
        segments=rows('segments', msg.segments, N_SEGMENTS, 3),
        status=flat_array.bytes_row('status', msg.status, N_SEGMENTS),
        leg_length=msg.leg_length,
    )


def posture_of(data: bytes) -> PostureRecord:
    """
    Return the posture in a message's bytes.

    Raises
    ------
    MessageError : if they are no such message, or its numbers no posture.

    """
    record = from_msg(decoded(data, PostureMsg))
    posture = record.posture
    parts = (posture.root_position, record.segments, posture.rotations)
    if not is_posture(*(np.array(part) for part in parts)):
        raise flat_array.MessageError(
            f'{record.body[:40]!r}: expected places within {MAX_COORDINATE_M:g} m and rotations '
            'of unit length, got others'
        )
    return record


def to_msg(record: PostureRecord, header: Header) -> PostureMsg:
    """Return a new message; the header is used as it is. Streams use PostureWriter."""
    msg = PostureWriter(record.body, record.leg_length, header.frame_id).fill(record)
    msg.header = header
    return msg


class PostureWriter:
    """One kept message that `fill` and `data` rewrite: publish it before filling again."""

    def __init__(self, body: str, leg_length: float, frame_id: str = WORLD) -> None:
        msg = PostureMsg(body=body, leg_length=float(leg_length))
        msg.header.frame_id = frame_id
        for name, n, width in (
            ('root', 1, 7),
            ('rotations', N_SEGMENTS, 4),
            ('segments', N_SEGMENTS, 3),
            ('end_effectors', N_POINTS, 3),
            ('end_effector_velocities', N_POINTS, 3),
        ):
            flat_array.keep_floats(msg, name, n, width)
        flat_array.keep_bytes(msg, 'status', N_SEGMENTS)
        self._kept = KeptMessage(msg, _views)

    def fill(self, record: PostureRecord) -> PostureMsg:
        """Return the kept message with this record in it; body and leg length stay."""
        _put(self._kept.message(), record)
        return self._kept.msg

    def data(self, record: PostureRecord) -> bytes:
        """Return the bytes of that message."""
        target = self._kept.bytes()
        _put(target, record)
        return target.data()


class PostureReader(RecordReader[PostureRecord]):
    """Postures from the bytes of their messages."""

    kind = PostureMsg

    def _first(self, msg: PostureMsg) -> PostureRecord:
        return from_msg(msg)

    def _lay_out(self, fields: Fields, record: PostureRecord) -> tuple[Any, ...]:
        root, _, _, segments, points, velocities, status = _views(fields.arrays)
        xyzw = fields.places['rotations'].reshape(N_SEGMENTS, 4)
        (rotations,) = fields.kept(flat_array.wxyz(xyzw))
        return record.body, Posture(root, rotations, points, velocities), segments, status

    def _record(self, head: Head, target: BytesTarget, parts: Any) -> PostureRecord:
        body, posture, segments, status = parts
        return PostureRecord(*head, body, posture, segments, status, target.get('leg_length'))


def _views(arrays: Arrays) -> tuple[Any, ...]:
    root = arrays['root']
    return (
        root[:3],
        root[None, 3:],
        arrays['rotations'].reshape(N_SEGMENTS, 4),
        arrays['segments'].reshape(N_SEGMENTS, 3),
        arrays['end_effectors'].reshape(N_POINTS, 3),
        arrays['end_effector_velocities'].reshape(N_POINTS, 3),
        arrays['status'],
    )


def _put(target: Target, record: PostureRecord) -> None:
    position, root_xyzw, rotations_xyzw, segments, points, velocities, status = target.views
    posture = record.posture
    target.put_head(record.stamp_ns, record.frame_index)
    position[:] = posture.root_position
    flat_array.write_xyzw(posture.rotations, rotations_xyzw)
    root_xyzw[:] = rotations_xyzw[:1]
    segments[:] = record.segments
    points[:] = posture.end_effectors
    velocities[:] = posture.end_effector_velocities
    status[:] = record.status
