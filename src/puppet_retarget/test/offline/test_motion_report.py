# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the report says of joints, surfaces and palms, on results that were tampered with."""

from dataclasses import replace

from body_fixtures import floor_only
import numpy as np
from puppet_core.body import default_capsules, Motion, SEGMENT_INDEX
from puppet_core.math import quaternions
from puppet_retarget.importance import SELF_IMPORTANCE
from puppet_retarget.offline import MotionArrays, report, retarget_motion, RetargetJob
import pytest

RATE_HZ = 100.0
N = 120
KNEE = SEGMENT_INDEX['left_shank']


@pytest.fixture
def job(adult_character):
    return RetargetJob(adult_character, floor_only())


@pytest.fixture
def bending(adult_character):
    """Return a body that bends its left knee to and fro, its feet on the floor or above."""
    skeleton, rotations = adult_character.skeleton, np.tile([1.0, 0.0, 0.0, 0.0], (N, 16, 1))
    angles = np.radians(30.0) * (1.0 - np.cos(2.0 * np.pi * np.arange(N) / N))
    rotations[:, KNEE] = quaternions.exp(angles[:, np.newaxis] * [0.0, 1.0, 0.0])
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (N, 1))
    return Motion.from_rotations(skeleton, RATE_HZ, roots, rotations)


def copied(motion, job):
    """Return a result that is the performer's own motion."""
    result = retarget_motion(motion, job)
    q_world, p_world = motion.world_segments()
    puppet = MotionArrays(
        motion.root_positions.copy(), motion.rotations.copy(), motion.end_effectors.copy()
    )
    return replace(result, puppet=puppet, q_world=q_world, p_world=p_world)


def test_a_copy_of_the_performer_has_nothing_to_see(bending, job):
    job = replace(
        job, character=replace(job.character, capsules=default_capsules(bending.skeleton))
    )
    figures = report(bending, job, copied(bending, job))
    assert figures['leaping_frames'] == figures['flips'] == figures['whips'] == 0
    assert figures['snaps'] == figures['pops'] == figures['self_penetration_mm'] == 0
    assert figures['segment_direction_deg']['worst'] == 0.0
    assert figures['lying_height_mm'] is figures['limit_use'] is None
    assert figures['joint_jerk_ratio'] == {'median': 1.0, 'worst': 1.0}
    assert figures['surface_depth_mm'] == {'max': 0.0, 'share_deeper_5_mm': 0.0}
    assert figures['self_contact_error_mm'] is None


def test_a_knee_that_snaps_and_a_body_that_sinks_are_seen(bending, job):
    result = copied(bending, job)
    lone = result.puppet.rotations
    lone[60, KNEE] = quaternions.conjugate(lone[60, KNEE])  # there and back
    q_world, p_world = Motion.from_rotations(
        bending.skeleton, RATE_HZ, bending.root_positions, lone
    ).world_segments()
    p_world = p_world - [0.0, 0.0, 0.1]
    scale = job.character.scale_for(bending.skeleton.leg_length)
    figures = report(bending, job, replace(result, q_world=q_world, p_world=p_world))
    assert scale == pytest.approx(1.0)
    assert figures['flips'] == figures['whips'] == figures['snaps'] == figures['pops'] == 2
    assert figures['joint_jerk_ratio']['worst'] > 10.0
    assert figures['worst_joint'] == 'left_shank'
    assert figures['surface_depth_mm']['max'] == pytest.approx(100.0, abs=20.0)
    assert figures['surface_depth_mm']['share_deeper_5_mm'] == 1.0


def test_arms_that_are_bent_though_nothing_asks_for_it_are_seen(bending, job):
    result = copied(bending, job)
    turned = result.puppet.rotations.copy()
    turned[:, SEGMENT_INDEX['left_forearm']] = quaternions.exp(np.radians([0.0, 0.0, 15.0]))
    made = Motion.from_rotations(bending.skeleton, RATE_HZ, bending.root_positions, turned)
    q_world, p_world = made.world_segments()
    found = report(bending, job, replace(result, q_world=q_world, p_world=p_world))
    found = found['segment_direction_deg']
    assert found['segments']['left_forearm']['median'] == pytest.approx(15.0)
    assert found['segments']['right_forearm']['worst'] == pytest.approx(0.0, abs=1e-3)


def test_palms_in_the_own_body_are_seen(bending, job):
    result = copied(bending, job)
    result.puppet.end_effectors[7, 0] = result.p_world[7, SEGMENT_INDEX['spine']]
    assert 60.0 < report(bending, job, result)['self_penetration_mm'] < 150.0


def test_a_body_that_lies_higher_than_its_performer_is_seen(bending, job):
    rotations = bending.rotations.copy()
    rotations[:, 0] = quaternions.exp([0.0, -0.5 * np.pi, 0.0])
    roots = np.tile([0.0, 0.0, 0.15], (N, 1))
    lying = Motion.from_rotations(bending.skeleton, RATE_HZ, roots, rotations)
    result = copied(lying, job)
    lifted = replace(result, p_world=result.p_world + [0.0, 0.0, 0.2])
    found = report(lying, job, lifted)['lying_height_mm']
    assert found['frames'] == N
    assert found['pelvis']['median'] == pytest.approx(200.0, abs=20.0)


def test_palms_of_importance_have_an_error(bending, job):
    result = copied(bending, job)
    result.self_rows[10, 0, SELF_IMPORTANCE] = 1.0
    shifted = result.puppet.end_effectors
    shifted[10, 0, 1] += 0.5
    found = report(bending, job, result)['self_contact_error_mm']
    assert found['p99'] == pytest.approx(found['max']) and found['max'] > 300.0
