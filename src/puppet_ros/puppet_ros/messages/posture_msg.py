# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Posture message <-> puppet_core Posture with the body's world positions."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import is_posture, MAX_COORDINATE_M, N_SEGMENTS, Posture
from puppet_core.math import Vec3s
from puppet_msgs.msg import Posture as PostureMsg
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import decoded, Fields, StreamReader, StreamWriter

WORLD = 'world'
N_POINTS = 8  # general end-effectors


class PostureRecord(NamedTuple):
    """A posture with the other fields of its message."""

    stamp_ns: int  # acquisition time of the tracker frame [ns]
    frame_index: int  # the tracker frame's index
    body: str  # whose posture: a character's name
    posture: Posture  # root, joint rotations, end-effectors, props
    segments: Vec3s  # segment joints in world, shape (16, 3) [m]
    status: NDArray[np.uint8]  # posture message STATUS_* per segment, shape (16,)
    leg_length: float  # hip to sole [m]
    frame_id: str = WORLD  # of its header


def from_msg(msg: PostureMsg) -> PostureRecord:
    """Return the arrays of one posture, views on the message but for the rotations."""
    rows, n = flat_array.float_rows, N_POINTS
    rotations = rows('rotations', msg.rotations, N_SEGMENTS, 4)
    return PostureRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        body=msg.body,
        posture=Posture(
            np.asarray(msg.root_position),
            flat_array.wxyz(rotations),
            rows('end_effector_positions', msg.end_effector_positions, n, 3),
            rows('end_effector_velocities', msg.end_effector_velocities, n, 3),
            flat_array.props('prop', msg.props, msg.prop_positions, msg.prop_orientations),
        ),
        segments=rows('segment_positions', msg.segment_positions, N_SEGMENTS, 3),
        status=flat_array.bytes_row('status', msg.status, N_SEGMENTS),
        leg_length=msg.leg_length,
        frame_id=msg.header.frame_id,
    )


def posture_of(data: bytes) -> PostureRecord:
    """Return the posture in a message's bytes; raise MessageError if there is none."""
    record = from_msg(decoded(data, PostureMsg))
    posture = record.posture
    parts = (posture.root_position, record.segments, posture.rotations)
    if not is_posture(*(np.array(part) for part in parts)):
        raise flat_array.MessageError(
            f'{record.body[:40]!r}: expected positions within {MAX_COORDINATE_M:g} m and '
            'rotations of unit length, got others'
        )
    return record


def _fields(record: PostureRecord) -> tuple[int, Fields]:
    posture = record.posture
    return record.stamp_ns, {
        'frame_id': record.frame_id,
        'frame_index': record.frame_index,
        'body': record.body,
        'leg_length': float(record.leg_length),
        'status': record.status,
        'root_position': posture.root_position,
        'rotations': flat_array.xyzw(posture.rotations),
        'segment_positions': record.segments,
        'end_effector_positions': posture.end_effectors,
        'end_effector_velocities': posture.end_effector_velocities,
        'props': posture.props.names,
        'prop_positions': posture.props.positions,
        'prop_orientations': flat_array.xyzw(posture.props.orientations),
    }


PostureWriter = partial(StreamWriter, PostureMsg, WORLD, _fields)
PostureReader = partial(StreamReader[PostureRecord], PostureMsg, from_msg)
