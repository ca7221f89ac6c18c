# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of latency from a log whose every number is known, and refused arguments."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup import bench_latency  # noqa: E402,I100
from puppet_bringup.frame_log import FrameLog  # noqa: E402
from puppet_bringup.latency_figures import end_to_end, hops, in_window, lines  # noqa: E402

PERIOD_NS = 10_000_000
START_NS = 1_795_219_683_000_000_000
N_FRAMES, LOST, SLOW = 1000, 7, 500


def _rows() -> np.ndarray:
    """Return a log: hops of 0.1 to 0.5 ms, one frame 20 ms later, one without joint states."""
    log = FrameLog()
    for i in range(N_FRAMES):
        now = stamp = START_NS + i * PERIOD_NS
        for topic in range(5):
            now += (topic + 1) * 100_000 + (20_000_000 if i == SLOW and topic == 4 else 0)
            if topic < 4 or i != LOST:
                log.arrived(topic, stamp, now)
    return log.table()


def test_percentiles_end_to_end_and_what_was_lost() -> None:
    found = end_to_end(_rows())
    times = np.full(N_FRAMES - 1, 1.5)
    times[0] = 21.5
    assert (found['frames'], found['lost']) == (N_FRAMES, 1)
    for key, percent in (('p50', 50), ('p99', 99), ('p99_9', 99.9), ('max', 100)):
        wanted = np.percentile(times, percent)
        assert found['end_to_end_ms'][key] == pytest.approx(wanted, abs=1e-3), key


def test_each_hop_is_that_of_its_node() -> None:
    found = hops(_rows())
    assert list(found) == ['driver', 'filter', 'performer', 'importance', 'retarget']
    medians = [times['p50'] for times in found.values()]
    assert medians == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5], abs=1e-3)
    assert found['retarget']['max'] == pytest.approx(20.5, abs=1e-3)


def test_windows_leave_out_their_end_and_may_be_empty() -> None:
    rows = _rows()
    assert len(in_window(rows, 1.0, 2.0)) == 100
    empty = end_to_end(in_window(rows, 50.0, 60.0))
    assert empty['frames'] == 0 and set(empty['end_to_end_ms'].values()) == {None}
    text = '\n'.join(lines('composed', 2, 120.0, {**empty, 'cpu_percent': 1.0, 'hops': {}}))
    assert text.startswith('composed, 2 puppets, 120 Hz: 0 frames') and 'p99.9 -' in text


@pytest.mark.parametrize(
    'words', [['--forms', 'both'], ['--puppets', '5'], ['--rates', '500'], ['--rates', 'fast'],
              ['--duration', '0'], ['--hops', 'nan']],
)  # fmt: skip
def test_bad_arguments_are_named(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', '0')  # which main sets
    monkeypatch.setattr(bench_latency.signal, 'signal', lambda *_: None)
    assert bench_latency.main(words) == 2
    assert f'{words[0]}: expected' in capsys.readouterr().err
