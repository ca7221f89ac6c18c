# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance over all objects: the largest counts, goals pass smoothly, time is smoothed."""

import numpy as np
from puppet_retarget.importance.estimator import (
    DISTANCE,
    GOAL,
    IMPORTANCE,
    importance,
    ImportanceConfig,
    ImportanceEstimator,
    MAX_STEP_S,
    OBJECT,
    RADIUS,
    RATE,
    ROW,
    rows_of_objects,
)
import pytest

UNSMOOTHED = ImportanceConfig(smoothing_s=0.0)
TICK_NS = 8_333_333
STILL = np.zeros((8, 3))


def at(*point):
    return np.tile(np.array(point), (8, 1))


def rows_at(environment, positions, velocities=STILL, config=UNSMOOTHED):
    rows = ImportanceEstimator(environment, config).step(0, positions, velocities)
    return rows.copy()


def test_row_tells_distance_rate_goal_and_object(floor):
    row = rows_at(floor, at(0.3, 0.4, 0.2), at(1.0, 1.0, -0.5))[2]
    np.testing.assert_allclose(row[[DISTANCE, RATE, RADIUS, OBJECT]], [0.2, -0.5, 0.6, 0.0])
    np.testing.assert_allclose(row[GOAL : GOAL + 3], [0.3, 0.4, 0.2])
    assert row[IMPORTANCE] == importance(0.2 - 0.03, -0.5, UNSMOOTHED.prediction_s, 0.6)


def test_soles_within_the_contact_margin_are_wholly_important(floor):
    """Errata 13: soles never measure exactly zero."""
    assert rows_at(floor, at(0.0, 0.0, 0.029))[2, IMPORTANCE] == 1.0
    assert rows_at(floor, at(0.0, 0.0, 0.08))[2, IMPORTANCE] < 1.0


def test_planted_foot_is_not_drawn_by_the_box_beside_it(scene):
    """The box stands 20 cm away and its counterpart half a metre further."""
    box = scene.thing(
        'box',
        np.array([0.3, 0.0, 0.5]),
        np.array([0.2, 0.2, 1.0]),
        puppet_position=np.array([0.8, 0.0, 0.5]),
    )
    row = rows_at(scene(scene.floor, box), at(0.0, 0.0, 0.0))[2]
    np.testing.assert_allclose(row[GOAL : GOAL + 3], 0.0, atol=1e-5)


@pytest.mark.parametrize('smoothing_s', [0.0, 0.03])
def test_nothing_jumps_while_the_nearest_object_changes(scene, smoothing_s):
    """Two balls with influences and counterparts of their own; only the index may jump."""
    left = scene.thing(
        'sphere',
        np.array([-0.6, 0.0, 0.0]),
        np.full(3, 0.2),
        influence=0.5,
        puppet_position=np.array([-0.6, 0.0, 0.4]),
    )
    right = scene.thing(
        'sphere',
        np.array([0.6, 0.0, 0.0]),
        np.full(3, 0.2),
        influence=0.9,
        puppet_size=np.full(3, 0.4),
    )
    estimator = ImportanceEstimator(scene(left, right), ImportanceConfig(smoothing_s=smoothing_s))
    n = 4000
    rows = np.array(
        [
            estimator.step(i * TICK_NS, at(x, 0.05, 0.0), STILL)[0].copy()
            for i, x in enumerate(np.linspace(-0.4, 0.4, n))
        ]
    )
    assert set(rows[:, OBJECT]) == {0.0, 1.0}
    moving = [IMPORTANCE, RADIUS, GOAL, GOAL + 1, GOAL + 2]
    fastest = np.abs(np.diff(rows[:, moving], axis=0)).max() / (0.8 / n)
    assert fastest < 30.0  # per metre of the hand; a jump would be some thousands


def test_touching_soles_become_wholly_important(floor):
    """A follower of importance 1 comes near it for ever; planted feet have it exactly."""
    estimator = ImportanceEstimator(floor, ImportanceConfig(smoothing_s=0.03))
    estimator.step(0, at(0.0, 0.0, 2.0), STILL)
    values = [
        estimator.step((i + 1) * TICK_NS, at(0.0, 0.0, 0.0), STILL)[2, IMPORTANCE]
        for i in range(60)
    ]
    assert values[0] < 0.1
    assert np.all(np.diff(values) >= 0.0)
    assert values[30] == 1.0  # a quarter of a second


@pytest.mark.parametrize(
    'step_ns', [round(1.01e9 * MAX_STEP_S), -TICK_NS], ids=['gap', 'back in time']
)
def test_gap_and_step_back_restart_the_smoothing(floor, step_ns):
    estimator = ImportanceEstimator(floor, ImportanceConfig(smoothing_s=0.5))
    estimator.step(0, at(0.0, 0.0, 0.0), STILL)
    assert estimator.step(step_ns, at(0.0, 0.0, 2.0), STILL)[2, IMPORTANCE] == 0.0


def test_new_tuning_does_not_jump(floor):
    config = ImportanceConfig(smoothing_s=0.03)
    estimator = ImportanceEstimator(floor, config)
    before = estimator.step(0, at(0.0, 0.0, 0.3), STILL)[2, IMPORTANCE]
    estimator.retune(floor, ImportanceConfig(influence_distance_m=5.0, smoothing_s=0.03))
    after = estimator.step(TICK_NS // 100, at(0.0, 0.0, 0.3), STILL)[2, IMPORTANCE]
    assert after == pytest.approx(before, abs=1e-3)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize('which', ['positions', 'velocities'])
def test_absurd_input_is_refused_and_leaves_no_trace(floor, bad, which):
    """Non-finite input is never propagated."""
    estimator = ImportanceEstimator(floor, ImportanceConfig())
    good = estimator.step(0, at(0.0, 0.0, 0.1), STILL).copy()
    broken = at(0.0, 0.0, 0.1)
    broken[5, 1] = bad
    arguments = (broken, STILL) if which == 'positions' else (at(0.0, 0.0, 0.1), broken)
    assert estimator.step(TICK_NS, *arguments) is None
    np.testing.assert_array_equal(estimator.step(TICK_NS, at(0.0, 0.0, 0.1), STILL), good)


JIT_AND_PY = pytest.mark.parametrize('run', [importance, importance.py_func], ids=['jit', 'py'])


@JIT_AND_PY
@pytest.mark.parametrize(
    ('d_bar', 'wanted'), [(0.0, 1.0), (0.25, 0.84375), (0.5, 0.5), (0.75, 0.15625), (1.0, 0.0)]
)
def test_eq_4_4_is_a_cubic_ease(run, d_bar, wanted):
    """2 d^3 - 3 d^2 + 1 by hand."""
    assert run(0.6 * d_bar, 0.0, 0.1, 0.6) == pytest.approx(wanted, abs=1e-15)


@JIT_AND_PY
def test_fast_approach_is_clamped_at_one(run):
    """Errata 1: a negative predicted distance must not lower the cubic again."""
    assert run(0.1, -10.0, 0.1, 0.6) == 1.0
    assert run(0.1, -1e9, 0.1, 0.6) == 1.0


def test_eq_4_2_predicts_by_lambda():
    assert importance(0.2, 1.0, 0.1, 0.6) == pytest.approx(importance(0.3, 0.0, 0.1, 0.6))
    assert importance(0.2, 1.0, 0.0, 0.6) == importance(0.2, 0.0, 0.0, 0.6)


def test_rows_are_of_objects_by_their_names():
    rows = np.zeros((4, ROW))
    rows[:, OBJECT] = 0.0, 1.0, -1.0, 7.0
    found = rows_of_objects(rows, ('floor', 'desk'), ('stool', 'floor'))
    np.testing.assert_array_equal(found[:, OBJECT], (1.0, -1.0, -1.0, -1.0))
    np.testing.assert_array_equal(found[:, :OBJECT], rows[:, :OBJECT])
