# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile messages on every topic of the chain: the next good frame is retargeted as before."""

from collections import defaultdict
from importlib import import_module
from pathlib import Path
import struct
from typing import Any
from unittest import mock

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
msg = pytest.importorskip('puppet_msgs.msg', reason='needs the built messages')

from puppet_bringup.pipeline import CLASSES  # noqa: E402,I100
from puppet_ros.bags import BagReader  # noqa: E402
from puppet_ros.messages import renamed  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402
from rclpy.publisher import Publisher  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robustness.chaos.hostile_messages import changes_of, hostile_messages  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros

PERFORMANCE = Path(__file__).resolve().parents[1] / 'goldens' / 'performance.mcap'
NODES = ('pose_filter', 'performer', 'importance', 'retarget')
TOPICS = {
    '/tracker/raw': msg.TrackerFrame,
    '/tracker/filtered': msg.PoseFrame,
    '/performer/posture': msg.Posture,
    '/importance': msg.Importance,
    '/tf_static': TFMessage,
}
TICK_NS, START_NS = 8_333_333, 1_700_000_000 * 10**9
OF_BYTES = 40  # messages whose bytes are damaged
MOST_FRAMES = 400
STANDS = 60  # frame of the performance with the T-pose


class Graph:
    """The nodes of the chain; bytes go from one to the next as over the middleware, at once."""

    def __init__(self, context: Any) -> None:
        self._routes: dict[str, list[tuple[Any, bool, type]]] = defaultdict(list)
        self.last: dict[str, bytes] = {}
        self.joints: list[JointState] = []
        self.index = 0
        with BagReader(PERFORMANCE) as reader:
            stored = list(reader.messages())
        self.static = next(m.data for m in stored if m.topic == '/tf_static')
        self._raw = [m.data for m in stored if m.topic == '/tracker/raw']
        self.nodes = [self._node(name, context) for name in NODES]
        for node in self.nodes:
            for listener in node.subscriptions:
                route = (listener.callback, listener.raw, listener.msg_type)
                self._routes[listener.topic_name].append(route)

    def publish(self, topic: str, data: bytes) -> None:
        """Hand bytes to all that listen; who wants a message gets none that cannot be made."""
        self.last[topic] = data
        if topic == '/joint_states':
            self.joints.append(deserialize_message(data, JointState))
        for callback, is_raw, kind in self._routes[topic]:
            try:
                content = data if is_raw else deserialize_message(data, kind)
            except Exception:
                continue
            callback(content)

    def take(self, publisher: Any, content: Any) -> None:
        """Stand in for Publisher.publish."""
        data = content if isinstance(content, bytes) else bytes(serialize_message(content))
        self.publish(publisher.topic_name, data)

    def feed(self) -> int:
        """Publish a good frame of somebody who stands; return its stamp."""
        stamp_ns = START_NS + self.index * TICK_NS
        frame = self._raw[min(self.index, STANDS)]
        self.index += 1
        self.publish('/tracker/raw', renamed(frame, stamp_ns, self.index))
        return stamp_ns

    def drops(self) -> int:
        """Return what all nodes have dropped so far."""
        return sum(node._diagnostics.total_drops for node in self.nodes)

    def failures(self) -> dict[str, str]:
        """Return the nodes in which a message did what nobody thought of."""
        return {
            node.get_name(): node._diagnostics._error
            for node in self.nodes
            if 'failed' in node._diagnostics._statistics.drops_by_reason
        }

    def _node(self, name: str, context: Any) -> Any:
        module_name, class_name = CLASSES[name]
        module = import_module(module_name)
        getattr(module, 'warm_up', lambda: None)()
        return getattr(module, class_name)(context=context)


def stamped(data: bytes, stamp_ns: int) -> bytes:
    """Return the bytes of a message with another stamp."""
    changed = bytearray(data)
    struct.pack_into('<iI', changed, 4, *divmod(stamp_ns, 10**9))
    return bytes(changed)


@pytest.fixture(scope='module')
def graph():
    """Return a graph whose performer is calibrated."""
    with isolated_context() as context:
        made = Graph(context)
        with mock.patch.object(Publisher, 'publish', lambda *a: made.take(*a)):
            made.publish('/tf_static', made.static)
            while not made.joints and made.index < MOST_FRAMES:
                made.feed()
            assert made.joints
            yield made


@pytest.mark.parametrize('topic', TOPICS)
def test_the_frame_after_a_hostile_message_is_retargeted(graph, topic):
    """No node fails, nothing that is not finite comes out, and what is dropped is counted."""
    good = deserialize_message(graph.last[topic], TOPICS[topic])
    messages = hostile_messages(good, np.random.default_rng(5))
    graph.joints.clear()
    before = graph.drops()
    for _ in range(len(list(changes_of(good))) + OF_BYTES):
        hostile = next(messages)
        data = hostile.data
        if topic != '/tf_static' and 'stamp' not in hostile.what and len(data) >= 12:
            data = stamped(data, START_NS + graph.index * TICK_NS - TICK_NS // 2)
        graph.publish(topic, data)
        if topic == '/tf_static':
            graph.publish(topic, graph.static)
        stamp_ns = graph.feed()
        last = graph.joints[-1].header.stamp
        assert last.sec * 10**9 + last.nanosec == stamp_ns, hostile.what
    for joints in graph.joints:
        assert np.isfinite(joints.position).all()
    assert graph.failures() == {}
    assert graph.drops() > before or topic == '/tf_static'
