# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Looped recordings, and what passes of the same motion are held to."""

import json

import numpy as np
import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.body import compose  # noqa: E402,I100
from puppet_ros.messages import raw_header, TrackerFrameReader  # noqa: E402
from robustness.soak import simulated as soak_command  # noqa: E402
from robustness.soak.day import angle_differences, Day, judged, lines, report  # noqa: E402
from robustness.soak.frames import LoopedFrames, read_frames  # noqa: E402

pytestmark = pytest.mark.ros

N_FRAMES, N_PASSES = 50, 200


def day_of(
    slow_us: float = 0.0, growth_mb: float = 0.0, drift_rad: float = 0.0, wrong: int = -1
) -> Day:
    """Return passes of a minute, in each of which the first answer is missing."""
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1.0, 1.0, (N_FRAMES, 9))
    day = Day(N_PASSES, N_FRAMES, 9, [slice(0, 6)], [slice(6, 9)])
    for turn in range(N_PASSES):
        day.rows[1:] = rows[1:]
        day.rows[1:, 0] += drift_rad * turn + 2.0 * np.pi * turn
        if turn == wrong:
            day.rows[7, 8] = np.nan
        day.is_answered[1:] = True
        day.end(60.0 * (turn + 1), 80.0 + slow_us * turn, 190.0 + growth_mb * turn, turn == 1)
    return day


def test_steady_day_keeps_all_limits():
    day = day_of()
    result = judged(day, 49 * N_PASSES)
    assert not result.is_missed
    assert {
        result.memory.outcome,
        result.time.outcome,
        result.answers.outcome,
        result.frames.outcome,
    } == {'kept'}
    assert day.series('largest_rad')[-1] == pytest.approx(2.0 * np.pi * 199, abs=1.0)
    assert 'same answer' in lines(day, result)[-1]
    json.dumps(report(day, result), allow_nan=False)


@pytest.mark.parametrize(
    ('change', 'missed'),
    [
        ({'slow_us': 0.1}, 'time'),
        ({'growth_mb': 0.05}, 'memory'),
        ({'drift_rad': 1e-7}, 'answers'),
        ({'wrong': 70}, 'frames'),
    ],
    ids=['time', 'memory', 'answers', 'frames'],
)
def test_what_does_not_stay_is_found(change, missed):
    result = judged(day_of(**change), 49 * N_PASSES)
    evaluations = report(day_of(), result)['evaluations']
    assert [name for name, one in evaluations.items() if one['outcome'] == 'missed'] == [missed]


def test_frame_without_an_answer_is_lost():
    result = judged(day_of(), 49 * N_PASSES + 1)
    assert result.frames.outcome == 'missed' and result.frames.found == 1.0


def test_angles_that_mean_the_same_do_not_differ():
    rng = np.random.default_rng(9)
    angles = rng.uniform(-3.0, 3.0, (200, 6))
    same = angles + 2.0 * np.pi * rng.integers(-50, 50, angles.shape)
    other = same * np.tile((1.0, -1.0, 1.0), 2) + np.pi
    assert angle_differences(same, angles).max() < 1e-12
    assert angle_differences(other, angles).max() < 1e-12
    first, second = np.empty(4), np.empty(4)
    for given, means in zip(other[:, :3], angles[:, :3]):
        compose(given, first)
        compose(means, second)
        assert abs(first @ second) == pytest.approx(1.0, abs=1e-12)
    turned = other + rng.choice((-1e-3, 1e-3), other.shape)
    assert angle_differences(turned, angles) == pytest.approx(1e-3)


def test_looped_frames_go_on_past_all_seams(sensors_bag):
    frames, static = read_frames(sensors_bag)
    looped = LoopedFrames(frames, 2_147_400_000_000_000_000, (1 << 32) - 400)
    assert (len(looped), len(static)) == (360, 1)
    assert looped.pass_ns == pytest.approx(3_000_000_000, abs=2)
    made = [looped.frame(i) for i in range(1000)]
    stamps = np.array([raw_header.stamp_ns(data) for data in made])
    assert np.abs(np.diff(stamps) - 1e9 / 120.0).max() <= 2.0
    assert [raw_header.frame_index(data) for data in made] == [
        (1 << 32) - 400 + i for i in range(1000)
    ]
    reader = TrackerFrameReader()
    first = reader.read(frames[17]).positions.copy()
    assert np.array_equal(reader.read(made[377]).positions, first)


def test_accelerated_run_of_seconds_keeps_what_it_can_judge(sensors_bag, tmp_path, capsys):
    path = tmp_path / 'day.json'
    assert soak_command.main([str(sensors_bag), '--hours', '0.004', '--json', str(path)]) == 0
    found = json.loads(path.read_text())
    assert found['frames_in'] == found['frames_out'] and found['not_finite'] == 0
    assert 1200 < found['frames_in'] + found['drops']['performer: not_calibrated'] <= 1800
    assert found['evaluations']['answers']['outcome'] == 'kept'
    assert 'times real time' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['/no/bag.mcap'], '/no/bag.mcap'),
        (['--hours', '0'], '--hours: expected'),
        (['--hours', 'nan'], '--hours: expected'),
        (['--character', 'nobody'], 'expected one of'),
    ],
)
def test_bad_arguments_are_named(words, message, sensors_bag, capsys):
    bag = [] if words[0].startswith('/') else [str(sensors_bag)]
    assert soak_command.main([*bag, *words]) == 2
    assert message in capsys.readouterr().err
