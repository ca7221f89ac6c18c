# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How gaps are bridged, and what is said where one ends."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import (
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.pose_filter import PoseFilter
import pytest

RATE_HZ = 120.0
CONFIG = PoseFilterConfig()


def still(n_frames: int, n_sensors: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return a recording of sensors at rest at the origin, without noise."""
    shape = (n_frames, n_sensors)
    return np.zeros((*shape, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (*shape, 1))


def test_gap_is_not_bridged_faster_than_a_body_moves(run_filter: Callable) -> None:
    """Two samples far from each other, both damaged, are a velocity that nobody has."""
    positions, quaternions = still(40)
    positions[1] = [0.14, 0.0, 0.0]  # 17 m/s
    positions[2:] = np.nan
    # a new state believes in 6 x 3 m/s, less than the fastest body, so the limit is set lower
    limit_m_s = 10.0
    config = replace(CONFIG, gate_jump_speed_m_s=limit_m_s)
    run = run_filter(PoseFilter(config), positions, quaternions)
    assert run.status[1, 0] == FILTER_OK and (run.status[2:] == FILTER_PREDICTED).all()
    ways = np.diff(run.positions[1:, 0, 0])
    assert 0.9 * limit_m_s / RATE_HZ < ways[0]
    assert ways.max() <= limit_m_s / RATE_HZ
    assert run.linear[2:].max() <= limit_m_s


@pytest.mark.parametrize('n_missing', [0, 1, 3])
@pytest.mark.parametrize('speed_m_s', [8.0, 12.0, 15.0, 19.0])
def test_gap_in_the_fastest_motion_of_a_body_is_bridged_and_nothing_rejected(
    run_filter: Callable, speed_m_s: float, n_missing: int
) -> None:
    times = np.arange(360) / RATE_HZ
    speeds = speed_m_s * np.sin(np.pi * np.clip((times - 1.0) / 0.4, 0.0, 1.0)) ** 2
    positions, quaternions = still(len(times))
    positions[:, 0, 0] = np.cumsum(speeds) / RATE_HZ
    truth = positions.copy()
    positions[144 : 144 + n_missing] = np.nan  # where it is fastest
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    assert not (run.status == FILTER_REJECTED).any()
    assert (run.status[1:] != FILTER_REINITIALISED).all()
    assert np.abs(run.positions - truth).max() < 0.02


def test_end_of_a_gap_says_so_where_the_pose_does_not_continue(run_filter: Callable) -> None:
    positions, quaternions = still(100, 3)
    positions[40:60] = np.nan
    positions[60:, 1, 0] = 0.05  # moved unseen
    quaternions[60:, 2] = quaternion_batch.exp(np.array([0.0, 0.0, 0.3]))
    pose_filter = PoseFilter(CONFIG)
    run = run_filter(pose_filter, positions, quaternions)
    assert pose_filter.counts()['leapt'] == 2 and pose_filter.counts()['reinitialised'] == 3
    assert run.status[60].tolist() == [FILTER_OK, FILTER_REINITIALISED, FILTER_REINITIALISED]
    assert (run.status[61:] == FILTER_OK).all()
    assert run.positions[60, 1, 0] == pytest.approx(0.05, abs=1e-3)


@pytest.mark.parametrize('rate_hz', [20.0, 120.0])
def test_gap_without_frames_is_one_too_and_a_slow_device_has_none(
    make_frame: Callable, rate_hz: float
) -> None:
    pose_filter, step_ns = PoseFilter(CONFIG), int(1e9 / rate_hz)
    seen = []
    for k in [*range(20), 26, 27]:
        # 10 m/s^2, and elsewhere after the gap
        place = 5.0 * (k / rate_hz) ** 2 + (0.3 if k > 20 else 0.0)
        frame = make_frame(k, [[place, 0.0, 0.0]], stamp_ns=(k + 1) * step_ns)
        seen.append(pose_filter.step(frame).status[0])
    assert (np.array(seen[1:20]) == FILTER_OK).all()
    assert seen[20] == FILTER_REINITIALISED and seen[21] == FILTER_OK
