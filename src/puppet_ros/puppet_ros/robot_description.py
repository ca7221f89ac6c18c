# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A latched robot description topic, for RViz' RobotModel and robot_state_publisher."""

from puppet_ros import qos
from rclpy.node import Node
from std_msgs.msg import String


class RobotDescriptionPublisher:
    """Publish a URDF text on a transient-local topic; a late subscriber gets the last one."""

    def __init__(self, node: Node, topic: str, text: str) -> None:
        self._publisher = node.create_publisher(String, topic, qos.LATCHED)
        self._text = ''
        self.publish(text)

    def publish(self, text: str) -> None:
        """Publish another description, if it is another."""
        if text != self._text:
            self._text = text
            self._publisher.publish(String(data=text))
