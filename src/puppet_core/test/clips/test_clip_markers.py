# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Marker sets: joint centres, gaps, and what a wrong file is told; no C3D needed."""

from clip_samples import pure_angles_deg
from marker_samples import marker_motion, plug_in_gait, trajectories
import numpy as np
from puppet_core import named_files
from puppet_core.clips import markers
from puppet_core.clips.name_map import match_joints
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.skeleton_map import Q_WORLD_Z_UP, to_motion
from puppet_core.io import InputFileError
import pytest

POSITION_TOL_M = 1e-9


@pytest.fixture
def motion(rng):
    return marker_motion(rng)


def data_of(motion, worn, widths=None):
    points = trajectories(motion, worn)
    return markers.MarkerData('a.c3d', motion.rate_hz, tuple(worn), points, widths or {})


def motion_of(data, marker_set):
    points = markers.body_points(data, marker_set)
    clip, names, note = markers.to_clip_file(data, marker_set, points, Q_WORLD_Z_UP)
    return to_motion(clip, match_joints(clip, names), ClipOptions(up_axis='z')), note


def test_plug_in_gait_is_exact_without_noise(motion):
    loaded, note = motion_of(
        data_of(motion, plug_in_gait()), markers.load_marker_set('plug_in_gait')
    )
    assert note == ''
    gaps = loaded.world_segments()[1] - motion.world_segments()[1]
    assert np.abs(gaps).max() < POSITION_TOL_M
    shown = [k for k in range(16) if k != 1]
    q_loaded, q_world = (m.world_segments()[0][:, shown] for m in (loaded, motion))
    assert pure_angles_deg(q_loaded, q_world).max() < 1e-5


def test_noise_moves_lengths_less_than_itself(motion, rng):
    data = data_of(motion, plug_in_gait())
    noisy = data.positions + rng.normal(0.0, 1e-3, data.positions.shape)
    noisy[rng.random(noisy.shape[:2]) < 0.01] += 0.3  # one in a hundred is elsewhere
    loaded, _ = motion_of(
        markers.MarkerData(data.path, data.rate_hz, data.labels, noisy, {}),
        markers.load_marker_set('plug_in_gait'),
    )
    np.testing.assert_allclose(
        loaded.skeleton.limb_lengths, motion.skeleton.limb_lengths, atol=2e-3
    )


def test_the_clips_own_widths_count(motion):
    marker_set = markers.load_marker_set('plug_in_gait')
    narrow = markers.body_points(data_of(motion, plug_in_gait(), {'lkneewidth': 0.08}), marker_set)
    gap = np.linalg.norm(narrow['leftknee'] - narrow['lkne'], axis=1)
    np.testing.assert_allclose(gap, 0.047)  # half of it and the marker's radius


def test_gaps_of_a_cubic_are_bridged_closely_up_to_the_limit():
    t = np.arange(60.0)
    curve = np.stack([t, 0.01 * t**2, 1e-4 * t**3], axis=1)[:, None]
    holes = curve.copy()
    holes[10:15] = holes[30:41] = holes[:2] = np.nan
    filled = markers.fill_gaps(holes, 5)
    np.testing.assert_allclose(filled[10:15], curve[10:15], atol=0.05)
    assert np.isnan(filled[30:41]).all()
    assert np.isnan(filled[:2]).all()
    np.testing.assert_array_equal(filled[15:30], curve[15:30])


def test_a_chord_sees_both_ends_at_a_right_angle(rng):
    centre, marker, plane = rng.normal(size=(3, 50, 3))
    joint = markers.chord(centre, marker, plane, 0.05)
    arm = joint - marker
    np.testing.assert_allclose(np.linalg.norm(arm, axis=1), 0.05)
    np.testing.assert_allclose(np.sum(arm * (joint - centre), axis=1), 0.0, atol=1e-12)
    normal = np.cross(centre - marker, plane - marker)
    np.testing.assert_allclose(np.sum(arm * normal, axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize('flexion', [0.0, 1e-6, 0.01, 0.5, 2.0])
@pytest.mark.parametrize('is_left', [True, False])
def test_an_elbow_is_found_however_far_it_is_bent(flexion, is_left):
    """The arm hangs along -Z, bends forward; the marker is on the outside."""
    side = 1.0 if is_left else -1.0
    marker = np.array([[0.0, 0.045 * side, 0.0]])
    upper = np.array([[0.0, 0.0, 0.3]])
    lower = 0.26 * np.array([[np.sin(flexion), 0.0, -np.cos(flexion)]])
    centre = markers.hinge_centre(upper, marker, lower, 0.045, is_left)
    # A straight arm is a double root, good to the root of the rounding.
    np.testing.assert_allclose(centre, 0.0, atol=1e-8)


def test_all_sets_are_read_and_name_what_they_use():
    assert named_files.available('markersets') == ('helen_hayes', 'plug_in_gait')
    assert set(plug_in_gait()) - markers.load_marker_set('plug_in_gait').names() == {
        'LUPA',
        'RUPA',
        'LFRM',
        'RFRM',
    }


@pytest.mark.parametrize(
    'old, new, text',
    [
        ('kind: step', 'kind: stride', r'points\..*kind: expected one of mean, between, step'),
        ('distance_m: 0.05}', 'distance_m: x}', 'distance_m: expected a'),
        ('of: [LASI, RASI]', 'of: 3', 'of: expected the name of a point or marker, or a list'),
        ('left: [RASI, LASI], front', 'left: [RASI], front', 'left: expected two points, from'),
        ('up: [chest, neck], front', 'up: [chest, neck], back', 'back: expected a known key'),
        ('  head: {origin: neck', '  face: {origin: neck', 'head: expected this key'),
        ('ends: {head: head_middle, ', 'ends: {', 'ends.head: expected this key'),
        ('puppet-markers/1', 'puppet-markers/2', 'format'),
    ],
)
def test_wrong_sets_name_line_and_key(tmp_path, old, new, text):
    whole = named_files.marker_set_file('plug_in_gait').read_text()
    assert old in whole
    path = tmp_path / 'own.yaml'
    path.write_text(whole.replace(old, new, 1))
    with pytest.raises(InputFileError, match=text) as caught:
        markers.load_marker_set(path)
    assert f'{path}:' in str(caught.value)
