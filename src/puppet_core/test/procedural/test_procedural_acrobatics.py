# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The acrobatic performance: hands that stay where they are planted, a body on them, a flip."""

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions
from puppet_core.procedural.acrobatics import acrobatic_motion
import pytest

RATE_HZ = 120.0
PLANTED_M = 1e-9


@pytest.fixture(scope='module')
def motion(adult_character):
    return acrobatic_motion(adult_character, RATE_HZ)


def test_planted_palms_are_still_and_flat(motion):
    q_world, _ = motion.world_segments()
    for side in range(2):
        palms = motion.end_effectors[:, side]
        planted = palms[:, 2] < PLANTED_M
        planted &= np.roll(planted, 1)
        steps = np.linalg.norm(palms - np.roll(palms, 1, axis=0), axis=1)
        assert steps[planted].max() * RATE_HZ < 1e-3
        backs = quaternions.rotate(q_world[planted, LIMB_SEGMENTS[side, 2]], [0.0, 0.0, 1.0])
        assert backs[:, 2].min() > 1.0 - 1e-6
        assert planted.sum() > 8.0 * RATE_HZ


def test_it_crawls_on_hands_and_knees(motion):
    _, p_world = motion.world_segments()
    palms, knees = motion.end_effectors[:, :2], p_world[:, LIMB_SEGMENTS[2:, 1]]
    is_down = (knees[..., 2].max(axis=1) < 0.15) & (palms[..., 2].min(axis=1) < PLANTED_M)
    root = motion.root_positions[is_down, 0]
    assert root.max() - root.min() > 0.8
    # always one knee and one hand of the two carry it
    assert knees[is_down, :, 2].min(axis=1).max() < 0.075
    gaps = np.flatnonzero(np.diff(np.flatnonzero(is_down)) > 1)
    assert len(gaps) == 0


def test_it_stands_on_its_hands_alone(motion):
    _, p_world = motion.world_segments()
    ankles = p_world[:, LIMB_SEGMENTS[2:, 2], 2].min(axis=1)
    upside_down = ankles > p_world[:, SEGMENT_INDEX['head'], 2] + 1.0
    assert upside_down.sum() > 1.5 * RATE_HZ
    palms = motion.end_effectors[upside_down, :2]
    assert palms[..., 2].max() < PLANTED_M
    over = p_world[upside_down, 0] - palms.mean(axis=1)
    assert np.linalg.norm(over[:, :2], axis=1).min() < 0.1


def test_the_flip_turns_once_in_the_air(motion):
    q_world, _ = motion.world_segments()
    soles = motion.end_effectors[:, 2:, 2].min(axis=1)
    in_air = np.flatnonzero((soles > 0.2) & (motion.end_effectors[:, :2, 2].min(axis=1) > 0.2))
    assert np.all(np.diff(in_air) == 1)
    turns = np.arctan2(*quaternions.rotate(q_world[:, 0], [0.0, 0.0, 1.0])[:, [0, 2]].T)
    around = np.unwrap(turns[in_air[0] - 30 : in_air[-1] + 30])
    assert around[-1] - around[0] == pytest.approx(-2.0 * np.pi, abs=1.0)
    height = motion.root_positions[in_air, 2]
    assert height.max() - height[0] > 0.1


def test_limbs_are_never_stretched_beyond_their_length(motion):
    _, p_world = motion.world_segments()
    lengths = motion.skeleton.limb_lengths.sum(axis=1)
    after = slice(round(3.8 * RATE_HZ), round(37.0 * RATE_HZ))
    for limb, (first, _, last) in enumerate(LIMB_SEGMENTS):
        reach = np.linalg.norm(p_world[after, last] - p_world[after, first], axis=1)
        bent = reach < lengths[limb] * (1.0 - 1e-6)
        loose = p_world[after, 0, 2] > p_world[after, SEGMENT_INDEX['head'], 2]
        assert np.all(bent | (loose & (limb >= 2)))
