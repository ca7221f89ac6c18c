# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: statistics of a period, levels, ageing, guarded callbacks, the published array."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from puppet_core.io import ConfigError
from puppet_ros.node.diagnostics import (
    Diagnostics,
    DIAGNOSTICS_TOPIC,
    FrameReport,
    FrameStatistics,
    judge,
    MAX_LATENCIES,
)
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

pytestmark = pytest.mark.ros

GOOD = FrameReport(120.0, (1.0, 2.0, 3.0), 120, 0, 0.01)
OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)


@pytest.mark.parametrize(
    ('report', 'error', 'level', 'text'),
    [
        (GOOD, '', OK, '120.0 Hz'),
        (GOOD, 'line: broken', ERROR, 'line: broken'),
        (GOOD._replace(drops=2), '', WARN, '2 dropped in the last second'),
        (GOOD._replace(rate_hz=100.0), '', WARN, 'slow: 100.0 Hz of 120.0 Hz'),
        (GOOD._replace(frames=0, age_s=3.0), '', STALE, 'no frame for 3.0 s'),
        (GOOD._replace(frames=0, age_s=float('inf')), '', STALE, 'waiting for input'),
    ],
    ids=['good', 'error', 'drops', 'slow', 'silent', 'never'],
)
def test_level_of_a_period(report, error, level, text):
    assert judge(report, 120.0, error) == (level, text)


@pytest.fixture
def heard(ros_context, spin_until):
    node = Node('watched', context=ros_context)
    arrays = []
    diagnostics = Diagnostics(node, expected_rate_hz=0.0, hardware_id='flock')
    node.create_subscription(DiagnosticArray, DIAGNOSTICS_TOPIC, arrays.append, 10)

    def following():
        arrays.clear()
        assert spin_until([node], lambda: bool(arrays))
        return arrays[-1].status[0]

    return node, diagnostics, following


def test_array_names_node_hardware_and_numbers(heard):
    node, diagnostics, following = heard
    now = node.get_clock().now().nanoseconds
    diagnostics.frame(now - 2_000_000)
    diagnostics.drop('stale', 2)
    diagnostics.value('queue', 3)
    status = following()
    values = {item.key: item.value for item in status.values}
    assert status.name == 'watched: stream' and status.hardware_id == 'flock'
    assert float(values['latency_ms_max']) >= 2.0
    assert (values['drops'], values['drops_stale'], values['queue']) == ('2', '2', '3')
    assert status.level == WARN


def test_guarded_callback_counts_and_never_raises(heard):
    _, diagnostics, following = heard

    def fail(message):
        raise message

    guarded = diagnostics.guarded(fail)
    guarded(ConfigError('poses: expected 3 x 7 numbers, got 1'))
    guarded(ZeroDivisionError('by zero'))
    status = following()
    values = {item.key: item.value for item in status.values}
    assert values['drops_bad_input'] == '1' and values['drops_failed'] == '1'
    assert status.level == ERROR and values['last_error'] == 'fail: ZeroDivisionError: by zero'


def test_lasting_condition_outweighs_a_better_level_until_cleared(heard):
    node, diagnostics, following = heard
    diagnostics.condition(WARN, 'not calibrated')  # says more than 'waiting for input'
    status = following()
    assert (status.level, status.message) == (WARN, 'not calibrated')
    diagnostics.frame(node.get_clock().now().nanoseconds)
    diagnostics.condition(OK, '')
    assert following().level == OK


def test_stopped_simulated_clock_does_not_silence(ros_context, spin_until):
    sim = [Parameter('use_sim_time', value=True)]
    node = Node('simulated', context=ros_context, parameter_overrides=sim)
    arrays = []
    Diagnostics(node)
    node.create_subscription(DiagnosticArray, DIAGNOSTICS_TOPIC, arrays.append, 10)
    assert spin_until([node], lambda: bool(arrays))
    assert arrays[0].status[0].level == STALE


SECOND = 1_000_000_000


def test_rate_and_percentiles_of_one_second():
    statistics = FrameStatistics()
    statistics.close_period(0)
    latencies_ns = np.linspace(1e6, 3e6, 100).astype(int)
    for i, latency in enumerate(latencies_ns):
        statistics.frame(int(i * SECOND / 100), int(i * SECOND / 100 - latency))
    report = statistics.close_period(SECOND)
    assert report.rate_hz == pytest.approx(100.0)
    assert report.latency_ms[0] == pytest.approx(2.0, abs=0.02)
    assert report.latency_ms[2] == pytest.approx(3.0)
    assert report.age_s == pytest.approx(0.01)


def test_drops_age_out_of_the_report_and_stay_in_the_total():
    statistics = FrameStatistics()
    statistics.drop('stale', 3)
    statistics.drop('stale', 0)
    assert statistics.close_period(SECOND).drops == 3
    assert statistics.close_period(2 * SECOND).drops == 0
    assert statistics.drops_by_reason == {'stale': 3}


def test_no_frame_ever_is_infinitely_old():
    report = FrameStatistics().close_period(SECOND)
    assert report.age_s == float('inf') and np.isnan(report.latency_ms[0])


def test_clock_set_back_gives_no_negative_rate_or_age():
    statistics = FrameStatistics()
    statistics.close_period(100 * SECOND)
    statistics.frame(100 * SECOND, 100 * SECOND)
    report = statistics.close_period(SECOND)
    assert report.rate_hz == 0.0 and report.age_s == 0.0


def test_more_frames_than_the_buffer_still_count():
    statistics = FrameStatistics()
    statistics.close_period(0)
    for i in range(MAX_LATENCIES + 500):
        statistics.frame(i, i)
    assert statistics.close_period(SECOND).frames == MAX_LATENCIES + 500
