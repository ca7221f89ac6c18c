# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the report, on motions whose figures are known, and its strict JSON."""

import json

from benchmarks.quality.run import errors_in_reach
import numpy as np
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.offline import quality
from puppet_retarget.offline.motion_report import plain, report_text
from puppet_retarget.offline.quality import (
    are_reachable,
    impossible_share,
    MotionArrays,
    root_balls,
)
import pytest

RATE_HZ = 100.0
N = 50


@pytest.fixture
def still():
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N, 16, 1))
    return MotionArrays(np.zeros((N, 3)), rotations, np.zeros((N, 8, 3)))


def test_slide_is_the_mean_speed_of_planted_soles(still):
    planted = np.zeros((N, 2), dtype=bool)
    planted[10:20, 0] = planted[10:20, 1] = True
    still.end_effectors[:, 2, 1] = 0.001 * np.arange(N)  # 100 mm/s, the other foot none
    assert quality.slide_mm_s(still, planted, RATE_HZ) == pytest.approx(50.0)
    assert np.isnan(quality.slide_mm_s(still, planted & False, RATE_HZ))


def test_free_limb_deviation_counts_unimportant_limbs_only(still):
    turned = MotionArrays(still.root_positions, still.rotations.copy(), still.end_effectors)
    turned.rotations[10, SEGMENT_INDEX['left_forearm']] = qb.exp(np.radians([3.0, 0.0, 0.0]))
    turned.rotations[20, SEGMENT_INDEX['left_shank']] = qb.exp(np.radians([9.0, 0.0, 0.0]))
    importances = np.zeros((N, 4))
    importances[:, 2] = 0.5
    deviation = quality.free_limb_deviation_deg(turned, still, importances)
    assert deviation == pytest.approx(3.0)
    assert quality.free_limb_deviation_deg(turned, still, np.ones((N, 4))) == 0.0
    assert SEGMENT_INDEX['left_shank'] in LIMB_SEGMENTS[2]


LIMBS = np.arange(4)


@pytest.fixture
def posture(adult_character, rng):
    skeleton, turns = adult_character.skeleton, rng.normal(0.0, 0.3, (1, 16, 4))
    turns[..., 0] = 1.0
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    q_world, p_world = world_segments(skeleton, np.array([[0.1, 0.2, 1.0]]), turns)
    ends = LIMB_SEGMENTS[:, 2]

    palms = p_world[0, ends] + qb.rotate(q_world[0, ends], skeleton.interaction_points[:4])
    return q_world[0], p_world[0], palms


def test_a_posture_reaches_where_it_is(adult_character, posture):
    q_world, p_world, palms = posture
    starts = p_world[LIMB_SEGMENTS[:, 0]] - p_world[0]
    centres, radii = root_balls(adult_character.skeleton, LIMBS, q_world, starts, palms)
    bent = np.linalg.norm(p_world[LIMB_SEGMENTS[:, 2]] - p_world[LIMB_SEGMENTS[:, 0]], axis=1)
    # the pelvis is as far from a ball's centre as the wrist is from its shoulder
    np.testing.assert_allclose(np.linalg.norm(centres - p_world[0], axis=1), bent, atol=1e-12)
    assert are_reachable(centres, radii)


def test_reachable_is_what_some_place_of_a_grid_reaches(rng):
    steps = np.linspace(-1.0, 1.0, 41)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    seen = set()
    for _ in range(60):
        centres, radii = rng.normal(0.0, 0.5, (3, 3)), rng.uniform(0.3, 0.8, 3)
        gaps = np.linalg.norm(grid[:, np.newaxis] - centres, axis=2) - radii
        least = gaps.max(axis=1).min()
        found = are_reachable(centres, radii)
        seen.add(found)
        # a grid point is at most half a diagonal of a cell from the best place
        assert found if least <= 0.0 else True
        assert not found if least > 0.5 * np.sqrt(3.0) * 0.05 else True
    assert seen == {True, False}


def test_only_what_can_be_met_together_counts(adult_character, posture):
    q_world, p_world, palms = posture
    goals = np.stack((palms, palms, palms))
    goals[1, 3, 0] += 3.0  # feet three metres apart
    wanted = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]], dtype=bool)
    errors = np.arange(12.0).reshape(3, 4)
    segments = np.stack([q_world] * 3), np.stack([p_world] * 3)
    found = errors_in_reach(adult_character.skeleton, *segments, goals, wanted, errors)
    assert found.tolist() == [2.0, 3.0, 10.0]
    nothing = errors_in_reach(adult_character.skeleton, *segments, goals, wanted & False, errors)
    assert nothing.size == 0


def test_share_of_frames_whose_feet_are_too_far_apart(adult_character, posture):
    q_world, _, palms = posture
    soles = np.stack([palms[2:]] * 4)
    soles[1:, 1, 1] += 3.0
    planted = np.array([[1, 1], [1, 1], [1, 0], [1, 1]], dtype=bool)
    share = impossible_share(adult_character.skeleton, np.stack([q_world] * 4), soles, planted)
    assert share == 0.5


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (float('nan'), None),
        (float('inf'), None),
        (np.float64('nan'), None),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ('nan', 'nan'),
        (None, None),
        ((1, 2.5), [1, 2.5]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        ({'a': {'b': -np.inf}}, {'a': {'b': None}}),
    ],
)
def test_values_become_what_json_has(value, expected):
    assert plain(value) == expected
    assert json.loads(report_text(value)) == expected
