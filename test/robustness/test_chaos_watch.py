# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The observer of a fault run: a fault is not named by what is still said of the one before."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402,I100
from puppet_core.body import JOINT_NAMES  # noqa: E402
from puppet_msgs.msg import Posture, RetargetStatus  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402
from robustness.chaos.watch import ChaosWatch  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(name='watch')
def _watch():
    with isolated_context() as context:
        yield ChaosWatch(120.0, context=context)


def _say(watch: ChaosWatch, text: str) -> None:
    level = DiagnosticStatus.ERROR if text else DiagnosticStatus.OK
    status = DiagnosticStatus(name='pose_filter: stream', level=level, message=text or '120.0 Hz')
    watch._on_diagnostics(DiagnosticArray(status=[status]))


def test_an_error_that_stands_is_not_said_anew(watch):
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == watch.standing == ['pose_filter: poses: expected 7, got 3']
    watch.begin()
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == []
    _say(watch, 'poses: expected 7, got 3; no input on /tracker/raw for 0.6 s')
    assert watch.said == ['pose_filter: no input on /tracker/raw for 0.6 s']


def test_an_error_that_had_gone_is_said_anew(watch):
    _say(watch, 'poses: expected 7, got 3')
    watch.begin()
    _say(watch, '')
    assert watch.standing == []
    _say(watch, 'poses: expected 7, got 3')
    assert watch.said == ['pose_filter: poses: expected 7, got 3']


def _frame(watch: ChaosWatch, stamp_s: int, x_m: float, n_solved: int) -> None:
    """Let a frame come as it does: the joint states first."""
    joints = JointState(name=JOINT_NAMES, position=[0.0] * len(JOINT_NAMES))
    posture = Posture(root_position=[x_m, 0.0, 1.0], rotations=[0.0, 0.0, 0.0, 1.0] * 16)
    status = RetargetStatus(frames_solved=n_solved)
    for msg in (joints, posture, status):
        msg.header.stamp.sec = stamp_s
    watch._on_joints(joints)
    watch._on_posture(posture)
    watch._on_status(status)
    watch.settle()


def test_a_stamp_that_comes_again_is_another_frame(watch):
    """As when the clock goes back: the root of before is not taken for the one of now."""
    _frame(watch, 10, 0.0, 1)
    _frame(watch, 11, 0.004, 2)
    _frame(watch, 10, 0.004, 3)
    assert watch.check.n_frames == 3
    assert watch.check.largest.ratio < 1.0
    _frame(watch, 10, 0.4, 4)
    assert watch.check.largest.ratio > 1.0 and 'root moved 0.396' in watch.check.largest.text


def test_frames_that_became_no_joint_states_are_counted(watch):
    """By their numbers; those of a driver that was started again begin anew."""
    for index in (5, 6, 9, 9, 0, 1, 3):
        watch._on_status(RetargetStatus(frame_index=index))
    assert watch.lost == 3
    watch.begin()
    watch._on_status(RetargetStatus(frame_index=4))
    assert watch.lost == 0
