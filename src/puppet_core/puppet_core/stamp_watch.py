# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether time jumped back: a recording that starts over, or simulated time that was reset."""

BACK_NS = 500_000_000  # more than messages of a stream ever overtake each other


class StampWatch:
    """Watches the stamps of one stream."""

    def __init__(self) -> None:
        self._last_ns: int | None = None

    def went_back(self, stamp_ns: int) -> bool:
        """Return whether this stamp is so much before the last one that time was set back."""
        jumped = self._last_ns is not None and stamp_ns < self._last_ns - BACK_NS
        if jumped or self._last_ns is None or stamp_ns > self._last_ns:
            self._last_ns = stamp_ns
        return jumped
