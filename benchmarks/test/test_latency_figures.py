# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of latency from a log whose every number is known, and refused arguments."""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from benchmarks.latency import bench as bench_latency  # noqa: E402,I100
from benchmarks.latency.figures import end_to_end, hops, in_window, lines  # noqa: E402
from puppet_bringup.monitor import FrameLog, INDEX  # noqa: E402

PERIOD_NS = 10_000_000
START_NS = 1_795_219_683_000_000_000
N_FRAMES, LOST, SLOW = 1000, 7, 500


def _rows() -> np.ndarray:
    """
    Return a log: hops of 0.1 to 0.5 ms, one frame 20 ms later, one without joint states.

    The indices of the first and the last frame are known.
    """
    log = FrameLog()
    for i in range(N_FRAMES):
        now = stamp = START_NS + i * PERIOD_NS
        for topic in range(5):
            now += (topic + 1) * 100_000 + (20_000_000 if i == SLOW and topic == 4 else 0)
            if topic < 4 or i != LOST:
                log.arrived(topic, stamp, now)
    rows = log.table()
    rows[0, INDEX], rows[-1, INDEX] = 41.0, 41.0 + N_FRAMES - 1
    return rows


def test_percentiles_end_to_end_and_what_was_lost():
    found = end_to_end(_rows(), 0.0, 10.0)
    times = np.full(N_FRAMES - 1, 1.5)
    times[0] = 21.5
    assert (found['frames'], found['lost']) == (N_FRAMES - 1, 1)
    for key, percent in (('p50', 50), ('p99', 99), ('p99_9', 99.9), ('max', 100)):
        wanted = np.percentile(times, percent)
        assert found['end_to_end_ms'][key] == pytest.approx(wanted, abs=1e-3), key


@pytest.mark.parametrize('dropped', [[], [200], [100, 199], [1, 101, 150, 198, 998]])
def test_frames_of_which_nothing_was_seen_are_lost(dropped):
    """Whatever their stamps say: they are off, and move by half a period."""
    rows = _rows()
    rows[:, 0] += np.random.default_rng(6).uniform(-2e-3, 2e-3, len(rows))
    rows[500:, 0] += 5e-3
    rows = np.delete(rows, dropped, axis=0)
    found = end_to_end(rows, 1.0, 2.0)
    assert (found['frames'], found['lost']) == (N_FRAMES - 1, 1 + len(dropped))


def test_a_frame_is_complete_with_the_joint_states_of_all_puppets():
    """The last one's arrival counts; a frame that one puppet lacks is lost."""
    log = FrameLog()
    for i in range(100):
        stamp = START_NS + i * PERIOD_NS
        for puppet in range(3):
            if (i, puppet) not in ((20, 0), (30, 1), (30, 2)):
                log.arrived(4, stamp, stamp + (puppet + 1) * 1_000_000)
    rows = log.table()
    rows[:, INDEX] = np.arange(100)
    found = end_to_end(rows, 0.0, 1.0, 3)
    assert (found['frames'], found['lost']) == (99, 2)
    assert found['end_to_end_ms']['p50'] == pytest.approx(3.0, abs=1e-3)
    assert end_to_end(rows, 0.0, 1.0)['lost'] == 0


def test_each_hop_is_that_of_its_node():
    found = hops(_rows())
    assert list(found) == ['driver', 'filter', 'performer', 'importance', 'retarget']
    medians = [times['p50'] for times in found.values()]
    assert medians == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5], abs=1e-3)
    assert found['retarget']['max'] == pytest.approx(20.5, abs=1e-3)


def test_windows_leave_out_their_end_and_may_be_empty():
    rows = _rows()
    assert len(in_window(rows, 1.0, 2.0)) == 100
    empty = end_to_end(rows, 50.0, 60.0)
    assert (empty['frames'], empty['lost']) == (N_FRAMES - 1, 1)
    assert set(empty['end_to_end_ms'].values()) == {None}
    text = '\n'.join(lines('composed', 2, 120.0, {**empty, 'cpu_percent': 1.0, 'hops': {}}))
    assert text.startswith(f'composed, 2 puppets, 120 Hz: {N_FRAMES - 1} frames')
    assert 'p99.9 -' in text


@pytest.mark.parametrize(
    'words',
    [
        ['--forms', 'both'],
        ['--puppets', '5'],
        ['--rates', '500'],
        ['--rates', 'fast'],
        ['--duration', '0'],
        ['--hops', 'nan'],
    ],
)
def test_bad_arguments_are_named(words, capsys, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '0')  # which main sets
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    assert bench_latency.main(words) == 2
    assert f'{words[0]}: expected' in capsys.readouterr().err
