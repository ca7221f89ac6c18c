# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The procedural performance: feet that stay, palms that touch, curves without corners."""

from pathlib import Path

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENTS
from puppet_core.clips import ClipOptions, load_clip
from puppet_core.io.yaml_file import load_yaml
from puppet_core.math import quaternions
from puppet_core.procedural import performer, SCRIPTS
from puppet_core.procedural.curve import middle_joint, two_bone_rotations
import pytest

ROOT = Path(__file__).resolve().parents[4]
RATE_HZ = 120.0
STILL_M_S = 1e-3  # rounding of the first and last moment of a swing
TOUCH_M = 1e-9
REST_TOL = 1e-5  # a straight limb is a square root away from rounding


@pytest.fixture(scope='module')
def motion(adult_character):
    return performer.procedural_motion(adult_character, RATE_HZ)


@pytest.fixture(scope='module', params=['show', 'carry'])
def either(request, motion, adult_character):
    if request.param == 'show':
        return motion
    return SCRIPTS[request.param].motion(adult_character, RATE_HZ)


@pytest.fixture(scope='module')
def plan(adult_character):
    return performer.make_plan(adult_character.skeleton, 2.0)


def during(plan, activity, duration_s):
    start = plan.starts_s[activity]
    return slice(round(start * RATE_HZ), round((start + duration_s) * RATE_HZ))


def looped_difference(values):
    """Return the rate of change, over the loop's seam as well."""
    return (values - np.roll(values, 1, axis=0)) * RATE_HZ


def test_first_two_seconds_are_the_rest_pose(motion, adult_character):
    held = motion.rotations[: round(2.0 * RATE_HZ)]
    np.testing.assert_allclose(held, np.broadcast_to([1.0, 0, 0, 0], held.shape), atol=REST_TOL)
    root = (*performer.START_XY_M, adult_character.skeleton.rest_root_height)
    np.testing.assert_allclose(motion.root_positions[0], root, atol=1e-9)


@pytest.mark.parametrize('foot', [2, 3], ids=['left', 'right'])
def test_planted_soles_are_still_and_flat(either, foot):
    soles = either.end_effectors[:, foot]
    planted = soles[:, 2] < 1e-6
    planted &= np.roll(planted, 1)
    speed = np.linalg.norm(looped_difference(soles), axis=1)
    assert speed[planted].max() < STILL_M_S
    q_world, _ = either.world_segments()
    up = quaternions.rotate(q_world[planted, LIMB_SEGMENTS[foot, 2]], [0.0, 0.0, 1.0])
    assert up[:, 2].min() > 1.0 - 1e-6
    assert planted.mean() > 0.6


def test_the_pelvis_falls_freely_while_in_the_air(motion, plan):
    frames = during(plan, 'jump', 2.5)
    height = motion.root_positions[frames, 2]
    in_air = motion.end_effectors[frames, 2:4, 2].min(axis=1) > 0.15
    acceleration = np.gradient(np.gradient(height, 1 / RATE_HZ), 1 / RATE_HZ)
    np.testing.assert_allclose(acceleration[in_air][2:-2], -9.81, atol=0.05)


def test_palms_rest_on_the_table(motion, plan):
    palms = motion.end_effectors[during(plan, 'reach', 7.0), :2]
    for palm, least_s in ((palms[:, 0], 1.0), (palms[:, 1], 2.0)):
        resting = np.abs(palm[:, 2] - performer.TABLE_TOP_M) < TOUCH_M
        assert resting.sum() / RATE_HZ > least_s
        inside = np.abs(palm[resting, :2] - performer.TABLE_CENTRE_M[:2]) < 0.5 * np.array(
            performer.TABLE_SIZE_M[:2]
        )
        assert inside.all()


def test_palms_meet_in_the_claps(motion, plan):
    hands = motion.end_effectors[during(plan, 'clap', 4.2), :2]
    gap = np.linalg.norm(hands[:, 0] - hands[:, 1], axis=1)
    meetings = np.sum((gap[1:-1] < gap[:-2]) & (gap[1:-1] <= gap[2:]) & (gap[1:-1] < 0.04))
    assert meetings == 5
    assert gap.min() > 0.015


def test_loop_has_no_seam(either):
    step = np.abs(looped_difference(either.end_effectors))
    assert step[0].max() < 1e-6
    assert quaternions.log(either.rotations[-1]).max() < REST_TOL


@pytest.mark.parametrize('script', ['show', 'carry', 'throw', 'acrobatics'])
def test_velocity_jumps_vanish_with_the_time_step(adult_character, script):
    # twice the rate halves the largest change of velocity: no corner anywhere
    jumps = []
    for rate_hz in (120.0, 240.0):
        motion = SCRIPTS[script].motion(adult_character, rate_hz)
        places = motion.end_effectors, motion.props.positions
        points = np.concatenate([p.reshape(motion.n_frames, -1) for p in places], axis=1)
        velocity = (points - np.roll(points, 1, axis=0)) * rate_hz
        jumps.append(np.abs(velocity - np.roll(velocity, 1, axis=0)).max())
    assert jumps[1] < 0.6 * jumps[0]


def test_legs_reach_every_step(motion, plan):
    # a leg that is too short would be stretched straight and miss its footprint
    _, p_world = motion.world_segments()
    lengths = motion.skeleton.limb_lengths[2:].sum(axis=1)
    walking = slice(round(4.0 * RATE_HZ), round(plan.starts_s['jump'] * RATE_HZ))
    for limb in range(2):
        hip, _, ankle = LIMB_SEGMENTS[2 + limb]
        reach = np.linalg.norm(p_world[walking, ankle] - p_world[walking, hip], axis=1)
        assert reach.max() < 0.998 * lengths[limb]


def test_demo_environment_has_the_table_where_it_is_performed(characters_dir):
    path = characters_dir.parent / 'environments' / 'demo.yaml'
    source = load_yaml(path, 'puppet-environment/1')
    table = next(o for o in source.sections('objects') if o.text('name') == 'table')
    np.testing.assert_allclose(table.numbers('position_m', 3), performer.TABLE_CENTRE_M)
    np.testing.assert_allclose(table.numbers('size_m', 3), performer.TABLE_SIZE_M)


def test_joints_stay_within_a_persons_limits(either):
    limits_deg = {'spine': 30, 'chest': 30, 'head': 40, 'hand': 80, 'foot': 50}
    angles = np.degrees(np.linalg.norm(quaternions.log(either.rotations), axis=2)).max(axis=0)
    for name, angle in zip(SEGMENTS, angles):
        assert angle < limits_deg.get(name.partition('_')[2] or name, 180.0), name


LENGTHS = np.array([0.43, 0.40])
LEG_BONES = np.array([[0.0, 0.0, -0.43], [0.0, 0.0, -0.40]])
Y_AXIS = np.array([0.0, 1.0, 0.0])


@pytest.fixture
def ends(rng):
    hips = rng.normal(size=(50, 3))
    way = rng.normal(size=(50, 3))
    way *= rng.uniform(0.05, 0.82, (50, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return hips, hips + way, rng.normal(size=(50, 3))


def test_middle_joint_points_towards_the_pole(ends):
    hips, ankles, poles = ends
    knees = middle_joint(hips, ankles, LENGTHS, poles)
    axis = (ankles - hips) / np.linalg.norm(ankles - hips, axis=1, keepdims=True)
    aside = knees - hips - np.sum((knees - hips) * axis, axis=1, keepdims=True) * axis
    assert np.all(np.sum(aside * poles, axis=1) > 0.0)


def test_out_of_reach_is_stretched_straight():
    knee = middle_joint(np.zeros((1, 3)), np.array([[0.0, 0.0, -2.0]]), LENGTHS, np.eye(3)[:1])
    np.testing.assert_allclose(knee, [[0.0, 0.0, -0.43]], atol=1e-5)


def test_rotations_carry_the_bones_from_end_to_end(ends):
    hips, ankles, poles = ends
    upper, lower = two_bone_rotations(hips, ankles, LEG_BONES, Y_AXIS, poles)
    reached = hips + quaternions.rotate(upper, LEG_BONES[0])
    reached += quaternions.rotate(lower, LEG_BONES[1])
    np.testing.assert_allclose(reached, ankles, atol=1e-9)


def test_limb_bends_about_its_hinge_only(ends):
    hips, ankles, poles = ends
    upper, lower = two_bone_rotations(hips, ankles, LEG_BONES, Y_AXIS, poles)
    knee = quaternions.log(quaternions.multiply(quaternions.conjugate(upper), lower))
    np.testing.assert_allclose(knee[:, [0, 2]], 0.0, atol=1e-9)
    assert np.all(knee[:, 1] > 0.0)


def test_the_sample_clip_is_a_part_of_the_performance_and_sits(adult_character):
    clip = load_clip(ROOT / 'data/clips/walk.bvh', options=ClipOptions(correct=False))
    ours = performer.procedural_motion(adult_character, clip.rate_hz, sits=True)
    frames = round(5.0 * clip.rate_hz) + np.arange(clip.n_frames)
    np.testing.assert_allclose(clip.root_positions, ours.root_positions[frames], atol=1e-4)
    apart = quaternions.multiply(quaternions.conjugate(clip.rotations), ours.rotations[frames])
    np.testing.assert_allclose(quaternions.log(apart), 0.0, atol=1e-4)
    _, joints = clip.world_segments()
    hips, knees = (joints[:, LIMB_SEGMENTS[2:, i], 2].mean(axis=1) for i in (0, 1))
    seated = np.abs(hips - knees) < 0.06  # thighs about level, of a stool 10 cm below the hips
    assert seated.sum() > 2.0 * clip.rate_hz
    assert hips[seated].mean() == pytest.approx(0.52, abs=0.03)
