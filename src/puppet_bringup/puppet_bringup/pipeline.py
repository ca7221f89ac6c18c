# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_pipeline`: several nodes of the graph in one process, with the same topics.

A frame goes from node to node as a call, in the thread that read it or received it, and leaves
as /joint_states before the topics on the way are sent. Each node has its own words; --realtime
and --pin=2,3 before them are for the process:

example: puppet_pipeline --node pose_filter --node performer --ros-args -p layout:=six_point
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from importlib import import_module
import sys
from threading import RLock
from typing import Any, NamedTuple

from puppet_bringup.process_table import NODES as CLASSES
from puppet_core.io import ConfigError, EXIT_BAD_INPUT, EXIT_OK, PuppetError
from puppet_ros.node import IntraProcessBus, OWN_WORDS, spin_nodes, split_words, use_bus
from rclpy.node import Node
from rclpy.utilities import get_default_context

NODE_OPTION = '--node'

# what is handed over within the process if the node that makes it is in it
STREAMS = {
    'tracker_driver': '/tracker/raw',
    'pose_topics': '/tracker/raw',
    'pose_filter': '/tracker/filtered',
    'performer': '/performer/posture',
    'importance': '/importance',
}

# their threads know of each other: they are the ones that bring frames
SOURCES = ('tracker_driver', 'pose_topics')


class NodeWords(NamedTuple):
    kind: str  # one of CLASSES
    arguments: tuple[str, ...]  # its ROS arguments


def read_words(words: Sequence[str]) -> list[NodeWords]:
    """Return the nodes of a command line; ConfigError for unknown ones or words of none."""
    found: list[NodeWords] = []
    rest = list(words)
    while rest:
        if rest.pop(0) != NODE_OPTION or not rest or rest[0] not in CLASSES:
            known = ', '.join(CLASSES)
            raise ConfigError(f'{NODE_OPTION}: expected {NODE_OPTION} and one of {known}')
        kind = rest.pop(0)
        end = rest.index(NODE_OPTION) if NODE_OPTION in rest else len(rest)
        found.append(NodeWords(kind, tuple(rest[:end])))
        rest = rest[end:]
    if not found:
        raise ConfigError(f'{NODE_OPTION}: expected at least one node, got none')
    return found


def make_nodes(listed: Sequence[NodeWords]) -> Iterator[Node]:
    """Make nodes that hand each other their messages, in the default context."""
    streams = [_space(node) + STREAMS[node.kind] for node in listed if node.kind in STREAMS]
    bus = IntraProcessBus(streams)
    use_bus(get_default_context(), bus)
    for kind, arguments in listed:
        module_name, class_name = CLASSES[kind]
        module = import_module(module_name)
        warm_up = getattr(module, 'warm_up', None)
        if warm_up is not None:
            warm_up()
        node = getattr(module, class_name)(cli_args=list(arguments))
        if kind not in SOURCES:
            hold_during_callbacks(node, bus.lock)
        yield node


def _space(node: NodeWords) -> str:
    """Return the namespace of a node, as in '/robot1', or nothing."""
    given = [word.split(':=')[1] for word in node.arguments if word.startswith('__ns:=')]
    return given[0].rstrip('/') if given else ''


def hold_during_callbacks(node: Node, lock: RLock) -> None:
    """Let timers, services and subscriptions of a node wait until no frame is on its way."""
    entities: list[Any] = [*node.timers, *node.services, *node.subscriptions]
    for entity in entities:
        entity.callback = _holding(lock, entity.callback)


def _holding(lock: RLock, callback: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(callback)
    def run(*arguments: Any) -> Any:
        with lock:
            return callback(*arguments)

    return run


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if '--help' in words or '-h' in words:
        print(__doc__)
        return EXIT_OK
    try:
        scheduling, others = split_words(words)
        listed = read_words([word for word in others if word not in OWN_WORDS])
    except PuppetError as err:
        print(f'puppet_pipeline: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    own = [word for word in words if word in OWN_WORDS]
    return spin_nodes(lambda: make_nodes(listed), own, scheduling)


if __name__ == '__main__':
    sys.exit(main())
