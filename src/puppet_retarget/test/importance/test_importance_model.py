# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is near a performer: whose skeleton it is, new calibrations, postures of nobody."""

from body_fixtures import floor_only
import numpy as np
from puppet_core.body.capsules import default_capsules
from puppet_core.body.posture import Posture
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.body.surface import surface_samples
from puppet_retarget.importance.estimator import ImportanceConfig, ImportanceEstimator
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.self_interaction import (
    estimator_of,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    SelfInteractionConfig,
)
import pytest

TICK_NS = 8_333_333
CHEST = SEGMENT_INDEX['chest']


def model_of(**options):
    return ImportanceModel(floor_only(), ImportanceConfig(), SelfInteractionConfig(), **options)


@pytest.fixture(scope='module')
def frame(procedural):
    _, segments = procedural.world_segments()
    velocities = procedural.end_effector_velocities()

    def make(i):
        posture = Posture(
            procedural.root_positions[i].copy(),
            procedural.rotations[i].copy(),
            procedural.end_effectors[i].copy(),
            velocities[i].copy(),
        )
        return posture, segments[i].copy()

    return make


def test_rows_are_those_of_both_estimators(frame, procedural):
    """The skeleton of the first posture is the performer's, to rounding."""
    model = model_of()
    environment = ImportanceEstimator(floor_only(), ImportanceConfig())
    own = estimator_of(procedural.skeleton, SelfInteractionConfig())
    for i in range(700, 720):
        posture, segments = frame(i)
        near = model.step(i * TICK_NS, posture, segments, 0.9)
        rows = environment.step(
            i * TICK_NS, posture.end_effectors, posture.end_effector_velocities
        )
        np.testing.assert_array_equal(near.rows, rows)
        expected = own.step(i * TICK_NS, posture, segments)
        np.testing.assert_allclose(near.self_rows, expected, atol=1e-7)


def test_palm_on_the_chest_matters(frame):
    model = model_of()
    posture, segments = frame(700)
    assert model.step(0, posture, segments).self_rows[0, SELF_IMPORTANCE] == 0.0
    posture.end_effectors[0] = segments[CHEST]
    near = model.step(10**9, posture, segments)
    assert near.self_rows[0, SELF_IMPORTANCE] > 0.99
    assert near.self_rows[0, SELF_DISTANCE] < 0.0


def test_skeleton_is_kept_until_another_leg_length_is_sent(frame):
    """A new calibration; a length that is no number says nothing."""
    model = model_of()
    posture, segments = frame(700)
    seen = []
    for n, leg_length in enumerate((0.9, 0.9, 0.8, 0.8, np.nan, np.nan)):
        model.step(n * TICK_NS, posture, segments, leg_length)
        seen.append(model._self_estimator)
    assert [a is b for a, b in zip(seen, seen[1:])] == [True, False, True, False, True]


def test_measured_points_take_the_place_of_ordinary_ones(frame, procedural):
    measured = np.full((40, 3), 0.1)
    model = model_of(measured={'chest': measured})
    assert model.step(0, *frame(700)) is not None
    expected = surface_samples(procedural.skeleton, default_capsules(procedural.skeleton))
    expected[CHEST] = measured
    samples = model._self_estimator._arrays.body.samples.transpose(0, 2, 1)
    np.testing.assert_allclose(samples, expected, atol=1e-9)


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1e5], ids=str)
@pytest.mark.parametrize(
    'what', ['root_position', 'segments', 'rotations', 'end_effectors', 'end_effector_velocities']
)
def test_one_bad_number_gives_nothing_and_leaves_no_trace(frame, what, bad):
    model, alone = model_of(), model_of()
    posture, segments = frame(700)
    values = segments if what == 'segments' else getattr(posture, what)
    values.ravel()[1] = bad
    assert model.step(0, posture, segments) is None
    for n in range(1, 4):
        ours = model.step(n * TICK_NS, *frame(700 + n))
        theirs = alone.step(n * TICK_NS, *frame(700 + n))
        np.testing.assert_array_equal(ours.self_rows, theirs.self_rows)
        np.testing.assert_array_equal(ours.rows, theirs.rows)


def test_giants_are_nobody(frame):
    posture, segments = frame(700)
    for values in (posture.root_position, segments, posture.end_effectors):
        values *= 50.0
    assert model_of().step(0, posture, segments) is None
