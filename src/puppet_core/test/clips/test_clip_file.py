# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a clip's file holds fits together; Euler angles against scipy and transforms3d."""

from itertools import permutations

from clip_samples import pure_angles_deg
import numpy as np
from puppet_core.clips.clip_file import ClipFile, euler_to_quats, quats_to_continuous_euler
from puppet_core.io import ConfigError
import pytest
from transforms3d.euler import euler2quat

FIELDS = {
    'path': 'made.bvh',
    'rate_hz': 100.0,
    'joint_names': ('hips', 'spine', 'spine (end)'),
    'parents': [-1, 0, 1],
    'offsets': np.zeros((3, 3)),
    'rotations': np.tile([1.0, 0.0, 0.0, 0.0], (5, 3, 1)),
    'translations': np.zeros((5, 3, 3)),
}


def test_arrays_of_a_clip_are_read_only():
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
def test_inconsistent_clip_is_refused(changed):
    with pytest.raises(ConfigError, match='expected'):
        ClipFile(**(FIELDS | changed))


def test_part_of_a_clip_has_all_of_its_joints():
    clip = ClipFile(**FIELDS)
    assert clip.without_first(2).n_frames == 3
    assert clip.thinned(2).n_frames == 2 and clip.thinned(2).rate_hz == pytest.approx(100.0 / 3)


ORDERS = list(permutations(range(3)))
LETTERS = 'xyz'
ANGLE_TOL_RAD = 1e-12


def _word(axes):
    return ''.join(LETTERS[axis] for axis in axes)


@pytest.mark.parametrize('axes', ORDERS, ids=_word)
def test_three_angles_are_transforms3ds_rotating_axes(rng, axes):
    angles = rng.uniform(-7.0, 7.0, (20, 3))
    quats = euler_to_quats(axes, angles)
    expected = [euler2quat(*row, axes=f'r{_word(axes)}') for row in angles]
    assert pure_angles_deg(quats, expected).max() < np.degrees(ANGLE_TOL_RAD)


@pytest.mark.parametrize('axes', ORDERS, ids=_word)
@pytest.mark.parametrize('distance', [0.0, 1e-12, 1e-9, 1e-7, 1e-4])
def test_angles_reproduce_the_rotation_at_gimbal_lock(axes, distance):
    angles = np.array([[0.3, 0.5 * np.pi - distance, -0.8], [0.4, distance - 0.5 * np.pi, 1.0]])
    quats = euler_to_quats(axes, angles)[:, None]
    again = euler_to_quats(axes, quats_to_continuous_euler(quats, axes))
    assert pure_angles_deg(quats, again).max() < 1e-5


@pytest.mark.parametrize('axes', ORDERS, ids=_word)
def test_smooth_angles_come_back_as_they_were(axes):
    t = np.linspace(0.0, 1.0, 300)
    # The outer angles turn several times; the middle one passes a quarter turn and comes back.
    smooth = np.stack([9.0 * t, 2.2 * np.sin(3.0 * t), -7.0 * t], axis=1)[:, None]
    again = quats_to_continuous_euler(euler_to_quats(axes, smooth), axes)
    np.testing.assert_allclose(again, smooth, atol=1e-9)


def test_the_first_angle_is_held_while_the_middle_one_locks():
    middle = np.array([1.4, 0.5 * np.pi, 1.4])
    angles = np.stack([np.full(3, 0.7), middle, np.full(3, -0.2)], axis=1)[:, None]
    again = quats_to_continuous_euler(euler_to_quats((0, 1, 2), angles), (0, 1, 2))
    np.testing.assert_allclose(again, angles, atol=1e-7)
