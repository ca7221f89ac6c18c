# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Targets: what meets is moved by half each, samples are interpolated only where they are near."""

import numpy as np
from puppet_core.io import ConfigError
from puppet_edit.enhancement.targets import Meeting, resampled, Targets
import pytest


def hands(n: int = 4) -> np.ndarray:
    """Return positions of both palms, 0.1 m apart in the first frame, further in each next."""
    positions = np.full((n, 8, 3), np.nan)
    positions[:, 0] = [0.3, 0.05, 1.2]
    positions[:, 1] = [0.3, -0.05, 1.2]
    positions[:, 0, 1] += 0.1 * np.arange(n)
    return positions


def test_names_are_those_with_a_position() -> None:
    assert Targets(hands()).names == ('left_hand', 'right_hand')
    assert Targets(hands()).only(['right_hand']).names == ('right_hand',)


def test_two_coordinates_are_no_position() -> None:
    positions = hands()
    positions[1, 0, 2] = np.inf
    assert Targets(positions).measured[:, 0].tolist() == [True, False, True, True]


def test_what_meets_is_moved_by_half_each() -> None:
    """Only where it is nearly met: in the first frame here."""
    targets = Targets(hands(), (Meeting((0, 1), 0.06),))
    goals = targets.goals(range(4))
    middle = targets.positions[:, :2].mean(axis=1)
    assert np.allclose(goals[:, :2].mean(axis=1), middle, atol=1e-15)
    assert np.allclose(np.linalg.norm(goals[0, 0] - goals[0, 1]), 0.06, atol=1e-15)
    assert np.array_equal(goals[1:, :2], targets.positions[1:, :2])


def test_fists_on_each_other_stay_finite() -> None:
    positions = hands()
    positions[:, 1] = positions[:, 0]
    goals = Targets(positions, (Meeting((0, 1), 0.05),)).goals([0, 1])
    assert np.array_equal(goals[:, :2], positions[:2, :2])


@pytest.mark.parametrize(
    ('make', 'says'),
    [
        (lambda: Meeting((1, 1)), 'meet: expected two different end-effectors, got right_hand'),
        (lambda: Meeting((0, 1), -0.1), 'meet: expected a distance of 0 .. 1 m, got -0.1'),
        (lambda: Targets(hands(), (Meeting((0, 2)),)), 'with targets, got left_foot'),
        (lambda: Targets(np.full((3, 8, 3), np.nan)), 'expected measured positions, got none'),
        (lambda: Targets(np.zeros((3, 4, 3))), r'expected shape \(any, 8, 3\)'),
        (lambda: Targets(hands()).only(['left_foot']), "left_hand, right_hand, got 'left_foot'"),
        (lambda: Targets(hands()).only(['tail']), "left_knee, right_knee, got 'tail'"),
        (lambda: Targets(hands()).require_frames(3), 'expected 3 frames, got 4'),
    ],
)
def test_what_does_not_fit_is_refused(make: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()


def test_samples_at_other_times_are_interpolated_where_near() -> None:
    times = np.array([0.0, 0.05, 0.1, 0.5, 0.55])
    positions = np.full((5, 8, 3), np.nan)
    positions[:, 0] = times[:, None]
    at = np.array([-0.1, 0.0, 0.02, 0.1, 0.3, 0.5, 0.55, 0.6])
    out = resampled(times, positions, at)[:, 0, 0]
    assert np.allclose(out, [np.nan, 0.0, 0.02, 0.1, np.nan, 0.5, 0.55, np.nan], equal_nan=True)


def test_a_single_sample_counts_at_its_own_time_only() -> None:
    positions = np.full((1, 8, 3), np.nan)
    positions[:, 2] = 1.0
    out = resampled(np.array([0.1]), positions, np.array([0.0, 0.1, 0.2]))
    assert np.isfinite(out[:, 2, 0]).tolist() == [False, True, False]
    assert np.isnan(out[:, 0]).all()
