# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what is around a node; imported where ROS 2 is known to be there."""

from puppet_ros.messages import importance_msg, posture_msg
from puppet_ros.node.streams import StampedRecord
from rclpy.serialization import deserialize_message


class Recorder:
    """Stands in for the publisher of a stream; keeps the messages of what it is given."""

    def __init__(self, kind, data):
        self.messages = []
        self._kind, self._data = kind, data

    def publish(self, record, frame_id=''):
        self.messages.append(deserialize_message(self._data(record), self._kind))


def of_posture(msg):
    return StampedRecord(posture_msg.from_msg(msg), msg.header.frame_id)


def of_importance(msg):
    return StampedRecord(importance_msg.from_msg(msg), msg.header.frame_id)
