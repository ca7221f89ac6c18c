# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a bag recorded of a performance: performer, puppet and importance, for pictures.

The puppet's shape is that of its published description; a bag without one tells only its name.

"""

from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.character import Capsule
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.urdf_shape import CYLINDER, read_shape
from puppet_msgs.msg import Importance
from puppet_retarget import bag_io
from puppet_retarget.bag_io import (
    BODY_TOPIC,
    IMPORTANCE_TOPIC,
    POSTURE,
    POSTURE_TOPIC,
    PUPPET_TOPIC,
)
from puppet_retarget.importance.contact_rows import SELF_IMPORTANCE
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.offline.recorded import Recorded, RecordedBody
from puppet_ros import importance_msg
from puppet_ros.bag_reader import BagReader
from puppet_ros.flat_array import MessageError
from puppet_ros.kept_cdr import decoded
from std_msgs.msg import String

_IMPORTANCE = 'puppet_msgs/msg/Importance'
_SAME_PLACE_M = 1e-6


def read_recorded(path: Path) -> Recorded:
    """
    Return the bodies in a bag and what was recorded of them.

    Raises
    ------
    InputFileError : if there is no posture of anybody, or something cannot be read.

    """
    with BagReader(path) as reader:
        counts = {t: reader.counts[t] for t, kind in reader.topics.items() if kind == POSTURE}
    has = [bool(counts.get(topic)) for topic in (POSTURE_TOPIC, PUPPET_TOPIC)]
    if not any(has):
        raise InputFileError(
            path, f'postures on {POSTURE_TOPIC} or {PUPPET_TOPIC}', 'none',
            hint='./puppet replay makes them of recorded sensors',
        )  # fmt: skip
    performer = _body(path, POSTURE_TOPIC) if has[0] else None
    puppet = _body(path, PUPPET_TOPIC, _capsules(path)) if has[1] else None
    stamps, rows = _importance(path)
    bodies = [body for body in (performer, puppet) if body is not None]
    start_ns = min(body.start_ns for body in bodies)
    return Recorded(performer, puppet, (stamps - start_ns) * 1e-9, rows, start_ns)


def _body(path: Path, topic: str, capsules: tuple[Capsule, ...] = ()) -> RecordedBody:
    motion, stamps_ns, name = bag_io.read_bag_motion(path, topic)
    return RecordedBody(name, motion, capsules, stamps_ns[0])


def _capsules(path: Path) -> tuple[Capsule, ...]:
    """Return the shape that the puppet's last description has; none if there is none."""
    text = ''
    with BagReader(path) as reader:
        if reader.topics.get(BODY_TOPIC) == 'std_msgs/msg/String':
            for message in reader.messages([BODY_TOPIC]):
                text = _text(path, message.data)
    if not text:
        return ()
    try:
        solids = read_shape(text)
    except ConfigError as err:
        raise InputFileError(path, 'a robot description', str(err), field=BODY_TOPIC) from err
    found: list[Capsule] = []
    taken: list[tuple[int, Floats, float]] = []
    for solid in sorted(solids, key=lambda solid: solid.kind != CYLINDER):
        along = 0.5 * solid.scale[2] * solid.rotation[:, 2] * (solid.kind == CYLINDER)
        start, end = solid.position - along, solid.position + along
        ends = [start, end]
        if solid.kind != CYLINDER and _is_end(taken, solid.segment, start, solid.scale[0]):
            continue  # the round end of a cylinder that is a capsule already
        taken += [(solid.segment, place, float(solid.scale[0])) for place in ends]
        found.append(Capsule(solid.segment, start, end, float(solid.scale[0]), solid.colour))
    return tuple(found)


def _is_end(
    taken: list[tuple[int, Floats, float]], segment: int, place: Floats, radius: float
) -> bool:
    return any(
        s == segment and abs(r - radius) < _SAME_PLACE_M
        and np.max(np.abs(p - place)) < _SAME_PLACE_M
        for s, p, r in taken
    )  # fmt: skip


def _text(path: Path, data: bytes) -> str:
    try:
        return str(decoded(data, String).data)
    except MessageError as err:
        raise InputFileError(path, 'std_msgs/msg/String', str(err), field=BODY_TOPIC) from err


def _importance(path: Path) -> tuple[Floats, Floats]:
    """Return stamps (m,) [ns] and the importance of each limb (m, 4)."""
    stamps: list[int] = []
    rows: list[Floats] = []
    with BagReader(path) as reader:
        if reader.topics.get(IMPORTANCE_TOPIC) != _IMPORTANCE:
            return np.zeros(0), np.zeros((0, 4))
        for message in reader.messages([IMPORTANCE_TOPIC]):
            try:
                record = importance_msg.from_msg(decoded(message.data, Importance))
            except MessageError as err:
                raise InputFileError(
                    path, _IMPORTANCE, str(err), field=IMPORTANCE_TOPIC
                ) from err
            own = record.self_rows[:, SELF_IMPORTANCE]
            values = np.maximum(record.rows[:, IMPORTANCE], np.maximum(own[:4], own[4:]))
            if np.isfinite(values).all() and (not stamps or record.stamp_ns > stamps[-1]):
                stamps.append(record.stamp_ns)
                rows.append(values)
    return np.array(stamps, dtype=np.float64), np.array(rows).reshape(-1, 4)
