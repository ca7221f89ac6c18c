# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Detection of jumps back in time, and rate limits; the caller passes the time."""

BACK_NS = 500_000_000  # more than messages of a stream ever overtake each other

# What comes a little early passes, so that a jittery stream at a multiple of the rate is thinned
# evenly; less than a frame of any tracker.
EARLY_NS = 3_000_000
EARLY_SHARE = 0.25  # of a period, at most


class ClockJumpDetector:
    """Watches the stamps of one stream."""

    def __init__(self) -> None:
        self._last_ns: int | None = None

    def went_back(self, stamp_ns: int) -> bool:
        """Return whether this stamp is so much before the last one that time was set back."""
        jumped = self._last_ns is not None and stamp_ns < self._last_ns - BACK_NS
        if jumped or self._last_ns is None or stamp_ns > self._last_ns:
            self._last_ns = stamp_ns
        return jumped


class RateLimit:
    """Let pass at most so many a second."""

    def __init__(self, rate_hz: float) -> None:
        """Take the rate [Hz]; 0 lets nothing pass."""
        self._period_ns = round(1e9 / rate_hz) if rate_hz > 0.0 else 0
        self._next_ns: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether anything passes at all."""
        return self._period_ns > 0

    def passes(self, now_ns: int) -> bool:
        """Return whether what arrives now is due."""
        if self._period_ns == 0:
            return False
        early_ns = min(EARLY_NS, round(EARLY_SHARE * self._period_ns))
        due_ns = self._next_ns
        if due_ns is None or now_ns < due_ns - 2 * self._period_ns:
            # the first, or a clock that was set back
            due_ns = now_ns
        if now_ns < due_ns - early_ns:
            return False
        # a late one does not make the following ones hurry
        self._next_ns = max(due_ns, now_ns - early_ns) + self._period_ns
        return True
