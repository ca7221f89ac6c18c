# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A node that plays a bag to the live graph: the recorded input, not what the nodes make of it.

Publishes the recorded bytes with the recorded QoS, at the pace of their log times and no faster
than the nodes take them, and /clock if asked to. It has no executor: nothing calls back.

Nothing is played until all are connected to each other: the player sees its own connections, and
the nodes say theirs in their diagnostics. A latched message is waited for until all have it.

"""

from collections.abc import Callable, Collection
import time
from typing import Any

from puppet_core.errors import PuppetError
from puppet_core.plain_yaml import load_plain_yaml
from puppet_replay.connections import Connections, fits
from puppet_replay.flow import Flow
from puppet_replay.replay import frames_first
from puppet_replay.topics import (
    CLOCK,
    entry_of,
    FILTERED,
    IMPORTANCE,
    inputs_of,
    JOINTS,
    played_topics,
    POSTURE,
    RAW,
    TF,
    TF_STATIC,
    TYPES,
)
from puppet_ros import flat_array, qos
from puppet_ros.bags import BagMessage, BagReader, class_of, require_same_types
from puppet_ros.kept_cdr import decoded
from puppet_ros.raw_header import stamp_ns
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
import yaml

NODE_NAME = 'puppet_play'
DEFAULT_DEPTH = 10  # of a publisher whose depth is not known
CLOCK_PERIOD_S = 0.01
POLL_S = 0.0005  # while frames are on their way
LOOK_S = 0.05  # while the graph is not there yet
SILENCE_S = 10.0  # for nodes of others, which may have no diagnostics
ACKNOWLEDGED = Duration(seconds=5)  # how long a latched message is waited for
PATIENCE_S = 10.0  # with a node that takes nothing; a busy machine stalls for seconds
LONG_WAIT_S = 5.0  # worth a line
CATCH_UP_S = 1.0  # what is later than this is not made up for
ASKED = '/performer/get_parameters'
LIVE_FRAMES = ('performer/', 'puppet/')  # the nodes publish their transforms themselves
READERS = {FILTERED: 1, POSTURE: 2, IMPORTANCE: 1, JOINTS: 0}
"""Least number of nodes that read a topic, the player not counted."""


class PlayNode(Node):
    """
    Plays one bag.

    Parameters
    ----------
    reader : BagReader
        The bag; open.
    entry : str
        Where the messages enter; the first topic of the graph in the bag if ''.
    has_clock : bool
        Whether /clock is published.
    tell : callable
        Takes lines for the user.

    """

    def __init__(
        self, reader: BagReader, entry: str, has_clock: bool, tell: Callable[[str], None],
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            NODE_NAME, enable_rosout=False, start_parameter_services=False, **kwargs
        )
        self.entry = entry_of(reader, entry)
        self.late_s = 0.0
        """How far behind its pace it is [s]."""
        self._reader = reader
        self._tell = tell
        self._inputs = inputs_of(self.entry)
        self._own: dict[str, Publisher] = {}
        self._advertise()
        streams = (RAW, FILTERED, POSTURE, IMPORTANCE, JOINTS)
        chain = streams[streams.index(self._inputs[-1]):]
        self.flow = Flow(chain)
        self._watched = {
            topic: self.create_subscription(
                class_of(TYPES[topic]), topic, _ignore, qos.STREAM, raw=True
            )
            for topic in chain[1:]
        }
        # a performer that is not calibrated publishes nothing: it is asked how far it is
        self._question = self.create_client(GetParameters, ASKED) if POSTURE in chain[1:] else None
        self._asked: int | None = None
        self._connections = Connections(self)
        self._clock_publisher = self.create_publisher(Clock, CLOCK, 10) if has_clock else None
        self._clock_at_s = 0.0

    def wait(
        self, patience_s: float, nodes: Collection[str], is_stopped: Callable[[], bool]
    ) -> str:
        """Wait until all are connected; return what is missing in words, '' if nothing is."""
        start_s = there_s = time.monotonic()
        while not is_stopped():
            now_s = time.monotonic()
            if missing := self._missing(nodes):
                there_s = now_s
            elif not (missing := self._connections.missing(tuple(self._watched))):
                return ''
            elif now_s - there_s > SILENCE_S and self._connections.are_silent:
                self._tell(f'{missing} cannot be seen; playing without')
                return ''
            if now_s - start_s > patience_s:
                return missing
            time.sleep(LOOK_S)
        return 'nothing'

    def play(self, rate: float, is_stopped: Callable[[], bool]) -> None:
        """Play the whole bag, or until asked to stop."""
        first, _ = frames_first(self._reader.messages([TF_STATIC]))
        for message in first:
            self._publish(message)
            self._own[TF_STATIC].wait_for_all_acked(ACKNOWLEDGED)
        timed = [topic for topic in self._own if topic != TF_STATIC]
        start_ns = next(iter(self._reader.messages(timed))).log_ns
        start_s = time.monotonic()
        for message in self._reader.messages(tuple(self._own)):
            if is_stopped():
                return
            if message.topic == TF_STATIC and message in first:
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
        self._drain(is_stopped)

    def _advertise(self) -> None:
        """Make the publishers of what is played."""
        reader = self._reader
        names = played_topics(tuple(reader.topics), self.entry)
        if reader.counts.get(TF):
            names.append(TF)
        for warning in require_same_types(reader, self._inputs):
            self._tell(warning)
        for topic in names:
            info = reader.info[topic]
            kind = class_of(info.type)
            if kind is None:
                self._tell(f'{topic} is not played: {info.type} is not installed here')
            elif info.count:
                self._compare_type(topic)
                profile = qos.STATIC_TRANSFORMS if topic == TF_STATIC else profile_of(info.qos)
                self._own[topic] = self.create_publisher(kind, topic, profile)

    def _compare_type(self, topic: str) -> None:
        """Tell of messages beside the input whose version is not the installed one."""
        if topic in self._inputs:
            return
        try:
            require_same_types(self._reader, [topic])
        except PuppetError as err:
            self._tell(f'{topic} is played as it was recorded, which its readers may not '
                       f'understand: {err}')

    def _missing(self, nodes: Collection[str]) -> str:
        """Return what of the graph is not there yet, in words."""
        absent = sorted(set(nodes) - set(self.get_node_names()))
        if absent:
            return f'node {absent[0]}'
        for topic, publisher in self._own.items():
            least = 2 if topic == POSTURE and self.entry == POSTURE else topic in self._inputs
            wishes = self.get_subscriptions_info_by_topic(topic)
            there = sum(fits(publisher.qos_profile, wish.qos_profile) for wish in wishes)
            if publisher.get_subscription_count() < max(least, there):
                return f'a subscriber of {topic}'
        for topic, subscription in self._watched.items():
            if subscription.get_publisher_count() < 1:
                return f'a publisher of {topic}'
            if self.count_subscribers(topic) < READERS[topic] + 1:
                return f'{READERS[topic]} subscribers of {topic}'
        return ''

    def _publish(self, message: BagMessage) -> None:
        if message.topic in (TF, TF_STATIC) and not _is_of_tracker(message.data):
            return
        if message.topic == self._inputs[-1]:
            self.flow.sent(stamp_ns(message.data))
        self._own[message.topic].publish(message.data)

    def _pass_time(
        self, due_s: float, log_ns: int, rate: float, is_stopped: Callable[[], bool]
    ) -> None:
        """Wait until a message is due or all is stopped, with the clock going on."""
        if (wait_s := due_s - time.monotonic()) > LONG_WAIT_S:
            self._tell(f'nothing in the bag for {wait_s * rate:.0f} s: waits {wait_s:.0f} s')
        while not is_stopped():
            left_s = due_s - time.monotonic()
            now_s = time.monotonic()
            if self._clock_publisher is not None and now_s >= self._clock_at_s:
                self._clock_at_s = now_s + CLOCK_PERIOD_S
                clock = Clock()
                flat_array.write_stamp(log_ns - round(max(left_s, 0.0) * rate * 1e9), clock.clock)
                self._clock_publisher.publish(clock)
            self._look()
            if left_s <= 0.0:
                return
            time.sleep(min(left_s, CLOCK_PERIOD_S))

    def _hold_back(self, is_stopped: Callable[[], bool]) -> None:
        """Wait while a node has too many frames before it."""
        heard_s = time.monotonic()
        before = dict(self.flow.counts)
        while (crowded := self.flow.crowded()) and not is_stopped():
            self._look()
            if self.flow.counts != before:
                before, heard_s = dict(self.flow.counts), time.monotonic()
            elif time.monotonic() - heard_s > PATIENCE_S:
                self._tell(f'nothing comes on {crowded[0]}; playing on without it')
                self.flow.give_up(crowded[0])
            time.sleep(POLL_S)

    def _drain(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until the last frame has come through."""
        deadline_s, before = time.monotonic() + PATIENCE_S, dict(self.flow.counts)
        while time.monotonic() < deadline_s and self.flow.crowded(1) and not is_stopped():
            self._look()
            if self.flow.counts != before:
                deadline_s, before = time.monotonic() + PATIENCE_S, dict(self.flow.counts)
            time.sleep(POLL_S)

    def _look(self) -> None:
        for topic, subscription in self._watched.items():
            with subscription.handle:
                while (taken := subscription.handle.take_message(
                    subscription.msg_type, True
                )) is not None:
                    self.flow.seen(topic, stamp_ns(taken[0]))
        if self._question is not None:
            self._ask(self._question)

    def _ask(self, client: Client) -> None:
        """Ask the performer whether it is done with what it has, or take its answer."""
        handle, kind = client.handle, GetParameters
        with handle:
            if self._asked is None and not self.flow.counts[POSTURE]:
                self._asked = self.flow.newest(FILTERED)
                handle.send_request(kind.Request())
            elif self._asked is not None and handle.take_response(kind.Response)[0] is not None:
                self.flow.acknowledge(POSTURE, self._asked)
                self._asked = None


def _is_of_tracker(data: bytes) -> bool:
    """Return whether no transform of a message is one of those that live nodes publish."""
    children = (t.child_frame_id for t in decoded(data, TFMessage).transforms)
    return not any(child.lstrip('/').startswith(LIVE_FRAMES) for child in children)


def profile_of(text: str) -> QoSProfile:
    """
    Return one profile that serves whoever listened to the publishers of a bag's text of QoS.

    Reliable or latched if one of them was; the greatest depth. What the text does not say, or
    an unreadable text, gives a reliable, volatile profile of some depth.

    """
    try:
        tree = load_plain_yaml(text) if text else []
    except (yaml.YAMLError, RecursionError):
        tree = []
    rows = [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []

    def has(row: dict[str, Any], name: str, policy: Any) -> bool:
        """Return whether a row has a policy, by its name or its old number."""
        return row.get(name) in (policy.short_key, int(policy))

    latched = any(has(row, 'durability', DurabilityPolicy.TRANSIENT_LOCAL) for row in rows)
    best_effort = bool(rows) and all(
        has(row, 'reliability', ReliabilityPolicy.BEST_EFFORT) for row in rows
    )
    depths = [row.get('depth') for row in rows]
    known = [depth for depth in depths if type(depth) is int and 0 < depth < 1 << 20]
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=max(known, default=DEFAULT_DEPTH),
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _ignore(data: bytes) -> None:
    """Stand where a callback must."""
