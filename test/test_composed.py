# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The same performance through the nodes apart and in one process: the same bytes come out."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from source_tree import ROOT

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_bringup.pipeline import CLASSES, STREAMS  # noqa: E402,I100
from puppet_bringup.process_table import processes, REPLAY  # noqa: E402
from puppet_ros.bags import BagReader, class_of  # noqa: E402
from puppet_ros.interface_table import (  # noqa: E402
    FILTERED,
    IMPORTANCE,
    JOINTS,
    POSTURE,
    PUPPET,
    RAW,
    TF_STATIC,
)
from puppet_ros.messages.posture_msg import WORLD  # noqa: E402
from puppet_ros.messages.raw_header import stamp_ns  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.node.streams import IntraProcessBus, use_bus  # noqa: E402
from puppet_ros.node.transforms import TRANSMITTER  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from robustness.goldens import FOLDER, PERFORMANCE  # noqa: E402

pytestmark = pytest.mark.ros

OUTPUTS = {
    FILTERED: 'puppet_msgs/msg/PoseFrame',
    POSTURE: 'puppet_msgs/msg/Posture',
    IMPORTANCE: 'puppet_msgs/msg/Importance',
    JOINTS: 'sensor_msgs/msg/JointState',
    PUPPET: 'puppet_msgs/msg/Posture',
}
CHAIN = ('pose_filter', 'performer', 'importance', 'retarget')
ATTEMPTS, ATTEMPT_S = 100, 0.6
Seen = dict[str, dict[int, bytes]]


class Graph:
    """The nodes behind a tracker, and what they publish by topic and stamp."""

    def __init__(self, context: Any, is_composed: bool) -> None:
        if is_composed:
            use_bus(context, IntraProcessBus(STREAMS[name] for name in CHAIN if name in STREAMS))
        self.seen: Seen = {topic: {} for topic in OUTPUTS}
        self.executor = make_executor(context)
        given = {'clock': 'false', 'environment': 'demo'}
        listed = [p for p in processes(REPLAY, given) if p.name in CHAIN]
        assert [process.name for process in listed] == list(CHAIN)
        for process in listed:
            module, name = CLASSES[process.name]
            node = getattr(import_module(module), name)(
                context=context, cli_args=process.ros_arguments(ROOT / 'config')
            )
            self.executor.add_node(node)
            if process.name == 'performer':
                self.performer = node
        self.listener = rclpy.create_node('listener', context=context)
        self.executor.add_node(self.listener)
        for topic, kind in OUTPUTS.items():
            profile = qos.JOINT_STATES if topic == JOINTS else qos.STREAM
            self.listener.create_subscription(
                class_of(kind), topic, self._note(topic), profile, raw=True
            )
        kinds = {RAW: 'puppet_msgs/msg/TrackerFrame', TF_STATIC: 'tf2_msgs/msg/TFMessage'}
        self.inputs = {
            topic: self.listener.create_publisher(
                class_of(kind), topic, qos.STREAM if topic == RAW else qos.STATIC_TRANSFORMS
            )
            for topic, kind in kinds.items()
        }

    def _note(self, topic: str) -> Callable[[bytes], None]:
        def on_data(data: bytes) -> None:
            self.seen[topic][stamp_ns(data)] = bytes(data)

        return on_data

    def play(self) -> Seen:
        """Return what comes of the golden performance, one frame after the other."""
        readers = self.inputs[RAW]
        assert spin_until(self.executor, lambda: readers.get_subscription_count() > 0)
        with BagReader(ROOT / FOLDER / PERFORMANCE) as reader:
            messages = list(reader.messages((RAW, TF_STATIC)))
        for message in messages:
            if message.topic == TF_STATIC:
                self.inputs[TF_STATIC].publish(message.data)
                assert spin_until(self.executor, self._is_placed)
        for message in messages:
            if message.topic == RAW:
                stamp = stamp_ns(message.data)
                # also where nothing comes of a frame: the performer is not calibrated at first
                last = JOINTS if self.seen[JOINTS] else FILTERED
                assert self._is_answered(message.data, lambda: stamp in self.seen[last])
        assert spin_until(self.executor, lambda: stamp in self.seen[PUPPET])
        return self.seen

    def _is_answered(self, data: bytes, condition: Callable[[], bool]) -> bool:
        """Publish a frame; again after a cut in the performance, which is another publisher's."""
        for _ in range(ATTEMPTS):
            self.inputs[RAW].publish(data)
            if spin_until(self.executor, condition, deadline_s=ATTEMPT_S):
                return True
        return False

    def _is_placed(self) -> bool:
        """Return whether the performer knows where the tracker is: calibration waits for it."""
        return self.performer._transforms.lookup(WORLD, TRANSMITTER) is not None


def test_both_forms_publish_the_same_bytes():
    found = []
    for is_composed in (False, True):
        with isolated_context() as context:
            found.append(Graph(context, is_composed).play())
    apart, together = found
    for topic in OUTPUTS:
        both = apart[topic].keys() & together[topic].keys()
        # best effort may lose a few on a machine that is full
        assert len(both) > 200 and len(both) > 0.9 * len(apart[topic]), topic
        differing = [stamp for stamp in both if apart[topic][stamp] != together[topic][stamp]]
        assert not differing, topic
