# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The mock device: frames whose poses are known, through the whole driver."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from puppet_driver.devices.mock import encode, mock_pose, MockStream, SWING_HZ
import pytest

N_SENSORS = 3
PERIOD_S = round(1.0 / SWING_HZ)


@pytest.mark.parametrize('n_ports', [1, 3])
def test_frames_follow_the_known_paths(session, wait_until, n_ports):
    run = session([f'mock{i}' for i in range(n_ports)], device='mock')

    def whole():
        return [poses for poses in list(run.poses) if np.isfinite(poses).all()]

    assert wait_until(lambda: len(whole()) >= 20)
    ticks = np.arange(PERIOD_S * 120)
    paths = np.array([[mock_pose(row, tick / 120.0) for tick in ticks] for row in range(14)])
    for poses in whole()[:20]:
        gaps = np.abs(paths - poses[:, None]).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-12
        # each port began at a time of its own
        assert len(set(gaps.argmin(axis=1))) <= n_ports


@given(st.binary(max_size=400), st.integers(0, N_SENSORS - 1))
def test_garbage_is_no_record_and_hides_at_most_one(garbage, ordinal):
    stream = MockStream(N_SENSORS)
    record = encode(ordinal, mock_pose(ordinal, 1.0))
    stream.feed(garbage, 1)
    records = [found for _ in range(8) for found in stream.feed(record, 1)]
    n = len(records)
    assert 7 - len(garbage) // len(record) <= n + 1 and stream.counters.records == n
    np.testing.assert_array_equal(records[-1].pose, mock_pose(ordinal, 1.0))
