# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Cues: what the nodes take of them."""

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_core.cue_file import load_cues  # noqa: E402
from puppet_core.io import Row  # noqa: E402
from puppet_ros.cues import CueCaller  # noqa: E402,I100
from puppet_ros.node import make_executor, NODE_OPTIONS, ParameterTable  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402

pytestmark = pytest.mark.ros
HEAD = 'format: puppet-cues/1\ncues:\n'
ROWS = (
    Row('environment', 'floor', live=True),
    Row('influence_distances_m', '', live=True),
    Row('prediction_s', 0.06, 's', 0.0, 1.0, live=True),
)


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / 'show.yaml'
        path.write_text(HEAD + text)
        return path

    return written


@pytest.fixture
def graph(ros_context):
    """Return nodes that have parameters, and a caller, by a function that calls a cue."""
    executor, tables = make_executor(ros_context), {}
    for name in ('importance', 'retarget', 'retarget_2'):
        node = Node(name, context=ros_context, **NODE_OPTIONS)
        tables[name] = ParameterTable(node, ROWS, dict)
        executor.add_node(node)
    own = Node('caller', context=ros_context)
    executor.add_node(own)
    caller = CueCaller(own)

    def call(cue):
        answers = []
        spin_until(executor, lambda: not caller.missing(cue), 10.0)
        caller.call(cue, answers.append)
        assert spin_until(executor, lambda: bool(answers), 10.0)
        return answers[0]

    yield call, tables
    executor.shutdown()


def test_every_puppet_takes_the_environment_and_nobody_needs_a_view(graph, write):
    call, tables = graph
    text = '  a: {environment: demo, influence_distances_m: table.head=0, '
    assert call(load_cues(write(text + 'importance.prediction_s: 0}'))[0]) == ''
    for name, table in tables.items():
        assert table.config['environment'] == 'demo'
        assert table.config['influence_distances_m'] == 'table.head=0'
        assert table.config['prediction_s'] == (0.0 if name == 'importance' else 0.06)


def test_what_is_of_every_puppet_and_of_one_comes_to_that_one_together(graph, write):
    call, tables = graph
    text = '  a: {environment: demo, retarget.prediction_s: 0.5}\n  b: {visualization.x: 1}'
    both, view_only = load_cues(write(text))
    assert call(both) == ''
    config = tables['retarget'].config
    assert (config['environment'], config['prediction_s']) == ('demo', 0.5)
    assert call(view_only) == ''  # nobody looks


def test_a_node_that_refuses_one_value_keeps_all_of_its_own(graph, write):
    call, tables = graph
    refusal = call(load_cues(write('  a: {environment: demo, importance.prediction_s: 2}'))[0])
    assert refusal == 'importance: prediction_s: expected 0.0 <= value <= 1.0, got 2.0'
    assert tables['importance'].config['environment'] == 'floor'


def test_nothing_is_set_while_a_node_is_missing(ros_context, write):
    own, answers = Node('caller', context=ros_context), []
    CueCaller(own).call(load_cues(write('  a: {environment: demo}'))[0], answers.append)
    assert answers == ["importance, retarget*: not there to take 'a'"]
