# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of a bag that a plot shows, as arrays."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_msgs.msg import Importance, PoseFrame, Posture, TrackerFrame
from puppet_replay.plots.series import (
    Feet,
    Importances,
    Ints,
    is_of_a_replay,
    Latency,
    liveliest,
    SensorTrack,
    Soles,
)
from puppet_replay.topics import (
    FILTERED,
    IMPORTANCE,
    JOINTS,
    POSTURE,
    PUPPET,
    RAW,
    STATUS,
    TYPES,
)
from puppet_ros.bags import BagMessage, BagReader, require_same_types
from puppet_ros.messages import (
    decoded,
    from_pose_frame,
    from_tracker_frame,
    importance_msg,
    MessageError,
    posture_msg,
    stamp_ns,
)

SOURCES = {
    RAW: '',
    FILTERED: RAW,
    POSTURE: FILTERED,
    IMPORTANCE: POSTURE,
    JOINTS: IMPORTANCE,
    PUPPET: IMPORTANCE,
    STATUS: IMPORTANCE,
}
"""The stamped topics of the graph, each with the one that it is made from at last."""

_SOLES = slice(2, 4)  # of the general end-effectors


class Span(NamedTuple):
    """What of a bag is plotted, in seconds since the stamp of its first message."""

    start_s: float = -np.inf  # earliest stamp [s]
    end_s: float = np.inf  # latest stamp [s]


class PlotBag:
    """
    An open bag, its times counted from the stamp of the first message of the graph.

    Raises
    ------
    InputFileError : from every method, naming a topic that is not in the bag or has no message
        in the span, or a message that cannot be read.

    """

    def __init__(self, reader: BagReader, span: Span = Span()) -> None:  # noqa: B008
        self._reader, self._span = reader, span
        self._known = [topic for topic in SOURCES if self._is_ours(topic)]
        first = next(reader.messages(self._known), None) if self._known else None
        self._origin_ns = self._stamp_ns(first) if first is not None else 0

    def importances(self) -> Importances:
        """Return the importance of all end-effectors."""
        times_s, records = self._records(IMPORTANCE, Importance, importance_msg.from_msg)
        near, own = Importance.COLUMN_IMPORTANCE, Importance.SELF_COLUMN_IMPORTANCE
        return Importances(
            times_s,
            np.stack([record.rows[:, near] for record in records]),
            np.stack([record.self_rows[:, own] for record in records]),
        )

    def feet(self) -> Feet:
        """Return the soles of the performer, of the puppet too if it is there, and importances."""
        self._require(POSTURE, IMPORTANCE)
        bodies = [self._soles(topic) for topic in (POSTURE, PUPPET) if self._is_ours(topic)]
        shown = self.importances()
        return Feet(tuple(bodies), shown.times_s, shown.environment[:, _SOLES])

    def sensors(self, names: Collection[str]) -> tuple[SensorTrack, ...]:
        """Return what the filter made of sensors; of none named, of the one that moves most."""
        self._require(RAW, FILTERED)
        times_s, filtered = self._records(FILTERED, PoseFrame, from_pose_frame)
        raw_times_s, raw = self._records(RAW, TrackerFrame, from_tracker_frame)
        known = filtered[0].sensors
        for name in names:
            if name not in known:
                raise ConfigError(f'--sensors: expected some of {", ".join(known)}, got {name!r}')
        _, at_filtered, at_raw = np.intersect1d(times_s, raw_times_s, return_indices=True)
        pairs = [
            (filtered[i], raw[j])
            for i, j in zip(at_filtered, at_raw)
            if filtered[i].sensors == known and set(known) <= set(raw[j].sensors)
        ]
        if not pairs:
            raise InputFileError(
                self._reader.path, f'frames of {RAW} and {FILTERED} with equal stamps', 'none'
            )
        if not names:
            places = np.stack([frame.positions for frame, _ in pairs])
            names = [liveliest({name: places[:, k] for k, name in enumerate(known)})]
        origin_ns = self._origin_ns
        return tuple(_track(name, pairs, origin_ns) for name in dict.fromkeys(names))

    def latencies(self) -> tuple[Latency, ...]:
        """Return how late each topic of the graph was recorded."""
        stamps: dict[str, dict[int, int]] = {topic: {} for topic in self._known}
        if not self._known:
            self._missing(*SOURCES)
        for message in self._reader.messages(self._known):
            ns = self._stamp_ns(message)
            if self._is_inside(ns):
                stamps[message.topic].setdefault(ns, message.log_ns)
        found = tuple(self._latency(topic, stamps) for topic, logs in stamps.items() if logs)
        if not found:
            raise InputFileError(self._reader.path, 'messages between --from and --to', 'none')
        if is_of_a_replay(found):
            raise InputFileError(
                self._reader.path,
                'log times of a live recording',
                'those of the input: the '
                'bag was made by ./puppet replay or exported, so they tell no latency',
            )
        return found

    def _latency(self, topic: str, stamps: dict[str, dict[int, int]]) -> Latency:
        logs, source = stamps[topic], SOURCES[topic]
        while source and not stamps.get(source):
            source = SOURCES[source]
        before = stamps[source] if source else {}
        ns = np.array(list(logs), dtype=np.int64)
        both = np.array([n for n in logs if n in before], dtype=np.int64)
        hops = np.array([logs[n] - before[n] for n in both.tolist()], dtype=np.int64)
        ages = np.array(list(logs.values()), dtype=np.int64) - ns
        return Latency(
            topic,
            self._seconds(ns),
            np.asarray(1e-6 * ages, np.float64),
            source if len(both) else '',
            self._seconds(both),
            np.asarray(1e-6 * hops, np.float64),
        )

    def _soles(self, topic: str) -> Soles:
        times_s, records = self._records(topic, Posture, posture_msg.from_msg)
        places = np.stack([record.posture.end_effectors[_SOLES] for record in records])
        return Soles(records[0].body or topic, times_s, places)

    def _records(
        self, topic: str, kind: type, from_msg: Callable[[Any], Any]
    ) -> tuple[Floats, list[Any]]:
        """Return the times, rising, and the records of a topic in the span."""
        self._require(topic)
        by_stamp: dict[int, Any] = {}
        for message in self._reader.messages((topic,)):
            ns = self._stamp_ns(message)
            if not self._is_inside(ns):
                continue
            try:
                by_stamp.setdefault(ns, from_msg(decoded(message.data, kind)))
            except MessageError as err:
                raise self._unreadable(topic, err) from err
        if not by_stamp:
            raise InputFileError(
                self._reader.path, f'messages on {topic} between --from and --to', 'none'
            )
        stamps = sorted(by_stamp)
        return self._seconds(np.array(stamps, np.int64)), [by_stamp[ns] for ns in stamps]

    def _stamp_ns(self, message: BagMessage) -> int:
        try:
            return stamp_ns(message.data)
        except MessageError as err:
            raise self._unreadable(message.topic, err) from err

    def _unreadable(self, topic: str, err: MessageError) -> InputFileError:
        return InputFileError(
            self._reader.path, 'messages that can be read', str(err), field=topic
        )

    def _seconds(self, ns: Ints) -> Floats:
        return np.asarray((ns - self._origin_ns) * 1e-9, np.float64)

    def _is_inside(self, ns: int) -> bool:
        return self._span.start_s <= (ns - self._origin_ns) * 1e-9 <= self._span.end_s

    def _is_ours(self, topic: str) -> bool:
        return bool(self._reader.counts.get(topic)) and self._reader.topics[topic] == TYPES[topic]

    def _require(self, *topics: str) -> None:
        missing = [topic for topic in topics if not self._is_ours(topic)]
        if missing:
            self._missing(*missing)
        require_same_types(self._reader, topics)

    def _missing(self, *topics: str) -> None:
        there = ', '.join(sorted(t for t, count in self._reader.counts.items() if count)) or 'none'
        words = ', '.join(f'{topic} ({TYPES[topic]})' for topic in topics)
        raise InputFileError(self._reader.path, f'messages on {words}', f'those on {there}')


def _track(
    name: str, pairs: Sequence[tuple[FilteredFrame, SensorFrame]], origin_ns: int
) -> SensorTrack:
    """Return one sensor's rows of the frames."""
    rows = [
        (frame, frame.sensors.index(name), raw, raw.sensors.index(name)) for frame, raw in pairs
    ]
    with np.errstate(invalid='ignore'):
        sigmas = np.sqrt([np.diagonal(frame.covariances[i]) for frame, i, _, _ in rows])
    return SensorTrack(
        name,
        np.array([(frame.stamp_ns - origin_ns) * 1e-9 for frame, _, _, _ in rows]),
        np.stack([raw.positions[j] for _, _, raw, j in rows]),
        np.stack([raw.quaternions[j] for _, _, raw, j in rows]),
        np.stack([frame.positions[i] for frame, i, _, _ in rows]),
        np.stack([frame.quaternions[i] for frame, i, _, _ in rows]),
        sigmas,
        np.array([int(frame.status[i]) for frame, i, _, _ in rows]),
    )
