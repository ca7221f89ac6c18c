# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Captured clips: feet on the floor, left on the left, joints bend as bodies' do."""

import numpy as np
from puppet_core.body.posture import general_end_effectors
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.clips.load import load_clip
from puppet_core.clips.options import ClipOptions
from puppet_core.math.quaternions import log, rotate
import pytest

pytestmark = pytest.mark.mocap

# name, ASF, frames that are kept: the BVH conversions lose their artificial start
CLIPS = {
    '02_01': ('02', 343),
    '02_03': ('02', 173),
    '02_04': ('02', 483),
    '02_10': ('02', 2645),
    '03_01': ('03', 432),
    '01_14': ('01', 2338),
    'salsa_10': (None, 1190),
    'martial_04': (None, 1309),
    'indian_13': (None, 1984),
}
# Largest gap between the file's hands and our kinematics', from folded vertebrae [m].
HAND_GAP_M = 0.011
FORWARD, LEFT, _ = np.eye(3)


@pytest.fixture(scope='module', params=CLIPS)
def name(request):
    return request.param


@pytest.fixture(scope='module')
def load(mocap_dir):
    def load_named(name, **options):
        asf, _ = CLIPS[name]
        if asf is None:
            return load_clip(mocap_dir / 'cmu_bvh' / f'{name}.bvh', options=ClipOptions(**options))
        folder = mocap_dir / 'cmu_asfamc'
        return load_clip(
            folder / f'{name}.amc', folder / f'{asf}.asf', options=ClipOptions(**options)
        )

    return load_named


@pytest.fixture(scope='module')
def clip(load, name):
    return load(name)


def test_clips_have_their_frames_and_rate(clip, name):
    assert clip.n_frames == CLIPS[name][1]
    assert clip.rate_hz == 120.0


def test_the_left_is_on_the_left(clip):
    positions = clip.skeleton.rest_positions()
    for part in ('upper_arm', 'forearm', 'hand', 'thigh', 'shank', 'foot'):
        left, right = (positions[SEGMENT_INDEX[f'{side}_{part}']] for side in ('left', 'right'))
        assert left[1] > 0.05
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=0.03)
    q_world, p_world = clip.world_segments()
    across = p_world[:, SEGMENT_INDEX['left_thigh']] - p_world[:, SEGMENT_INDEX['right_thigh']]
    sideways = np.sum(across * rotate(q_world[:, 0], LEFT), axis=1)
    assert (sideways > 0.1).all()


def test_feet_are_where_the_file_has_them(clip):
    q_world, p_world = clip.world_segments()
    own = general_end_effectors(clip.skeleton, q_world, p_world)
    gaps = np.linalg.norm(own - clip.end_effectors, axis=2)
    assert gaps[:, [2, 3, 6, 7]].max() < 1e-9
    assert gaps.max() < HAND_GAP_M


def stands(clip):
    """Return which soles are low and slow, as the bench counts planted feet, shape (n, 2)."""
    soles = clip.end_effectors[:, 2:4]
    speed = np.linalg.norm(clip.end_effector_velocities()[:, 2:4], axis=2)
    return (soles[..., 2] < 0.05) & (speed < 0.25), speed


def test_soles_of_standing_feet_are_on_the_floor(clip):
    planted, _ = stands(clip)
    heights = clip.end_effectors[:, 2:4, 2][planted]
    assert planted.sum() > 15
    assert abs(np.median(heights)) < 0.025
    assert np.percentile(heights, 2) > -0.025


@pytest.mark.parametrize('name', ['02_01', '02_03', '02_04', '02_10'], scope='module')
def test_standing_feet_stand_still(load, name):
    planted, speed = stands(load(name))
    assert np.median(speed[planted]) < 0.17


def test_toes_point_forward_and_standing_feet_are_near_level(clip):
    planted, _ = stands(clip)
    q_world, _ = clip.world_segments()
    for column, foot in enumerate(('left_foot', 'right_foot')):
        rows = planted[:, column]
        if rows.sum() < 30:
            continue
        toes = rotate(q_world[rows, SEGMENT_INDEX[foot]], FORWARD)
        assert abs(np.median(np.degrees(np.arcsin(toes[:, 2])))) < 15.0
        front = rotate(q_world[rows, 0], FORWARD)
        assert np.median(np.sum(toes * front, axis=1)) > 0.5


# CMU's arms are turned by 30 degrees about themselves at rest.
@pytest.mark.parametrize(
    ('part', 'least_deg', 'most'), [('shank', 30.0, 0.99), ('forearm', 20.0, 0.8)]
)
def test_knees_bend_backward_and_elbows_forward(clip, part, least_deg, most):
    for side, sign in (('left', -1.0), ('right', 1.0)):
        rotvec = log(clip.rotations[:, SEGMENT_INDEX[f'{side}_{part}']])
        bent = rotvec[np.linalg.norm(rotvec, axis=1) > np.radians(least_deg)]
        axes = bent / np.linalg.norm(bent, axis=1, keepdims=True)
        assert len(bent) > 10 or part == 'forearm'
        assert np.median(axes[:, 1] if part == 'shank' else sign * axes[:, 2]) > most


@pytest.mark.parametrize('name', ['02_01', '02_03'], scope='module')
def test_walking_goes_forward(load, name):
    clip = load(name)
    travel = clip.root_positions[-1] - clip.root_positions[0]
    front = rotate(clip.rotations[:, 0], FORWARD).mean(axis=0)
    assert np.dot(travel, front) / (np.linalg.norm(travel) * np.linalg.norm(front)) > 0.97
