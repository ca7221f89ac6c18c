# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whole skeletons of common programs, in any unit and axes: the same motion comes out."""

import itertools

from clip_conventions import convention_text, CONVENTIONS, Style
from clip_samples import assert_same_motion, wave_motion, WORLDS
import numpy as np
from puppet_core.body.skeleton import Skeleton
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip, read_clip
from puppet_core.clips.options import ClipOptions
import pytest
from scipy.spatial.transform import Rotation

POSITION_TOL_M = 1e-6
UNITS = {
    'centimetres': 0.01,
    'metres': 1.0,
    'inches': 0.0254,
    'millimetres': 0.001,
    "CMU's unit, 1/0.45 inch": 0.0254 / 0.45,
}


@pytest.fixture
def motion(rng, adult_character):
    """Return a motion that ends in a squat on the floor."""
    return wave_motion(adult_character.skeleton, rng)


@pytest.fixture
def write(tmp_path, motion, rng):
    """Return a function that writes the motion as a convention's file."""
    path = tmp_path / 'sample.bvh'

    def write_file(name='mixamo', style=Style(), change=lambda text: text):
        text = convention_text(motion, CONVENTIONS[name], rng, style)
        path.write_bytes(change(text).encode())
        return path

    return write_file


@pytest.mark.parametrize('name', CONVENTIONS)
def test_each_convention_gives_the_motion(write, motion, tmp_path, name):
    loaded = load_clip(write(name))
    assert_same_motion(motion, loaded)
    write_bvh(loaded, tmp_path / 'ours.bvh')
    assert_same_motion(loaded, load_clip(tmp_path / 'ours.bvh'))


@pytest.mark.parametrize('name', ['mixamo', 'biped', 'daz genesis 8'])
def test_six_degrees_of_freedom_and_orders_by_joint_do_not_matter(write, motion, rng, name):
    assert_same_motion(motion, load_clip(write(name, Style(six_dof=True, rng=rng))))


def _without_offsets(text):
    head, rest = text.split('MOTION')
    rows = [
        '  OFFSET 0 0 0' if 'OFFSET' in row and 'End' not in row else row
        for row in head.split('\n')
    ]
    return '\n'.join(rows) + 'MOTION' + rest


def test_offsets_that_are_in_the_channels_alone_are_found(write, motion):
    assert_same_motion(motion, load_clip(write('humanik', Style(six_dof=True), _without_offsets)))


@pytest.mark.parametrize(
    ('unit', 'world'),
    [*itertools.product(UNITS, 'yz'), *(('centimetres', world) for world in WORLDS)],
)
def test_unit_and_up_axis_are_found_and_said(write, motion, unit, world):
    style = Style(UNITS[unit], WORLDS[world])
    read = read_clip(write('mixamo', style))
    assert_same_motion(motion, read.motion)
    assert (read.unit.value, read.up_axis.value) == (unit, world)
    assert f'unit {unit} (stature about 1.7' in read.text
    assert f'; up {world} (head over feet along {world} in ' in read.text
    assert 'check' not in read.text


@pytest.mark.parametrize('factor', [0.6, 1.0, 1.4])
def test_children_and_giants_are_no_other_unit(tmp_path, rng, adult_character, factor):
    body = adult_character.skeleton
    body = Skeleton(factor * body.offsets, factor * body.interaction_points)
    motion = wave_motion(body, rng)
    (tmp_path / 'a.bvh').write_text(convention_text(motion, CONVENTIONS['mixamo'], rng))
    assert read_clip(tmp_path / 'a.bvh').unit.value == 'centimetres'


def test_what_is_given_is_not_looked_for(write):
    path = write('mixamo', Style(0.001))
    read = read_clip(path, options=ClipOptions(unit_m=0.01, up_axis='z'))
    assert '; unit 0.01 m (as given); up z (as given)' in read.text
    assert read.motion.skeleton.leg_length > 5.0


def test_an_unlikely_size_stays_and_is_said(write):
    read = read_clip(write('mixamo', Style(1e-5)))
    assert 'unit centimetres (no usual unit gives a human size; stature about' in read.text
    assert 'check with --unit' in read.text


def turned(motion, share, turn):
    """Return the motion with its root turned in the first `share` of the frames."""
    rotations = np.array(motion.rotations)
    few = slice(0, int(share * motion.n_frames))
    root = turn * Rotation.from_quat(rotations[few, 0][:, [1, 2, 3, 0]])
    rotations[few, 0] = root.as_quat()[:, [3, 0, 1, 2]]
    return type(motion).from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, rotations
    )


@pytest.mark.parametrize(
    ('share', 'turn', 'axis'),
    [
        (0.7, [np.pi, 0.0, 0.0], 'y'),
        (1.0, [np.pi, 0.0, 0.0], '-y'),
        (1.0, [0.5 * np.pi, 0.0, 0.0], 'y'),
    ],
    ids=['handstand', 'turned file', 'lying'],
)
def test_who_is_not_upright_is_to_be_checked(tmp_path, rng, adult_character, share, turn, axis):
    motion = turned(wave_motion(adult_character.skeleton, rng), share, Rotation.from_rotvec(turn))
    (tmp_path / 'a.bvh').write_text(convention_text(motion, CONVENTIONS['mixamo'], rng))
    found = read_clip(tmp_path / 'a.bvh').up_axis
    assert (found.value, found.is_sure) == (axis, False)
    assert 'the rest pose stands along' in found.why
