# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The window: full after its duration, emptied by movement."""

from typing import Any

import numpy as np
from puppet_core.math.quaternions import rotate
import pytest

STRAY_M = 0.04
FRAMES_IN_A_FIFTH = 25  # 0.2 s at 120 Hz, both ends


def test_window_is_full_after_its_duration(virtual: Any) -> None:
    recorder = virtual.recorder(0.2, STRAY_M)
    full = [recorder.add(virtual.frame(*virtual.t_pose())) for _ in range(FRAMES_IN_A_FIFTH + 1)]
    assert full.index(True) in (FRAMES_IN_A_FIFTH - 1, FRAMES_IN_A_FIFTH)


def test_recording_is_in_world(virtual: Any) -> None:
    recorder = virtual.recorder()
    recorder.add(virtual.frame(*virtual.t_pose()))
    q, p, _ = virtual.truth(*virtual.t_pose())
    segments = virtual.layout.segments
    expected = p[segments] + rotate(q[segments], virtual.mount_p)
    np.testing.assert_allclose(recorder.recording().positions[0], expected, atol=1e-12)


def test_movement_restarts_a_waiting_window(virtual: Any) -> None:
    recorder = virtual.recorder(0.2, STRAY_M)
    root, rotations = virtual.t_pose()
    for step in range(100):
        assert not recorder.add(virtual.frame(root + [0.01 * step, 0.0, 0.0], rotations))
    assert recorder.n_frames <= 5


def test_one_straying_sensor_does_not_restart(virtual: Any) -> None:
    recorder = virtual.recorder(0.2, STRAY_M)
    for _ in range(10):
        frame = virtual.frame(*virtual.t_pose())
        frame.positions[4] += 1.0 * (frame.frame_index % 4 == 0)
        recorder.add(frame)
    assert recorder.n_frames == 10


def test_recording_on_request_takes_what_comes(virtual: Any) -> None:
    recorder = virtual.recorder(0.2)
    root, rotations = virtual.t_pose()
    for step in range(10):
        recorder.add(virtual.frame(root + [0.1 * step, 0.0, 0.0], rotations))
    assert recorder.n_frames == 10


@pytest.mark.parametrize('step_ns', [0, -1_000_000_000], ids=['repeated', 'back'])
def test_stamps_that_do_not_advance_restart(virtual: Any, step_ns: int) -> None:
    recorder = virtual.recorder(0.2)
    frame = virtual.frame(*virtual.t_pose())
    recorder.add(frame)
    recorder.add(frame._replace(stamp_ns=frame.stamp_ns + step_ns))
    assert recorder.n_frames == 1
