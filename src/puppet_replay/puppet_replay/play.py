# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Play a bag to the live graph: its sensors or a later topic, without what the nodes recompute.

Waits until the nodes are there, then goes at the pace of the recording times --rate, but not
faster than the nodes can take it: no frame is lost.
"""

import argparse
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
import sys
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from puppet_core import io
from puppet_replay.replay import frames_first
from puppet_replay.topics import ENTRIES, entry_of, inputs_of, played_topics
from puppet_ros import interface_table as graph
from puppet_ros.bags import BagMessage, BagReader, class_of, require_same_types
from puppet_ros.messages import decoded, flat_array, stamp_ns
from puppet_ros.node import DIAGNOSTICS_TOPIC, qos, READERS, WRITERS
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    qos_check_compatible,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
import yaml

NODE_NAME = 'puppet_play'
DEFAULT_DEPTH = 10  # of a publisher whose depth is not known
CLOCK_PERIOD_S = 0.01
POLL_S = 0.0005  # while frames are on their way
WAIT_POLL_S = 0.05  # while the graph is not there yet
SILENCE_S = 10.0  # for nodes of others, which may have no diagnostics
LONGEST_WAIT_S = 120.0  # for the nodes at the start
ACKNOWLEDGED = Duration(seconds=5)  # how long a latched message is waited for
TIMEOUT_S = 10.0  # with a node that takes nothing; a busy machine stalls for seconds
LONG_WAIT_S = 5.0  # worth a line
CATCH_UP_S = 1.0  # what is later than this is not made up for
ASKED = 'performer/get_parameters'
LIVE_FRAMES = ('performer/', 'puppet')  # the nodes publish their transforms themselves
# Least number of nodes that read a topic, the player not counted.
LEAST_READERS = {graph.FILTERED: 1, graph.POSTURE: 2, graph.IMPORTANCE: 1, graph.JOINTS: 0}
WINDOW = 10  # frames on their way; half of what a node keeps
FORGET = 4096  # stamps that are remembered
EXAMPLE = """\
examples:
  ./puppet run puppet_replay play session.mcap --rate 2 --clock
  ./puppet up replay --bag session.mcap --rate 2     # starts the nodes as well"""


IsStopped = Callable[[], bool]


class Connections:
    """
    Whether the nodes are connected to each other, as their diagnostics report.

    That two have found each other is known to these two alone; a message sent before is lost. A
    node without such diagnostics is judged by the reports of the others.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._reported: dict[str, dict[str, int]] = {}  # node -> key -> connections
        self._subscription = node.create_subscription(
            DiagnosticArray, DIAGNOSTICS_TOPIC, lambda message: None, 10
        )
        self.are_silent = False
        """Whether what was missing last is something that a node has not spoken of at all."""

    def missing(self, topics: Collection[str]) -> str:
        """Return a connection of the publishers of these topics that is missing, '' if none is."""
        self._listen()
        unseen = ''
        for topic in map(self._node.resolve_topic_name, topics):
            offers = self._node.get_publishers_info_by_topic(topic)
            wishes = self._node.get_subscriptions_info_by_topic(topic)
            for offer in offers:
                heard_by = sum(fits(offer.qos_profile, wish.qos_profile) for wish in wishes)
                said = self._reported.get(offer.node_name, {}).get(READERS + topic)
                if said is None:
                    unseen = unseen or f'{topic} of {offer.node_name}'
                elif said < heard_by:
                    self.are_silent = False
                    return f'all subscribers of {topic} at {offer.node_name}'
            for wish in wishes:
                hears = sum(fits(offer.qos_profile, wish.qos_profile) for offer in offers)
                if self._reported.get(wish.node_name, {}).get(WRITERS + topic, hears) < hears:
                    self.are_silent = False
                    return f'{topic} at {wish.node_name}'
        self.are_silent = bool(unseen)
        return unseen

    def _listen(self) -> None:
        handle, kind = self._subscription.handle, self._subscription.msg_type
        with handle:
            while (taken := handle.take_message(kind, False)) is not None:
                for status in taken[0].status:
                    ends = [i for i in status.values if i.key.startswith((READERS, WRITERS))]
                    if ends:
                        node = status.name.partition(':')[0].rpartition('/')[2]
                        self._reported[node] = {item.key: int(item.value) for item in ends}


def fits(offer: QoSProfile, wish: QoSProfile) -> bool:
    return qos_check_compatible(offer, wish)[0] != QoSCompatibility.ERROR


class Flow:
    """
    How many frames are on their way between the nodes, so that the player does not overrun them.

    Nodes keep 20 messages of a stream. The chain has the topics in the order of the data; the
    first one is what is sent. A node that gives nothing until it is ready is asked how far it is.
    """

    def __init__(self, chain: Sequence[str]) -> None:
        self.counts = dict.fromkeys(chain, 0)  # messages of each topic
        self._chain = tuple(chain)
        self._numbers: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._given_up: set[str] = set()

    def sent(self, stamp_ns: int) -> None:
        number = self.counts[self._chain[0]]
        self._numbers[stamp_ns] = number
        if len(self._numbers) > FORGET:
            del self._numbers[next(iter(self._numbers))]
        self._note(self._chain[0], number)

    def seen(self, topic: str, stamp_ns: int) -> None:
        number = self._numbers.get(stamp_ns)
        if number is not None:
            self._note(topic, number)
            self._given_up.discard(topic)

    def newest(self, topic: str) -> int:
        """Return the number of the newest frame that was seen on a topic, -1 for none."""
        return self._last.get(topic, -1)

    def acknowledge(self, topic: str, number: int) -> None:
        """Take note that the node of a topic is done with all frames up to this number."""
        self._done[topic] = max(number, self._done.get(topic, -1))
        self._given_up.discard(topic)

    def waiting(self, topic: str) -> int:
        """Return how many frames are before the node that publishes a topic."""
        before = self._chain[self._chain.index(topic) - 1]
        if before not in self._last:
            return 0
        done = max(self._last.get(topic, -1), self._done.get(topic, -1))
        return self._last[before] - max(done, self._first[before] - 1)

    def crowded(self, window: int = WINDOW) -> list[str]:
        """Return the topics whose nodes are to be waited for, the slowest one first."""
        waiting = {
            topic: self.waiting(topic) for topic in self._chain[1:] if topic not in self._given_up
        }
        if sum(waiting.values()) < window:
            return []
        return sorted((t for t in waiting if waiting[t]), key=lambda t: -waiting[t])

    def give_up(self, topic: str) -> None:
        """No longer wait for a node, until it is heard of again."""
        self._given_up.add(topic)

    def _note(self, topic: str, number: int) -> None:
        self.counts[topic] += 1
        self._first.setdefault(topic, number)
        self._last[topic] = max(number, self._last.get(topic, 0))


class PlayNode(Node):
    """
    Plays a bag to the live graph: the recorded input, not what the nodes make of it.

    Publishes the recorded bytes with the recorded QoS, at the pace of their log times and no
    faster than the nodes take them, and /clock if asked to. It has no executor: nothing calls
    back. Nothing is played until all are connected; a latched message is waited for until all
    have it. Messages enter at the first topic of the graph in the bag if `entry` is ''; `log`
    takes lines for the user.
    """

    def __init__(
        self,
        reader: BagReader,
        entry: str,
        has_clock: bool,
        log: Callable[[str], None],
        **kwargs: Any,
    ) -> None:
        super().__init__(NODE_NAME, enable_rosout=False, start_parameter_services=False, **kwargs)
        self.entry = entry_of(reader, entry)
        self.late_s = 0.0  # how far behind its pace it is [s]
        self._reader = reader
        self._log = log
        self._inputs = inputs_of(self.entry)
        self._own: dict[str, Publisher] = {}
        self._advertise()
        streams = (graph.RAW, graph.FILTERED, graph.POSTURE, graph.IMPORTANCE, graph.JOINTS)
        chain = streams[streams.index(self._inputs[-1]) :]
        self.flow = Flow(chain)
        listen = partial(self.create_subscription, callback=lambda message: None, raw=True)
        self._watched = {
            topic: listen(class_of(graph.TYPES[topic]), topic, qos_profile=qos.STREAM)
            for topic in chain[1:]
        }
        # a performer that is not calibrated publishes nothing: it is asked how far it is
        self._question = (
            self.create_client(GetParameters, ASKED) if graph.POSTURE in chain[1:] else None
        )
        self._asked: int | None = None
        self._connections = Connections(self)
        self._clock_publisher = (
            self.create_publisher(Clock, graph.CLOCK, 10) if has_clock else None
        )
        self._clock_at_s = 0.0

    def wait(self, timeout_s: float, nodes: Collection[str], is_stopped: IsStopped) -> str:
        """Wait until all are connected; return what is missing in words, '' if nothing is."""
        start_s = there_s = time.monotonic()
        while not is_stopped():
            now_s = time.monotonic()
            if missing := self._missing(nodes):
                there_s = now_s
            elif not (missing := self._connections.missing(tuple(self._watched))):
                return ''
            elif now_s - there_s > SILENCE_S and self._connections.are_silent:
                self._log(f'{missing} cannot be seen; playing without')
                return ''
            if now_s - start_s > timeout_s:
                return missing
            time.sleep(WAIT_POLL_S)
        return 'nothing'

    def play(self, rate: float, is_stopped: IsStopped) -> None:
        first, _ = frames_first(self._reader.messages([graph.TF_STATIC]))
        for message in first:
            self._publish(message)
            self._own[graph.TF_STATIC].wait_for_all_acked(ACKNOWLEDGED)
        timed = [topic for topic in self._own if topic != graph.TF_STATIC]
        start_ns = next(iter(self._reader.messages(timed))).log_ns
        start_s = time.monotonic()
        for message in self._reader.messages(tuple(self._own)):
            if is_stopped():
                return
            if message.topic == graph.TF_STATIC and message in first:
                continue
            due_s = start_s + max(message.log_ns - start_ns, 0) * 1e-9 / rate
            self._pass_time(due_s, message.log_ns, rate, is_stopped)
            if message.topic in self._inputs:
                self._hold_back(is_stopped)
                self.late_s = max(time.monotonic() - due_s, 0.0)
                start_s += self.late_s if self.late_s > CATCH_UP_S else 0.0
            if is_stopped():
                return
            self._publish(message)
        self._hold_back(is_stopped, window=1)  # until the last frame has come through

    def _advertise(self) -> None:
        reader = self._reader
        names = played_topics(tuple(reader.topics), self.entry)
        if reader.counts.get(graph.TF):
            names.append(graph.TF)
        for warning in require_same_types(reader, self._inputs):
            self._log(warning)
        for topic in names:
            info = reader.info[topic]
            kind = class_of(info.type)
            if kind is None:
                self._log(f'{topic} is not played: {info.type} is not installed here')
            elif info.count:
                try:
                    if topic not in self._inputs:
                        require_same_types(reader, [topic])
                except io.PuppetError as err:
                    how = 'is played as it was recorded, which its readers may not understand'
                    self._log(f'{topic} {how}: {err}')
                profile = (
                    qos.STATIC_TRANSFORMS if topic == graph.TF_STATIC else profile_of(info.qos)
                )
                self._own[topic] = self.create_publisher(kind, topic, profile)

    def _missing(self, nodes: Collection[str]) -> str:
        absent = sorted(set(nodes) - set(self.get_node_names()))
        if absent:
            return f'node {absent[0]}'
        for topic, publisher in self._own.items():
            least = (
                2
                if topic == graph.POSTURE and self.entry == graph.POSTURE
                else topic in self._inputs
            )
            wishes = self.get_subscriptions_info_by_topic(topic)
            there = sum(fits(publisher.qos_profile, wish.qos_profile) for wish in wishes)
            if publisher.get_subscription_count() < max(least, there):
                return f'a subscriber of {topic}'
        for topic, subscription in self._watched.items():
            if subscription.get_publisher_count() < 1:
                return f'a publisher of {topic}'
            if self.count_subscribers(self.resolve_topic_name(topic)) < LEAST_READERS[topic] + 1:
                return f'{LEAST_READERS[topic]} subscribers of {topic}'
        return ''

    def _publish(self, message: BagMessage) -> None:
        if message.topic in (graph.TF, graph.TF_STATIC) and not _is_of_tracker(message.data):
            return
        if message.topic == self._inputs[-1]:
            self.flow.sent(stamp_ns(message.data))
        self._own[message.topic].publish(message.data)

    def _pass_time(self, due_s: float, log_ns: int, rate: float, is_stopped: IsStopped) -> None:
        """Wait until a message is due or all is stopped, with the clock going on."""
        if (wait_s := due_s - time.monotonic()) > LONG_WAIT_S:
            self._log(f'nothing in the bag for {wait_s * rate:.0f} s: waits {wait_s:.0f} s')
        while not is_stopped():
            left_s = due_s - time.monotonic()
            now_s = time.monotonic()
            if self._clock_publisher is not None and now_s >= self._clock_at_s:
                self._clock_at_s = now_s + CLOCK_PERIOD_S
                clock = Clock()
                flat_array.write_stamp(log_ns - round(max(left_s, 0.0) * rate * 1e9), clock.clock)
                self._clock_publisher.publish(clock)
            self._poll()
            if left_s <= 0.0:
                return
            time.sleep(min(left_s, CLOCK_PERIOD_S))

    def _hold_back(self, is_stopped: IsStopped, window: int = WINDOW) -> None:
        """Wait while so many frames are on their way; not for a node from which nothing comes."""
        heard_s, before = time.monotonic(), dict(self.flow.counts)
        while (crowded := self.flow.crowded(window)) and not is_stopped():
            self._poll()
            if self.flow.counts != before:
                heard_s, before = time.monotonic(), dict(self.flow.counts)
            elif time.monotonic() - heard_s > TIMEOUT_S:
                self._log(f'nothing comes on {crowded[0]}; playing on without it')
                self.flow.give_up(crowded[0])
            time.sleep(POLL_S)

    def _poll(self) -> None:
        for topic, subscription in self._watched.items():
            with subscription.handle:
                take = partial(subscription.handle.take_message, subscription.msg_type, True)
                while (taken := take()) is not None:
                    self.flow.seen(topic, stamp_ns(taken[0]))
        if self._question is not None:
            self._ask(self._question)

    def _ask(self, client: Client) -> None:
        """Ask the performer whether it is done with what it has, or take its answer."""
        handle, kind = client.handle, GetParameters
        with handle:
            if self._asked is None and not self.flow.counts[graph.POSTURE]:
                self._asked = self.flow.newest(graph.FILTERED)
                handle.send_request(kind.Request())
            elif self._asked is not None and handle.take_response(kind.Response)[0] is not None:
                self.flow.acknowledge(graph.POSTURE, self._asked)
                self._asked = None


def _is_of_tracker(data: bytes) -> bool:
    """Return whether no transform of a message is one of those that live nodes publish."""
    children = (t.child_frame_id for t in decoded(data, TFMessage).transforms)
    return not any(child.lstrip('/').startswith(LIVE_FRAMES) for child in children)


def profile_of(text: str) -> QoSProfile:
    """
    Return one profile that serves whoever listened to the publishers of a bag's text of QoS.

    Reliable or latched if one of them was; the greatest depth; else reliable and volatile.
    """
    try:
        tree = io.load_plain_yaml(text) if text else []
    except (yaml.YAMLError, RecursionError):
        tree = []
    rows = [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []

    def offers(name: str, policy: Any) -> list[bool]:
        """Return which rows have a policy, by its name or its old number."""
        return [row.get(name) in (policy.short_key, int(policy)) for row in rows]

    latched, best_effort = DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.BEST_EFFORT
    is_best_effort = bool(rows) and all(offers('reliability', best_effort))
    depths = [row.get('depth') for row in rows]
    known = [depth for depth in depths if type(depth) is int and 0 < depth < 1 << 20]
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=max(known, default=DEFAULT_DEPTH),
        reliability=best_effort if is_best_effort else ReliabilityPolicy.RELIABLE,
        durability=latched if any(offers('durability', latched)) else DurabilityPolicy.VOLATILE,
    )


def parser() -> argparse.ArgumentParser:
    p = io.CommandParser(prog='play', description=__doc__, epilog=EXAMPLE)
    add = p.add_argument
    entries = f'one of {", ".join(ENTRIES)}; default: the first one in the bag'
    others = 'further nodes to wait for, besides those that the topics need'
    add('bag', type=Path, help='folder of a bag, or its .mcap or .db3 file')
    add('--rate', type=float, default=1.0, help='times real time, default %(default)s')
    add('--clock', action='store_true', help='publish /clock, for use_sim_time')
    add('--entry', default='', choices=ENTRIES, metavar='TOPIC', help=entries)
    add('--wait-for', nargs='+', default=[], metavar='NODE', help=others)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return io.run_command('play', lambda: run(arguments), 'not all was played')


def run(arguments: Sequence[str]) -> int:
    options = parser().parse_args(remove_ros_args(list(arguments)))
    if not 0.0 < options.rate <= 1000.0:
        raise io.ConfigError(f'--rate: expected 0 < rate <= 1000, got {options.rate:g}')
    stopping = io.stop_on_signals(is_of_graph=True)
    rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    with BagReader(options.bag) as reader:
        for line in reader.warnings:
            _log(f'warning: {line}')
        node = PlayNode(reader, options.entry, options.clock, _log)
        try:
            return _play(node, options, stopping)
        finally:
            node.destroy_node()
            rclpy.try_shutdown()


def _play(node: PlayNode, options: argparse.Namespace, stopping: threading.Event) -> int:
    missing = node.wait(LONGEST_WAIT_S, options.wait_for, stopping.is_set)
    if stopping.is_set():
        return io.EXIT_OK
    if missing:
        hint = 'start the nodes: ./puppet up replay'
        wanted = f'{missing} within {LONGEST_WAIT_S:g} s'
        print(f'play: expected {wanted}, got none; {hint}', file=sys.stderr)
        return io.EXIT_FAILED
    _log(f'plays {options.bag} from {node.entry}, {options.rate:g} times real time')
    start_s = time.monotonic()
    node.play(options.rate, stopping.is_set)
    counts = node.flow.counts
    sent = counts[next(iter(counts))]
    came = ', '.join(f'{count} on {topic}' for topic, count in list(counts.items())[1:])
    how, took_s = 'stopped' if stopping.is_set() else 'finished', time.monotonic() - start_s
    _log(f'{how}: {sent} frames in {took_s:.1f} s; there came {came}')
    if node.late_s > 0.1:
        _log(f'the nodes were slower: {node.late_s:.1f} s behind at the end')
    return io.EXIT_OK if counts[graph.JOINTS] or stopping.is_set() else io.EXIT_FAILED


def _log(line: str) -> None:
    print(io.printable(line), flush=True)


if __name__ == '__main__':
    sys.exit(main())
