# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Record the topics of the graph to a bag: MCAP with definitions and hashes of the messages.

Ends on Ctrl-C or after --duration, with the bag complete. Of a recording that was killed, all but
the last second can be read.
"""

import argparse
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
import os
from pathlib import Path
import sys
import threading
import time
from typing import Any, NamedTuple

from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    run_command,
    stop_on_signals,
)
from puppet_ros.bags import BagWriter, class_of, COMPRESSIONS, qos_text
from puppet_ros.node import qos
from puppet_ros.process import middleware_settings
import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rclpy.utilities import remove_ros_args
from rclpy.validate_full_topic_name import validate_full_topic_name

NODE_NAME = 'puppet_record'
DISCOVERY_PERIOD_S = 0.1  # between two searches for new topics
PUBLISHERS_PERIOD_S = 0.5  # between two checks for new publishers of the topics there are
FLUSH_PERIOD_S = 1.0  # at most so much is lost when the process is killed
DEPTH = 1000  # messages of a topic that wait while the disk is slow
POLL_PERIOD_S = 0.01
REPORT_PERIOD_S = 10.0
EXAMPLE = """\
examples:
  ./puppet record session.mcap
  ./puppet record hands.mcap --topics /tracker/raw /tf_static --duration 60"""
Sample = tuple[int, int | None, bytes | int]
"""When a message was published [ns], its number at its publisher, its size or else the data."""


class _Source(NamedTuple):
    topic: str
    kind: str
    subscriptions: dict[DurabilityPolicy, Subscription]
    # The latest: what is latched comes once more on a further subscription
    seen: dict[Sample, None]


class RecordNode(Node):
    """
    Writes every message of all topics, or some, to a bag, as the bytes that came.

    Topics are searched for again and again, so one that appears later is recorded too. The QoS is
    that of the publishers: what is latched comes even if it was published before. There is no
    executor: `poll` takes what has come from all subscriptions, at a tenth of a callback's cost,
    with the time of reception and the publisher's sequence number, by which losses are counted.
    All topics that are not hidden are recorded if none is given; `log` takes lines for the user.
    """

    def __init__(
        self,
        writer: BagWriter,
        topics: Collection[str] = (),
        log: Callable[[str], None] = lambda line: None,
        **kwargs: Any,
    ) -> None:
        super().__init__(NODE_NAME, enable_rosout=False, start_parameter_services=False, **kwargs)
        self.counts: dict[str, int] = {}  # messages by topic
        self.lost: dict[str, int] = {}
        """Messages by topic that were published between two that came, but did not come."""
        self.before: dict[str, int] = {}
        """Messages by topic that its publisher had published before the first that came."""
        self._writer = writer
        self._chosen = frozenset(topics)
        self._log = log
        self._refused: set[str] = set()
        self._sources: list[_Source] = []
        self._batch: list[tuple[int, int, bytes]] = []  # log time, number of the source, data
        self._last: dict[str, int] = {}  # number of the last message of a topic
        self._discover_at_s = self._flush_at_s = self._publishers_at_s = 0.0

    def poll(self) -> None:
        """Write what has come, and now and then search for new topics."""
        now_s = time.monotonic()
        if now_s >= self._discover_at_s:
            self._discover_at_s = now_s + DISCOVERY_PERIOD_S
            self._discover()
        if now_s >= self._publishers_at_s:
            self._publishers_at_s = now_s + PUBLISHERS_PERIOD_S
            self._check_publishers()
        for i in range(len(self._sources)):
            self._take(i)
        batch, self._batch = self._batch, []
        batch.sort(key=itemgetter(0, 1))
        for log_ns, i, data in batch:
            self._writer.write(self._sources[i].topic, self._sources[i].kind, log_ns, data)
        if now_s >= self._flush_at_s:
            self._flush_at_s = now_s + FLUSH_PERIOD_S
            self._writer.flush()

    def _take(self, number: int) -> None:
        source = self._sources[number]
        for subscription in source.subscriptions.values():
            handle, kind = subscription.handle, subscription.msg_type
            with handle:
                while (taken := handle.take_message(kind, True)) is not None:
                    data, about = taken
                    count = about['publication_sequence_number']
                    sent_ns = about['source_timestamp']
                    if not is_new((sent_ns, count, len(data) if sent_ns else data), source.seen):
                        continue
                    self._count(source.topic, count)
                    log_ns = about['received_timestamp'] or time.time_ns()
                    self._batch.append((log_ns, number, data))

    def _count(self, topic: str, number: int | None) -> None:
        self.counts[topic] += 1
        if number is None:
            return
        last = self._last.get(topic)
        self._last[topic] = number
        if number <= (last or 0) + 1 or self.count_publishers(topic) != 1:
            return
        if last is None:
            self.before[topic] = number - 1
        else:
            self.lost[topic] = self.lost.get(topic, 0) + number - last - 1

    def _discover(self) -> None:
        for topic, kinds in self.get_topic_names_and_types():
            is_hidden = any(part.startswith('_') for part in topic.split('/'))
            wanted = topic in self._chosen if self._chosen else not is_hidden
            is_new_one = topic not in self.counts and topic not in self._refused
            if not wanted or not is_new_one or not (offers := self._offers(topic)):
                continue
            if len(kinds) > 1 or class_of(kinds[0]) is None:
                self._refused.add(topic)
                has = f'it has messages of {" and ".join(kinds)}'
                why = has if len(kinds) > 1 else f'{kinds[0]} is not installed here'
                self._log(f'{topic} is not recorded: {why}')
                continue
            profiles = qos_text([offered_by(offer) for offer in offers])
            self._writer.add_topic(topic, kinds[0], profiles)
            self.counts[topic] = 0
            self._sources.append(_Source(topic, kinds[0], {}, {}))
            self._subscribe(len(self._sources) - 1, offers)

    def _check_publishers(self) -> None:
        for i, source in enumerate(self._sources):
            offers = [o for o in self._offers(source.topic) if o.topic_type == source.kind]
            if self._subscribe(i, offers):
                self._last.pop(source.topic, None)
                news = 'a publisher with other QoS appeared; subscribed again'
                self._log(f'{source.topic}: {news}')

    def _subscribe(self, number: int, offers: Collection[TopicEndpointInfo]) -> bool:
        """Ask a source for less, or for more, if these would not be heard wholly; whether so."""
        source, wanted = self._sources[number], []
        for profile in profiles_for(offers):
            if is_unheard(profile, source.subscriptions.get(profile.durability)):
                wanted.append(profile)
        if wanted:
            self._take(number)
        for profile in wanted:
            old = source.subscriptions.pop(profile.durability, None)
            if old is not None:
                self.destroy_subscription(old)
            kind = class_of(source.kind)
            source.subscriptions[profile.durability] = self.create_subscription(
                kind, source.topic, lambda data: None, profile, raw=True
            )
        return bool(wanted)

    def _offers(self, topic: str) -> list[TopicEndpointInfo]:
        """Return what the publishers of a topic offer, but for this node."""
        own = self.get_name(), self.get_namespace()
        infos = self.get_publishers_info_by_topic(topic)
        return [info for info in infos if (info.node_name, info.node_namespace) != own]


def profiles_for(offers: Collection[TopicEndpointInfo]) -> list[QoSProfile]:
    """
    Return the QoS of subscriptions that together receive what these publishers send and have sent.

    One that asks for latched messages hears no others; one that does not hears nothing old.
    """
    latched = [offer for offer in offers if _is_latched(offer)]
    groups = [(offers, DurabilityPolicy.VOLATILE)] if len(latched) < len(offers) else []
    groups += [(latched, DurabilityPolicy.TRANSIENT_LOCAL)] if latched else []
    reliable, best_effort = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
    return [
        QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=DEPTH,
            reliability=reliable
            if all(offer.qos_profile.reliability == reliable for offer in group)
            else best_effort,
            durability=durability,
        )
        for group, durability in groups
    ]


def is_unheard(wanted: QoSProfile, there: Subscription | None) -> bool:
    """Return whether a subscription does not hear all that one of this QoS would."""
    return there is None or (
        there.qos_profile.reliability == ReliabilityPolicy.RELIABLE != wanted.reliability
    )


def is_new(sample: Sample, seen: dict[Sample, None]) -> bool:
    """Return whether a message is not among the latest, and put it there."""
    if sample in seen:
        return False
    seen[sample] = None
    if len(seen) > 2 * DEPTH:
        del seen[next(iter(seen))]
    return True


def offered_by(offer: TopicEndpointInfo) -> QoSProfile:
    """Return what a publisher offers; the depth is not sent over the network."""
    offered = offer.qos_profile
    usual = qos.STATIC_TRANSFORMS if _is_latched(offer) else qos.STREAM
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=offered.depth or usual.depth,
        reliability=offered.reliability,
        durability=offered.durability,
        liveliness=offered.liveliness,
    )


def _is_latched(offer: TopicEndpointInfo) -> bool:
    return bool(offer.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL)


def parser() -> argparse.ArgumentParser:
    p = CommandParser(prog='puppet record', description=__doc__, epilog=EXAMPLE)
    p.add_argument('output', type=Path, help='.mcap file or new folder to write')
    p.add_argument(
        '--topics', nargs='+', default=[], metavar='TOPIC', help='topics to record; default: all'
    )
    p.add_argument(
        '--duration', type=float, metavar='S', help='seconds to record; default: until Ctrl-C'
    )
    how = 'compression of chunks; default %(default)s'
    p.add_argument('--compression', default=COMPRESSIONS[0], choices=COMPRESSIONS, help=how)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('puppet record', lambda: run(arguments), 'nothing was written')


def run(arguments: Sequence[str]) -> int:
    options = parser().parse_args(remove_ros_args(list(arguments)))
    if options.duration is not None and not options.duration > 0.0:
        raise ConfigError(f'--duration: expected seconds > 0, got {options.duration:g}')
    for topic in options.topics:
        if not topic.startswith('/'):
            raise ConfigError(f'--topics: expected names that begin with /, got {topic!r}')
        try:
            validate_full_topic_name(topic)
        except InvalidTopicNameException as err:
            reason = str(err).splitlines()[0]
            raise ConfigError(
                f'--topics: expected names of topics, got {topic!r}: {reason}'
            ) from err
    if not options.output.exists():  # else the writer reports that the name is taken
        check_writable(options.output, 'output')
    stopping = stop_on_signals()
    # the room for what comes while it does not run: of all processes this one hears the most
    os.environ.update(middleware_settings(os.environ))
    rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    try:
        with BagWriter(options.output, options.compression, growing=True) as writer:
            node = RecordNode(writer, options.topics, lambda line: _log(f'puppet record: {line}'))
            try:
                _log(f'puppet record: {options.output}; Ctrl-C ends')
                record(node, stopping, options.duration)
            finally:
                node.destroy_node()
                rclpy.try_shutdown()
    except OSError as err:
        reason = err.strerror or str(err)
        raise OSError(
            f'{options.output}: {reason}; the messages written before can be read'
        ) from err
    return _report(node, options)


def record(node: RecordNode, stopping: threading.Event, duration_s: float | None) -> None:
    start_s = time.monotonic()
    end_s = start_s + duration_s if duration_s is not None else float('inf')
    report_at_s = start_s + REPORT_PERIOD_S
    while not stopping.is_set() and (now_s := time.monotonic()) < end_s:
        node.poll()
        if now_s >= report_at_s:
            report_at_s += REPORT_PERIOD_S
            _log(
                f'puppet record: {sum(node.counts.values())} messages '
                f'of {len(node.counts)} topics in {now_s - start_s:.0f} s'
            )
        stopping.wait(POLL_PERIOD_S)
    node.poll()


def _report(node: RecordNode, options: argparse.Namespace) -> int:
    for topic, count in sorted(node.counts.items()):
        notes = {'lost': node.lost, 'published before the first that came': node.before}
        words = [f'{by[topic]} {what}' for what, by in notes.items() if by.get(topic)]
        _log(f'{count:8}  {topic}' + (f'  ({", ".join(words)})' if words else ''))
    total, lost = sum(node.counts.values()), sum(node.lost.values())
    _log(f'{options.output}: {total} messages of {len(node.counts)} topics, {lost} lost')
    missing = [topic for topic in options.topics if not node.counts.get(topic)]
    if missing:
        print(f'puppet record: nothing came on {", ".join(missing)}', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _log(line: str) -> None:
    print(line, flush=True)


if __name__ == '__main__':
    sys.exit(main())
