# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded bag as a take: every body in it as it moved, and the importance it was given."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats, Quats
from puppet_core.character import Character, default_capsules
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.urdf_shape import merged_parts, Part, read_shape, robot_name, world_orientations
from puppet_msgs.msg import Importance
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.bag_io import IMPORTANCE_TOPIC, JOINTS_TOPIC, POSTURE, POSTURE_TOPIC
from puppet_retarget.importance.self_interaction import skeleton_of
from puppet_retarget.offline.take import body_parts, BodyTrack, ImportanceTrack, Take
from puppet_ros import importance_msg, posture_msg, raw_header
from puppet_ros.bag_reader import BagMessage, BagReader
from puppet_ros.flat_array import MessageError
from puppet_ros.kept_cdr import decoded
from puppet_ros.posture_msg import PostureRecord
from std_msgs.msg import String

POSTURE_NAME, DESCRIPTION_NAME = '/posture', '/robot_description'
TEXT = 'std_msgs/msg/String'
STEADY_MS = 1e-3  # a latency below this was not measured: the bag was not recorded live


def read_bag_take(path: Path) -> Take:
    """
    Return everything of a bag that can be looked at.

    Bodies are what moves on topics named /NAME/posture, in the shape of /NAME/robot_description;
    where the bag has none, an ordinary person's of the same size.

    Raises
    ------
    InputFileError : if it has no postures, or what it has cannot be read.

    """
    found = _Found(path)
    with BagReader(path) as reader:
        kinds = reader.topics
        wanted = [topic for topic, kind in kinds.items() if _is_wanted(topic, kind)]
        for message in reader.messages(wanted):
            try:
                found.take(message)
            except MessageError as err:
                raise InputFileError(path, message.type, str(err), field=message.topic) from err
    return found.result()


class _Found:
    """What is known of a bag so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.postures: dict[str, list[PostureRecord]] = {}
        self.shapes: dict[str, str] = {}
        self.importance: list[tuple[int, Floats]] = []
        self.delays_ms: list[float] = []

    def take(self, message: BagMessage) -> None:
        """Keep what is finite and goes on in time."""
        who = message.topic.rsplit('/', 1)[0].strip('/')
        if message.type == POSTURE:
            record = posture_msg.from_msg(decoded(message.data, PostureMsg))
            rows = self.postures.setdefault(who, [])
            values = (record.posture.rotations, record.segments, record.posture.end_effectors)
            if (not rows or record.stamp_ns > rows[-1].stamp_ns) and _is_finite(values):
                rows.append(record)
        elif message.type == TEXT:
            self.shapes[who] = decoded(message.data, String).data
        elif message.topic == IMPORTANCE_TOPIC:
            near = importance_msg.from_msg(decoded(message.data, Importance))
            shares = near.rows[:, Importance.COLUMN_IMPORTANCE].copy()
            if not self.importance or near.stamp_ns > self.importance[-1][0]:
                self.importance.append((near.stamp_ns, np.nan_to_num(shares)))
        else:
            self.delays_ms.append(1e-6 * (message.log_ns - raw_header.stamp_ns(message.data)))

    def result(self) -> Take:
        """Return all of it."""
        shown = {who: rows for who, rows in self.postures.items() if rows}
        if not shown:
            raise InputFileError(
                self.path, f'postures on {POSTURE_TOPIC}', 'none',
                hint='./puppet replay makes them of recorded sensors',
            )  # fmt: skip
        first_ns = min(rows[0].stamp_ns for rows in shown.values())
        order = sorted(shown, key=lambda who: (who != 'performer', who != 'puppet', who))
        bodies = tuple(self._body(who, shown[who], first_ns) for who in order)
        steps = np.diff(bodies[0].times_s)
        rate_hz = 1.0 / float(np.median(steps)) if len(steps) else 1.0
        importance = None
        if self.importance:
            importance = ImportanceTrack(
                np.array([1e-9 * (stamp - first_ns) for stamp, _ in self.importance]),
                np.array([values for _, values in self.importance]),
            )
        return Take(self.path.stem, rate_hz, bodies, importance, self._latency())

    def _latency(self) -> tuple[float, float] | None:
        delays = np.abs(self.delays_ms)
        if not len(delays) or np.median(delays) < STEADY_MS:
            return None
        p50, p99 = np.percentile(self.delays_ms, (50, 99))
        return float(p50), float(p99)

    def _body(self, who: str, rows: list[PostureRecord], first_ns: int) -> BodyTrack:
        times = np.array([1e-9 * (row.stamp_ns - first_ns) for row in rows])
        rotations: Quats = np.array([row.posture.rotations for row in rows])
        q_world = world_orientations(rotations.swapaxes(0, 1)).swapaxes(0, 1)
        p_world = np.array([row.segments for row in rows])
        name, parts = self._shape(who, rows[0])
        return BodyTrack(name, parts, times, q_world, p_world, who == 'performer')

    def _shape(self, who: str, row: PostureRecord) -> tuple[str, list[Part]]:
        text = self.shapes.get(who, '')
        try:
            if text:
                return robot_name(text) or who, merged_parts(read_shape(text))
            skeleton = skeleton_of(
                row.posture.rotations, row.segments, row.posture.end_effectors
            )
        except ConfigError as err:
            raise InputFileError(self.path, 'postures of a body', str(err), field=who) from err
        return who, body_parts(Character(who, '', skeleton, default_capsules(skeleton)))


def _is_wanted(topic: str, kind: str) -> bool:
    if kind == POSTURE:
        return topic.endswith(POSTURE_NAME)
    if kind == TEXT:
        return topic.endswith(DESCRIPTION_NAME) and topic != DESCRIPTION_NAME
    return topic in (IMPORTANCE_TOPIC, JOINTS_TOPIC)


def _is_finite(values: Iterable[Floats]) -> bool:
    return all(bool(np.isfinite(value).all()) for value in values)
