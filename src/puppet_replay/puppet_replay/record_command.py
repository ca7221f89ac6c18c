# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Record the topics of the graph in a bag: MCAP with definitions and hashes of the messages.

Ends on Ctrl-C or after --duration, with the bag complete. Of a recording that was killed, all but
the last second can be read.

"""

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import signal
import sys
import threading
import time

from puppet_core.atomic_file import check_writable
from puppet_core.errors import ConfigError
from puppet_replay.record_node import RecordNode
from puppet_ros.bags import BagWriter, COMPRESSIONS
from puppet_ros.command import EXIT_FAILED, run_command
from puppet_ros.middleware import middleware_settings
from puppet_ros.spin import EXIT_OK
import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from rclpy.validate_full_topic_name import validate_full_topic_name

POLL_PERIOD_S = 0.01
SAY_PERIOD_S = 10.0
EXAMPLE = """\
examples:
  ./puppet record session.mcap
  ./puppet record hands.mcap --topics /tracker/raw /tf_static --duration 60"""


def make_parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='record', description=(__doc__ or '').strip(), epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument('output', type=Path, help='.mcap file to write, or a new folder')
    p.add_argument('--topics', nargs='+', default=[], metavar='TOPIC', help='all by default')
    p.add_argument('--duration', type=float, metavar='S', help='until Ctrl-C by default')
    p.add_argument('--compression', default='', choices=COMPRESSIONS, help='none by default')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('record', lambda: run(arguments), 'nothing was written')


def run(arguments: Sequence[str]) -> int:
    """Record as the arguments ask for; return the exit code."""
    options = make_parser().parse_args(remove_ros_args(list(arguments)))
    if options.duration is not None and not options.duration > 0.0:
        raise ConfigError(f'--duration: expected seconds > 0, got {options.duration:g}')
    for topic in options.topics:
        if not topic.startswith('/'):
            raise ConfigError(f'--topics: expected names that begin with /, got {topic!r}')
        try:
            validate_full_topic_name(topic)
        except InvalidTopicNameException as err:
            reason = str(err).splitlines()[0]
            raise ConfigError(f'--topics: expected names of topics, got {topic!r}: {reason}') \
                from err
    if not options.output.exists():  # else the writer says that the name is taken
        check_writable(options.output, 'output')
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the last: a closed terminal
        signal.signal(number, lambda *_: stopping.set())
    # the room for what comes while it does not run: of all processes this one hears the most
    os.environ.update(middleware_settings(os.environ))
    rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    try:
        with BagWriter(options.output, options.compression, growing=True) as writer:
            node = RecordNode(writer, options.topics, lambda line: _say(f'record: {line}'))
            try:
                _say(f'record: {options.output}; Ctrl-C ends')
                record(node, stopping, options.duration)
            finally:
                node.destroy_node()
    except OSError as err:
        reason = err.strerror or str(err)
        raise OSError(f'{options.output}: {reason}; what was written before can be read') from err
    return _tell(node, options)


def record(node: RecordNode, stopping: threading.Event, duration_s: float | None) -> None:
    """Poll until asked to stop, or for a time."""
    start_s = time.monotonic()
    end_s = start_s + duration_s if duration_s is not None else float('inf')
    say_at_s = start_s + SAY_PERIOD_S
    while not stopping.is_set() and (now_s := time.monotonic()) < end_s:
        node.poll()
        if now_s >= say_at_s:
            say_at_s += SAY_PERIOD_S
            _say(f'record: {sum(node.counts.values())} messages of {len(node.counts)} topics '
                 f'in {now_s - start_s:.0f} s')
        stopping.wait(POLL_PERIOD_S)
    node.poll()


def _tell(node: RecordNode, options: argparse.Namespace) -> int:
    for topic, count in sorted(node.counts.items()):
        told = {'lost': node.lost, 'published before the first that came': node.before}
        words = [f'{by[topic]} {what}' for what, by in told.items() if by.get(topic)]
        _say(f'{count:8}  {topic}' + (f'  ({", ".join(words)})' if words else ''))
    total, lost = sum(node.counts.values()), sum(node.lost.values())
    _say(f'{options.output}: {total} messages of {len(node.counts)} topics, {lost} lost')
    missing = [topic for topic in options.topics if not node.counts.get(topic)]
    if missing:
        print(f'record: nothing came on {", ".join(missing)}', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == '__main__':
    sys.exit(main())
