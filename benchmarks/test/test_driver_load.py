# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The load benchmark: a short run, with all processes, is measured."""

import json

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
packages = pytest.importorskip('ament_index_python.packages', reason='needs ROS 2')

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def test_each_process_and_both_topics_are_measured(tmp_path, monkeypatch, capfd):
    from benchmarks.driver import load as bench_load

    try:
        packages.get_package_prefix(bench_load.FILTER)
    except packages.PackageNotFoundError:
        pytest.skip('the suite is not installed: build the workspace first')
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, '1')  # to be put back
    report = tmp_path / 'load.json'
    options = ['--device', 'motionstar', '--seconds', '1', '--json', str(report)]
    assert bench_load.main(options) == 0
    (found,) = json.loads(report.read_text())
    assert set(found['cpu_percent']) == {'emulator', 'driver', 'filter'}
    assert all(share > 0.0 for share in found['cpu_percent'].values())
    for topic in ('raw', 'filtered'):
        assert found[topic]['rate_hz'] > 0.0 and found[topic]['lost'] >= 0
        assert 0.0 < found[topic]['latency_ms_p50'] <= found[topic]['latency_ms_p99']
    rows = capfd.readouterr().out.splitlines()
    assert len(rows) == 3 and len({row.count('|') for row in rows}) == 1
