# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""parameter_table: rows declared, changes taken or refused as one."""

from dataclasses import dataclass
import time

from puppet_core.io import build_config, ConfigError, parse_parameters, Row
from puppet_ros.node import make_executor, qos
from puppet_ros.node.parameters import NODE_OPTIONS, PARAMETERS_TOPIC, ParameterTable
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

pytestmark = pytest.mark.ros

ROWS = (
    Row('influence_distance_m', 0.4, 'm', 0.0, 2.0, True, 'reach of an object', low_open=True),
    Row('gate.limit', 4.0, '-', 1.0, None, True, 'outlier limit'),
    Row('gate.count', 3, '-', 1, 10, True, 'rejections in a row'),
    Row('enabled', True, live=True, description='on or off'),
    Row('solver', 'ik', live=True, choices=('ik', 'position'), description='which solver'),
    Row('baud_rate_bps', 115200, 'bit/s', 1200, 921600, False, 'line speed'),
    Row('ports', ('a',), description='serial ports'),
    Row('gains', (1.0, 2.0), '-', 0.0, 9.0, True, 'two gains', length=2),
)


@dataclass(frozen=True)
class Config:
    influence_distance_m: float
    gate_limit: float
    gate_count: int
    enabled: bool
    solver: str
    baud_rate_bps: int
    ports: tuple[str, ...]
    gains: tuple[float, ...]

    def __post_init__(self):
        if self.solver == 'position' and not self.enabled:
            raise ConfigError('solver: expected ik while disabled, got position')


@pytest.fixture
def make_table(ros_context):
    """Return a factory of (node, table, list of configs seen by on_change)."""

    def make(**overrides):
        given = [Parameter(name.replace('__', '.'), value=v) for name, v in overrides.items()]
        node = Node('table', context=ros_context, parameter_overrides=given, **NODE_OPTIONS)
        seen = []
        table = ParameterTable(node, ROWS, lambda v: build_config(Config, v), seen.append)
        return node, table, seen

    return make


def set_one(node, name, value):
    return node.set_parameters([Parameter(name, value=value)])[0]


def test_overrides_make_the_config(make_table):
    node, table, _ = make_table(gate__limit=5.0, ports=['x', 'y'], gains=[3.0, 4.0])
    assert table.config.gate_limit == 5.0
    assert table.config.ports == ('x', 'y')
    assert node.get_parameter('gate.limit').value == 5.0


def test_what_is_in_force_is_published_for_recordings(make_table, ros_context):
    node, _, _ = make_table(gains=[3.0, 4.0])
    heard, executor = [], make_executor(ros_context)
    node.create_subscription(String, PARAMETERS_TOPIC, heard.append, qos.LATCHED)
    executor.add_node(node)
    assert set_one(node, 'gate.limit', 5.0).successful
    deadline = time.monotonic() + 10.0
    while not (heard and '5.0' in heard[-1].data) and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    values = parse_parameters(heard[-1].data, 'message', 'table')
    assert values.keys() == {row.name for row in ROWS}
    assert (values['gate.limit'], values['gains']) == (5.0, [3.0, 4.0])


def test_descriptor_carries_unit_range_and_description(make_table):
    node, _, _ = make_table()
    descriptor = node.describe_parameter('influence_distance_m')
    assert descriptor.description == 'reach of an object [m]'
    assert descriptor.additional_constraints == '0.0 < value <= 2.0'
    assert descriptor.floating_point_range[0].to_value == 2.0
    assert not descriptor.read_only
    assert node.describe_parameter('baud_rate_bps').read_only


@pytest.mark.parametrize(
    ('overrides', 'text'),
    [
        ({'nonsense': 1}, 'nonsense: expected a known parameter'),
        ({'influence_distance_m': 0.0}, '0.0 < value <= 2.0, got 0.0'),
        ({'gate__limit': 'four'}, "gate.limit: expected a number, got 'four'"),
        ({'gains': [1.0]}, r'gains: expected 2 element\(s\), got 1'),
        ({'solver': 'position', 'enabled': False}, 'expected ik while disabled'),
    ],
)
def test_bad_override_is_refused_by_name(make_table, overrides, text):
    with pytest.raises(ConfigError, match=text):
        make_table(**overrides)


def test_change_swaps_the_config_and_tells(make_table):
    node, table, seen = make_table()
    before = table.config
    assert set_one(node, 'gate.limit', 6.0).successful
    assert table.config.gate_limit == 6.0 and seen == [table.config]
    assert before.gate_limit == 4.0


def test_whole_number_may_stand_for_a_float(make_table):
    node, table, _ = make_table(gate__limit=5)
    assert set_one(node, 'gate.limit', 7).successful
    assert table.config.gate_limit == 7.0 and isinstance(table.config.gate_limit, float)


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('influence_distance_m', 0.0, '0.0 < value <= 2.0, got 0.0'),
        ('gate.limit', 'x', "gate.limit: expected a number, got 'x'"),
        ('gate.count', 11, 'gate.count: expected 1 <= value <= 10, got 11'),
        ('gains', [1.0, 10.0], 'gains: expected 0.0 <= value <= 9.0, got 10.0'),
        ('baud_rate_bps', 9600, 'read-only parameter: baud_rate_bps'),
    ],
)
def test_bad_change_is_refused_with_the_reason(make_table, name, value, text):
    node, table, seen = make_table()
    before = table.config
    result = set_one(node, name, value)
    assert not result.successful and text in result.reason
    assert table.config is before and seen == []


def test_atomic_change_is_all_or_nothing(make_table):
    node, table, seen = make_table()
    good, bad = Parameter('gate.limit', value=5.0), Parameter('gate.count', value=0)
    assert not node.set_parameters_atomically([good, bad]).successful
    assert table.config.gate_limit == 4.0 and node.get_parameter('gate.limit').value == 4.0
    pair = [Parameter('enabled', value=True), Parameter('solver', value='position')]
    assert node.set_parameters_atomically(pair).successful
    assert len(seen) == 1 and seen[0].solver == 'position'


def test_forbidden_combination_is_refused(make_table):
    node, table, _ = make_table(solver='position')
    result = set_one(node, 'enabled', False)
    assert not result.successful and 'expected ik while disabled' in result.reason
    assert table.config.enabled


def test_refusal_does_not_stick_to_the_next_change(make_table):
    node, table, _ = make_table()
    set_one(node, 'gate.count', 99)
    assert set_one(node, 'gate.count', 9).successful
    assert table.config.gate_count == 9


def test_use_sim_time_may_be_given_and_changed(make_table):
    node, table, seen = make_table(use_sim_time=True)
    assert node.get_parameter('use_sim_time').value is True
    assert set_one(node, 'use_sim_time', False).successful
    assert seen == []
