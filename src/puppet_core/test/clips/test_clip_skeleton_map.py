# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a file's skeleton to ours: world axes, folded joints, missing ends, soles and palms."""

from clip_samples import (
    file_text,
    Habit,
    wave_motion,
)
import numpy as np
from puppet_core.body.skeleton import END_EFFECTORS
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


def test_a_limb_without_length_is_refused(clip):
    knee = clip.joint_names.index('LeftLeg')
    offsets, translations = np.array(clip.offsets), np.array(clip.translations)
    offsets[knee] = translations[:, knee] = 0.0
    flat = changed(clip, offsets=offsets, translations=translations)
    with pytest.raises(InputFileError, match='OFFSET: expected a body with .* left_shank: expect'):
        to_motion(flat)


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


@pytest.mark.parametrize(
    ('frames', 'shift', 'option', 'dropped'),
    [
        (slice(None), [0.0, 0.7, 0.0], 'shift_to_floor', False),
        (slice(1), [0.5, 0.2, 0.4], 'drop_artificial_start', True),
    ],
)
def test_floor_and_artificial_start_are_corrected_unless_switched_off(
    clip, frames, shift, option, dropped
):
    translations = np.array(clip.translations)
    translations[frames, 0] += shift
    moved = changed(clip, translations=translations)
    corrected, kept = to_motion(moved), to_motion(moved, options=ClipOptions(**{option: False}))
    np.testing.assert_allclose(corrected.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)
    assert kept.n_frames == clip.n_frames and (corrected.n_frames < clip.n_frames) == dropped
    if not dropped:
        assert kept.root_positions[0, 2] - corrected.root_positions[0, 2] > 0.6


def test_hands_and_feet_without_ends_still_have_palms_and_soles(tmp_path, motion):
    path = tmp_path / 'sample.bvh'
    habit = Habit(ends=dict.fromkeys(END_EFFECTORS, np.zeros(3)))
    path.write_text(file_text(motion, habit))
    loaded = load_clip(path)
    points = loaded.skeleton.interaction_points
    assert 0.05 < points[0, 1] < 0.1
    assert points[1, 1] == pytest.approx(-points[0, 1])
    np.testing.assert_allclose(points[2:, 0], 0.15 * motion.skeleton.limb_lengths[2, 1])
    assert (points[2:, 2] < -0.03).all()
    np.testing.assert_allclose(loaded.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)
