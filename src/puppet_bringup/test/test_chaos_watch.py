# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The observer of a fault run: a fault is not named by what is still said of the one before."""

from collections.abc import Iterator

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402,I100
from puppet_bringup.chaos_watch import ChaosWatch  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(name='watch')
def _watch() -> Iterator[ChaosWatch]:
    with isolated_context() as context:
        yield ChaosWatch(120.0, context=context)


def _say(watch: ChaosWatch, text: str) -> None:
    level = DiagnosticStatus.ERROR if text else DiagnosticStatus.OK
    status = DiagnosticStatus(name='pose_filter: stream', level=level, message=text or '120.0 Hz')
    watch._on_diagnostics(DiagnosticArray(status=[status]))


def test_an_error_that_stands_is_not_said_anew(watch: ChaosWatch) -> None:
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == watch.standing == ['pose_filter: poses: expected 7, got 3']
    watch.begin()
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == []
    _say(watch, 'poses: expected 7, got 3; no input on /tracker/raw for 0.6 s')
    assert watch.said == ['pose_filter: no input on /tracker/raw for 0.6 s']


def test_an_error_that_had_gone_is_said_anew(watch: ChaosWatch) -> None:
    _say(watch, 'poses: expected 7, got 3')
    watch.begin()
    _say(watch, '')
    assert watch.standing == []
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == ['pose_filter: poses: expected 7, got 3']
