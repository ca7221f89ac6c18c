# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Real nodes in one process of tests: a context that leaves nothing behind, and waiting."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import time
from typing import Any
from unittest import mock

from puppet_ros.process import free_domain
import rclpy
from rclpy.context import Context
from rclpy.executors import Executor
from rclpy.node import Node

DEADLINE_S = 60.0  # a condition that takes longer on a busy machine has failed


@contextmanager
def isolated_context() -> Iterator[Context]:
    """Make a context of a domain of its own; its nodes, broken ones too, are destroyed."""
    nodes: list[Node] = []
    construct = Node.__init__
    context = Context()

    def remember(self: Node, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        if self.context is context:
            nodes.append(self)

    domain = free_domain()
    rclpy.init(args=[], context=context, domain_id=domain)
    try:
        with (
            mock.patch.object(Node, '__init__', remember),
            mock.patch.dict(os.environ, ROS_DOMAIN_ID=str(domain)),
        ):
            yield context
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def spin_until(
    executor: Executor,
    condition: Callable[[], bool],
    deadline_s: float = DEADLINE_S,
    before: Callable[[], object] | None = None,
) -> bool:
    """Spin until a condition holds or a deadline passes, `before` each round; whether it holds."""
    deadline = time.monotonic() + deadline_s
    while not condition() and time.monotonic() < deadline:
        if before is not None:
            before()
        executor.spin_once(timeout_sec=0.05)
    return condition()
