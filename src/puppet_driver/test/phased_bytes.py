# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Byte streams as a line would carry them, for several tests."""

import numpy as np
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator.flock_simulator import encode_records

ADDRESSES = (2, 3, 4, 5, 6)
RANGE_IN = 144


def smooth_poses(rng, n_ticks, n_sensors):
    """Return poses (n_ticks, n_sensors, 7) that move as slowly as a body does."""
    start = rng.uniform(-2.0, 2.0, (n_sensors, 3))
    steps = rng.normal(0.0, 0.005, (n_ticks, n_sensors, 3))
    quaternions = rng.normal(size=(n_sensors, 4)) + rng.normal(
        0.0, 0.002, (n_ticks, n_sensors, 4)
    ).cumsum(axis=0)
    quaternions /= np.linalg.norm(quaternions, axis=-1, keepdims=True)
    return np.concatenate((start + steps.cumsum(axis=0), quaternions), axis=-1)


def records_of(poses, addresses=ADDRESSES):
    """Return the records of poses (n_ticks, n_sensors, 7) in the order they are sent."""
    units = [
        encode_records(
            flock.FORMAT_COMMANDS['position_quaternion'], poses[:, i], RANGE_IN, address
        )
        for i, address in enumerate(addresses)
    ]
    return [unit[tick].tobytes() for tick in range(len(poses)) for unit in units]
