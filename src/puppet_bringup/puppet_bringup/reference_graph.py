# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Every node of the launch descriptions in one process, to look at what they have on the graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from puppet_bringup.reference_nodes import node_module, node_programs, rows_of
from puppet_core.errors import ConfigError
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros import qos
from puppet_ros.interface_table import BY_NAME, FILTERED_POSES, RAW
from puppet_ros.testing import isolated_context, spin_until
from puppet_ros.tracker_frame import TrackerFrameWriter
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

LAB = 'lab'
STEP_NS = 10_000_000


class Graph(NamedTuple):
    """The running nodes, and one that looks at them."""

    nodes: dict[str, Any]
    """By name."""

    lab: Node
    """Of the same domain, which is nobody else's."""


@contextmanager
def running_nodes() -> Iterator[Graph]:
    """
    Run every node that a launch description starts, with all topics that parameters can ask for.

    Raises
    ------
    ConfigError : if they have not found each other after a minute.

    """
    with isolated_context() as context:
        lab = Node(LAB, context=context)
        nodes = {name: _make(name, context) for name in sorted(node_programs())}
        nodes['tracker_driver'].trigger_configure()
        publisher = lab.create_publisher(TrackerFrame, RAW, qos.STREAM)
        executor = SingleThreadedExecutor(context=context)
        for node in nodes.values():
            executor.add_node(node)
        writer = TrackerFrameWriter(('head',), 'transmitter')
        stamp_ns = 0

        def publish() -> None:
            nonlocal stamp_ns
            stamp_ns += STEP_NS
            frame = SensorFrame(
                stamp_ns, 0, ('head',), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]),
                np.zeros(1), np.zeros(1, np.uint8),
            )  # fmt: skip
            publisher.publish(writer.fill(frame))
            nodes['pose_topics']._pose_array.open('all')

        def is_whole() -> bool:
            there = dict(lab.get_topic_names_and_types())
            return all(lab.count_publishers(name) for name in there if name in BY_NAME) and (
                FILTERED_POSES in there and lab.count_publishers(FILTERED_POSES) > 0
            )

        try:
            if not spin_until(executor, is_whole, before=publish):
                raise ConfigError('nodes: expected all topics on the graph after a minute')
            lab.destroy_publisher(publisher)
            yield Graph(nodes, lab)
        finally:
            executor.shutdown()


def _make(name: str, context: Any) -> Any:
    """Return a node of its program's class, its PoseArray asked for where it has one."""
    module = node_module(name)
    kind: Any = next(
        value for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Node)
        and value.__module__ == module.__name__
    )  # fmt: skip
    wishes = {'pose_array': 'all', 'autostart': False}
    there = {row.name for row in rows_of(name)}
    return kind(context=context, parameter_overrides=[
        Parameter(key, value=value) for key, value in wishes.items() if key in there
    ])  # fmt: skip
