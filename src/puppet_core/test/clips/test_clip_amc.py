# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""AMC reader: the order and axes of rotations, units, and every way a file can be wrong."""

from argparse import ArgumentParser

from clip_samples import pure_angles_deg, SMALL_AMC, SMALL_ASF
import numpy as np
from puppet_core.clips.asf_amc import read_amc, read_asf
from puppet_core.clips.load import read_clip_by_options
from puppet_core.clips.options import add_reading_options, skeleton_beside
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation

UNIT_M = 0.0254 / 0.45


@pytest.fixture
def read(tmp_path):
    """Return a function that reads an AMC file of the given text."""

    def read_text(text, asf=SMALL_ASF, **arguments):
        (tmp_path / 'body.asf').write_text(asf)
        (tmp_path / 'clip.amc').write_bytes(text.encode())
        return read_amc(tmp_path / 'clip.amc', read_asf(tmp_path / 'body.asf'), **arguments)

    return read_text


def test_frames_and_rate(read):
    clip = read(SMALL_AMC)
    assert clip.n_frames == 2
    assert clip.rate_hz == 120.0
    assert read(SMALL_AMC, rate_hz=60.0).rate_hz == 60.0


def test_the_root_moves_in_the_files_unit_and_turns_x_first(read):
    clip = read(SMALL_AMC)
    np.testing.assert_allclose(clip.translations[:, 0], UNIT_M * np.array([[1, 2, 3], [4, 5, 6]]))
    expected = Rotation.from_euler('xyz', [10, 20, 30], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(clip.rotations[0, 0], expected).max() < 1e-9


def test_a_bone_turns_about_its_own_axes(read):
    clip = read(SMALL_AMC)
    axis = Rotation.from_euler('xyz', [10, 20, 30], degrees=True)
    turn = Rotation.from_euler('xz', [40, 50], degrees=True)
    expected = (axis * turn * axis.inv()).as_quat()[[3, 0, 1, 2]]
    leg = clip.joint_names.index('leg')
    assert pure_angles_deg(clip.rotations[0, leg], expected).max() < 1e-9


def test_dof_turn_in_the_order_in_which_they_are_listed(read):
    clip = read(SMALL_AMC.replace('leg 40 50', 'leg 50 40'), SMALL_ASF.replace('rx rz', 'rz rx'))
    axis = Rotation.from_euler('xyz', [10, 20, 30], degrees=True)
    turn = Rotation.from_euler('zx', [50, 40], degrees=True)
    expected = (axis * turn * axis.inv()).as_quat()[[3, 0, 1, 2]]
    leg = clip.joint_names.index('leg')
    assert pure_angles_deg(clip.rotations[0, leg], expected).max() < 1e-9


def test_ends_follow_their_bones(read):
    clip = read(SMALL_AMC)
    _, p_world = clip.world()
    tip = clip.joint_names.index('arm (end)')
    root = Rotation.from_euler('xyz', [10, 20, 30], degrees=True)
    # The arm points along x at rest and is turned by 90 degrees about z.
    expected = UNIT_M * (np.array([1, 2, 3]) + root.apply([0, 4, 0]))
    np.testing.assert_allclose(p_world[0, tip], expected, atol=1e-12)


def test_translating_bones_move_along_their_own_axes(read):
    asf = SMALL_ASF.replace('dof rx rz', 'dof rx tz')
    clip = read(SMALL_AMC.replace('leg 40 50', 'leg 0 2'), asf)
    leg = clip.joint_names.index('leg')
    axis = Rotation.from_euler('xyz', [10, 20, 30], degrees=True)
    expected = clip.offsets[leg] + UNIT_M * axis.apply([0, 0, 2])
    np.testing.assert_allclose(clip.translations[0, leg], expected)
    np.testing.assert_allclose(clip.translations[1, leg], clip.offsets[leg])


def test_radians_are_read_as_radians(read):
    clip = read(SMALL_AMC.replace(':DEGREES', ':RADIANS').replace('arm 90', 'arm 1.5'))
    arm = clip.joint_names.index('arm')
    np.testing.assert_allclose(clip.rotations[0, arm], [np.cos(0.75), 0, 0, np.sin(0.75)])


@pytest.mark.parametrize(
    'change',
    [
        lambda text: text.replace('\n', '\r\n'),
        lambda text: text.replace(' ', '\t  '),
        lambda text: text.replace('leg 40 50\narm 90\n', 'arm 90\nleg 40 50\n'),
        lambda text: text.replace(':FULLY-SPECIFIED\n', ''),
        lambda text: text.replace(':DEGREES\n', ''),
        lambda text: text.replace('arm 90', '# half way\n\narm 90'),
        lambda text: text.replace('\n1\n', '\n17\n').replace('\n2\n', '\n18\n'),
        lambda text: text.rstrip('\n'),
    ],
    ids=['crlf', 'tabs', 'bone order', 'no flag', 'no unit', 'comments', 'first number', 'no end'],
)
def test_layout_does_not_matter(read, change):
    clip, plain = read(change(SMALL_AMC)), read(SMALL_AMC)
    np.testing.assert_array_equal(clip.rotations, plain.rotations)
    np.testing.assert_array_equal(clip.translations, plain.translations)


@pytest.mark.parametrize(
    'old, new, text',
    [
        ('leg 40 50', 'leg 40', ':6: leg: expected 2 values, got 1'),
        ('leg 40 50', 'leg 40 50 60', ':6: leg: expected 2 values, got 3'),
        ('leg 40 50', 'leg 40 nan', ":6: leg: expected finite numbers, got 'nan'"),
        ('leg 0 0', 'leg 0 o', ":10: leg: expected finite numbers, got 'o'"),
        ('root 4 5', 'root -inf 5', ":9: root: expected finite numbers, got '-inf'"),
        ('leg 40 50\n', '', ':4: frame 1: expected a line for each bone, got none for leg;'),
        ('arm 0\n', '', ':8: frame 2: expected a line for each bone, got none for arm'),
        ('leg 0 0\narm 0\n', 'leg', ":10: frame: expected a frame number, got 'leg'"),
        ('leg 40 50', 'log 40 50', ":6: frame: expected a bone of the ASF with dof, got 'log'"),
        ('leg 40 50', 'hip 40 50', ":6: frame: expected a bone of the ASF with dof, got 'hip'"),
        ('arm 90', 'leg 1 2', ':7: leg: expected each bone once a frame, got a second line'),
        ('\n2\n', '\n3\n', ':8: frame: expected frame 2, got 3'),
        ('\n2\n', '\n1\n', ':8: frame: expected frame 2, got 1'),
        ('\n1\n', '\n1.5\n', ":4: frame: expected a frame number, got '1.5'"),
        ('\n1\n', '\n', ":4: frame: expected a frame number, got 'root'"),
        (':DEGREES', ':GRADES', ":3: expected :FULLY-SPECIFIED, :DEGREES or :RADIANS, got ':GR"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, old, new, text):
    assert old in SMALL_AMC
    assert pytest.raises(InputFileError, read, SMALL_AMC.replace(old, new, 1)).match(text)


def test_a_file_without_frames_is_refused(read):
    with pytest.raises(InputFileError, match='expected a frame number, got the end of the file'):
        read(SMALL_AMC[: SMALL_AMC.index('1\n')])


def test_the_skeleton_beside_a_motion_is_taken_unless_another_is_named(tmp_path):
    motion, body = tmp_path / '02_01.amc', tmp_path / '02.asf'
    assert skeleton_beside(motion, None) is None
    body.write_text(SMALL_ASF)
    assert skeleton_beside(motion, None) == body
    assert skeleton_beside(motion, 'other.asf') == 'other.asf'
    assert skeleton_beside(tmp_path / '02_01.bvh', None) is None


@pytest.mark.mocap
def test_commands_read_a_motion_by_the_skeleton_beside_it(mocap_dir):
    parser = ArgumentParser()
    add_reading_options(parser)
    told = []
    read_clip_by_options(
        mocap_dir / 'cmu_asfamc' / '02_01.amc', parser.parse_args([]), None, told.append
    )
    assert '02_01.amc' in told[0]
