# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of a bag that a plot shows, as arrays."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import GENERAL_END_EFFECTORS, lasting, N_SEGMENTS, planted_soles, runs
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math.quaternions import conjugate, log, multiply
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_msgs.msg import Importance, PoseFrame, Posture, TrackerFrame
from puppet_ros.bags import BagMessage, BagReader, require_same_types
from puppet_ros.interface_table import (
    FILTERED,
    IMPORTANCE,
    JOINTS,
    POSTURE,
    PUPPET,
    RAW,
    STATUS,
    TYPES,
)
from puppet_ros.messages import (
    decoded,
    from_pose_frame,
    from_tracker_frame,
    importance_msg,
    MessageError,
    posture_msg,
    stamp_ns,
)

Ints = NDArray[np.int64]
Spans = list[tuple[float, float]]

GAP_STEPS = 4.0  # a step of so many usual ones is a gap: no line is drawn across it
PERCENTILES = (50, 99)
BAND_SIGMAS = 3.0
N_ENDS = len(GENERAL_END_EFFECTORS)


class Series(NamedTuple):
    """One curve, for its statistics."""

    name: str  # what it is, in words
    unit: str  # 'm', 'mm', 'deg', 'ms' or '' for a ratio
    values: Floats  # shape (n,)


class Importances(NamedTuple):
    times_s: Floats  # shape (n,) [s]
    environment: Floats  # of hands, feet, elbows, knees, shape (n, 8), in 0 .. 1
    body: Floats  # self-interaction, the same
    rests: Floats  # of each segment on any object, shape (n, 16)


class Soles(NamedTuple):
    name: str  # whose they are
    times_s: Floats  # shape (n,) [s]
    positions: Vec3s  # left and right in world, shape (n, 2, 3) [m]


class Feet(NamedTuple):
    """The feet of the performer, of the puppet if it is known, and how much they matter."""

    bodies: tuple[Soles, ...]  # the performer first
    times_s: Floats  # of the importance, shape (n,) [s]
    importance: Floats  # left and right, shape (n, 2)


class SensorTrack(NamedTuple):
    """Frames of one sensor that are in the raw and the filtered stream."""

    name: str  # of the sensor
    times_s: Floats  # shape (n,) [s]
    raw_positions: Vec3s  # shape (n, 3) [m]; NaN where not measured
    raw_quaternions: Quats  # shape (n, 4); NaN where not measured
    positions: Vec3s  # filtered, shape (n, 3) [m]; NaN where lost
    quaternions: Quats  # filtered, shape (n, 4); NaN where lost
    sigmas: Floats  # of the filtered position [m] and rotation vector [rad], shape (n, 6)
    status: Ints  # of the filtered pose, FILTER_OK .. FILTER_LOST, shape (n,)

    @property
    def residual_mm(self) -> Vec3s:
        """Raw less filtered position, shape (n, 3) [mm]."""
        return 1e3 * (self.raw_positions - self.positions)

    @property
    def residual_deg(self) -> Vec3s:
        """Rotation vector from filtered to raw, transmitter's axes, shape (n, 3) [deg]."""
        return np.rad2deg(log(multiply(self.raw_quaternions, conjugate(self.quaternions))))

    def band(self, rotation: bool) -> Floats:
        """Return three standard deviations, shape (n, 3), in mm or, of the rotation, degrees."""
        if rotation:
            return np.rad2deg(BAND_SIGMAS * self.sigmas[:, 3:])
        return BAND_SIGMAS * 1e3 * self.sigmas[:, :3]


class Latency(NamedTuple):
    """How late the messages of a topic were recorded."""

    topic: str  # its name
    times_s: Floats  # stamps, shape (n,) [s]
    age_ms: Floats  # log time less stamp, shape (n,) [ms]
    source: str  # topic that it is made from; '' if that is not in the bag
    hop_times_s: Floats  # stamps that both have, shape (m,) [s]
    # Log time less that of the source's message with the same stamp, shape (m,) [ms]
    hop_ms: Floats


def statistics(series: Series) -> dict[str, Any]:
    """Return count, extremes, mean and percentiles of the finite values, keys with the unit."""
    finite = series.values[np.isfinite(series.values)]
    row: dict[str, Any] = {'name': series.name, 'count': len(finite)}
    if not len(finite):
        return row
    suffix = f'_{series.unit}' if series.unit else ''
    figures = {name: getattr(finite, name)() for name in ('min', 'max', 'mean', 'std')}
    figures |= {f'p{share}': float(np.percentile(finite, share)) for share in PERCENTILES}
    return row | {f'{name}{suffix}': figure for name, figure in figures.items()}


def pieces(times_s: Floats) -> list[slice]:
    """Return the runs of rising times (n,) between gaps."""
    if not len(times_s):
        return []
    steps = np.diff(times_s)
    usual = float(np.median(steps)) if len(steps) else 0.0
    cuts = [0, *(np.flatnonzero(steps > GAP_STEPS * usual) + 1).tolist(), len(times_s)]
    return [slice(a, b) for a, b in zip(cuts, cuts[1:])]


def with_gaps(times_s: Floats, *values: Floats) -> list[Floats]:
    """Return times (n,) and values (n, ..) with a row of NaN in each gap."""
    whole = pieces(times_s)
    found = []
    for array in (times_s, *values):
        hole = np.full((1, *np.shape(array)[1:]), np.nan)
        parts = [part for run in whole for part in (np.asarray(array, np.float64)[run], hole)]
        found.append(np.concatenate(parts[:-1]) if parts else np.asarray(array, np.float64))
    return found


def contacts(soles: Soles) -> tuple[Spans, Spans]:
    """Return when the left and the right foot stand [s], by the measures of motions."""
    found: tuple[Spans, Spans] = ([], [])
    for piece in pieces(soles.times_s):
        t = soles.times_s[piece]
        if len(t) < 2:
            continue
        rate_hz = 1.0 / float(np.median(np.diff(t)))
        flags = planted_soles(soles.positions[piece], rate_hz)
        flags[0] = flags[1]  # its own speed is not known
        for k in range(2):
            stands = runs(lasting(flags[:, k], rate_hz))
            found[k].extend((float(t[first]), float(t[end - 1])) for first, end in stands)
    return found


def turned_deg(quaternions: Quats, reference: Quats) -> Vec3s:
    """Return rotation vectors from a reference (4,), transmitter's axes, shape (n, 3) [deg]."""
    return np.rad2deg(log(multiply(quaternions, conjugate(reference))))


def most_moving_sensor(positions: Mapping[str, Vec3s]) -> str:
    """Return the name of the sensor whose positions (n, 3) spread the most."""

    def spread(name: str) -> float:
        finite = positions[name][np.isfinite(positions[name]).all(axis=-1)]
        return float(np.linalg.norm(finite.std(axis=0))) if len(finite) else -1.0

    return max(positions, key=spread)


def is_of_a_replay(latencies: Sequence[Latency]) -> bool:
    """Return whether log times are those of the input: nothing took any time at all."""
    hops = [latency.hop_ms for latency in latencies if len(latency.hop_ms)]
    if hops:
        return not any(hop.any() for hop in hops)
    return not any(latency.age_ms.any() for latency in latencies)


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


def _importances(msg: Importance) -> Floats:
    """Return those of end-effectors, environment and own body, then of segments that rest."""
    record, rests = importance_msg.from_msg(msg), np.zeros(N_SEGMENTS)
    np.maximum.at(rests, msg.rest_segments, msg.rest_importances)
    return np.concatenate((record.rows[:, 0], record.self_rows[:, 0], rests))


class PlotBag:
    """An open bag, its times counted from its first stamp; InputFileError from every method."""

    def __init__(self, reader: BagReader, span: Span = Span()) -> None:  # noqa: B008
        self._reader, self._span = reader, span
        self._known = [topic for topic in SOURCES if self._is_ours(topic)]
        first = next(reader.messages(self._known), None) if self._known else None
        self._origin_ns = self._stamp_ns(first) if first is not None else 0

    def importances(self) -> Importances:
        times_s, rows = self._records(IMPORTANCE, Importance, _importances)
        environment, body, rests = np.split(np.stack(rows), (N_ENDS, 2 * N_ENDS), axis=1)
        return Importances(times_s, environment, body, rests)

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
            wanted = f'frames of {RAW} and {FILTERED} with equal stamps'
            raise InputFileError(self._reader.path, wanted, 'none')
        if not names:
            places = np.stack([frame.positions for frame, _ in pairs])
            names = [most_moving_sensor({name: places[:, k] for k, name in enumerate(known)})]
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
                'those of the input: the bag was made by ./puppet replay or exported, so they '
                'tell no latency',
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
        age_ms, hop_ms = np.asarray(1e-6 * ages), np.asarray(1e-6 * hops)
        from_topic = source if len(both) else ''
        return Latency(topic, self._seconds(ns), age_ms, from_topic, self._seconds(both), hop_ms)

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
            wanted = f'messages on {topic} between --from and --to'
            raise InputFileError(self._reader.path, wanted, 'none')
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
    filtered = [(frame, frame.sensors.index(name)) for frame, _ in pairs]
    raw = [(frame, frame.sensors.index(name)) for _, frame in pairs]
    with np.errstate(invalid='ignore'):
        sigmas = np.sqrt([np.diagonal(frame.covariances[i]) for frame, i in filtered])
    return SensorTrack(
        name,
        np.array([(frame.stamp_ns - origin_ns) * 1e-9 for frame, _ in filtered]),
        np.stack([frame.positions[j] for frame, j in raw]),
        np.stack([frame.quaternions[j] for frame, j in raw]),
        np.stack([frame.positions[i] for frame, i in filtered]),
        np.stack([frame.quaternions[i] for frame, i in filtered]),
        sigmas,
        np.array([int(frame.status[i]) for frame, i in filtered]),
    )
