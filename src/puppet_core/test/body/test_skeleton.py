# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The segment table and the validation of lengths."""

import numpy as np
from puppet_core.body.skeleton import (
    CONSIDERED,
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    LIMBS,
    PARENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.io import ConfigError
import pytest


@pytest.fixture
def parts(adult_character):
    skeleton = adult_character.skeleton
    return skeleton.offsets.copy(), skeleton.interaction_points.copy()


def test_limbs_are_chains_that_end_in_their_end_effectors():
    for limb, chain, end in zip(LIMBS, LIMB_SEGMENTS, END_EFFECTORS):
        assert PARENTS[chain[2]] == chain[1] and PARENTS[chain[1]] == chain[0]
        assert SEGMENTS[chain[2]] == end
        assert limb.split('_')[0] == end.split('_')[0]
    assert GENERAL_END_EFFECTORS[:4] == END_EFFECTORS


def test_lengths_are_distances_between_joints_and_to_the_sole(parts):
    skeleton = Skeleton(*parts)
    hip, knee, ankle = (
        skeleton.rest_positions()[SEGMENT_INDEX[f'left_{part}']]
        for part in ('thigh', 'shank', 'foot')
    )
    assert skeleton.limb_lengths[2, 0] == pytest.approx(np.linalg.norm(knee - hip))
    sole = ankle + parts[1][2]
    assert skeleton.leg_length == pytest.approx(hip[2] - sole[2])
    assert skeleton.rest_root_height == pytest.approx(-sole[2])


@pytest.mark.parametrize(
    'joint, bone', [('left_forearm', 'left_upper_arm'), ('right_foot', 'right_shank')]
)
def test_a_limb_without_length_is_named_by_the_joint_that_makes_it(parts, joint, bone):
    parts[0][SEGMENT_INDEX[joint]] = [0.0, 0.0, 0.001]
    expected = f'{joint}: expected {bone} to be >= 0.01 m long, got 0.001 m'
    with pytest.raises(ConfigError, match=expected):
        Skeleton(*parts)


def test_wrong_shape_nan_and_a_moved_root_are_refused(parts):
    offsets, points = parts
    with pytest.raises(ConfigError, match=r'offsets: expected shape \(16, 3\), got \(15, 3\)'):
        Skeleton(offsets[:15], points)
    with pytest.raises(ConfigError, match=r'interaction_points: .* got nan at \(2, 1\)'):
        bad = points.copy()
        bad[2, 1] = np.nan
        Skeleton(offsets, bad)
    with pytest.raises(ConfigError, match=r'offsets\[pelvis\]: expected zero'):
        Skeleton(offsets + 0.1, points)


@pytest.mark.parametrize(('row', 'name'), enumerate(GENERAL_END_EFFECTORS))
def test_all_but_the_own_limb_count(row, name):
    side, part = name.split('_')
    own = 'upper_arm forearm hand' if part in ('hand', 'elbow') else 'thigh shank foot'
    left_out = {SEGMENTS[s] for s in np.flatnonzero(~CONSIDERED[row])}
    assert left_out == {f'{side}_{segment}' for segment in own.split()}
