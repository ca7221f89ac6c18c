# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""ASF and AMC reader: units, axes, order, and every way a file can be wrong."""

from clip_samples import pure_angles_deg, SMALL_AMC, SMALL_ASF
import numpy as np
from puppet_core.clips.asf_amc import fixed_axes_rotation, read_amc, read_asf
from puppet_core.clips.options import skeleton_beside
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation

UNIT_M = 0.0254 / 0.45


@pytest.fixture
def read_skeleton(tmp_path):
    path = tmp_path / 'body.asf'

    def read_text(text, **arguments):
        path.write_bytes(text.encode())
        return read_asf(path, **arguments)

    return read_text


def test_bones_start_where_their_parents_end(read_skeleton):
    skeleton = read_skeleton(SMALL_ASF)
    assert skeleton.joint_names == ('root', 'hip', 'arm', 'leg', 'arm (end)', 'leg (end)')
    assert skeleton.parents.tolist() == [-1, 0, 0, 1, 2, 3]
    expected = UNIT_M * np.array(
        [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, -2, 0], [4, 0, 0], [0, -1.8, 2.4]]
    )
    np.testing.assert_allclose(skeleton.offsets, expected, atol=1e-12)
    assert skeleton.dofs[0] == ('tx', 'ty', 'tz', 'rx', 'ry', 'rz')
    assert skeleton.dofs[1:] == ((), ('rz',), ('rx', 'rz'), (), ())


def test_the_length_unit_is_inches_over_the_named_length(read_skeleton):
    assert read_skeleton(SMALL_ASF).unit_m == pytest.approx(0.0254 / 0.45)
    inches = read_skeleton(SMALL_ASF.replace('length 0.45', 'length 1.0'))
    assert inches.unit_m == pytest.approx(0.0254)
    assert read_skeleton(SMALL_ASF, unit_m=0.01).offsets[3, 1] == pytest.approx(-0.02)


def test_axes_turn_about_fixed_axes_the_first_named_first(read_skeleton):
    q_axis = read_skeleton(SMALL_ASF).axes[3]
    expected = Rotation.from_euler('xyz', [10, 20, 30], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(q_axis, expected).max() < 1e-9
    q_axis = read_skeleton(SMALL_ASF.replace('10 20 30 XYZ', '10 20 30 ZYX')).axes[3]
    expected = Rotation.from_euler('zyx', [30, 20, 10], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(q_axis, expected).max() < 1e-9


def test_radians_of_a_skeleton_are_read_as_radians(read_skeleton):
    text = SMALL_ASF.replace('angle deg', 'angle rad').replace('10 20 30', '0.1 0.2 0.3')
    expected = fixed_axes_rotation((0, 1, 2), np.array([0.1, 0.2, 0.3]))
    assert pure_angles_deg(read_skeleton(text).axes[3], expected).max() < 1e-9


@pytest.mark.parametrize(
    'change',
    [
        lambda text: text.replace('\n', '\r\n'),
        lambda text: text.replace('  ', '\t '),
        lambda text: '# made by hand\n' + text.replace('id 2', 'id 2  # the second'),
        lambda text: text.replace('root hip arm', 'root hip\nroot arm'),
        lambda text: text.replace(' begin\n  root', '  root').replace('hip leg\n  end', 'hip leg'),
    ],
    ids=['crlf', 'tabs', 'comments', 'parent twice', 'no begin'],
)
def test_layout_of_a_skeleton_does_not_matter(read_skeleton, change):
    skeleton, plain = read_skeleton(change(SMALL_ASF)), read_skeleton(SMALL_ASF)
    assert set(skeleton.joint_names) == set(plain.joint_names)
    order = [skeleton.joint_names.index(name) for name in plain.joint_names]
    np.testing.assert_array_equal(skeleton.offsets[order], plain.offsets)


@pytest.mark.parametrize(
    'old, new, text',
    [
        (':hierarchy', ':hierarchies', ':hierarchy: expected a :hierarchy section, got none'),
        (':root', ':rot', r':root: expected a :root section, got none'),
        (':name TEST', ':root', ':root: expected each section once'),
        ('length 0.45', 'length 0', ":5: units length: expected a number > 0, got '0'"),
        ('length 0.45', 'length nan', ":5: units length: expected a number > 0, got 'nan'"),
        ('angle deg', 'angle grad', ":6: units angle: expected deg or rad, got 'grad'"),
        ('TX TY TZ RX RY RZ', 'TX TX', ':10: root order: expected different ones of tx'),
        ('axis XYZ', 'axis XY', ":11: root axis: expected an order like XYZ, got 'XY'"),
        ('position 0 0 0', 'position 0 0', ':12: root position: expected 3 finite numbers'),
        ('direction 0 -1 0', 'direction 0 x 0', ':18: hip direction: expected 3 finite numbers'),
        ('direction 0 -1 0', 'direction 0 0 0', ':15: hip direction: expected a direction, got a'),
        ('length 3', 'length -3', ":26: leg length: expected a number >= 0, got '-3'"),
        ('    length 3\n', '', ':22: bonedata leg: expected name, direction, length, axis'),
        ('30 XYZ', '30 XYY', ":27: leg axis: expected an order like XYZ, got 'XYY'"),
        ('dof rx rz', 'dof rx l', ':28: leg dof: expected different ones of tx ty tz rx ry rz'),
        ('name leg', 'name hip', ":22: bonedata: expected a new bone name, got 'hip'; .* line 15"),
        ('name leg', 'name root', ":22: bonedata: expected a new bone name, got 'root'"),
        ('  end\n  begin\n    id 3', '  begin\n    id 3', ":31: bonedata: expected 'end', got"),
        ('  end\n:hierarchy', ':hierarchy', ":32: bonedata: expected 'end', got the end of the"),
        ('  begin\n    id 1', '    id 1', ":15: bonedata: expected 'begin', got 'id'"),
        ('hip leg', 'hip log', ":43: hierarchy: expected a bone of :bonedata, got 'log'"),
        ('hip leg', 'leg hip', ':43: hierarchy: expected one parent for hip, got another one'),
        ('root hip arm', 'root arm', ':15: hierarchy: expected hip below root, got no parent'),
        (
            'root hip arm\n    hip leg',
            'root arm\n    hip leg\n    leg hip',
            ':44: hierarchy: expected hip below root, got a cycle',
        ),
        ('hip leg', 'hip leg root', ":43: hierarchy: expected a bone of :bonedata, got 'root'"),
    ],
)
def test_bad_skeleton_is_refused_with_its_line(read_skeleton, old, new, text):
    assert old in SMALL_ASF
    assert pytest.raises(InputFileError, read_skeleton, SMALL_ASF.replace(old, new, 1)).match(text)


@pytest.fixture
def read(tmp_path):
    def read_text(text, asf=SMALL_ASF, **arguments):
        (tmp_path / 'body.asf').write_text(asf)
        (tmp_path / 'clip.amc').write_bytes(text.encode())
        return read_amc(tmp_path / 'clip.amc', read_asf(tmp_path / 'body.asf'), **arguments)

    return read_text


def test_the_root_moves_in_the_files_unit_and_turns_x_first(read):
    clip = read(SMALL_AMC)
    assert clip.n_frames == 2 and clip.rate_hz == 120.0
    np.testing.assert_allclose(clip.translations[:, 0], UNIT_M * np.array([[1, 2, 3], [4, 5, 6]]))
    expected = Rotation.from_euler('xyz', [10, 20, 30], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(clip.rotations[0, 0], expected).max() < 1e-9


@pytest.mark.parametrize(
    ('numbers', 'dof', 'order', 'angles'),
    [('40 50', 'rx rz', 'xz', [40, 50]), ('50 40', 'rz rx', 'zx', [50, 40])],
)
def test_a_bone_turns_about_its_own_axes_as_they_are_listed(read, numbers, dof, order, angles):
    text = SMALL_AMC.replace('leg 40 50', f'leg {numbers}')
    clip = read(text, SMALL_ASF.replace('rx rz', dof))
    axis = Rotation.from_euler('xyz', [10, 20, 30], degrees=True)
    turn = Rotation.from_euler(order, angles, degrees=True)
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
        ('leg 0 0', 'leg 0 o', ":10: leg: expected finite numbers, got 'o'"),
        ('leg 40 50\n', '', ':4: frame 1: expected a line for each bone, got none for leg;'),
        ('leg 0 0\narm 0\n', 'leg', ":10: frame: expected a frame number, got 'leg'"),
        ('leg 40 50', 'log 40 50', ":6: frame: expected a bone of the ASF with dof, got 'log'"),
        ('arm 90', 'leg 1 2', ':7: leg: expected each bone once per frame, got a second line'),
        ('\n2\n', '\n3\n', ':8: frame: expected frame 2, got 3'),
        ('\n1\n', '\n1.5\n', ":4: frame: expected a frame number, got '1.5'"),
        ('\n1\n', '\n', ":4: frame: expected a frame number, got 'root'"),
        (':DEGREES', ':GRADES', ":3: expected :FULLY-SPECIFIED, :DEGREES or :RADIANS, got ':GR"),
    ],
)
def test_bad_motion_is_refused_with_its_line(read, old, new, text):
    assert old in SMALL_AMC
    assert pytest.raises(InputFileError, read, SMALL_AMC.replace(old, new, 1)).match(text)


def test_the_skeleton_beside_a_motion_is_taken_unless_another_is_named(tmp_path):
    motion, body = tmp_path / '02_01.amc', tmp_path / '02.asf'
    assert skeleton_beside(motion, None) is None
    body.write_text(SMALL_ASF)
    assert skeleton_beside(motion, None) == body
    assert skeleton_beside(motion, 'other.asf') == 'other.asf'
    assert skeleton_beside(tmp_path / '02_01.bvh', None) is None
