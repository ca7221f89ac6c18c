# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rest poses: whatever axes a file's joints have, the same segment orientations come out."""

from clip_samples import default_ends, file_text, Habit, ORDERS, pure_angles_deg, wave_motion, Y_UP
import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.clips.load import load_clip
from puppet_core.clips.rest_pose import canonical_direction, canonical_hinge
import pytest
from scipy.spatial.transform import Rotation

ANGLE_TOL_DEG = 1e-5  # the samples have nine decimals
POSITION_TOL_M = 1e-7
SEEDS = range(3)


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a motion with a habit and reads it back."""

    def write_and_load(motion, habit):
        path = tmp_path / 'sample.bvh'
        path.write_text(file_text(motion, habit))
        return load_clip(path)

    return write_and_load


def random_skeleton(rng, base):
    """Return a symmetric body of random proportions."""
    scale = np.repeat(rng.uniform(0.6, 1.5, (16, 1)), 3, axis=1)
    scale[7:10], scale[13:16] = scale[4:7], scale[10:13]
    return Skeleton(base.offsets * scale, base.interaction_points)


def assert_same(motion, loaded):
    """Compare orientations and joint positions of all segments in world."""
    q_a, p_a = motion.world_segments()
    q_b, p_b = loaded.world_segments()
    assert pure_angles_deg(q_a, q_b).max() < ANGLE_TOL_DEG
    np.testing.assert_allclose(p_a, p_b, atol=POSITION_TOL_M)
    np.testing.assert_allclose(
        motion.skeleton.offsets, loaded.skeleton.offsets, atol=POSITION_TOL_M
    )


@pytest.mark.parametrize('seed', SEEDS)
def test_channel_orders_do_not_matter(load, adult_character, seed):
    rng = np.random.default_rng(seed)
    motion = wave_motion(random_skeleton(rng, adult_character.skeleton), rng)
    habit = Habit(orders={segment: str(rng.choice(ORDERS)) for segment in SEGMENTS})
    assert_same(motion, load(motion, habit))


@pytest.mark.parametrize('seed', SEEDS)
def test_a_turned_rest_pose_does_not_matter(load, adult_character, seed):
    rng = np.random.default_rng(seed)
    motion = wave_motion(random_skeleton(rng, adult_character.skeleton), rng)
    # Away from turns that map axes on axes, which are taken for exactly those.
    turn = Rotation.from_rotvec(np.radians(40.0) * np.array([0.6, -0.64, 0.48]))
    turn = turn * Rotation.from_euler('ZYX', 90.0 * rng.integers(0, 4, 3), degrees=True)
    assert_same(motion, load(motion, Habit(axes=dict.fromkeys(SEGMENTS, turn * Y_UP))))


def a_pose_axes(arm_deg, leg_deg):
    """Return joint axes of a rest with lowered arms and spread legs."""
    axes = {}
    for segment in SEGMENTS:
        side = 1.0 if segment.startswith('left') else -1.0
        is_arm = segment.endswith(('arm', 'hand'))
        is_leg = segment.endswith(('thigh', 'shank', 'foot'))
        turn = -arm_deg * side * is_arm + leg_deg * side * is_leg
        axes[segment] = Y_UP * Rotation.from_euler('x', turn, degrees=True)
    return axes


@pytest.mark.parametrize('arm_deg', [10.0, 45.0, 59.0, 80.0, 90.0])
@pytest.mark.parametrize('leg_deg', [0.0, 20.0])
def test_lowered_arms_and_spread_legs_are_brought_to_the_t_pose(
    load, rng, adult_character, arm_deg, leg_deg
):
    motion = wave_motion(adult_character.skeleton, rng)
    assert_same(motion, load(motion, Habit(axes=a_pose_axes(arm_deg, leg_deg))))


def bone_axes(skeleton, along):
    """
    Return joint axes that follow the bones, as LAFAN1 has them.

    `along` is the file's axis along each bone; trunk and limbs alike. Another axis is the
    hinge's.

    """
    axes = {}
    ends = default_ends(skeleton)
    for segment in SEGMENTS:
        bone, hinge = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
        if segment.endswith('foot'):
            bone = ends[segment] / np.linalg.norm(ends[segment])
        elif '_' in segment:
            bone, hinge = canonical_direction(segment), canonical_hinge(segment)
        rows = np.stack([bone, np.cross(hinge, bone), hinge])
        axes[segment] = Rotation.from_matrix(np.roll(rows, along, axis=0))
    return axes


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('along', [0, 1])
def test_axes_along_the_bones_are_sorted_out_by_the_hinges(load, adult_character, seed, along):
    rng = np.random.default_rng(seed)
    motion = wave_motion(adult_character.skeleton, rng)
    assert_same(motion, load(motion, Habit(axes=bone_axes(motion.skeleton, along))))


def test_limbs_that_never_bend_still_point_the_right_way(load, adult_character):
    motion = wave_motion(adult_character.skeleton, np.random.default_rng(1))
    rotations = np.array(motion.rotations)
    rotations[:, 3:] = [1.0, 0.0, 0.0, 0.0]
    stiff = type(motion).from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, rotations
    )
    loaded = load(stiff, Habit(axes=bone_axes(motion.skeleton, 0)))
    p_loaded = loaded.world_segments()[1] - loaded.root_positions[:, None]
    p_stiff = stiff.world_segments()[1] - stiff.root_positions[:, None]
    np.testing.assert_allclose(p_loaded, p_stiff, atol=POSITION_TOL_M)
    # Left stays left: the thigh's own Y is where it was, not behind or inside.
    q_loaded, q_stiff = (m.world_segments()[0][:, 10] for m in (loaded, stiff))
    assert pure_angles_deg(q_loaded, q_stiff).max() < 1.0


def test_toes_turned_out_at_rest_are_turned_to_the_front(load, rng, adult_character):
    motion = wave_motion(adult_character.skeleton, rng)
    axes = {
        f'{side}_foot': Y_UP * Rotation.from_euler('z', turn, degrees=True)
        for side, turn in (('left', 12.0), ('right', -12.0))
    }
    assert_same(motion, load(motion, Habit(axes=axes)))


def test_a_standing_foots_slope_to_the_toes_is_kept(load, rng, adult_character):
    motion = wave_motion(adult_character.skeleton, rng)
    toes = {f'{side}_foot': np.array([0.11, 0.0, -0.08]) for side in ('left', 'right')}
    loaded = load(motion, Habit(ends=toes))
    foot = SEGMENT_INDEX['left_foot']
    angles = pure_angles_deg(motion.rotations[:, foot], loaded.rotations[:, foot])
    assert angles.max() < ANGLE_TOL_DEG


@pytest.mark.parametrize(
    'segment, moves_to',
    [
        ('left_shank', (-1, 0, 0)),
        ('right_shank', (-1, 0, 0)),
        ('left_forearm', (1, 0, 0)),
        ('right_forearm', (1, 0, 0)),
    ],
)
def test_hinges_flex_shanks_backward_and_forearms_forward(segment, moves_to):
    turn = Rotation.from_rotvec(0.5 * np.pi * canonical_hinge(segment))
    np.testing.assert_allclose(turn.apply(canonical_direction(segment)), moves_to, atol=1e-12)
