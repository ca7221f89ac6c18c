# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Arrivals of a device's ticks to stamps without their jitter, by a fit of the device's clock.

The device's rate is known but for its crystal's error; offset and drift against the host's
clock are fitted to the earliest arrivals, see clock_kernels.

"""

from typing import NamedTuple

from puppet_driver import clock_kernels as kernels


class ClockStatus(NamedTuple):
    """The fit for diagnostics."""

    is_tracking: bool
    """Whether stamps come from the fit; else they are the arrivals."""

    rate_hz: float
    """Ticks a second by the host's clock."""

    drift_ppm: float
    """How much faster than its nominal rate the device is."""

    jitter_s: float
    """Root mean square of what was taken off the arrivals lately [s]."""

    restarts: int
    """Times that the line began anew: gaps, clocks that were set, wrong rates."""


class ClockFit:
    """
    The clock of one device.

    Parameters
    ----------
    rate_hz : float
        Nominal ticks per second.

    """

    def __init__(self, rate_hz: float) -> None:
        self._nominal_ns = 1e9 / rate_hz
        self._clock = kernels.new_clock(self._nominal_ns)

    def stamp(self, arrival_ns: int) -> int:
        """
        Return when a tick was sent, from its first byte's arrival [ns].

        Ticks are given in their order. Stamps increase strictly, and are not later than the
        arrival; only a host's clock that is set back breaks one of both.

        """
        return int(kernels.stamp_tick(self._clock, arrival_ns))

    def reset(self) -> None:
        """Forget everything, as for another device."""
        self._clock = kernels.new_clock(self._nominal_ns)

    @property
    def status(self) -> ClockStatus:
        """Where the fit stands; may be read from another thread."""
        ints, floats = self._clock.ints, self._clock.floats
        period_ns = float(floats[kernels.PERIOD_NS])
        return ClockStatus(
            bool(ints[kernels.STATE] == kernels.TRACKING),
            1e9 / period_ns,
            1e6 * (self._nominal_ns / period_ns - 1.0),
            1e-9 * float(floats[kernels.MEAN_SQUARE]) ** 0.5,
            int(ints[kernels.RESTARTS]),
        )
