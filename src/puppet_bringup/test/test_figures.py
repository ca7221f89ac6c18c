# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of runs whose every number is known."""

import json

import numpy as np
from puppet_bringup import monitor
from puppet_bringup.demo import figures, summary
import pytest

PERIOD_NS = 10_000_000  # 100 Hz
START_NS = 1_795_219_683_000_000_000
HOPS_NS = (500_000, 400_000, 300_000, 200_000, 100_000)  # 1.5 ms in all
KEYS = (
    'frames_published frames_solved rate_hz latency_ms stage_ms dropped '
    'planted_foot_slide_mm_s penetration_mm_max importance_max'
).split()


def _log(n=200, lost=()):
    log = monitor.FrameLog()
    for i in range(n):
        stamp = START_NS + i * PERIOD_NS
        now = stamp
        for topic, hop in enumerate(HOPS_NS):
            now += hop
            if topic < 4 or i not in lost:
                row = log.arrived(topic, stamp, now)
        row = log.row(stamp)
        row[monitor.INDEX] = 1000 + i
        soles = np.zeros((2, 3))
        soles[:, 0] = 0.001 * i  # 100 mm/s
        row[monitor.PERFORMER_SOLES] = soles.ravel()
        row[monitor.PUPPET_SOLES] = 0.5 * soles.ravel()
        row[monitor.PENETRATION] = 1e-5 * i
        row[monitor.IMPORTANCES] = [0.0, 0.25, 0.5, 1.0]
    return log


def test_known_run_gives_its_numbers():
    measured = figures(_log().table(), 0.0, 10.0)
    assert list(measured) == KEYS
    assert (measured['frames_published'], measured['frames_solved']) == (200, 200)
    assert measured['dropped'] == 0
    assert measured['rate_hz'] == pytest.approx(100.0, rel=1e-6)
    for name in ('p50', 'p99', 'max'):
        assert measured['latency_ms'][name] == pytest.approx(1.5, abs=1e-3)
    assert measured['planted_foot_slide_mm_s']['performer'] == pytest.approx(100.0, rel=1e-6)
    assert measured['planted_foot_slide_mm_s']['puppet'] == pytest.approx(50.0, rel=1e-6)
    assert measured['penetration_mm_max'] == pytest.approx(1.99)
    assert measured['importance_max']['left_foot'] == 0.5
    stages = measured['stage_ms']
    assert list(stages) == ['driver', 'filter', 'performer', 'importance', 'retarget']
    hops = [values['p50'] for values in stages.values()]
    np.testing.assert_allclose(hops, [0.5, 0.4, 0.3, 0.2, 0.1], atol=1e-3)
    text = '\n'.join(summary(measured))
    for word in ('200 solved of 200', '100.00 Hz', 'p99 1.50 ms', 'retarget', '50 mm/s (puppet)'):
        assert word in text


def test_lost_frames_are_dropped_ones():
    measured = figures(_log(lost=(50, 51, 120)).table(), 0.0, 10.0)
    assert (measured['frames_solved'], measured['dropped']) == (197, 3)


def test_only_the_window_counts():
    measured = figures(_log().table(), 0.5, 1.5)
    assert measured['frames_published'] == pytest.approx(100, abs=1)


def test_gap_in_the_frames_is_no_slide():
    table = _log().table()
    table = np.delete(table, slice(50, 100), axis=0)
    slide = figures(table, 0.0, 10.0)['planted_foot_slide_mm_s']
    assert slide['performer'] == pytest.approx(100.0, rel=1e-6)


def test_empty_run_is_none_not_nan():
    measured = figures(monitor.FrameLog().table(), 0.0, 1.0)
    assert list(measured) == KEYS
    json.dumps(measured, allow_nan=False)
    assert measured['latency_ms'] == {'p50': None, 'p99': None, 'max': None}
    assert summary(measured)


def test_log_sorts_late_messages_into_their_frames():
    log = monitor.FrameLog()
    for stamp in (30, 10, 20):
        log.arrived(0, START_NS + stamp, START_NS + 100)
    log.arrived(4, START_NS + 10, START_NS + 200)
    table = log.table()
    assert len(log) == 3
    np.testing.assert_allclose(table[:, 0], [-20e-9, -10e-9, 0.0], atol=1e-12)
