# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Clip text and CSV of things: what is a number, what is text, and which errors say so."""

from dataclasses import replace

from clip_samples import file_text, FileJoint, Habit, rotation, wave_motion, Y_UP
import numpy as np
from puppet_core.body import Motion, Props, SEGMENT_INDEX
from puppet_core.clips import ClipOptions, load_clip, props_of_joints, props_text, read_props
from puppet_core.clips.reading import (
    first_bad_word,
    parse_float,
    parse_floats,
    parse_int,
    read_text,
)
from puppet_core.io import InputFileError
from puppet_core.math import quaternions
from puppet_core.procedural import carry_motion
import pytest
from scipy.spatial.transform import Rotation


@pytest.mark.parametrize('word', ['1', '-2.5', '+.5', '3.', '1e-5', '7.62852e-016', '-0'])
def test_numbers_of_clip_writers_are_read(word):
    assert parse_float(word) == float(word)


@pytest.mark.parametrize(
    'word', ['', 'nan', 'NaN', '-inf', '1e999', '1_000', '1,5', '0x10', '1.2.3', 'abc', '--1']
)
def test_only_finite_numbers_are_parsed(word):
    assert parse_float(word) is None
    assert parse_floats(['1.0', word]) is None
    assert first_bad_word(['1.0', word, 'x']) == 1


@pytest.mark.parametrize('word', ['1.0', '1e3', '', '-', '٣', '9' * 5000, 'x'])
def test_only_plain_integers_are_parsed(word):
    assert parse_int(word) is None
    assert parse_int('-12') == -12 and parse_int('+7') == 7


def test_line_ends_and_byte_order_mark_vanish(tmp_path):
    path = tmp_path / 'a.bvh'
    path.write_bytes(b'\xef\xbb\xbfone\r\ntwo\rthree\n\x1a')
    assert read_text(path, 'BVH') == 'one\ntwo\nthree\n '


def test_names_in_an_old_code_page_do_not_stop_the_reader(tmp_path):
    path = tmp_path / 'a.bvh'
    path.write_bytes('JOINT Hüfte'.encode('latin-1'))
    assert read_text(path, 'BVH').startswith('JOINT H')


@pytest.mark.parametrize(
    'data, text',
    [
        (b'', 'expected a BVH file, got an empty file'),
        (b' \r\n\t ', 'got an empty file'),
        (b'HIERARCHY\0', 'expected a BVH text file, got binary data'),
        (b'\x7fELF\x02\x01', 'got binary data'),
        ('HIERARCHY'.encode('utf-16'), 'got binary data'),
    ],
)
def test_file_that_is_not_text_is_refused(tmp_path, data, text):
    path = tmp_path / 'a.bvh'
    path.write_bytes(data)
    with pytest.raises(InputFileError, match=text):
        read_text(path, 'BVH')


@pytest.mark.parametrize('name', ['no.bvh', '.'], ids=['missing', 'a folder'])
def test_what_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(InputFileError, match='expected a readable BVH file'):
        read_text(tmp_path / name, 'BVH')


HEAD = 'time_s,name,x,y,z,qx,qy,qz,qw\n'


@pytest.fixture(scope='module')
def motion(adult_character):
    return carry_motion(adult_character, 30.0)


def test_what_is_written_is_read(motion, tmp_path):
    path = tmp_path / 'things.csv'
    path.write_text(props_text(motion))
    read = read_props(path, motion)
    assert read.names == motion.props.names
    np.testing.assert_allclose(read.positions, motion.props.positions, atol=1e-8)
    apart = quaternions.multiply(quaternions.conjugate(read.orientations), motion.props[2])
    np.testing.assert_allclose(quaternions.log(apart), 0.0, atol=1e-8)


def test_between_rows_it_goes_straight_and_outside_it_is_not_known(motion, tmp_path):
    path = tmp_path / 'things.csv'
    # a quarter turn, the second row with the other sign
    path.write_text(f'{HEAD}0.1,box,0,0,0,0,0,0,1\n\n0.3,box,1,2,4,0,0,-0.70710678,-0.70710678\n')
    few = motion.skeleton, 20.0, motion.root_positions[:9], motion.rotations[:9]
    read = read_props(path, Motion.from_rotations(*few))
    known = [False, False, True, True, True, True, True, False, False]
    for values in read[1:]:
        np.testing.assert_array_equal(np.isfinite(values).all(axis=(1, 2)), known)
    np.testing.assert_allclose(read.positions[4, 0], [0.5, 1.0, 2.0])
    turn = quaternions.log(read.orientations[4, 0])
    np.testing.assert_allclose(turn, [0.0, 0.0, 0.25 * np.pi], atol=1e-6)


def test_a_joint_of_a_clip_is_a_prop_as_a_file_of_its_poses_is(adult_character, rng, tmp_path):
    """A sword in the hand, turned in it; poses in world by scipy. Also at another rate."""
    body, hand = wave_motion(adult_character.skeleton, rng), SEGMENT_INDEX['left_hand']
    turns = Rotation.from_rotvec(rng.normal(size=(body.n_frames, 3)).cumsum(axis=0) / 20.0)
    offset = np.array([0.1, 0.05, 0.02])  # in the axes of the hand, Z up
    own = Y_UP * turns * Y_UP.inv()
    sword = FileJoint('Sword', hand, Y_UP.apply(100.0 * offset), own, 'YXZ')
    clip, table = tmp_path / 'fight.bvh', tmp_path / 'sword.csv'
    clip.write_text(file_text(body, Habit(), [sword]))
    q_world, p_world = body.world_segments()
    grip = rotation(q_world[:, hand])
    xyzw = (grip * turns).as_quat()[:, None]
    places = (p_world[:, hand] + grip.apply(offset))[:, None]
    truth = replace(body, props=Props(('Sword',), places, np.roll(xyzw, 1, axis=-1)))
    table.write_text(props_text(truth))
    joints = load_clip(clip, options=ClipOptions(joints_as_props=True))
    for rate_hz in (body.rate_hz, 37.0):
        few = Motion.from_rotations(
            body.skeleton, rate_hz, body.root_positions[:25], body.rotations[:25]
        )
        expected, props = read_props(table, few), props_of_joints(joints, few)
        k = props.names.index('Sword')
        np.testing.assert_allclose(props.positions[:, [k]], expected.positions, atol=1e-6)
        apart = rotation(props.orientations[:, k]).inv() * rotation(expected.orientations[:, 0])
        assert apart.magnitude().max() < 1e-6


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        ('time,name\n', ':1: header: expected time_s,name,x'),
        (HEAD, ': expected rows after the header, got none'),
        (f'{HEAD}0,box,1,2\n', ':2: expected 9 values, got 4'),
        (f'{HEAD}0,box,1,2,x,0,0,0,1\n', ":2: z: expected a number, got 'x'"),
        (f'{HEAD}0,box,1,2,3,0,0,0,2\n', ':2: qx: expected a unit quaternion, got 0,0,0,2'),
        (HEAD + 2 * '1,box,1,2,3,0,0,0,1\n', ':3: time_s: expected more than the 1 before, got 1'),
    ],
)
def test_what_is_no_such_file_is_refused_by_line_and_field(motion, tmp_path, text, says):
    path = tmp_path / 'things.csv'
    path.write_text(text)
    with pytest.raises(InputFileError) as err:
        read_props(path, motion)
    assert says in str(err.value)
