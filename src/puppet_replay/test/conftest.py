# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A recording of the built-in performer, and what the graph makes of it, each made once."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')


@pytest.fixture(scope='session')
def replayed_bag(sensors_bag):
    from puppet_replay.pipeline import read_settings
    from puppet_replay.replay import replay

    path = sensors_bag.with_name('replayed.mcap')
    report = replay(sensors_bag, path, read_settings())
    assert report.is_calibrated and not report.warnings
    return path
