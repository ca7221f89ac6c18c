# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tears of clips: found where they are, said once, and nowhere else."""

from clip_conventions import convention_text, CONVENTIONS
from clip_samples import wave_motion
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.clips.load import describe_discontinuities, read_clip
import pytest
from scipy.spatial.transform import Rotation


@pytest.fixture
def motion(rng, adult_character):
    """Return a whole motion: the sample up to where it begins to stand, with a jump."""
    wave = wave_motion(adult_character.skeleton, rng)
    return Motion.from_rotations(
        wave.skeleton, wave.rate_hz, wave.root_positions[:50], wave.rotations[:50]
    )


def torn(motion, *frames):
    """Return the motion with the left thigh turned by 90 degrees in some frames."""
    rotations, thigh = np.array(motion.rotations), SEGMENT_INDEX['left_thigh']
    for frame in frames:
        own = Rotation.from_quat(rotations[frame, thigh][[1, 2, 3, 0]])
        turned = own * Rotation.from_euler('x', 90.0, degrees=True)
        rotations[frame, thigh] = turned.as_quat()[[3, 0, 1, 2]]
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def test_a_whole_motion_has_none(motion):
    assert describe_discontinuities(motion) is None


@pytest.mark.parametrize(
    ('frames', 'others'), [((40,), ''), ((40, 41), ''), ((10, 40, 41), ' and in another place')]
)
def test_frames_segment_and_speed_are_named(tmp_path, motion, rng, frames, others):
    broken = torn(motion, *frames)
    foot = broken.world_segments()[1][:, SEGMENT_INDEX['left_foot']]
    steps = np.linalg.norm(np.diff(foot, axis=0), axis=1) * motion.rate_hz
    at = int(np.argmax(steps))
    first, last = (40, frames[-1] + 2) if at > 30 else (10, 12)
    text = f'torn in frames {first} to {last}: left_foot at {steps[at]:.0f}'
    assert describe_discontinuities(broken).startswith(text)
    assert describe_discontinuities(broken).endswith(f'm/s, which no body reaches{others}')
    path = tmp_path / 'a.bvh'
    path.write_text(convention_text(broken, CONVENTIONS['mixamo'], rng))
    assert read_clip(path).text.count(f'; {text[:40]}') == 1
