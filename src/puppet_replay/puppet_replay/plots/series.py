# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the plots of a bag show, as arrays: series over time, their gaps and their statistics."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import MAX_GAP_S, MIN_CONTACT_S, PLANTED_HEIGHT_M, PLANTED_SPEED_M_S
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math.quaternions import conjugate, log, multiply

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Spans = list[tuple[float, float]]

GAP_STEPS = 4.0  # a step of so many usual ones is a gap: no line is drawn across it
PERCENTILES = (50, 99)
BAND_SIGMAS = 3.0


class Series(NamedTuple):
    """One curve, for its statistics."""

    name: str  # what it is, in words
    unit: str  # 'm', 'mm', 'deg', 'ms' or '' for a ratio
    values: Floats  # shape (n,)


class Importances(NamedTuple):
    """Importance of the end-effectors over time."""

    times_s: Floats  # shape (n,) [s]
    environment: Floats  # hands and feet, shape (n, 4), in 0 .. 1
    body: Floats  # self-interaction: hands, feet, elbows, knees, shape (n, 8), in 0 .. 1


class Soles(NamedTuple):
    """The sole centres of one body."""

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
    hop_ms: Floats
    """Log time less that of the source's message with the same stamp, shape (m,) [ms]."""


def statistics(series: Series) -> dict[str, Any]:
    """Return count, extremes, mean and percentiles of the finite values, keys with the unit."""
    finite = series.values[np.isfinite(series.values)]
    row: dict[str, Any] = {'name': series.name, 'count': len(finite)}
    if not len(finite):
        return row
    suffix = f'_{series.unit}' if series.unit else ''
    row |= {
        f'min{suffix}': finite.min(),
        f'max{suffix}': finite.max(),
        f'mean{suffix}': finite.mean(),
        f'std{suffix}': finite.std(),
    }
    return row | {
        f'p{share}{suffix}': float(np.percentile(finite, share)) for share in PERCENTILES
    }


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
    runs = pieces(times_s)
    found = []
    for array in (times_s, *values):
        hole = np.full((1, *np.shape(array)[1:]), np.nan)
        parts = [part for run in runs for part in (np.asarray(array, np.float64)[run], hole)]
        found.append(np.concatenate(parts[:-1]) if parts else np.asarray(array, np.float64))
    return found


def spans(times_s: Floats, inside: Bools) -> Spans:
    """Return first and last time of each run of true values (n,), none across a gap [s]."""
    found = []
    for run in pieces(times_s):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], inside[run].astype(int), [0]))))
        t = times_s[run]
        found += [(float(t[a]), float(t[b - 1])) for a, b in edges.reshape(-1, 2)]
    return found


def planted(soles: Soles) -> Bools:
    """Return which feet are low and slow in which frames, by foot_slide, shape (n, 2)."""
    flags = np.zeros((len(soles.times_s), 2), np.bool_)
    for run in pieces(soles.times_s):
        t = soles.times_s[run]
        if len(t) > 1:
            steps = np.linalg.norm(np.diff(soles.positions[run], axis=0), axis=-1)
            low = soles.positions[run, :, 2] < PLANTED_HEIGHT_M
            flags[run] = low
            flags[run][1:] &= steps < PLANTED_SPEED_M_S * np.diff(t)[:, None]
            flags[run.start] = flags[run.start + 1]  # its own speed is not known
    return flags


def contacts(soles: Soles) -> tuple[Spans, Spans]:
    """
    Return when the left and the right foot stand [s].

    Interruptions up to MAX_GAP_S are bridged, and contacts shorter than MIN_CONTACT_S are none.

    """
    flags = planted(soles)
    found = []
    for k in range(2):
        joined: Spans = []
        for start, end in spans(soles.times_s, flags[:, k]):
            if joined and start - joined[-1][1] <= MAX_GAP_S:
                start = joined.pop()[0]
            joined.append((start, end))
        found.append([(a, b) for a, b in joined if b - a >= MIN_CONTACT_S])
    return found[0], found[1]


def turned_deg(quaternions: Quats, reference: Quats) -> Vec3s:
    """Return rotation vectors from a reference (4,), transmitter's axes, shape (n, 3) [deg]."""
    return np.rad2deg(log(multiply(quaternions, conjugate(reference))))


def liveliest(positions: Mapping[str, Vec3s]) -> str:
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
