# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far a body can move from one record to the next; see path_kernels for what follows."""

from dataclasses import dataclass
import math

import numpy as np
from puppet_driver.path_kernels import MEMORY_SIZE, N_DOUBTED, Paths

# The fastest limbs that sport science measures are kicking feet, 17 m/s, and elbows that extend
# in a pitch, 2400 deg/s = 42 rad/s (Corcoran2024, Fleisig1999). The filter has the same limits.
MAX_SPEED_MPS = 20.0
MAX_TURN_RADPS = 60.0
NOISE_M = 0.01  # of a sensor far from its transmitter


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sensor on a body can do between two of its records."""

    rate_hz: float = 120.0
    """Records a second of each sensor."""

    max_speed_mps: float = MAX_SPEED_MPS
    """Speed of the fastest sensor [m/s]; infinite: nothing is implausible."""

    @property
    def distance_m(self) -> float:
        """How far it moves at most, noise included [m]."""
        return self.max_speed_mps / self.rate_hz + NOISE_M

    @property
    def angle_rad(self) -> float:
        """By how much it turns at most [rad]."""
        return min(MAX_TURN_RADPS / self.rate_hz, math.pi)

    def paths(self, n_sensors: int) -> Paths:
        """Return the memory of so many sensors, none of which has been seen."""
        memory = np.full((n_sensors, MEMORY_SIZE), np.nan)
        memory[:, N_DOUBTED] = 0.0
        return Paths(memory, self.distance_m, math.cos(0.5 * self.angle_rad))


USUAL = Reach()
ANYWHERE = Reach(max_speed_mps=math.inf)
