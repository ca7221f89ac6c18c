# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How often the joints of a robot are beyond what they can: positions, speeds, accelerations."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Robot
from puppet_core.math import Floats

TOL = 1e-6  # rad beyond a position; share beyond a speed or an acceleration


class Limits(NamedTuple):
    """Of n joints; infinite where there is none, None where no joint's is known."""

    lower: Floats  # [rad]
    upper: Floats  # [rad]
    speeds: Floats  # [rad/s]
    accelerations: Floats | None = None  # [rad/s^2]


def limits_of(robot: Robot) -> Limits:
    """Return the limits of the joints that move; a URDF tells no accelerations."""
    return Limits(robot.lower, robot.upper, robot.speeds)


def limit_use(angles: Floats, rate_hz: float, limits: Limits) -> dict[str, int | None]:
    """
    Return how many joint-frames of angles (n, j) [rad] are beyond position, speed, acceleration.

    Speeds are those of steps from frame to frame, accelerations those of their changes; None for
    accelerations whose limits are not known.
    """
    rates = np.diff(angles, axis=0) * rate_hz
    outside = np.maximum(limits.lower - angles, angles - limits.upper) > TOL
    found: dict[str, int | None] = {
        'position': int(outside.sum()),
        'speed': int(_beyond(rates, limits.speeds).sum()),
        'acceleration': None,
    }
    if limits.accelerations is not None:
        changes = np.diff(rates, axis=0) * rate_hz
        found['acceleration'] = int(_beyond(changes, limits.accelerations).sum())
    return found


def _beyond(values: Floats, limits: Floats) -> np.ndarray:
    return np.abs(values) > limits * (1.0 + TOL)
