# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A publisher's stand-in; imported where ROS 2 is known to be there."""

from typing import Any

from rclpy.serialization import deserialize_message, serialize_message


class Recorder:
    """Stands in for a publisher; keeps a copy of what the node refills."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def publish(self, msg: Any) -> None:
        """Keep the message."""
        self.messages.append(deserialize_message(serialize_message(msg), type(msg)))
