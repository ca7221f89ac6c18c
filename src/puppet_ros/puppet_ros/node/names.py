# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One node of a name on a domain of this machine: two graphs would mix their frames.

The name is held until the process ends; discovery shows nodes that have died for seconds.
"""

import time
from weakref import WeakSet

from puppet_core.io import ConfigError
from puppet_ros.process import hold, holder
from rclpy.context import Context
from rclpy.node import Node

PATIENCE_S = 2.0  # for a node that is ending, or was killed

_guarded: WeakSet[Context] = WeakSet()


def guard_names(context: Context) -> None:
    """Let nodes that are made in a context from now on `claim` their names."""
    _guarded.add(context)


def claim(node: Node) -> None:
    """Hold the name of a node in a guarded context; ConfigError if another process does."""
    if node.context not in _guarded:
        return
    domain, name = node.context.get_domain_id(), node.get_fully_qualified_name()
    deadline = time.monotonic() + PATIENCE_S
    while not hold(_held_name(domain, name)):
        if time.monotonic() > deadline:
            check_free(domain, name)
        time.sleep(0.05)


def check_free(domain: int, name: str) -> None:
    """Raise ConfigError if a process has the node of a full name on a domain."""
    if other := holder(_held_name(domain, name)):
        raise ConfigError(
            f'{name}: expected no other such node on domain {domain}, got process {other}; '
            'end it, choose another ROS_DOMAIN_ID, or let both publish by allow_second:=true'
        )


def _held_name(domain: int, name: str) -> str:
    return f'puppet_node_{domain}{name}'
