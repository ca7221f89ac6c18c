# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A tracker of your own, without ROS: decode the bytes of an invented device and filter its poses.

    python own_tracker.py

A record is `P`, the sensor's number, seven 16-bit integers (position in 0.1 mm, quaternion in
1/32767) and a checksum. It prints what was decoded and how far the filtered poses are from the
truth. For a device that drives the graph, see "A device of your own" in doc/trackers.md.
"""

from collections.abc import Iterator
import struct

import numpy as np
import puppet

RECORD = struct.Struct('<cB7hB')
RATE_HZ, N_SENSORS, NOISE_M = 120.0, 2, 0.0005


def device(places: np.ndarray) -> bytes:
    """Return what the device sends for positions (n, sensors, 3) [m], without turning."""
    sent = b''
    for row in places:
        for sensor, place in enumerate(row):
            numbers = (*np.round(1e4 * place).astype(int), 32767, 0, 0, 0)
            record = RECORD.pack(b'P', sensor, *numbers, 0)
            sent += record[:-1] + bytes([sum(record) % 256])
    return sent


def records(data: bytes) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield sensor, position and quaternion of sound records; skip whatever else there is."""
    at = 0
    while at + RECORD.size <= len(data):
        record = data[at : at + RECORD.size]
        mark, sensor, *numbers, check = RECORD.unpack(record)
        if mark != b'P' or sensor >= N_SENSORS or sum(record[:-1]) % 256 != check:
            at += 1  # look for the next beginning
            continue
        q = np.array(numbers[3:]) / 32767.0
        yield sensor, 1e-4 * np.array(numbers[:3]), q / np.linalg.norm(q)
        at += RECORD.size


def main() -> None:
    times = np.arange(240) / RATE_HZ
    truth = np.zeros((len(times), N_SENSORS, 3))
    truth[:, 0, 0], truth[:, 1, 2] = 0.3 * np.sin(4.0 * times), 1.0 + 0.1 * np.cos(6.0 * times)
    noise = np.random.default_rng(0).normal(scale=NOISE_M, size=truth.shape)
    sent = bytearray(device(truth + noise))
    sent[1000] ^= 0xFF  # a damaged byte

    positions, orientations = np.full(truth.shape, np.nan), np.full((*truth.shape[:2], 4), np.nan)
    frame, last, count = 0, -1, 0
    for sensor, position, orientation in records(bytes(sent)):
        frame += sensor <= last  # sensors come in turn; one that was lost stays NaN
        last, count = sensor, count + 1
        positions[frame, sensor], orientations[frame, sensor] = position, orientation
    print(f'{count} of {truth[..., 0].size} records decoded')

    filtered = puppet.filter_poses(times, positions, orientations, ('hand', 'head'))
    error_mm = 1000.0 * np.linalg.norm(filtered.positions - truth, axis=-1)
    print(f'filtered: {np.sqrt((error_mm**2).mean()):.2f} mm rms, at most {error_mm.max():.2f} mm')


if __name__ == '__main__':
    main()
