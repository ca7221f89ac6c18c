# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The browser's node: bodies by their descriptions, latencies, and controls of the nodes."""

import os
from pathlib import Path
import queue
import time
from unittest.mock import MagicMock

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import MAX_COORDINATE_M, Posture
from puppet_core.robots.description import description_text, urdf_text
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='needs viser')

from puppet_core.cue_file import Cue  # noqa: E402
from puppet_filter.parameters import ROWS  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402,I100
from puppet_retarget.parameters import IMPORTANCE_ROWS, RETARGET_ROWS  # noqa: E402
from puppet_ros.messages.posture_msg import PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.node.transforms import RobotDescriptionPublisher  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from puppet_view.browser import live_page  # noqa: E402,I100
from puppet_view.browser.live_page import MODEL, MODELS, NodeSettings, Q_SLIDERS, SLIDERS, TARGETS  # noqa: E402
from rcl_interfaces.msg import SetParametersResult  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robustness.chaos.hostile_messages import changes_of, hostile_messages  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 30.0
CHARACTERS = named_files.DATA / 'characters'
HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'


def test_a_robot_is_shown():
    """Not from its own URDF, whose links are not our segments."""
    robot = character_from_urdf(HUMANOID, RobotMap()).character
    rclpy.init(args=[], domain_id=1 + os.getpid() % 100)
    try:
        shown, other = MagicMock(), Node('other')
        node = live_page.ViewNode(shown, queue.SimpleQueue())
        RobotDescriptionPublisher(other, '/robot_description', description_text(robot))
        RobotDescriptionPublisher(other, '/puppet/robot_description', urdf_text(robot))
        executor = make_executor(rclpy.get_default_context())
        for one in (node, other):
            executor.add_node(one)
        deadline = time.monotonic() + DEADLINE_S
        while not shown.set_body.called and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        who, parts, caption = shown.set_body.call_args.args
        executor.shutdown()
    finally:
        rclpy.try_shutdown()
    assert who == live_page.PUPPET
    assert len({part.segment for part in parts}) == 15 and caption == robot.name


def _still():
    rest = load_character(CHARACTERS / 'sally.yaml').skeleton.rest_positions()
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    posture = Posture(np.zeros(3), upright, np.zeros((8, 3)), np.zeros((8, 3)))
    return PostureRecord(1, 0, 'sally', posture, rest, np.zeros(16, np.uint8), 1.2)


def _give(subscription, data):
    """Hand bytes to a subscription; who wants a message gets none that cannot be made."""
    content = data
    if not subscription.raw:
        try:
            content = deserialize_message(data, subscription.msg_type)
        except Exception:
            return
    subscription.callback(content)


def posture_of_puppet(node):
    return next(s for s in node.subscriptions if s.topic_name == '/puppet/posture')


def test_hostile_messages_neither_end_the_view_nor_are_drawn():
    marker = Marker(ns='goals', type=Marker.SPHERE)
    good = {PostureMsg: PostureWriter().fill(_still()), MarkerArray: MarkerArray(markers=[marker])}
    with isolated_context() as context:
        shown = MagicMock(is_watched=True)
        node = live_page.ViewNode(shown, queue.SimpleQueue(), context=context)
        for subscription in node.subscriptions:
            kind = subscription.msg_type
            message = good.get(kind) or kind()
            messages = hostile_messages(message, np.random.default_rng(3))
            for _ in range(len(list(changes_of(message))) + 40):
                _give(subscription, next(messages).data)
                for timer in node.timers:
                    timer.callback()
        _give(posture_of_puppet(node), bytes(serialize_message(good[PostureMsg])))
        spoiled = PostureWriter().fill(_still())
        spoiled.segment_positions[0] = np.nan
        node._latest[live_page.PERFORMER] = bytes(serialize_message(spoiled))
        node._draw()
        assert list(shown.move_bodies.call_args.args[0]) == [live_page.PUPPET]
    assert shown.move_bodies.called and shown.set_solids.called
    for call in shown.move_bodies.call_args_list:
        for turns, places in call.args[0].values():
            assert np.isfinite(turns).all() and np.abs(places).max() <= MAX_COORDINATE_M
    for call in shown.set_solids.call_args_list:
        for solid in call.args[1]:
            assert np.isfinite([*solid.position, *solid.rotation, *solid.size]).all()


def test_puppets_of_other_nodes_are_found():
    """Whatever moves on a topic /NAME/posture."""
    sally = load_character(CHARACTERS / 'sally.yaml')
    with isolated_context() as context:
        shown, other = MagicMock(is_watched=True), Node('other', context=context)
        node = live_page.ViewNode(shown, queue.SimpleQueue(), context=context)
        RobotDescriptionPublisher(other, '/puppet2/robot_description', urdf_text(sally))
        stream = other.create_publisher(PostureMsg, '/puppet2/posture', qos.STREAM)
        writer = PostureWriter()
        still = _still()
        executor = make_executor(context)
        for one in (node, other):
            executor.add_node(one)
        assert spin_until(
            executor,
            lambda: shown.move_bodies.called and shown.set_body.called,
            before=lambda: stream.publish(writer.fill(still)),
        )
        assert shown.set_body.call_args.args[0] == 'puppet2'
        (postures,) = shown.move_bodies.call_args.args
        executor.shutdown()
    np.testing.assert_allclose(postures['puppet2'][1], still.segments)


@pytest.mark.parametrize(
    ('latency_ms', 'shown'),
    [
        ((4.21, 9.0), '4.2 ms (p99 9.0)'),
        (None, '>-<'),
        ((1.795e12, 1.795e12), '>-<'),  # stamps of a played bag
        ((-9e9, -8e9), '>-<'),
    ],
)
def test_a_latency_of_another_clock_is_not_shown(latency_ms, shown):
    html = live_page._numbers(60.0, latency_ms)
    assert shown in html and '60.0 Hz' in html


class Panel:
    """Remembers what it was told to show."""

    def __init__(self):
        self.shown = {}
        self.refusal = ''

    def show_settings(self, values):
        self.shown.update(values)

    def show_refusal(self, text):
        self.refusal = text


class Rig:
    def __init__(self, context):
        self.importance = Node('importance', context=context)
        self.importance.declare_parameter('prediction_s', 0.1)
        self.importance.declare_parameter('influence_distance_m', 0.6)
        self.importance.declare_parameter('smoothing_s', 0.05)
        self.bodies = [Node(name, context=context) for name in ('retarget', 'visualization')]
        for node in self.bodies:
            node.declare_parameter('character', 'blubby')
        for node in (self.importance, *self.bodies):
            node.declare_parameter('environment', 'floor')
        self.filter = Node('pose_filter', context=context)
        for row in ROWS:
            if row.name.startswith('process.'):
                self.filter.declare_parameter(row.name, row.default)
        self.viewer = Node('viewer', context=context)
        self.changes = queue.SimpleQueue()
        self.panel = Panel()
        self.settings = NodeSettings(self.viewer, self.changes, self.panel)
        self.executor = make_executor(context)
        for node in (self.importance, self.filter, *self.bodies, self.viewer):
            self.executor.add_node(node)

    def step_until(self, condition):
        return spin_until(self.executor, condition, before=self.settings.step)

    def is_known(self):
        return len(self.panel.shown) == len(TARGETS)

    def value(self, node, name):
        return node.get_parameter(name).value


@pytest.fixture
def rig():
    with isolated_context() as context:
        made = Rig(context)
        yield made
        made.executor.shutdown()


def test_values_of_the_nodes_are_shown(rig):
    assert rig.step_until(rig.is_known)
    assert rig.panel.shown == {
        'prediction_s': 0.1,
        'influence_distance_m': 0.6,
        'character': 'blubby',
        'environment': 'floor',
        'smoothing_s': 0.05,
        'process.model': 'adaptive',
        **{row.name: row.default for row in ROWS if row.name in Q_SLIDERS},
    }


def test_sliders_have_the_ranges_of_their_parameters():
    rows = {row.name: row for row in (*IMPORTANCE_ROWS, *RETARGET_ROWS)}
    for name, slider in SLIDERS.items():
        assert (rows[name].low, rows[name].high) == (slider.low, slider.high)


def test_sliders_of_the_filter_reach_from_next_to_nothing_to_the_highest_value():
    """Shin2002 ch. 3: q1 to q8 are to be tuned interactively."""
    rows = {row.name: row for row in ROWS}
    twins = {slider.twin for slider in Q_SLIDERS.values() if slider.twin}
    assert {*Q_SLIDERS, *twins} == {name for name in rows if name.startswith('process.q')} - {
        name for name in rows if name.startswith('process.quiet')
    }
    for name, slider in Q_SLIDERS.items():
        assert 10.0**slider.high == pytest.approx(rows[name].high)
        assert slider.low < slider.shown(rows[name].default) < slider.high
    model = next(row for row in ROWS if row.name == MODEL)
    assert model.choices == MODELS


def test_slider_sets_the_parameter_to_where_it_is_now(rig):
    assert rig.step_until(rig.is_known)
    for value in (0.2, 0.25, 0.3):
        rig.changes.put(('prediction_s', value))
    assert rig.step_until(lambda: rig.value(rig.importance, 'prediction_s') == 0.3)


def test_refused_value_is_replaced_by_the_one_in_force(rig):
    assert rig.step_until(rig.is_known)

    def refuse(parameters):
        return SetParametersResult(successful=False, reason='prediction_s: expected less')

    rig.importance.add_on_set_parameters_callback(refuse)
    rig.panel.shown.clear()
    rig.changes.put(('prediction_s', 9.0))
    refusal = 'importance: prediction_s: expected less'
    assert rig.step_until(lambda: rig.panel.refusal == refusal)
    rig.panel.shown.clear()  # an answer to what was asked before may have come meanwhile
    assert rig.step_until(lambda: rig.panel.shown.get('prediction_s') == 0.1)


def test_equal_parameters_and_those_of_several_nodes_are_set(rig):
    assert rig.step_until(rig.is_known)
    for change in (('process.q2', -3.0), ('environment', 'demo')):
        rig.changes.put(change)
    assert rig.step_until(
        lambda: (
            all(rig.value(node, 'environment') == 'demo' for node in rig.bodies)
            and rig.value(rig.importance, 'environment') == 'demo'
            and rig.value(rig.filter, 'process.q3') == 0.001
        )
    )
    assert rig.value(rig.filter, 'process.q2') == 0.001


def test_a_cue_of_the_page_is_taken(rig):
    assert rig.step_until(rig.is_known)
    settings = {'importance': {'smoothing_s': 0.02}, 'retarget*': {'character': 'frog'}}
    rig.changes.put(('cue', Cue('walk on', settings)))
    assert rig.step_until(lambda: rig.panel.shown.get('character') == 'frog')
    assert rig.value(rig.importance, 'smoothing_s') == 0.02
    assert rig.panel.refusal == ''


def test_change_made_elsewhere_moves_the_control(rig):
    assert rig.step_until(rig.is_known)
    rig.importance.set_parameters([Parameter('prediction_s', value=0.35)])
    assert rig.step_until(lambda: rig.panel.shown['prediction_s'] == 0.35)
