# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a file's skeleton to ours: world axes, folded joints, missing ends, soles and palms."""

from clip_samples import (
    default_ends,
    file_text,
    Habit,
    MOTIONBUILDER_NAMES,
    pure_angles_deg,
    wave_motion,
    Y_UP,
)
import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.load import load_clip, read_clip_file
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.skeleton_map import to_motion
from puppet_core.io import ConfigError, InputFileError
import pytest
from scipy.spatial.transform import Rotation

POSITION_TOL_M = 1e-7
ANGLE_TOL_DEG = 1e-5


@pytest.fixture
def motion(rng, adult_character):
    """Return a motion that ends in a squat on the floor."""
    return wave_motion(adult_character.skeleton, rng)


@pytest.fixture
def clip(tmp_path, motion):
    """Return the motion as another program's file holds it."""
    path = tmp_path / 'sample.bvh'
    path.write_text(file_text(motion, Habit()))
    return read_clip_file(path)


def changed(clip, **fields):
    """Return the clip with some fields replaced."""
    names = ('path', 'rate_hz', 'joint_names', 'parents', 'offsets', 'rotations', 'translations')
    return ClipFile(**({name: getattr(clip, name) for name in names} | fields))


def test_end_effectors_are_those_of_the_motion(clip, motion):
    loaded = to_motion(clip)
    np.testing.assert_allclose(
        loaded.end_effectors[:, 2:], motion.end_effectors[:, 2:], atol=POSITION_TOL_M
    )
    # The palm's height in the hand is not in the file; its place along the hand is.
    palms = loaded.skeleton.interaction_points[:2, 1]
    np.testing.assert_allclose(palms, motion.skeleton.interaction_points[:2, 1])


def test_a_moving_joint_between_chest_and_arm_is_folded_at_rest(clip, motion):
    # A clavicle whose rotation is zero changes nothing; a moving one only moves end-effectors.
    chest, arm = (clip.joint_names.index(name) for name in ('Spine2', 'LeftArm'))
    count = len(clip.joint_names)
    order = [*range(arm), count, *range(arm, count)]
    new_index = {old: new for new, old in enumerate(order)}
    parents = [new_index.get(clip.parents[k] if k < count else chest, -1) for k in order]
    parents[order.index(arm)] = order.index(count)
    offsets = np.vstack([clip.offsets, [[0.02, 0.1, 0.0]]])
    offsets[arm] -= offsets[count]
    turn = Rotation.from_rotvec(np.linspace(0.0, 0.3, clip.n_frames)[:, None] * [0.0, 0.0, 1.0])
    turns = turn.as_quat()[:, None, [3, 0, 1, 2]]
    rotations = np.concatenate([clip.rotations, turns], axis=1)
    translations = np.tile(offsets, (clip.n_frames, 1, 1))
    translations[:, 0] = clip.translations[:, 0]
    folded = to_motion(
        changed(
            clip,
            joint_names=tuple((*clip.joint_names, 'LeftShoulder')[k] for k in order),
            parents=parents,
            offsets=offsets[order],
            rotations=rotations[:, order],
            translations=translations[:, order],
        )
    )
    np.testing.assert_allclose(
        folded.skeleton.offsets, motion.skeleton.offsets, atol=POSITION_TOL_M
    )
    own = folded.from_rotations(
        folded.skeleton, folded.rate_hz, folded.root_positions, folded.rotations
    )
    gaps = np.linalg.norm(own.end_effectors - folded.end_effectors, axis=2)
    assert gaps[0].max() < POSITION_TOL_M
    assert 0.02 < gaps[-1, 0] < 0.07
    assert gaps[:, 1:4].max() < POSITION_TOL_M


def without_joints(clip, names):
    """Return the clip less these joints and all below them."""
    gone = set()
    for k, name in enumerate(clip.joint_names):
        if name in names or int(clip.parents[k]) in gone:
            gone.add(k)
    kept = [k for k in range(len(clip.joint_names)) if k not in gone]
    return changed(
        clip,
        joint_names=tuple(clip.joint_names[k] for k in kept),
        parents=[kept.index(p) if p >= 0 else -1 for p in clip.parents[kept]],
        offsets=clip.offsets[kept],
        rotations=clip.rotations[:, kept],
        translations=clip.translations[:, kept],
    )


def as_tips(clip, names):
    """Return the clip with these joints made ends of their parents, nothing below them."""
    below = {f'{name} (end)' for name in names}
    clip = without_joints(clip, below)
    renamed = list(clip.joint_names)
    for name in names:
        k = renamed.index(name)
        renamed[k] = f'{renamed[clip.parents[k]]} (end)'
    return changed(clip, joint_names=tuple(renamed))


def test_hands_and_feet_without_children_still_have_palms_and_soles(clip, motion):
    ends = {f'{name} (end)' for name in ('LeftHand', 'RightHand', 'LeftFoot', 'RightFoot')}
    loaded = to_motion(without_joints(clip, ends))
    points = loaded.skeleton.interaction_points
    assert 0.05 < points[0, 1] < 0.1
    assert points[1, 1] == pytest.approx(-points[0, 1])
    np.testing.assert_allclose(points[2:, 0], 0.15 * motion.skeleton.limb_lengths[2, 1])
    assert (points[2:, 2] < -0.03).all()
    np.testing.assert_allclose(loaded.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)


def test_a_file_that_ends_at_wrists_and_ankles_is_mapped(clip, motion):
    hands_and_feet = [
        MOTIONBUILDER_NAMES[f'{side}_{end}']
        for side in ('left', 'right')
        for end in ('hand', 'foot')
    ]
    loaded = to_motion(as_tips(clip, [*hands_and_feet, 'Head']))
    p_loaded, p_world = loaded.world_segments()[1], motion.world_segments()[1]
    relative = (p_loaded - p_loaded[:, :1]) - (p_world - p_world[:, :1])
    np.testing.assert_allclose(relative, 0.0, atol=POSITION_TOL_M)
    # Hands go with the forearms.
    np.testing.assert_allclose(np.abs(loaded.rotations[:, [6, 9], 0]), 1.0, atol=1e-12)


def test_bent_vertebrae_are_made_up_for_by_the_spine(clip, motion):
    spine, chest = (clip.joint_names.index(name) for name in ('Spine', 'Spine2'))
    # The file's chest joint is moved off the rigid spine, as vertebrae in between would.
    translations = np.array(clip.translations)
    bend = Rotation.from_rotvec([0.0, 0.0, 0.4])
    translations[:, chest] = bend.apply(translations[:, chest])
    bent = changed(clip, translations=translations)
    loaded = to_motion(bent)
    p_file = bent.world()[1][:, chest] - bent.world()[1][:, spine]
    p_ours = loaded.world_segments()[1]
    np.testing.assert_allclose(
        np.linalg.norm(p_file, axis=1), np.linalg.norm(p_ours[:, 2] - p_ours[:, 1], axis=1)
    )
    relative = loaded.end_effectors - loaded.root_positions[:, None]
    own = loaded.from_rotations(
        loaded.skeleton, loaded.rate_hz, loaded.root_positions, loaded.rotations
    )
    np.testing.assert_allclose(
        own.end_effectors - loaded.root_positions[:, None], relative, atol=POSITION_TOL_M
    )


def test_a_floor_elsewhere_is_moved_to_zero_unless_switched_off(clip):
    translations = np.array(clip.translations)
    translations[:, 0, 1] += 0.7
    raised = changed(clip, translations=translations)
    shifted, kept = to_motion(raised), to_motion(raised, options=ClipOptions(shift_to_floor=False))
    np.testing.assert_allclose(shifted.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)
    heights = kept.root_positions[:, 2] - shifted.root_positions[:, 2]
    assert np.ptp(heights) < 1e-12
    assert heights[0] > 0.6


def test_an_artificial_first_frame_is_dropped_unless_switched_off(clip):
    translations = np.array(clip.translations)
    translations[0, 0] += [0.5, 0.2, 0.4]
    with_start = changed(clip, translations=translations)
    assert to_motion(with_start).n_frames < clip.n_frames
    options = ClipOptions(drop_artificial_start=False)
    assert to_motion(with_start, options=options).n_frames == clip.n_frames


def test_a_limb_without_length_is_refused(clip):
    knee = clip.joint_names.index('LeftLeg')
    offsets, translations = np.array(clip.offsets), np.array(clip.translations)
    offsets[knee] = translations[:, knee] = 0.0
    flat = changed(clip, offsets=offsets, translations=translations)
    with pytest.raises(InputFileError, match='OFFSET: expected a body with .* left_shank: expect'):
        to_motion(flat)


def test_one_frame_is_a_motion(clip):
    assert to_motion(clip.without_first(clip.n_frames - 1)).n_frames == 1


@pytest.mark.parametrize(
    'fields, text',
    [
        ({'up_axis': 'w'}, "up_axis: expected one of auto, x, y, z, -x, -y, -z, got 'w'"),
        ({'unit_m': 0.0}, 'unit_m: expected 1e-06 .. 1000, got 0.0'),
        ({'unit_m': float('nan')}, 'unit_m: expected .* got nan'),
        ({'rate_hz': -1.0}, 'rate_hz: expected 0.1 .. 10000, got -1.0'),
    ],
)
def test_impossible_options_are_refused(fields, text):
    with pytest.raises(ConfigError, match=text):
        ClipOptions(**fields)


def test_a_leaning_file_is_standing_upright_in_ours(tmp_path, motion):
    # The whole body of the file leans by four degrees at rest: its own axes are believed.
    lean = Rotation.from_euler('y', 4.0, degrees=True)
    ends = default_ends(motion.skeleton)
    habit = Habit(axes={'pelvis': Y_UP * lean}, ends=ends)
    path = tmp_path / 'lean.bvh'
    path.write_text(file_text(motion, habit))
    loaded = load_clip(path)
    angles = pure_angles_deg(loaded.world_segments()[0][:, 0], motion.world_segments()[0][:, 0])
    np.testing.assert_allclose(angles, 4.0, atol=1e-4)
