# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""RetargetStatus message <-> a record of how one frame was solved; angles <-> JointState."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Vec3
from puppet_msgs.msg import RetargetStatus
from puppet_ros.messages.cdr import Fields, StreamWriter
from sensor_msgs.msg import JointState

MAX_STEP_S = 0.25  # between messages of which velocities are made


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


def _fields(record: RetargetStatusRecord) -> tuple[int, Fields]:
    fields = record._asdict()
    for name in ('root_offset', 'goal_errors', 'penetrations', 'self_penetrations'):
        fields[name] = np.asarray(fields[name])
    return fields.pop('stamp_ns'), fields


RetargetStatusWriter = partial(StreamWriter, RetargetStatus, fields=_fields)


def angles_of(msg: JointState, names: Sequence[str]) -> Floats | None:
    """Return the angles of exactly these joints in this order [rad]; None for other joints."""
    places = {name: i for i, name in enumerate(msg.name)}
    if places.keys() != set(names) or len(msg.position) != len(names):
        return None
    return np.frombuffer(msg.position, dtype=np.float64)[[places[name] for name in names]]


class JointStateWriter(StreamWriter):
    """
    Messages of a stamp [ns] and angles, shape (n,) [rad], of named joints.

    `with_speeds` also the velocities since the message before; none after a gap [rad/s].
    """

    def __init__(
        self, names: Sequence[str], frame_id: str = '', with_speeds: bool = False
    ) -> None:
        self._last_ns, self._last = 0, np.zeros(len(names))
        joints = tuple(names)

        def fields(stamp_ns: int, angles: Floats) -> tuple[int, Fields]:
            found: Fields = {'name': joints, 'position': angles}
            if with_speeds:
                step_s = (stamp_ns - self._last_ns) * 1e-9
                is_next = 0.0 < step_s <= MAX_STEP_S
                found['velocity'] = (angles - self._last) / (step_s if is_next else np.inf)
                self._last_ns, self._last = stamp_ns, angles.copy()
            return stamp_ns, found

        super().__init__(JointState, frame_id, fields)
