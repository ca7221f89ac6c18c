# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a clip's file holds fits together, whoever made it: compiled code goes by it."""

import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.io import ConfigError
import pytest

FIELDS = {
    'path': 'made.bvh',
    'rate_hz': 100.0,
    'joint_names': ('hips', 'spine', 'spine (end)'),
    'parents': [-1, 0, 1],
    'offsets': np.zeros((3, 3)),
    'rotations': np.tile([1.0, 0.0, 0.0, 0.0], (5, 3, 1)),
    'translations': np.zeros((5, 3, 3)),
}


def test_what_fits_is_taken_and_kept_from_writing():
    clip = ClipFile(**FIELDS)
    assert clip.n_frames == 5
    assert not any(
        getattr(clip, name).flags.writeable
        for name in ('parents', 'offsets', 'rotations', 'translations')
    )


@pytest.mark.parametrize(
    'changed',
    [
        {'parents': [-1, 0]},
        {'parents': [-1, 0, 3]},
        {'parents': [-1, 2, 0]},
        {'parents': [-1, 1, 0]},
        {'parents': [-2, 0, 1]},
        {'joint_names': ('hips', 'spine')},
        {'offsets': np.zeros((2, 3))},
        {'rotations': np.zeros((5, 2, 4))},
        {'rotations': np.zeros((5, 3, 3))},
        {'translations': np.zeros((4, 3, 3))},
        {'translations': np.zeros((5, 9))},
    ],
)
def test_what_does_not_fit_is_refused(changed):
    with pytest.raises(ConfigError, match='expected'):
        ClipFile(**(FIELDS | changed))


def test_part_of_a_clip_has_all_of_its_joints():
    clip = ClipFile(**FIELDS)
    assert clip.without_first(2).n_frames == 3
    assert clip.thinned(2).n_frames == 2 and clip.thinned(2).rate_hz == pytest.approx(100.0 / 3)
