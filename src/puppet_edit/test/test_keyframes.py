# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Keyframes from contact and speed: steps, turning points, spacing."""

from itertools import pairwise

import numpy as np
from puppet_core.body.motion_measures import planted_soles
from puppet_core.body.posture import Motion
from puppet_core.io import ConfigError
from puppet_edit.enhancement.keyframes import choose_keyframes, given_keyframes, worst_frames
from puppet_edit.enhancement.targets import Targets
import pytest

RATE_HZ = 60.0


def swinging(n: int = 181) -> Targets:
    """Return a hand that turns round at frames 30, 60, 90, .."""
    positions = np.full((n, 8, 3), np.nan)
    positions[:, 0] = [0.0, 0.0, 1.0]
    positions[:, 0, 0] = 0.4 * np.cos(np.pi * np.arange(n) / 30.0)
    return Targets(positions)


def test_turning_points_are_found(rng: np.random.Generator) -> None:
    """With a millimetre of noise too."""
    targets = swinging()
    noisy = Targets(targets.positions + rng.normal(0.0, 1e-3, targets.positions.shape))
    for seen in (targets, noisy):
        found = choose_keyframes(seen, RATE_HZ, 0.1, 2.0)
        slow = [frame for frame, reason in found.items() if reason == 'slow']
        assert np.allclose(slow, [30, 60, 90, 120, 150], atol=2)
        assert list(found)[0] == 0 and list(found)[-1] == 180


def test_steps_begin_and_end_at_keyframes(walk: Motion) -> None:
    targets = Targets(np.where(np.arange(8)[:, None] < 4, walk.end_effectors, np.nan))
    found = choose_keyframes(targets, walk.rate_hz, 0.05, 2.0)
    contacts = np.array([frame for frame, reason in found.items() if reason == 'contact'])
    planted = planted_soles(walk.end_effectors[:, 2:4], walk.rate_hz)
    edges = np.flatnonzero(np.any(np.diff(planted.astype(int), axis=0), axis=1))
    assert len(contacts) >= 3
    assert max(np.min(np.abs(edges - contact)) for contact in contacts) <= 3


@pytest.mark.parametrize(('least_s', 'most_s'), [(0.1, 0.5), (0.3, 0.4), (0.02, 0.1)])
def test_gaps_are_neither_short_nor_long(least_s: float, most_s: float) -> None:
    frames = list(choose_keyframes(swinging(), RATE_HZ, least_s, most_s))
    gaps = np.diff(frames)
    assert gaps.max() <= np.ceil(most_s * RATE_HZ) and gaps.min() >= 0.5 * least_s * RATE_HZ


def test_two_frames_are_both_keyframes() -> None:
    assert list(choose_keyframes(Targets(swinging().positions[:2]), 60.0)) == [0, 1]


def test_given_ones_come_with_first_and_last() -> None:
    assert given_keyframes([30, 10, 30], 50) == {0: 'end', 10: 'given', 30: 'given', 49: 'end'}
    with pytest.raises(ConfigError, match='keyframes: expected 0 .. 49, got 50'):
        given_keyframes([50], 50)


def test_worst_frames_keep_their_distance(rng: np.random.Generator) -> None:
    errors = rng.random(100)
    errors[10:20] = -1.0  # not known
    keys = [0, 20, 24, 60, 99]
    worst = worst_frames(errors, keys, 0.1, 4)
    assert len(worst) == 3
    for frame, (first, last) in zip(worst, [(0, 20), (24, 60), (60, 99)]):
        assert first + 4 <= frame <= last - 4
        assert errors[frame] == np.max(errors[first + 4 : last - 3])
    assert worst_frames(errors, keys, 1.0, 4) == []


@pytest.mark.parametrize(('least_s', 'most_s'), [(0.0, 0.5), (0.6, 0.5), (-1.0, 1.0)])
def test_spacing_is_checked(least_s: float, most_s: float) -> None:
    with pytest.raises(ConfigError, match='keyframe spacing: expected 0 < least <= most'):
        choose_keyframes(swinging(), RATE_HZ, least_s, most_s)


def test_order_is_rising(walk: Motion) -> None:
    targets = Targets(np.where(np.arange(8)[:, None] < 4, walk.end_effectors, np.nan))
    frames = list(choose_keyframes(targets, walk.rate_hz))
    assert all(a < b for a, b in pairwise(frames))
