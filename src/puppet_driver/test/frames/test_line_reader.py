# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS against emulated serial devices, over pseudo-terminals."""

from dataclasses import replace
import threading
import time

from driver_session import nearest_error
import numpy as np
from puppet_driver.devices.line import LineState
import pytest

pytestmark = pytest.mark.slow

POSITION_TOL_M = 3e-4  # half a step of the device's 14 bits at a range of 144 inches
ORIENTATION_TOL = 5e-4


SET_UPS = [
    # options of both, lines, largest error of a position [m] and of a quaternion's dot product
    ({}, 3, POSITION_TOL_M, ORIENTATION_TOL),
    ({}, 14, POSITION_TOL_M, ORIENTATION_TOL),
    ({'record_format': 'position_matrix'}, 7, POSITION_TOL_M, ORIENTATION_TOL),
    ({'first_address': 1, 'group_mode': False}, 14, POSITION_TOL_M, ORIENTATION_TOL),
    ({'device': 'fastrak', 'rate_hz': 30.0}, 4, 1e-6, 1e-7),
    ({'device': 'fastrak_ascii', 'rate_hz': 30.0}, 4, 6e-5, 1e-7),
    ({'device': 'liberty', 'rate_hz': 20.0}, 1, 1e-6, 1e-7),
    ({'device': 'patriot', 'rate_hz': 60.0}, 7, 1e-6, 1e-7),
]


@pytest.mark.parametrize('options, n_lines, position_m, orientation', SET_UPS)
def test_frames_are_the_emulated_poses_and_stopping_stops_the_devices(
    emulator, session, wait_until, options, n_lines, position_m, orientation
):
    shared = {k: v for k, v in options.items() if k in {'device', 'rate_hz', 'first_address'}}
    server = emulator(n_lines, **shared)
    run = session(server, **options)
    assert wait_until(run.has(30))
    truth = server.source.block(0, server.tick + 2)
    for poses in run.poses[20:30]:
        errors = nearest_error(truth, poses)
        assert errors[0] < position_m and errors[1] < orientation
    # a starved emulator may leave sensors out of some frames
    assert any(np.isfinite(poses).all() for poses in run.poses)
    run.reader.stop()
    assert wait_until(lambda: not any(line.device.is_streaming for line in server.lines))
    assert not run.reader.is_running


@pytest.mark.parametrize('group_mode', [True, False])
def test_point_mode_asks_for_each_frame(emulator, session, wait_until, group_mode):
    first = 2 if group_mode else 1
    server = emulator(3 if group_mode else 14, first_address=first)
    run = session(
        server, point_mode=True, group_mode=group_mode, first_address=first, rate_hz=100.0
    )
    assert wait_until(run.has(30))
    assert not any(line.device.is_streaming for line in server.lines)
    steps_s = np.diff(run.stamps_ns) * 1e-9
    # a starved machine asks late and then catches up, but never for more frames than are due
    assert np.mean(steps_s) > 0.008


def test_a_full_line_at_the_devices_ceiling_loses_nothing(emulator, session, wait_until):
    server = emulator(rate_hz=144.0)
    run = session(server, rate_hz=144.0)
    assert wait_until(run.has(20))
    before = [line.status.counters for line in run.reader.lines]
    assert wait_until(run.has(288))
    for old, line in zip(before, run.reader.lines):
        new = line.status.counters
        assert new.records > old.records + 4 * 280
        assert replace(new, records=0) == replace(old, records=0)
    assert run.reader.stalls == 0


def test_a_consumer_that_holds_the_reading_up_costs_the_frames_of_that_time(
    emulator, session, wait_until
):
    run = session(emulator())
    assert wait_until(run.has(10))
    never, start_s = threading.Event(), time.monotonic()

    def hold_once(frame):
        run.reader._on_frame = run.keep
        never.wait(0.6)

    run.reader._on_frame = hold_once
    assert wait_until(lambda: run.reader.stalls > 0)
    assert 20 < run.reader.stalled_ticks < 120.0 * (time.monotonic() - start_s) + 10.0
    assert wait_until(run.has(20))
    steps_s = np.diff(run.stamps_ns[-10:]) * 1e-9
    # not in a burst; a starved machine asks late once and early then
    assert 0.004 < steps_s.mean() and steps_s.max() < 0.1


def test_one_lost_line_leaves_the_others_running(emulator, session, wait_until):
    server = emulator()
    run = session(server)
    assert wait_until(run.has(20))
    server.lines[1].device.is_streaming = False
    server.lines[1].device.receive = lambda data, now_s: b''
    assert wait_until(lambda: run.states()[1] is not LineState.STREAMING)
    assert wait_until(run.has(60))
    poses = run.poses[-1]
    assert np.isnan(poses[5:10]).all() and np.isfinite(poses[:5]).all()


def test_a_busy_port_is_reported_and_waited_for(emulator, session, wait_until):
    server = emulator()
    first = session(server)
    assert wait_until(first.has(10))
    second = session(server)
    assert wait_until(lambda: len(second.news) == 3)
    assert all('another program holds' in text for _, text in second.news)
    first.reader.stop()
    assert wait_until(second.has(10))
