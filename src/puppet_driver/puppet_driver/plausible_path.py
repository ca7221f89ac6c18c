# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far a body can move from one record to the next; see path_kernels for what follows."""

from dataclasses import dataclass
import math

import numpy as np
from puppet_core.fastest_motion import FASTEST_M_S, FASTEST_RAD_S
from puppet_driver.path_kernels import MEMORY_SIZE, N_DOUBTED, Paths

NOISE_M = 0.01  # of a sensor far from its transmitter


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sensor on a body can do between two of its records."""

    rate_hz: float = 120.0
    """Records a second of each sensor."""

    max_speed_mps: float = FASTEST_M_S
    """Speed of the fastest sensor [m/s]; infinite: nothing is implausible."""

    @property
    def distance_m(self) -> float:
        """How far it moves at most, noise included [m]."""
        return self.max_speed_mps / self.rate_hz + NOISE_M

    @property
    def angle_rad(self) -> float:
        """By how much it turns at most [rad]."""
        return min(FASTEST_RAD_S / self.rate_hz, math.pi)

    def paths(self, n_sensors: int) -> Paths:
        """Return the memory of so many sensors, none of which has been seen."""
        memory = np.full((n_sensors, MEMORY_SIZE), np.nan)
        memory[:, N_DOUBTED] = 0.0
        return Paths(memory, self.distance_m, math.cos(0.5 * self.angle_rad))


USUAL = Reach()
ANYWHERE = Reach(max_speed_mps=math.inf)
