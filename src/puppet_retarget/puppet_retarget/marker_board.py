# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
When which markers are due, so that their topic never exceeds its rate.

Frames come much faster than they are shown, the environment changes never and is sent once a
second, and balls of the own body become known a little after the frame they belong to. All of
them share one message: what is not due waits for the next. The caller brings the time.

"""

from puppet_core.marker_spec import MarkerSpec
from puppet_core.rate_limit import RateLimit


class MarkerBoard:
    """What waits to be drawn."""

    def __init__(self, rate_hz: float) -> None:
        """Take the most messages a second [Hz]; 0 is none at all."""
        self._limit = RateLimit(rate_hz)
        self._ball_limit = RateLimit(rate_hz)
        self._is_environment_due = False
        self._balls: tuple[int, tuple[MarkerSpec, ...]] = (0, ())

    def frame(self, now_ns: int) -> bool:
        """Return whether a message is due now that a frame has come."""
        return self._limit.passes(now_ns)

    def tick(self, now_ns: int) -> bool:
        """Ask for the environment; return whether a message is due for it alone."""
        self._is_environment_due = self._limit.is_open
        return self._limit.passes(now_ns)

    def wants_balls(self, now_ns: int) -> bool:
        """Return whether the balls of the own body would be looked at."""
        return self._ball_limit.passes(now_ns)

    def put_balls(self, stamp_ns: int, balls: tuple[MarkerSpec, ...]) -> None:
        """Keep the balls of a frame for the next message."""
        self._balls = stamp_ns, balls

    def take_balls(self) -> tuple[int, tuple[MarkerSpec, ...]]:
        """Return stamp [ns] and balls that wait, if any, and forget them."""
        taken, self._balls = self._balls, (0, ())
        return taken

    def take_environment(self) -> bool:
        """Return whether the environment belongs in this message, and forget it."""
        taken, self._is_environment_due = self._is_environment_due, False
        return taken
