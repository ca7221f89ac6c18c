# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The mock device: frames whose poses are known, through the whole driver."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from puppet_core.io import build_config, check_values
from puppet_driver.devices.mock import encode, mock_pose, MockStream, SWING_HZ
from puppet_driver.driver import make_reader
from puppet_driver.frames.line_reader import QueuedFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
import pytest

N_SENSORS = 3
PERIOD_S = round(1.0 / SWING_HZ)


def feed(stream: MockStream, data: bytes) -> int:
    """Feed bytes; return how many records came out."""
    return len(stream.feed(data, 1))


@pytest.mark.parametrize('n_ports', [1, 3])
def test_frames_follow_the_known_paths(wait_until, n_ports):
    given_values = {'device': 'mock', 'ports': [f'mock{i}' for i in range(n_ports)]}
    config = build_config(DriverConfig, check_values(DRIVER_ROWS, given_values))
    frames: list[QueuedFrame] = []
    reader = make_reader(config, frames.append, lambda *_: None)
    reader.start()
    try:
        assert wait_until(lambda: sum(not f.missing.any() for f in frames) >= 20)
    finally:
        reader.stop()
    assert reader.failure is None
    ticks = np.arange(PERIOD_S * 120)
    paths = np.array(
        [[mock_pose(row, tick / 120.0) for tick in ticks] for row in range(len(config.sensors))]
    )
    for frame in [f for f in frames if not f.missing.any()][:20]:
        gaps = np.abs(paths - frame.poses[:, None]).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-12
        # each port began at a time of its own
        assert len(set(gaps.argmin(axis=1))) <= n_ports


@given(st.binary(max_size=400), st.integers(0, N_SENSORS - 1))
def test_garbage_is_no_record_and_hides_at_most_one(garbage, ordinal):
    stream = MockStream(N_SENSORS)
    record = encode(ordinal, mock_pose(ordinal, 1.0))
    feed(stream, garbage)
    records = [found for _ in range(8) for found in stream.feed(record, 1)]
    n = len(records)
    assert 7 - len(garbage) // len(record) <= n + 1 and stream.counters.records == n
    np.testing.assert_array_equal(records[-1].pose, mock_pose(ordinal, 1.0))
