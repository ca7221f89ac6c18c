# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a fault run find what they are for: jumps, NaN, slow recovery, gaps."""

from dataclasses import replace

import numpy as np
import pytest
from robustness.chaos.recovery import (
    HOLD_AFTER_S,
    MAX_JOINT_RAD_S,
    MotionCheck,
    PERIOD_S,
    Recovery,
    recovery,
    Seen,
    Step,
)
from robustness.chaos.report import names, READERS, Row, Run, table
from robustness.chaos.schedule import HOSTILE, KILL, PAUSE, TOPICS

RATE_HZ = 120.0
N = 45
SPEED_RAD_S = 5.0


def _motion(n: int = 240, begin_s: float = 0.0) -> list[Seen]:
    """Return a motion as lively as a performance: joints about z, a root that walks."""
    found = []
    for i in range(n):
        t = begin_s + i * PERIOD_S
        angles = np.zeros(N)
        angles[::3] = 0.8 * np.sin(SPEED_RAD_S / 0.8 * t + np.arange(15))
        root = np.array([1.5 * t, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0])
        found.append(Seen(t, t, angles, root, False, i + 1))
    return found


def _checked(frames: list[Seen]) -> MotionCheck:
    check = MotionCheck()
    for frame in frames:
        check.add(frame)
    return check


def test_a_lively_motion_is_no_jump():
    check = _checked(_motion())
    assert 0.0 < check.largest.ratio < 1.0
    assert check.n_not_finite == 0 and check.n_frames == 240


def _changed(seen: Seen, place: int, by: float) -> Seen:
    angles = seen.angles.copy()
    angles[place] += by
    return seen._replace(angles=angles)


def test_a_joint_that_jumps_is_found_and_named():
    frames = _motion()
    frames[100:] = [_changed(f, 3 * 4, 0.8) for f in frames[100:]]
    check = _checked(frames)
    assert check.largest.ratio > 1.0
    assert 'left_forearm' in check.largest.text


def test_a_whole_turn_of_an_angle_is_a_jump_though_the_joint_stands():
    frames = _motion(2)
    assert _checked(frames).largest.ratio < 1.0
    frames[1] = _changed(frames[0], 7, 2.0 * np.pi)._replace(stamp_s=PERIOD_S)
    assert _checked(frames).largest.ratio > 1.0


@pytest.mark.parametrize('step', [[0.1, 0, 0, 0, 0, 0, 0], [0, 0, 0, -0.1, 0.3, 0, 0]])
def test_a_root_that_jumps_is_found(step):
    frames = _motion()
    for i in range(100, len(frames)):
        root = frames[i].root + np.array(step)
        root[3:] /= np.linalg.norm(root[3:])
        frames[i] = frames[i]._replace(root=root)
    check = _checked(frames)
    assert check.largest.ratio > 1.0 and 'root' in check.largest.text


@pytest.mark.parametrize('gap_s', [1.0, -3.0])
def test_after_a_gap_the_puppet_goes_on_from_where_it_was_held(gap_s):
    """Hold, then ease; also where stamps go back."""
    before, after = _motion(120), _motion(120, 2.0)
    moved = [f._replace(stamp_s=f.stamp_s - 1.0 + gap_s, n_solved=f.n_solved + 120) for f in after]
    moved = [f._replace(n_solved=None) for f in moved]
    assert _checked(before + moved).largest.ratio > 1.0
    held = [before[-1]._replace(stamp_s=f.stamp_s, n_solved=None) for f in moved]
    assert _checked(before + held).largest.ratio < 1.0


def test_messages_that_only_the_watch_missed_are_no_gap():
    frames = _motion(240)
    missed = round(1.2 * HOLD_AFTER_S / PERIOD_S)
    assert _checked(frames[:100] + frames[100 + missed :]).largest.ratio < 1.0


@pytest.mark.parametrize(
    ('gap_s', 'missed'), [(0.1, 0), (0.1, 1), (0.8 * HOLD_AFTER_S, 0), (2.0, 1)]
)
def test_a_gap_allows_no_longer_way_than_the_frames_that_were_solved(gap_s, missed):
    """In the gap itself nothing moved, so a puppet that is elsewhere has jumped."""
    frames = _motion(2)
    turned_rad = min(0.5 * MAX_JOINT_RAD_S * gap_s, 2.0)  # which the gap's own time would allow
    later = _changed(frames[0], 7, turned_rad)
    later = later._replace(stamp_s=gap_s, n_solved=frames[0].n_solved + 1 + missed)
    assert _checked([frames[0], later]).largest.ratio > 1.0
    held = frames[0]._replace(stamp_s=gap_s, n_solved=later.n_solved)
    assert _checked([frames[0], held]).largest.ratio < 1.0


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_numbers_that_are_none_are_counted(value):
    frames = _motion()
    frames[50] = _changed(frames[50], 3, value)
    frames[60] = frames[60]._replace(root=np.full(7, value))
    check = _checked(frames)
    assert check.n_not_finite == 2 and check.largest.ratio < 1.0


def _flow(begin_s: float, end_s: float) -> list[float]:
    return list(np.arange(begin_s, end_s, 1.0 / RATE_HZ))


def test_recovery_is_when_messages_flow_again_and_when_easing_ends():
    times = _flow(0.0, 2.0) + _flow(3.7, 6.0)
    eased = [3.7 <= t < 4.2 for t in times]
    found = recovery(times, eased, 2.0, 3.0, RATE_HZ)
    assert found is not None
    assert found.flowing_s == pytest.approx(0.7, abs=0.01)
    assert found.settled_s == pytest.approx(1.2, abs=0.02)
    assert found.gap_s == pytest.approx(1.7, abs=0.02)


def test_a_flow_that_was_never_broken_has_recovered_at_once():
    times = _flow(0.0, 6.0)
    found = recovery(times, [False] * len(times), 2.0, 3.0, RATE_HZ)
    assert found is not None and found.flowing_s == 0.0 and found.gap_s < 0.02


@pytest.mark.parametrize(
    'times',
    [_flow(0.0, 2.0), _flow(0.0, 2.0) + _flow(3.0, 6.0)[::2], _flow(0.0, 3.2)],
    ids=['silent', 'half the rate', 'not watched long enough'],
)
def test_what_does_not_flow_at_rate_has_not_recovered(times):
    assert recovery(times, [False] * len(times), 2.0, 3.0, RATE_HZ) is None


GOOD = Row(
    PAUSE,
    'retarget',
    1.0,
    0.5,
    Recovery(0.2, 0.7, 0.6),
    Step(0.5, 'small'),
    300,
    0,
    ('importance: no frame for 0.6 s',),
)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'recovery': None}, 'not recovered'),
        ({'recovery': Recovery(2.1, 2.2, 2.5)}, 'recovered after 2.10 s'),
        ({'largest': Step(1.1, 'chest turned')}, 'jump: chest turned'),
        ({'not_finite': 3}, '3 joint states not finite'),
        ({'fallen': ('retarget',)}, 'retarget ended'),
        ({'said': ()}, 'do not name the cause'),
        ({'failure': 'no program'}, 'no program'),
        ({'kind': KILL, 'said': ('puppet_up: performer: was ended by SIGKILL',)}, 'do not name'),
    ],
)
def test_what_misses_an_aim_is_said(change, text):
    assert GOOD.misses() == []
    assert text in '\n'.join(replace(GOOD, **change).misses())


@pytest.mark.parametrize(
    ('kind', 'target', 'text', 'is_it'),
    [
        (PAUSE, 'retarget', 'pose_filter: 3 frames came late', True),
        (PAUSE, 'retarget', 'pose_filter: later than related, template', False),
        (PAUSE, 'retarget', 'performer: Singapore', False),
        (KILL, 'filter', 'puppet_up: filter: was ended by SIGKILL', True),
        (KILL, 'filter', 'puppet_up: performer: was ended by SIGKILL', False),
        (HOSTILE, '/tracker/raw', 'pose_filter: poses: expected 8 x 7 numbers, got 3', True),
        (HOSTILE, '/tracker/raw', 'other: /tracker/raw: 3 messages refused', True),
        (HOSTILE, '/tracker/raw', 'retarget: root: expected 7 values, got 3', False),
        (HOSTILE, '/importance', 'retarget: weights: expected 5 values, got 3', True),
        (HOSTILE, '/importance', 'tracker_driver: line0: expected records, got none', False),
    ],
)
def test_a_fault_is_named_by_who_notices_it_in_its_words(kind, target, text, is_it):
    assert names(kind, target, text) is is_it


def test_readers_are_known_of_each_topic_that_hostile_messages_come_on():
    assert set(READERS) == set(TOPICS)


def test_what_goes_wrong_without_a_fault_is_missed_too():
    run = Run({'seed': 1}, rows=[GOOD])
    run.add_undisturbed(Step(0.5, 'small'), 0)
    assert run.misses() == [] and run.undisturbed.ratio == 0.5
    run.add_undisturbed(Step(1.5, 'chest turned'), 2)
    run.add_undisturbed(Step(0.4, 'small'), 1)
    assert run.misses() == [
        'without faults: jump: chest turned',
        'without faults: 3 joint states not finite',
    ]


def test_the_run_tells_its_table_and_what_was_left():
    run = Run({'seed': 1}, rows=[GOOD, replace(GOOD, recovery=Recovery(0.4, 0.9, 0.8))])
    run.memory_mb = {'retarget': (200.0, 201.0)}
    text = '\n'.join(table(run))
    assert 'pause retarget' in text and '0.30   0.40' in text and 'all aims met' in text
    run.left, run.memory_mb = ['python3'], {'retarget': (200.0, 900.0)}
    assert [m.split(':')[0] for m in run.misses()] == ['left running', 'retarget']
    assert run.as_json()['faults'][0]['misses'] == []
