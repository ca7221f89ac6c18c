# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Arrivals of a device's ticks to stamps without their jitter, by a fit of the device's clock.

The device's rate is found from the arrivals, whatever it is said to be; offset and drift against
the host's clock are fitted to the earliest arrivals, see clock_kernels.

"""

from typing import NamedTuple

from puppet_driver import clock_kernels as kernels


class ClockStatus(NamedTuple):
    """The fit for diagnostics."""

    is_tracking: bool
    """Whether stamps come from the fit; else they are the arrivals."""

    rate_hz: float
    """Ticks a second by the host's clock; the nominal ones until they have been counted."""

    drift_ppm: float
    """How much faster than its nominal rate the device is."""

    jitter_s: float
    """Root mean square of what was taken off the arrivals lately [s]."""

    restarts: int
    """Times that the line began anew: gaps, clocks that were set, wrong rates."""

    is_known: bool
    """Whether `rate_hz` comes from the arrivals, be they tracked or not."""

    is_unsteady: bool
    """Whether no period was found that the arrivals keep time with."""


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

    def stamp(self, arrival_ns: int, in_lumps: bool = False) -> int:
        """
        Return when a tick was sent, from its first byte's arrival [ns].

        `in_lumps` says that bytes are known to be collected on the way. Ticks are given in their
        order. Stamps increase strictly, and are not later than the arrival; only a host's clock
        that is set back breaks one of both.

        """
        return int(kernels.stamp_tick(self._clock, arrival_ns, in_lumps))

    @property
    def state(self) -> kernels.Clock:
        """Return what the kernels work on."""
        return self._clock

    @property
    def status(self) -> ClockStatus:
        """Where the fit stands; may be read from another thread."""
        ints, floats = self._clock.ints, self._clock.floats
        state = int(ints[kernels.STATE])
        is_tracking = state == kernels.TRACKING
        usual_ns = float(floats[kernels.USUAL_NS])
        period_ns = float(floats[kernels.PERIOD_NS])
        if not is_tracking and usual_ns > 0.0:
            period_ns = usual_ns
        return ClockStatus(
            is_tracking,
            1e9 / period_ns,
            1e6 * (self._nominal_ns / period_ns - 1.0),
            1e-9 * float(floats[kernels.MEAN_SQUARE]) ** 0.5,
            int(ints[kernels.RESTARTS]),
            is_tracking or usual_ns > 0.0,
            state == kernels.ACQUIRING and usual_ns > 0.0,
        )

    @property
    def period_ns(self) -> float:
        """Return the period of the fit, the nominal one until it has begun [ns]."""
        return float(self._clock.floats[kernels.PERIOD_NS])
