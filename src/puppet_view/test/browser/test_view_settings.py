# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Controls set the nodes' parameters, and show what the nodes have."""

from collections.abc import Callable
import queue
from typing import Any

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_retarget.parameters import IMPORTANCE_ROWS, RETARGET_ROWS  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from puppet_view.browser.live_page import NodeSettings, SLIDERS, TARGETS  # noqa: E402,I100
from rcl_interfaces.msg import SetParametersResult  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = pytest.mark.ros


class Panel:
    """Remembers what it was told to show."""

    def __init__(self) -> None:
        self.shown: dict[str, object] = {}
        self.refusal = ''

    def show_settings(self, values: dict[str, object]) -> None:
        self.shown.update(values)

    def show_refusal(self, text: str) -> None:
        self.refusal = text


class Rig:
    """Nodes with parameters, and the settings that follow them."""

    def __init__(self, context: Any) -> None:
        self.importance = Node('importance', context=context)
        self.importance.declare_parameter('prediction_s', 0.1)
        self.importance.declare_parameter('influence_distance_m', 0.6)
        self.importance.declare_parameter('smoothing_s', 0.05)
        self.bodies = [Node(name, context=context) for name in ('retarget', 'visualization')]
        for node in self.bodies:
            node.declare_parameter('character', 'blubby')
        self.bodies[0].declare_parameter('stretch_limit', 0.98)
        self.bodies[0].declare_parameter('root_smoothing_s', 0.1)
        self.viewer = Node('viewer', context=context)
        self.changes: queue.SimpleQueue = queue.SimpleQueue()
        self.panel = Panel()
        self.settings = NodeSettings(self.viewer, self.changes, self.panel)
        self.executor = make_executor(context)
        for node in (self.importance, *self.bodies, self.viewer):
            self.executor.add_node(node)

    def step_until(self, condition: Callable[[], bool]) -> bool:
        return spin_until(self.executor, condition, before=self.settings.step)

    def is_known(self) -> bool:
        return len(self.panel.shown) == len(TARGETS)

    def value(self, node: Node, name: str) -> object:
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
        'smoothing_s': 0.05,
        'stretch_limit': 0.98,
        'root_smoothing_s': 0.1,
    }


def test_sliders_have_the_ranges_of_their_parameters():
    rows = {row.name: row for row in (*IMPORTANCE_ROWS, *RETARGET_ROWS)}
    for name, (_, _, low, high, _) in SLIDERS.items():
        assert (rows[name].low, rows[name].high) == (low, high)


def test_slider_sets_the_parameter_to_where_it_is_now(rig):
    assert rig.step_until(rig.is_known)
    for value in (0.2, 0.25, 0.3):
        rig.changes.put(('prediction_s', value))
    assert rig.step_until(lambda: rig.value(rig.importance, 'prediction_s') == 0.3)


def test_character_changes_in_every_node_that_has_it(rig):
    assert rig.step_until(rig.is_known)
    rig.changes.put(('character', 'sally'))
    assert rig.step_until(
        lambda: all(rig.value(node, 'character') == 'sally' for node in rig.bodies)
    )


def test_refused_value_is_replaced_by_the_one_in_force(rig):
    assert rig.step_until(rig.is_known)

    def refuse(parameters: list[Parameter]) -> SetParametersResult:
        return SetParametersResult(successful=False, reason='prediction_s: expected less')

    rig.importance.add_on_set_parameters_callback(refuse)
    rig.panel.shown.clear()
    rig.changes.put(('prediction_s', 9.0))
    assert rig.step_until(lambda: rig.panel.refusal == 'prediction_s: expected less')
    rig.panel.shown.clear()  # an answer to what was asked before may have come meanwhile
    assert rig.step_until(lambda: rig.panel.shown.get('prediction_s') == 0.1)


def test_change_made_elsewhere_moves_the_control(rig):
    assert rig.step_until(rig.is_known)
    rig.importance.set_parameters([Parameter('prediction_s', value=0.35)])
    assert rig.step_until(lambda: rig.panel.shown['prediction_s'] == 0.35)
