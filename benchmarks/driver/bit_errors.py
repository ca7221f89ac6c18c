# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What turned bits do, device by device: `python3 -m benchmarks.driver.bit_errors`.

Each device is started against its emulated simulator by bytes alone; then bits of what the
simulator sends are turned, and each record that is accepted is compared with the one that was
sent. No record has a checksum, so some wrong ones are accepted: how many, and how wrong, is the
answer.
"""

import argparse
from collections.abc import Sequence
import sys
from typing import NamedTuple

from benchmarks.driver.decoders import bytes_of, SENSORS, started, started_pair
import numpy as np
from puppet_core.io import EXIT_OK
from puppet_core.math import Floats, Ints
from puppet_driver.devices.decoding import NOISE_M, Reach
from puppet_driver.tracker import RecordStream, Tracker, TrackerRecord

# device, rate [Hz], format if there is a choice
CASES = (
    ('flock_of_birds', 120.0, 'position_quaternion'),
    ('flock_of_birds', 120.0, 'position_angles'),
    ('flock_of_birds', 120.0, 'position_matrix'),
    ('fastrak', 60.0, ''),
    ('fastrak_ascii', 60.0, ''),
    ('liberty', 120.0, ''),
    ('patriot', 60.0, ''),
    ('motionstar', 120.0, ''),
)
BIT_ERROR_RATES = (1e-4, 1e-3, 1e-2)
SAME_M, SAME_RAD = 1e-6, 1e-6


class Damage(NamedTuple):
    """What became of a noisy line's records."""

    sent: int  # Records
    untouched: int  # Records without a turned bit
    accepted: int  # Records that came out
    wrong: int  # Records that came out otherwise than they were sent
    far: int  # Of these, how many are off by more than a sensor's noise, NOISE_M
    worst_m: float  # Largest error of a position that came out [m]
    worst_rad: float  # Largest error of an orientation that came out [rad]


def ticks_of(
    device: str, rate_hz: float, record_format: str, n_ticks: int
) -> tuple[Tracker, Reach, list[bytes]]:
    """Return a started tracker, its reach and what its simulator sends at each tick."""
    given: dict[str, object] = {'rate_hz': rate_hz}
    if record_format:
        given['record_format'] = record_format
    tracker, simulator, config = started_pair(device, **given)
    started(tracker, simulator)
    data = bytes_of(simulator, n_ticks)
    size = len(data) // n_ticks
    ticks = [data[at : at + size] for at in range(0, len(data), size)]
    return tracker, Reach(config.rate_hz, config.max_speed_mps), ticks


def feed(stream: RecordStream, ticks: Sequence[bytes]) -> tuple[Ints, Ints, Floats]:
    """Return tick, ordinal and pose of the records that come out of reads of a tick each."""
    found: list[TrackerRecord] = []
    for tick, data in enumerate(ticks):
        found += stream.feed(data, tick)
        found += stream.flush()
    stamps = np.array([record.stamp_ns for record in found], dtype=np.int64)
    ordinals = np.array([record.ordinal for record in found], dtype=np.int64)
    return stamps, ordinals, np.array([record.pose for record in found]).reshape(-1, 7)


def truth_of(tracker: Tracker, ticks: list[bytes]) -> Floats:
    """Return the poses that were sent, as they come out, shape (ticks, sensors, 7)."""
    lead = 2  # until the paths are known
    stamps, ordinals, poses = feed(tracker.open_stream(), [*ticks[:1] * lead, *ticks])
    truth = np.full((len(ticks) + lead, len(SENSORS), 7), np.nan)
    truth[stamps, ordinals] = poses
    return truth[lead:]


def turn_bits(ticks: Sequence[bytes], rate: float, rng: np.random.Generator) -> list[bytes]:
    """Return bytes of which each bit is turned with a probability."""
    turned = []
    for data in ticks:
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
        turned.append(np.packbits(bits ^ (rng.random(len(bits)) < rate)).tobytes())
    return turned


def errors(poses: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Return the errors of positions [m] and of orientations [rad]."""
    distance = np.linalg.norm(poses[:, :3] - truth[:, :3], axis=1)
    # the chord between quaternions is exact for small angles, the cosine is not
    chord = np.minimum(
        np.linalg.norm(poses[:, 3:] - truth[:, 3:], axis=1),
        np.linalg.norm(poses[:, 3:] + truth[:, 3:], axis=1),
    )
    return distance, 4.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))


def measure(tracker: Tracker, ticks: list[bytes], rate: float, seed: int = 1) -> Damage:
    """Turn bits and see what comes out."""
    truth = truth_of(tracker, ticks)
    rng = np.random.default_rng(seed)
    noisy = turn_bits(ticks, rate, rng)
    stamps, ordinals, poses = feed(tracker.open_stream(), noisy)
    distance, angle = errors(poses, truth[stamps, ordinals])
    wrong = (distance > SAME_M) | (angle > SAME_RAD)
    n_sent = len(ticks) * len(SENSORS)
    size = len(ticks[0]) // len(SENSORS)
    untouched = sum(
        a[i * size : (i + 1) * size] == b[i * size : (i + 1) * size]
        for a, b in zip(ticks, noisy)
        for i in range(len(SENSORS))
    )
    return Damage(
        n_sent,
        untouched,
        len(stamps),
        int(wrong.sum()),
        int((distance > NOISE_M).sum()),
        float(distance.max(initial=0.0)),
        float(angle.max(initial=0.0)),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    p = argparse.ArgumentParser(prog='bench_bit_errors', description=__doc__.split('\n\n')[0])
    p.add_argument('--ticks', type=int, default=20_000, help='of each, default %(default)s')
    n_ticks = p.parse_args(argv).ticks
    out = sys.stdout.write
    out(
        '| device | Hz | bits turned | untouched | accepted | of these wrong '
        f'| by > {1e3 * NOISE_M:g} mm | worst | reach |\n'
    )
    out('|---|---|---|---|---|---|---|---|---|\n')
    for device, rate_hz, record_format in CASES:
        tracker, reach, ticks = ticks_of(device, rate_hz, record_format, n_ticks)
        for rate in BIT_ERROR_RATES:
            d = measure(tracker, ticks, rate)
            name = f'{device}, {record_format}' if record_format else device
            out(
                f'| {name} | {rate_hz:g} | {rate:g} | {d.untouched / d.sent:.1%} '
                f'| {d.accepted / d.sent:.1%} | {d.wrong / max(d.accepted, 1):.2%} '
                f'| {d.far / max(d.accepted, 1):.2%} '
                f'| {1e3 * d.worst_m:.0f} mm, {np.degrees(d.worst_rad):.0f}° '
                f'| {1e3 * reach.distance_m:.0f} mm, {np.degrees(reach.angle_rad):.0f}° |\n'
            )
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
