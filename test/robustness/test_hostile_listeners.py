# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile messages to the nodes beside the chain: what they publish stays sound, and goes on."""

from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from geometry_msgs.msg import Pose, PoseArray, PoseStamped  # noqa: E402,I100
from puppet_bringup.pipeline import CLASSES  # noqa: E402
from puppet_msgs.msg import PoseFrame, TrackerFrame  # noqa: E402
from puppet_ros.bags import BagReader  # noqa: E402
from puppet_ros.node import RateLimit  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.publisher import Publisher  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robustness.chaos.hostile_messages import changes_of, hostile_messages  # noqa: E402

pytestmark = pytest.mark.ros

GOLDENS = Path(__file__).resolve().parents[1] / 'goldens'
BAGS = ('performance', 'graph', 'blubby_importance_based')
STANDS = 3  # message of each topic in the bags that serves as the good one
SENSORS = ['pelvis', 'head']
NODES: dict[str, dict[str, Any]] = {
    'visualization': {},
    'tracker_markers': {},
    'pose_topics of arrays': {'sensors': SENSORS, 'topics': ['/poses[*]']},
    'pose_topics of poses': {'sensors': SENSORS, 'topics': ['/{sensor}/pose']},
}
OF_BYTES = 40  # messages whose bytes are damaged


class Listener:
    """A node that listens, and all that it publishes."""

    def __init__(self, name: str, context: Any) -> None:
        module, kind = CLASSES[name.split()[0]]
        overrides = [Parameter(key, value=value) for key, value in NODES[name].items()]
        self.node: Node = getattr(import_module(module), kind)(
            context=context, parameter_overrides=overrides
        )
        self.published: list[tuple[type, bytes]] = []
        self.unforeseen: list[str] = []
        self.node._diagnostics.error = self._note  # type: ignore[attr-defined]

    def take(self, publisher: Publisher, content: Any) -> None:
        """Stand in for Publisher.publish."""
        data = content if isinstance(content, bytes) else bytes(serialize_message(content))
        self.published.append((publisher.msg_type, data))

    def give(self, subscription: Any, data: bytes) -> None:
        """Hand bytes to a subscription; who wants a message gets none that cannot be made."""
        content: Any = data
        if not subscription.raw:
            try:
                content = deserialize_message(data, subscription.msg_type)
            except Exception:
                return
        subscription.callback(content)

    def _note(self, text: str) -> None:
        """Keep what a message did that nobody thought of: `guarded` puts the callback first."""
        if text.startswith('on_') or text.startswith('_on_'):
            self.unforeseen.append(text)


def filtered(raw: bytes) -> PoseFrame:
    """Return the frame that a filter could have made of this one."""
    frame = deserialize_message(raw, TrackerFrame)
    n = len(frame.sensors)
    return PoseFrame(
        header=frame.header,
        frame_index=frame.frame_index,
        sensors=frame.sensors,
        status=[PoseFrame.STATUS_OK] * n,
        positions=frame.positions,
        orientations=frame.orientations,
        linear_velocities=[0.0] * (3 * n),
        angular_velocities=[0.0] * (3 * n),
        pose_covariances=np.tile(1e-4 * np.eye(6).ravel(), n).tolist(),
    )


@pytest.fixture(scope='module')
def good_messages():
    """Return a sound message of each topic of the graph."""
    found: dict[str, list[bytes]] = {}
    for name in BAGS:
        with BagReader(GOLDENS / f'{name}.mcap') as reader:
            for message in reader.messages():
                found.setdefault(message.topic, []).append(message.data)
    good = {topic: messages[min(STANDS, len(messages) - 1)] for topic, messages in found.items()}
    array = PoseArray(poses=[Pose(), Pose()])
    good['/tracker/filtered'] = bytes(serialize_message(filtered(good['/tracker/raw'])))
    good['/poses'] = bytes(serialize_message(array))
    for name in SENSORS:
        good[f'/{name}/pose'] = bytes(serialize_message(PoseStamped()))
    return good


@pytest.fixture(params=NODES)
def listener(request):
    """Yield a node to whose every topic somebody listens, and for which all is due."""
    with isolated_context() as context:
        made = Listener(request.param, context)
        with (
            mock.patch.object(Publisher, 'publish', lambda *a: made.take(*a)),
            mock.patch.object(Publisher, 'get_subscription_count', lambda self: 1),
            mock.patch.object(RateLimit, 'passes', lambda *_: True),
        ):
            yield made


def require_sound(kind: type, data: bytes) -> None:
    """Assert that transforms, markers and poses have numbers; a frame may miss sensors."""
    sent = deserialize_message(data, kind)
    for transform in getattr(sent, 'transforms', ()):
        place, turn = transform.transform.translation, transform.transform.rotation
        assert np.isfinite([place.x, place.y, place.z]).all()
        assert abs(np.linalg.norm([turn.x, turn.y, turn.z, turn.w]) - 1.0) < 1e-3
    for marker in getattr(sent, 'markers', ()):
        place, size = marker.pose.position, marker.scale
        points = [(p.x, p.y, p.z) for p in marker.points]
        numbers = [place.x, place.y, place.z, size.x, size.y, size.z]
        assert np.isfinite(numbers).all() and np.isfinite(np.array(points)).all()


def test_what_comes_out_is_sound_and_good_messages_go_on(listener, good_messages):
    heard = [s for s in listener.node.subscriptions if not s.topic_name.startswith('/parameter')]
    assert heard
    for subscription in heard:
        known = good_messages.get(subscription.topic_name)
        good = (
            subscription.msg_type()
            if known is None
            else deserialize_message(known, subscription.msg_type)
        )
        messages = hostile_messages(good, np.random.default_rng(7))
        for _ in range(len(list(changes_of(good))) + OF_BYTES):
            listener.give(subscription, next(messages).data)
        assert listener.unforeseen == []
    assert listener.published
    for kind, data in listener.published:
        require_sound(kind, data)
    listener.published.clear()
    for subscription in heard:
        known = good_messages.get(subscription.topic_name)
        if known is not None:
            listener.give(subscription, known)
    assert listener.published or listener.node.get_name() == 'pose_topics'
