# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A node's time for what happens in every frame.

Asking the ROS clock makes three objects on the way to one number: 4 us, and ten times that in a
process that has slept, where nothing is in the caches any more. Unless time is simulated it is
the system's, which is one call.

"""

import time

from rclpy.node import Node


class NodeClock:
    """
    The clock of a node.

    Parameters
    ----------
    node : Node
        Gives the clock; look whether it is simulated now and then, by `look`.

    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self.look()

    def look(self) -> None:
        """See whether the node's time is simulated; that may be changed while it runs."""
        self._is_simulated = bool(getattr(self._clock, 'ros_time_is_active', False))

    def now_ns(self) -> int:
        """Return the time [ns]."""
        return self._clock.now().nanoseconds if self._is_simulated else time.time_ns()
