# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""ASF reader: units, axes, tree, and every way a file can be wrong."""

from clip_samples import pure_angles_deg, SMALL_ASF
import numpy as np
from puppet_core.clips.asf_amc import fixed_axes_rotation, read_asf
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation

UNIT_M = 0.0254 / 0.45


@pytest.fixture
def read(tmp_path):
    """Return a function that reads an ASF file of the given text."""
    path = tmp_path / 'body.asf'

    def read_text(text, **arguments):
        path.write_bytes(text.encode())
        return read_asf(path, **arguments)

    return read_text


def test_bones_start_where_their_parents_end(read):
    skeleton = read(SMALL_ASF)
    assert skeleton.joint_names == ('root', 'hip', 'arm', 'leg', 'arm (end)', 'leg (end)')
    assert skeleton.parents.tolist() == [-1, 0, 0, 1, 2, 3]
    expected = UNIT_M * np.array(
        [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, -2, 0], [4, 0, 0], [0, -1.8, 2.4]]
    )
    np.testing.assert_allclose(skeleton.offsets, expected, atol=1e-12)
    assert skeleton.dofs[0] == ('tx', 'ty', 'tz', 'rx', 'ry', 'rz')
    assert skeleton.dofs[1:] == ((), ('rz',), ('rx', 'rz'), (), ())


def test_the_length_unit_is_inches_over_the_named_length(read):
    assert read(SMALL_ASF).unit_m == pytest.approx(0.0254 / 0.45)
    assert read(SMALL_ASF.replace('length 0.45', 'length 1.0')).unit_m == pytest.approx(0.0254)
    assert read(SMALL_ASF, unit_m=0.01).offsets[3, 1] == pytest.approx(-0.02)


def test_axes_turn_about_fixed_axes_the_first_named_first(read):
    q_axis = read(SMALL_ASF).axes[3]
    expected = Rotation.from_euler('xyz', [10, 20, 30], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(q_axis, expected).max() < 1e-9
    q_axis = read(SMALL_ASF.replace('10 20 30 XYZ', '10 20 30 ZYX')).axes[3]
    expected = Rotation.from_euler('zyx', [30, 20, 10], degrees=True).as_quat()[[3, 0, 1, 2]]
    assert pure_angles_deg(q_axis, expected).max() < 1e-9


def test_radians_are_read_as_radians(read):
    text = SMALL_ASF.replace('angle deg', 'angle rad').replace('10 20 30', '0.1 0.2 0.3')
    expected = fixed_axes_rotation((0, 1, 2), np.array([0.1, 0.2, 0.3]))
    assert pure_angles_deg(read(text).axes[3], expected).max() < 1e-9


@pytest.mark.parametrize(
    'section',
    [
        ':version 1.10\n',
        ':name TEST\n',
        ':units\n  mass 1.0\n  length 0.45\n  angle deg\n',
        ':documentation\n   a leg: and an arm\n',
    ],
)
def test_optional_sections_may_be_missing(read, section):
    assert section in SMALL_ASF
    skeleton = read(SMALL_ASF.replace(section, ''))
    assert len(skeleton.joint_names) == 6


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
def test_layout_does_not_matter(read, change):
    skeleton, plain = read(change(SMALL_ASF)), read(SMALL_ASF)
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
        ('length 3', 'length inf', ":26: leg length: expected a number >= 0, got 'inf'"),
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
        ('root hip arm', 'root', 'hierarchy: expected hip below root, got no parent'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, old, new, text):
    assert old in SMALL_ASF
    assert pytest.raises(InputFileError, read, SMALL_ASF.replace(old, new, 1)).match(text)
