# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The visualization node on topics: TF with the data's stamps, markers with lifetimes."""

from collections.abc import Callable, Iterator
from pathlib import Path
import time
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.character import load_character  # noqa: E402,I100
from puppet_core.errors import ConfigError  # noqa: E402
from puppet_core.posture import Posture, world_segments  # noqa: E402
from puppet_msgs.msg import Importance  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_retarget.importance import contact_rows  # noqa: E402
from puppet_retarget.importance.contact_rows import SELF_ROW  # noqa: E402
from puppet_retarget.visualization_node import VisualizationNode  # noqa: E402
from puppet_ros import posture_msg, qos  # noqa: E402
from puppet_ros.importance_msg import ImportanceWriter  # noqa: E402
from puppet_ros.posture_msg import PostureRecord  # noqa: E402
from puppet_ros.spin import make_executor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import Header  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

DEADLINE_S = 60.0
CONFIG = Path(__file__).resolve().parents[3] / 'config'
TICK_NS = 8_333_333

pytestmark = pytest.mark.ros


class Rig:
    """A visualization node and somebody who watches it."""

    def __init__(self, context: Any, tmp_path: Path, **parameters: Any) -> None:
        scene = tmp_path / 'scene.yaml'
        scene.write_text(
            'format: puppet-environment/1\nobjects:\n- {name: floor, shape: plane}\n'
        )
        values = {
            'character': str(CONFIG / 'characters' / 'blubby.yaml'),
            'environment': str(scene), **parameters,
        }  # fmt: skip
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = VisualizationNode(context=context, parameter_overrides=overrides)
        self.watcher = Node('watcher', context=context)
        self.executor = make_executor(context)
        for node in (self.node, self.watcher):
            self.executor.add_node(node)
        self.skeleton = load_character(CONFIG / 'characters' / 'performer.yaml').skeleton
        self.transforms: list[TFMessage] = []
        self.markers: list[Marker] = []
        self.frame_index = 0
        self.besides: tuple[str, ...] = ()
        self.self_rows = np.zeros((8, SELF_ROW))
        self._publishers = {
            topic: self.watcher.create_publisher(PostureMsg, topic, qos.STREAM)
            for topic in ('/performer/posture', '/puppet/posture')
        }
        self._importances = self.watcher.create_publisher(Importance, '/importance', qos.STREAM)
        self._writer = ImportanceWriter(('floor',), 'world')

    def watch(self) -> None:
        """Subscribe to what the node publishes."""
        self.watcher.create_subscription(
            TFMessage, '/tf', self.transforms.append, qos.TRANSFORMS
        )
        self.watcher.create_subscription(
            MarkerArray, '/markers', lambda msg: self.markers.extend(msg.markers), 10
        )

    def feed(self, topic: str) -> int:
        """Publish a T-pose and an importance; return their stamp."""
        self.frame_index += 1
        stamp_ns = self.frame_index * TICK_NS
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        root = np.array([0.0, 0.0, 1.0])
        _, p = world_segments(self.skeleton, root[None], rotations[None])
        posture = Posture(root, rotations, np.zeros((8, 3)), np.zeros((8, 3)))
        record = PostureRecord(
            stamp_ns, self.frame_index, 'performer', posture, p[0],
            np.zeros(16, dtype=np.uint8), self.skeleton.leg_length,
        )  # fmt: skip
        header = Header(frame_id='world')
        header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, 10**9)
        for one in (topic, *self.besides):
            self._publishers[one].publish(posture_msg.to_msg(record, header))
        rows = np.zeros((4, 8))
        rows[2] = [0.6, 0.02, 0.0, 0.4, 1.0, 2.0, 0.0, 0.0]
        self._importances.publish(
            self._writer.fill(stamp_ns, self.frame_index, rows, self.self_rows)
        )
        for _ in range(6):  # one event each
            self.executor.spin_once(timeout_sec=0.001)
        return stamp_ns

    def feed_until(self, condition: Callable[[], bool], topic: str = '/puppet/posture') -> bool:
        """Feed until the condition holds or the deadline passes."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self.feed(topic)
        return condition()

    def close(self) -> None:
        """Destroy the nodes."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.watcher.destroy_node()


@pytest.fixture
def make_rig(ros_context: Any, tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Yield a maker of rigs on a context of their own."""
    rigs: list[Rig] = []

    def make(**parameters: Any) -> Rig:
        rigs.append(Rig(ros_context, tmp_path, **parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize('body', ['performer', 'puppet'])
def test_tf_of_each_body_has_the_stamp_of_its_posture(
    make_rig: Callable[..., Rig], body: str
) -> None:
    rig = make_rig()
    rig.watch()
    assert rig.feed_until(lambda: bool(rig.transforms), f'/{body}/posture')
    transforms = rig.transforms[0].transforms
    assert len(transforms) == 46
    assert transforms[0].child_frame_id == f'{body}/pelvis'
    stamps = {t.header.stamp.sec * 10**9 + t.header.stamp.nanosec for t in transforms}
    assert len(stamps) == 1
    assert stamps.pop() % TICK_NS == 0


def test_markers_have_lifetimes_and_show_what_matters(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.watch()
    groups = {'environment', 'goals', 'range_balls', 'labels', 'names'}
    assert rig.feed_until(lambda: {m.ns for m in rig.markers} == groups)
    assert all(m.lifetime.sec or m.lifetime.nanosec for m in rig.markers)
    goal = next(m for m in rig.markers if m.ns == 'goals')
    assert (goal.pose.position.x, goal.pose.position.y) == (1.0, 2.0)


def touch_the_belly(rig: Rig) -> None:
    """Let the rig's left palm and right elbow be near a point of the spine."""
    for j, importance in ((0, 0.75), (5, 0.5), (6, 0.01)):
        row = rig.self_rows[j]
        row[contact_rows.SELF_IMPORTANCE] = row[contact_rows.SELF_PLACE] = importance
        contact = row[contact_rows.FIRST_CONTACT:]
        contact[contact_rows.SAMPLE] = contact_rows.N_SAMPLES
        contact[contact_rows.WEIGHT] = contact[contact_rows.SHARE] = 1.0
        contact[contact_rows.DISPLACEMENT] = 0.2


def test_balls_of_the_own_body_are_drawn_with_the_others(make_rig: Callable[..., Rig]) -> None:
    """Eq. 5.6: of the sizes that importance leaves, for those that matter, with a lifetime."""
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)

    def balls() -> dict[int, Marker]:
        return {m.id: m for m in rig.markers if m.ns == 'range_balls'}

    assert rig.feed_until(lambda: {2, 4, 9} <= set(balls()))
    assert set(balls()) == {2, 4 + 0, 4 + 5}
    sizes = [balls()[j].scale.x for j in (4, 9)]
    np.testing.assert_allclose(sizes, [2.0 * 0.25 * 0.2, 2.0 * 0.5 * 0.2])
    assert balls()[4].lifetime.nanosec == balls()[2].lifetime.nanosec > 0
    stamp = balls()[4].header.stamp
    assert (stamp.sec * 10**9 + stamp.nanosec) % TICK_NS == 0


def test_balls_of_the_own_body_need_all_of_a_frame(make_rig: Callable[..., Rig]) -> None:
    """Without the performer's posture nobody knows where the limbs were captured."""
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    assert rig.feed_until(lambda: sum(m.ns == 'goals' for m in rig.markers) > 3)
    assert {m.id for m in rig.markers if m.ns == 'range_balls'} == {2}


def test_range_balls_can_be_switched_off_while_running(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)
    results = rig.node.set_parameters([Parameter('show_range_balls', value=False)])
    assert results[0].successful
    assert rig.feed_until(lambda: sum(m.ns == 'goals' for m in rig.markers) > 3)
    assert not any(m.ns == 'range_balls' for m in rig.markers)


def test_nobody_watching_costs_no_messages(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    for _ in range(50):
        rig.feed('/puppet/posture')
    rig.watch()
    assert not rig.transforms
    assert not rig.markers


def test_marker_rate_above_thirty_is_refused(make_rig: Callable[..., Rig]) -> None:
    with pytest.raises(ConfigError, match='marker_rate_hz: expected 0.0 <= value <= 30.0'):
        make_rig(marker_rate_hz=31.0)


def test_character_that_does_not_exist_is_refused(make_rig: Callable[..., Rig]) -> None:
    with pytest.raises(ConfigError, match='expected an existing file'):
        make_rig(character='/nowhere/x.yaml')
