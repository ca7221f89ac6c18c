# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Play a bag to the live graph: its sensors, or a later topic, not what the nodes publish again.

Waits until the nodes are there, then goes at the pace of the recording times --rate, but not
faster than the nodes can take it: no frame is lost.

"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import signal
import sys
import threading
import time

from puppet_core.errors import ConfigError
from puppet_core.io.text import printable
from puppet_replay.play_node import PlayNode
from puppet_replay.topics import ENTRIES, JOINTS
from puppet_ros.bags import BagReader
from puppet_ros.command import EXIT_FAILED, run_command
from puppet_ros.spin import EXIT_OK
import rclpy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

EXAMPLE = """\
examples:
  ./puppet run puppet_replay play session.mcap --rate 2 --clock
  ./puppet up replay --bag session.mcap --rate 2     # starts the nodes as well"""


def make_parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='play', description=(__doc__ or '').strip(), epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument('bag', type=Path, help='folder of a bag, or its .mcap or .db3 file')
    p.add_argument('--rate', type=float, default=1.0, help='times real time, default %(default)s')
    p.add_argument('--clock', action='store_true', help='publish /clock, for use_sim_time')
    p.add_argument('--entry', default='', choices=ENTRIES, metavar='TOPIC',
                   help=f'one of {", ".join(ENTRIES)}; the first there is by default')
    p.add_argument('--wait-for', nargs='+', default=[], metavar='NODE',
                   help='nodes that must be there besides those that the topics need')
    p.add_argument('--wait', type=float, default=120.0, metavar='S',
                   help='for the nodes at the start; default %(default)s')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('play', lambda: run(arguments), 'not all was played')


def run(arguments: Sequence[str]) -> int:
    """Play as the arguments ask for; return the exit code."""
    options = make_parser().parse_args(remove_ros_args(list(arguments)))
    if not 0.0 < options.rate <= 1000.0:
        raise ConfigError(f'--rate: expected 0 < rate <= 1000, got {options.rate:g}')
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    with BagReader(options.bag) as reader:
        for line in reader.warnings:
            _say(f'warning: {line}')
        node = PlayNode(reader, options.entry, options.clock, _say)
        try:
            return _play(node, options, stopping)
        finally:
            node.destroy_node()


def _play(node: PlayNode, options: argparse.Namespace, stopping: threading.Event) -> int:
    missing = node.wait(options.wait, options.wait_for, stopping.is_set)
    if stopping.is_set():
        return EXIT_OK
    if missing:
        print(f'play: expected {missing} within {options.wait:g} s, got none; '
              'start the nodes: ./puppet up replay', file=sys.stderr)
        return EXIT_FAILED
    _say(f'plays {options.bag} from {node.entry}, {options.rate:g} times real time')
    start_s = time.monotonic()
    node.play(options.rate, stopping.is_set)
    counts = node.flow.counts
    sent = counts[next(iter(counts))]
    came = ', '.join(f'{count} on {topic}' for topic, count in list(counts.items())[1:])
    _say(f'{"stopped" if stopping.is_set() else "finished"}: {sent} frames in '
         f'{time.monotonic() - start_s:.1f} s; there came {came}')
    if node.late_s > 0.1:
        _say(f'the nodes were slower: {node.late_s:.1f} s behind at the end')
    return EXIT_OK if counts[JOINTS] or stopping.is_set() else EXIT_FAILED


def _say(line: str) -> None:
    print(printable(line), flush=True)


if __name__ == '__main__':
    sys.exit(main())
