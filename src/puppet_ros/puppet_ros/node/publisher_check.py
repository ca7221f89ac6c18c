# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One publisher at a time on a stream, silence, and jumps of the clock (no ROS in here).

A message whose number does not continue the stream is another publisher's, and is refused while
the followed one lives. rclpy's events executor does not tell the publisher of a message.
"""

TAKEOVER_NS = 250_000_000  # silence after which another publisher may have the place
MOST_LOST = 64  # frames of one publisher that may be lost on the way: more is another one
SILENT_S = 1.0
BACK_NS = 500_000_000  # more than messages of a stream ever overtake each other
FORWARD_NS = 1_500_000_000  # more than the stamps may be ahead of the arrivals


class PublisherCheck:
    """Checks the messages on one topic, which reports call by its name."""

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
