# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A node that writes every message of the graph to a bag, as the bytes that came.

Topics are looked for again and again, so one that appears later is recorded too; one that
nobody publishes yet is waited for. The QoS is that of the publishers: what is latched comes
even if it was said before.

There is no executor: `poll` takes what has come from all subscriptions, which costs 10 us a
message instead of the 100 us and more of a callback, and tells when the middleware received it
and its number among those of its publisher, by which losses are seen.

"""

from collections.abc import Callable, Collection
import time
from typing import Any, NamedTuple

from puppet_ros import qos
from puppet_ros.bags import BagWriter, class_of, qos_text
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

NODE_NAME = 'puppet_record'
LOOK_PERIOD_S = 0.1  # between two looks for new topics
PUBLISHERS_PERIOD_S = 0.5  # between two looks for new publishers of the topics there are
FLUSH_PERIOD_S = 1.0  # at most so much is lost when the process is killed
DEPTH = 1000  # messages of a topic that wait while the disk is slow


Sample = tuple[int, int | None, bytes | int]
"""When a message was published [ns], its number at its publisher, its size or else the data."""


class _Source(NamedTuple):
    """A topic that is recorded."""

    topic: str
    kind: str
    subscriptions: dict[DurabilityPolicy, Subscription]
    seen: dict[Sample, None]
    """The latest: what is latched comes once more on a further subscription."""


class RecordNode(Node):
    """
    Record all topics, or some.

    Parameters
    ----------
    writer : BagWriter
        Of the bag; open.
    topics : collection of str
        Which; all that are not hidden if empty.
    tell : callable
        Takes lines for the user.

    """

    def __init__(
        self, writer: BagWriter, topics: Collection[str] = (),
        tell: Callable[[str], None] = lambda line: None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            NODE_NAME, enable_rosout=False, start_parameter_services=False, **kwargs
        )
        self.counts: dict[str, int] = {}
        """Messages by topic."""
        self.lost: dict[str, int] = {}
        """Messages by topic that were published between two that came, but did not come."""
        self.before: dict[str, int] = {}
        """Messages by topic that its publisher had published before the first that came."""
        self._writer = writer
        self._chosen = frozenset(topics)
        self._tell = tell
        self._refused: set[str] = set()
        self._sources: list[_Source] = []
        self._batch: list[tuple[int, int, bytes]] = []  # log time, number of the source, data
        self._last: dict[str, int] = {}  # number of the last message of a topic
        self._look_at_s = self._flush_at_s = self._publishers_at_s = 0.0

    def poll(self) -> None:
        """Write what has come, and now and then look for new topics."""
        now_s = time.monotonic()
        if now_s >= self._look_at_s:
            self._look_at_s = now_s + LOOK_PERIOD_S
            self._look()
        if now_s >= self._publishers_at_s:
            self._publishers_at_s = now_s + PUBLISHERS_PERIOD_S
            self._look_at_publishers()
        for i in range(len(self._sources)):
            self._take(i)
        batch, self._batch = self._batch, []
        batch.sort(key=_order)
        for log_ns, i, data in batch:
            self._writer.write(self._sources[i].topic, self._sources[i].kind, log_ns, data)
        if now_s >= self._flush_at_s:
            self._flush_at_s = now_s + FLUSH_PERIOD_S
            self._writer.flush()

    def _take(self, number: int) -> None:
        """Take what has come from one source."""
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
        """Count a message, and by its number what was lost before it."""
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

    def _look(self) -> None:
        for topic, kinds in self.get_topic_names_and_types():
            wanted = topic in self._chosen if self._chosen else not _is_hidden(topic)
            if wanted and topic not in self.counts and topic not in self._refused:
                self._add(topic, kinds)

    def _look_at_publishers(self) -> None:
        """Ask for less, or for more, where a publisher came that would not be heard wholly."""
        for i, source in enumerate(self._sources):
            offers = [o for o in self._offers(source.topic) if o.topic_type == source.kind]
            wanted = [profile for profile in profiles_for(offers) if is_unheard(
                profile, source.subscriptions.get(profile.durability)
            )]
            if not wanted:
                continue
            self._take(i)
            self._last.pop(source.topic, None)
            subscriptions = dict(source.subscriptions)
            for profile in wanted:
                old = subscriptions.pop(profile.durability, None)
                if old is not None:
                    self.destroy_subscription(old)
                subscriptions[profile.durability] = self._subscribe(source, profile)
            self._sources[i] = source._replace(subscriptions=subscriptions)
            self._tell(f'{source.topic}: a publisher came that offers less or other things; '
                       'asked for again')

    def _subscribe(self, source: _Source, profile: QoSProfile) -> Subscription:
        return self.create_subscription(
            class_of(source.kind), source.topic, _ignore, profile, raw=True
        )

    def _offers(self, topic: str) -> list[TopicEndpointInfo]:
        """Return what the publishers of a topic offer, but for this node."""
        own = self.get_name(), self.get_namespace()
        return [
            offer for offer in self.get_publishers_info_by_topic(topic)
            if (offer.node_name, offer.node_namespace) != own
        ]

    def _add(self, topic: str, kinds: list[str]) -> None:
        offers = self._offers(topic)
        if not offers:
            return
        kind = class_of(kinds[0]) if len(kinds) == 1 else None
        if kind is None:
            self._refused.add(topic)
            self._tell(f'{topic} is not recorded: {", ".join(kinds)} is not installed here'
                       if len(kinds) == 1 else
                       f'{topic} is not recorded: it has messages of {" and ".join(kinds)}')
            return
        profiles = profiles_for(offers)
        self._writer.add_topic(topic, kinds[0], qos_text([offered_by(offer) for offer in offers]))
        self.counts[topic] = 0
        source = _Source(topic, kinds[0], {}, {})
        for profile in profiles:
            source.subscriptions[profile.durability] = self._subscribe(source, profile)
        self._sources.append(source)


def profiles_for(offers: Collection[TopicEndpointInfo]) -> list[QoSProfile]:
    """
    Return the QoS of subscriptions that together hear all that these publishers say and said.

    One that asks for latched messages does not hear the others; one that does not ask hears all
    publishers, but not what was said before.

    """
    latched = [offer for offer in offers if _is_latched(offer)]
    profiles = []
    if len(latched) < len(offers):
        profiles.append(_profile(offers, DurabilityPolicy.VOLATILE))
    if latched:
        profiles.append(_profile(latched, DurabilityPolicy.TRANSIENT_LOCAL))
    return profiles


def _profile(
    offers: Collection[TopicEndpointInfo], durability: DurabilityPolicy
) -> QoSProfile:
    reliable = all(
        offer.qos_profile.reliability == ReliabilityPolicy.RELIABLE for offer in offers
    )
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=durability,
    )


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
    """Return what a publisher offers; the depth is not told over the network."""
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


def _is_hidden(topic: str) -> bool:
    return any(part.startswith('_') for part in topic.split('/'))


def _order(entry: tuple[int, int, bytes]) -> tuple[int, int]:
    return entry[:2]


def _ignore(data: bytes) -> None:
    """Stand where a callback must."""
