# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of streams: jumps, rates, pairs, and one publisher at a time (no ROS in here)."""

from typing import Any, Generic, TypeVar

BACK_NS = 500_000_000  # more than messages of a stream ever overtake each other

# What comes a little early passes, so that a jittery stream at a multiple of the rate is thinned
# evenly; less than a frame of any tracker.
EARLY_NS = 3_000_000
EARLY_SHARE = 0.25  # of a period, at most


class ClockJumpDetector:
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
        return self._period_ns > 0

    def passes(self, now_ns: int) -> bool:
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


Left = TypeVar('Left')
Right = TypeVar('Right')


class ExactTimeSynchronizer(Generic[Left, Right]):
    """Join two streams on equal stamps; of each, up to `capacity` messages wait for partners."""

    def __init__(self, capacity: int = 32) -> None:
        self.unmatched = [0, 0]
        """Messages of each topic dropped without a partner."""
        self._capacity = capacity
        # of both sides, by stamp, in the order in which they came
        self._waiting: tuple[dict[int, Any], dict[int, Any]] = ({}, {})

    def push_left(self, stamp_ns: int, item: Left) -> tuple[Left, Right] | None:
        """Take a message of the first topic; return the pair if its partner was here."""
        found = self._push(0, stamp_ns, item)
        return None if found is None else (item, found[0])

    def push_right(self, stamp_ns: int, item: Right) -> tuple[Left, Right] | None:
        """Take a message of the second topic; return the pair if its partner was here."""
        found = self._push(1, stamp_ns, item)
        return None if found is None else (found[0], item)

    def _push(self, side: int, stamp_ns: int, item: Any) -> tuple[Any] | None:
        own, other = self._waiting[side], self._waiting[1 - side]
        if stamp_ns in other:
            partner = other.pop(stamp_ns)
            for k, waiting in enumerate(self._waiting):
                for passed in [stamp for stamp in waiting if stamp <= stamp_ns]:
                    del waiting[passed]
                    self.unmatched[k] += 1
            return (partner,)
        self.unmatched[side] += own.pop(stamp_ns, None) is not None
        own[stamp_ns] = item
        if len(own) > self._capacity:
            del own[next(iter(own))]
            self.unmatched[side] += 1
        return None


TAKEOVER_NS = 250_000_000  # silence after which another publisher may have the place
MOST_LOST = 64  # frames of one publisher that may be lost on the way: more is another one
SILENT_S = 1.0
FORWARD_NS = 1_500_000_000  # more than the stamps may be ahead of the arrivals


class PublisherCheck:
    """
    Checks the messages on one topic, of which one publisher is followed as long as it lives.

    Another one's numbers do not continue its: rclpy's events executor does not tell who publishes.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic  # name of the topic
        self._index = self._stamp_ns = 0
        self._arrival_ns: int | None = None
        self._n_refused = 0
        self._set_back_ns = self._set_forward_ns = 0

    def takes(self, stamp_ns: int, index: int, now_ns: int) -> bool:
        """Return whether a message is of the followed stream, or may begin one at this time."""
        if self._arrival_ns is None or now_ns - self._arrival_ns > TAKEOVER_NS:
            return True
        step = index - self._index
        if 0 < step <= MOST_LOST:
            return True
        # sent again, or by a publisher that does not number its frames
        if step == 0 and (index == 0 or stamp_ns == self._stamp_ns):
            return True
        self._n_refused += 1
        return False

    def follow(self, stamp_ns: int, index: int, now_ns: int) -> None:
        """Go on from a message that was taken and could be read; all as in `takes`."""
        if self._arrival_ns is not None:
            step_ns = stamp_ns - self._stamp_ns
            ahead_ns = step_ns - (now_ns - self._arrival_ns)
            # what is numbered next was sent later, however little its stamp goes back
            if step_ns < (0 if index == self._index + 1 else -BACK_NS):
                self._set_back_ns = max(self._set_back_ns, -step_ns)
            elif ahead_ns > FORWARD_NS:
                self._set_forward_ns = max(self._set_forward_ns, ahead_ns)
        self._index, self._stamp_ns, self._arrival_ns = index, stamp_ns, now_ns

    def causes(self, now_ns: int) -> list[str]:
        """Return what there is to report since the last call, as sentences."""
        found = []
        age_s = (now_ns - self._arrival_ns) * 1e-9 if self._arrival_ns is not None else 0.0
        if age_s > SILENT_S:
            found.append(f'no input on {self.topic} for {age_s:.1f} s')
        if self._n_refused:
            found.append(
                f'another publisher on {self.topic}: {self._n_refused} of its messages refused'
            )
        for jump_ns, way in ((self._set_back_ns, 'back'), (self._set_forward_ns, 'forward')):
            if jump_ns:
                found.append(f'clock stepped {way} by {jump_ns * 1e-9:.1f} s on {self.topic}')
        self._n_refused = self._set_back_ns = self._set_forward_ns = 0
        return found
