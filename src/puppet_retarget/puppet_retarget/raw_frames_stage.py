# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a frame that belong together by their stamp, not decoded until they are needed."""

from puppet_ros import raw_header
from puppet_ros.stamped_join import StampedJoin

PERFORMER_TOPIC, PUPPET_TOPIC = '/performer/posture', '/puppet/posture'


class RawFrames:
    """Performer, importance and puppet of one stamp."""

    def __init__(self) -> None:
        self._captured: StampedJoin[bytes, bytes] = StampedJoin()
        self._whole: StampedJoin[tuple[bytes, bytes], bytes] = StampedJoin()

    def push(self, topic: str, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Take a message; return the frame that it completes."""
        stamp_ns = raw_header.stamp_ns(data)
        if topic == PUPPET_TOPIC:
            found = self._whole.push_right(stamp_ns, data)
        else:
            is_left = topic == PERFORMER_TOPIC
            push = self._captured.push_left if is_left else self._captured.push_right
            pair = push(stamp_ns, data)
            found = None if pair is None else self._whole.push_left(stamp_ns, pair)
        return None if found is None else (*found[0], found[1])
