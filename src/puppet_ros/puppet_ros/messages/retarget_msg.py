# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""RetargetStatus message <-> a record of how one frame was solved; angles <-> JointState."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Vec3
from puppet_msgs.msg import RetargetStatus
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, message_of, StreamWriter
from sensor_msgs.msg import JointState
from std_msgs.msg import Header


class RetargetStatusRecord(NamedTuple):
    """How the solver fared on one frame."""

    stamp_ns: int  # stamp of the posture that was retargeted [ns]
    frame_index: int  # index of that posture's frame
    solver: str  # name of the solver in use
    character: str  # name of the character in use
    solve_time_us: float  # time inside the solver [us]
    body_iterations: int  # conjugate-gradient iterations of the body step
    root_offset: Vec3  # puppet's root less the performer's scaled root, shape (3,) [m]
    goal_errors: Floats  # distance from the goals, shape (4,) [m]; NaN without a goal
    penetrations: Floats  # depth inside objects, shape (4,) [m]; <= 0 is free
    self_penetrations: Floats  # depth inside the puppet's own body, shape (8,) [m]; 0 is outside
    reachable: bool  # whether a root position brings all goals into reach
    easing: bool  # whether the posture is on its way back after a gap or a change of puppet
    frames_solved: int  # since the node started
    frames_dropped: int  # since the node started


def from_msg(msg: RetargetStatus) -> RetargetStatusRecord:
    """Return the record of one message; arrays are views on the message."""
    return RetargetStatusRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        **{name: getattr(msg, name) for name in RetargetStatusRecord._fields[1:]},
    )


def to_msg(record: RetargetStatusRecord, header: Header) -> RetargetStatus:
    """Return a new message; the header is used as it is."""
    return message_of(RetargetStatus, header, _fields(record)[1])


class RetargetStatusWriter(StreamWriter):
    """Messages of records."""

    def __init__(self, frame_id: str) -> None:
        super().__init__(RetargetStatus, frame_id, _fields)


def _fields(record: RetargetStatusRecord) -> tuple[int, Fields]:
    fields = record._asdict()
    for name in ('root_offset', 'goal_errors', 'penetrations', 'self_penetrations'):
        fields[name] = np.asarray(fields[name])
    return fields.pop('stamp_ns'), fields


def angles_of(msg: JointState, names: Sequence[str]) -> Floats | None:
    """Return the angles of exactly these joints in their order [rad]; None for other joints."""
    if tuple(msg.name) != tuple(names) or len(msg.position) != len(names):
        return None
    return np.frombuffer(msg.position, dtype=np.float64)


class JointStateWriter(StreamWriter):
    """Messages of a stamp [ns] and angles, shape (n,) [rad], of named joints."""

    def __init__(self, names: Sequence[str], frame_id: str = '') -> None:
        joints = tuple(names)
        super().__init__(
            JointState,
            frame_id,
            lambda stamp_ns, angles: (stamp_ns, {'name': joints, 'position': angles}),
        )
