# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""RetargetStatus message <-> a record of how one frame was solved."""

from typing import Any, NamedTuple

from puppet_core.math import Floats, Vec3
from puppet_msgs.msg import RetargetStatus
from puppet_ros.messages import flat_array
from puppet_ros.messages.kept_message import Arrays, KeptMessage, Target
from std_msgs.msg import Header


class RetargetStatusRecord(NamedTuple):
    """How the solver fared on one frame."""

    stamp_ns: int
    """Stamp of the posture that was retargeted [ns]."""

    frame_index: int
    """Index of that posture's frame."""

    solver: str
    """Name of the solver in use."""

    character: str
    """Name of the character in use."""

    solve_time_us: float
    """Time inside the solver [us]."""

    body_iterations: int
    """Conjugate-gradient iterations of the body step."""

    root_offset: Vec3
    """Puppet's root less the performer's scaled root, shape (3,) [m]."""

    goal_errors: Floats
    """Distance from the goals, shape (4,) [m]; NaN without a goal."""

    penetrations: Floats
    """Depth inside objects, shape (4,) [m]; <= 0 is free."""

    self_penetrations: Floats
    """Depth inside the puppet's own body, shape (8,) [m]; 0 is outside."""

    reachable: bool
    """Whether a root position brings all goals into reach."""

    easing: bool
    """Whether the posture is on its way back after a gap or a change of puppet."""

    frames_solved: int
    """Since the node started."""

    frames_dropped: int
    """Since the node started."""


def from_msg(msg: RetargetStatus) -> RetargetStatusRecord:
    """Return the record of one message; arrays are views on the message."""
    return RetargetStatusRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        **{name: getattr(msg, name) for name in RetargetStatusRecord._fields[1:]},
    )


def to_msg(record: RetargetStatusRecord, header: Header) -> RetargetStatus:
    """Return a new message; the header is used as it is. Streams use RetargetStatusWriter."""
    msg = RetargetStatusWriter(header.frame_id).fill(record)
    msg.header = header
    return msg


class RetargetStatusWriter:
    """One kept message that `fill` and `data` rewrite: publish it before filling again."""

    def __init__(self, frame_id: str) -> None:
        msg = RetargetStatus()
        msg.header.frame_id = frame_id
        self._kept = KeptMessage(msg, _views)

    def fill(self, record: RetargetStatusRecord) -> RetargetStatus:
        """Return the kept message with this record in it."""
        self._fit(record)
        _put(self._kept.message(), record)
        return self._kept.msg

    def data(self, record: RetargetStatusRecord) -> bytes:
        """Return the bytes of that message."""
        self._fit(record)
        target = self._kept.bytes()
        _put(target, record)
        return target.data()

    def _fit(self, record: RetargetStatusRecord) -> None:
        """Take the texts of a record, where they are others."""
        msg = self._kept.msg
        if msg.solver != record.solver or msg.character != record.character:
            msg.solver, msg.character = record.solver, record.character
            self._kept.renew()


def _views(arrays: Arrays) -> tuple[Any, ...]:
    names = 'root_offset', 'goal_errors', 'penetrations', 'self_penetrations'
    return tuple(arrays[name] for name in names)


def _put(target: Target, record: RetargetStatusRecord) -> None:
    root_offset, goal_errors, penetrations, self_penetrations = target.views
    target.put_head(record.stamp_ns, record.frame_index)
    target.put('solve_time_us', float(record.solve_time_us))
    target.put('body_iterations', int(record.body_iterations))
    root_offset[:] = record.root_offset
    goal_errors[:] = record.goal_errors
    penetrations[:] = record.penetrations
    self_penetrations[:] = record.self_penetrations
    target.put('reachable', bool(record.reachable))
    target.put('easing', bool(record.easing))
    target.put('frames_solved', int(record.frames_solved))
    target.put('frames_dropped', int(record.frames_dropped))
