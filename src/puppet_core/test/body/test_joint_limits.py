# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits in character files: read, mirrored, saved, refused; and their axes."""

from dataclasses import replace

import numpy as np
from puppet_core.body.character import load_character, save_character
from puppet_core.body.joint_limits import segment_axis, swing_axes
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation

LIMITS = """joint_limits:
  head: {swing_deg: [40, 55.5], twist_deg: [-75, 75]}
  left_forearm:
    swing_deg: [5, 78]
    swing_centre_rpy_deg: [3, 10, -73]
    twist_deg: [-90, 70]
"""
RIGHT = '  right_forearm: {swing_deg: [6, 60], twist_deg: [-10, 20]}\n'


@pytest.fixture
def read(adult_character, tmp_path):
    path = tmp_path / 'body.yaml'
    save_character(replace(adult_character, joint_limits=()), path)
    body = path.read_text()

    def run(text):
        # first after the format, so that lines are those of the text, one on
        path.write_text(body.replace('\n', '\n' + text, 1))
        return load_character(path)

    return run


def by_name(character):
    return {SEGMENTS[limit.segment]: limit for limit in character.joint_limits}


def test_limits_are_read_in_radians(read):
    limit = by_name(read(LIMITS))['left_forearm']
    np.testing.assert_array_equal(limit.swing, np.radians([5.0, 78.0]))
    np.testing.assert_array_equal(limit.twist, np.radians([-90.0, 70.0]))
    centre = Rotation.from_euler('xyz', [3.0, 10.0, -73.0], degrees=True)
    np.testing.assert_allclose(
        Rotation.from_quat(limit.centre, scalar_first=True).as_matrix(),
        centre.as_matrix(),
        atol=1e-12,
    )


def test_right_side_mirrors_the_left_unless_it_is_given(read):
    mirrored = by_name(read(LIMITS))
    assert sorted(mirrored) == ['head', 'left_forearm', 'right_forearm']
    left, right = mirrored['left_forearm'], mirrored['right_forearm']
    np.testing.assert_array_equal(right.swing, left.swing)
    np.testing.assert_array_equal(right.twist, np.radians([-70.0, 90.0]))
    np.testing.assert_allclose(right.centre, left.centre * [1.0, -1.0, 1.0, -1.0], atol=1e-15)
    own = by_name(read(LIMITS + RIGHT))['right_forearm']
    np.testing.assert_array_equal(own.swing, np.radians([6.0, 60.0]))
    np.testing.assert_array_equal(own.centre, [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize('text', [LIMITS, LIMITS + RIGHT, ''], ids=['left', 'both', 'none'])
def test_saving_and_loading_is_the_identity(read, text, tmp_path):
    character = read(text)
    save_character(character, tmp_path / 'copy.yaml')
    copy = load_character(tmp_path / 'copy.yaml')
    assert len(copy.joint_limits) == len(character.joint_limits)
    for one, other in zip(copy.joint_limits, character.joint_limits):
        assert one.segment == other.segment
        for field in ('swing', 'twist', 'centre_rpy'):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


BAD = [
    ('swing_deg: [40, 55.5]', 'swing_deg: [0, 55]', 3, 'expected two half angles in 1 .. 150'),
    ('swing_deg: [40, 55.5]', 'swing_deg: [40, 151]', 3, 'expected two half angles in 1 .. 150'),
    ('swing_deg: [40, 55.5]', 'swing_deg: 40', 3, 'head.swing_deg: expected 2 finite numbers'),
    ('swing_deg: [40, 55.5], ', '', 3, 'joint_limits.head.swing_deg: expected this key'),
    (', twist_deg: [-75, 75]', '', 3, 'joint_limits.head.twist_deg: expected this key'),
    ('[-90, 70]', '[70, -90]', 7, 'left_forearm.twist_deg: expected the least and the greatest'),
    ('[-90, 70]', '[-180, 180]', 7, 'the greatest angle, 2 .. 300 apart, got [-180.0, 180.0]'),
    ('[-90, 70]', '[-1e9, -999999900]', 7, 'twist_deg: expected angles in -360 .. 360'),
    ('[3, 10, -73]', '[3, 10]', 6, 'swing_centre_rpy_deg: expected 3 finite numbers'),
    ('[3, 10, -73]', '[3, 10, 400]', 6, 'swing_centre_rpy_deg: expected angles in -360 .. 360'),
    ('  head:', '  pelvis:', 3, 'joint_limits.pelvis: expected a known key'),
    ('  head:', '  haed:', 3, 'joint_limits.haed: expected a known key'),
    ('twist_deg: [-75, 75]', 'twist_deg: [-75, 75], stiff: 1', 3, 'head.stiff: expected a known'),
    ('{swing_deg: [40, 55.5], twist_deg: [-75, 75]}', 'stiff', 3, 'head: expected named keys'),
]


@pytest.mark.parametrize('old, new, line, words', BAD, ids=[row[3][:44] for row in BAD])
def test_bad_limits_are_reported_with_file_line_and_key(read, old, new, line, words):
    assert old in LIMITS
    with pytest.raises(InputFileError) as caught:
        read(LIMITS.replace(old, new, 1))
    assert f'body.yaml:{line}: ' in str(caught.value)
    assert words in str(caught.value)


def test_axes_point_along_the_segments(adult_character):
    skeleton = adult_character.skeleton
    expected = {
        (0, 0, 1): ('spine', 'chest', 'head'),
        (0, 1, 0): ('left_upper_arm', 'left_hand'),
        (0, -1, 0): ('right_forearm', 'right_hand'),
        (0, 0, -1): ('left_thigh', 'right_shank'),
        (1, 0, 0): ('left_foot',),
    }
    for axis, names in expected.items():
        for name in names:
            np.testing.assert_array_equal(segment_axis(skeleton, SEGMENT_INDEX[name]), axis)


def test_swing_axes_complete_the_segments_own(rng):
    axes = np.abs(swing_axes(np.array([0.0, 0.0, -1.0])))
    np.testing.assert_array_equal(axes, np.eye(3)[:2])
    for axis in rng.normal(size=(50, 3)):
        own = axis / np.linalg.norm(axis)
        frame = np.array([*swing_axes(own), own])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) == pytest.approx(1.0)
