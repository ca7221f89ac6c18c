# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings out of bags: postures of performer and puppets, their descriptions, importance."""

from pathlib import Path

import numpy as np
from puppet_core.body import Capsule, Character
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats
from puppet_core.robots import read_shape, robot_name
from puppet_msgs.msg import Importance
from puppet_retarget.importance import skeleton_of
from puppet_retarget.offline import PERFORMER
from puppet_ros import interface_table as graph
from puppet_ros.bags import BagReader, require_same_types
from puppet_ros.messages import decoded, MessageError, raw_header
from puppet_view.bag_motion import NO_POSTURES_HINT, POSTURE, PostureTrack
from puppet_view.recording import by_cause, Importances, PUPPET, RecordedBody, Recording
from std_msgs.msg import String

POSTURE_NAME, DESCRIPTION_NAME = '/posture', '/robot_description'
TEXT, NEAR = graph.TYPES[graph.DESCRIPTION], graph.TYPES[graph.IMPORTANCE]
STEADY_MS = 1e-3  # a latency below this was not measured: the bag was not recorded live
SAME_PLACE_M = 1e-6


def read_recording(path: Path) -> Recording:
    """Return all of a bag that can be shown; InputFileError without postures, or broken ones."""
    tracks: dict[str, PostureTrack] = {}
    shapes: dict[str, str] = {}
    near: list[tuple[int, Floats]] = []
    delays: list[float] = []
    with BagReader(path) as reader:
        wanted = [topic for topic, kind in reader.topics.items() if _is_wanted(topic, kind)]
        require_same_types(reader, wanted)
        for message in reader.messages(wanted):
            who = message.topic.rsplit('/', 1)[0].strip('/')
            try:
                if message.type == POSTURE:
                    tracks.setdefault(who, PostureTrack()).add(message.data)
                elif message.type == TEXT:
                    shapes[who] = decoded(message.data, String).data
                elif message.type == NEAR:
                    stamp_ns = raw_header.stamp_ns(message.data)
                    msg = decoded(message.data, Importance)
                    values = by_cause(msg.importance, msg.self_importance)
                    if np.all(np.isfinite(values)) and (not near or stamp_ns > near[-1][0]):
                        near.append((stamp_ns, values))
                else:
                    delays.append(1e-6 * (message.log_ns - raw_header.stamp_ns(message.data)))
            except MessageError as err:
                raise InputFileError(path, message.type, str(err), field=message.topic) from err
    tracks = {who: track for who, track in tracks.items() if track.stamps_ns}
    if not tracks:
        raise InputFileError(
            path, f'postures on {graph.POSTURE} or {graph.PUPPET}', 'none', hint=NO_POSTURES_HINT
        )
    first_ns = min(track.stamps_ns[0] for track in tracks.values())
    bodies = []
    for who in sorted(tracks, key=lambda who: (who != PERFORMER, who != PUPPET, who)):
        try:
            bodies.append(_body(who, tracks[who], shapes.get(who, ''), first_ns))
        except ConfigError as err:
            raise InputFileError(path, 'a body', str(err), field=who) from err
    values = np.array([row for _, row in near]).reshape(-1, 2, 4)
    latency = None
    if delays and np.median(np.abs(delays)) >= STEADY_MS:
        p50, p99 = np.percentile(delays, (50, 99))
        latency = float(p50), float(p99)
    times = _since_s([stamp_ns for stamp_ns, _ in near], first_ns)
    importances = Importances(times, values[:, 0], values[:, 1])
    return Recording(path.stem, tuple(bodies), importances, latency)


def _is_wanted(topic: str, kind: str) -> bool:
    if kind == POSTURE:
        return topic.endswith(POSTURE_NAME)
    if kind == TEXT:
        return topic.endswith(DESCRIPTION_NAME) and topic != DESCRIPTION_NAME
    return topic in (graph.IMPORTANCE, graph.JOINTS) and kind == graph.TYPES[topic]


def _body(who: str, track: PostureTrack, description: str, first_ns: int) -> RecordedBody:
    _, rotations, joints, points = track.arrays()
    skeleton = skeleton_of(rotations[-1], joints[-1], points[-1])
    capsules = _capsules(description) if description else ()
    name = (robot_name(description) if description else '') or track.body or who
    body = Character(name, '', skeleton, capsules)
    times_s = _since_s(track.stamps_ns, first_ns)
    return RecordedBody(who, body, times_s, rotations, joints, points, track.props())


def _capsules(description: str) -> tuple[Capsule, ...]:
    """Return a described shape; a ball that is the round end of a cylinder belongs to that."""
    solids = read_shape(description)
    rods = [c for c in solids if not np.array_equal(c.start, c.end)]

    def is_end(ball: Capsule) -> bool:
        return any(
            c.segment == ball.segment
            and np.max(np.abs([*(place - ball.start), c.radius - ball.radius])) < SAME_PLACE_M
            for c in rods
            for place in (c.start, c.end)
        )

    return (*rods, *(c for c in solids if np.array_equal(c.start, c.end) and not is_end(c)))


def _since_s(stamps_ns: list[int], first_ns: int) -> Floats:
    return np.array([1e-9 * (stamp - first_ns) for stamp in stamps_ns])
