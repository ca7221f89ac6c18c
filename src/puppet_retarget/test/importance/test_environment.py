# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Environment files: what is read, and what every mistake is told."""

from body_fixtures import floor_only
import numpy as np
from puppet_core import named_files
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import quaternions
from puppet_retarget.importance.environment import (
    ENDS,
    Environment,
    JOINT_MARGIN_M,
    load_environment,
)
from puppet_retarget.importance.objects import SHAPES
import pytest

CONFIG = named_files.DATA / 'environments'
HEAD = 'format: puppet-environment/1\nobjects:\n'
GOOD = (
    HEAD
    + """
- {name: floor, shape: plane}
- name: table
  shape: box
  position_m: [1.0, 0.5, 0.375]
  rpy_deg: [0.0, 0.0, 90.0]
  size_m: [1.2, 0.6, 0.75]
  influence_distance_m: {left_hand: 0.3, right_foot: 0.2}
  contact_margin_m: 0.01
  puppet: {position_m: [0.5, 0.5, 0.2], size_m: [1.2, 0.6, 0.4]}
- name: ball
  shape: sphere
  radius_m: 0.2
  influence_distance_m: 0.5
  puppet: {radius_m: 0.1}
- {name: pole, shape: cylinder, radius_m: 0.05, length_m: 2.0}
- name: rail
  shape: capsule
  radius_m: 0.03
  length_m: 1.5
  rpy_deg: [0.0, 90.0, 0.0]
  puppet: {length_m: 1.0, rpy_deg: [0.0, 0.0, 0.0]}
"""
)


def write(folder, text):
    path = folder / 'place.yaml'
    path.write_text(text)
    return path


@pytest.fixture
def good(tmp_path):
    return load_environment(write(tmp_path, GOOD))


def test_objects_keep_names_shapes_and_order(good):
    assert good.names == ('floor', 'table', 'ball', 'pole', 'rail')
    shapes = [SHAPES[o.shape] for o in good.objects]
    assert shapes == ['plane', 'box', 'sphere', 'cylinder', 'capsule']


def test_roll_pitch_yaw_turn_about_fixed_axes_in_that_order(tmp_path):
    path = write(tmp_path, HEAD + '- {name: a, shape: plane, rpy_deg: [30.0, 40.0, 50.0]}')
    x, y, z = (
        quaternions.exp(np.radians(angle) * axis) for angle, axis in zip((30, 40, 50), np.eye(3))
    )
    wanted = quaternions.multiply(z, quaternions.multiply(y, x))
    own = load_environment(path).objects[0].real.orientation
    np.testing.assert_allclose(own * np.sign(own[0]), wanted, atol=1e-15)


def test_counterpart_is_the_object_itself_unless_given(good):
    pole, table, ball, rail = (good.objects[i] for i in (3, 1, 2, 4))
    assert pole.puppet is pole.real
    assert table.puppet.position.tolist() == [0.5, 0.5, 0.2]
    np.testing.assert_array_equal(table.puppet.orientation, table.real.orientation)
    assert ball.puppet.size.tolist() == [0.1, 0.1, 0.1]
    assert rail.puppet.size.tolist() == [0.03, 0.03, 1.0]
    np.testing.assert_array_equal(rail.puppet.orientation, [1.0, 0.0, 0.0, 0.0])


def test_influence_and_margin_belong_to_end_effector_and_object(good):
    """Errata 13; what the file leaves open comes from the parameters."""
    arrays = good.arrays(influence_distance=0.7, contact_margin=0.03)
    assert arrays.influence_distances[1].tolist() == [0.3, 0.7, 0.7, 0.2] + [0.0] * 4
    assert arrays.influence_distances[2].tolist() == [0.5] * 4 + [0.0] * 4
    assert arrays.influence_distances[0].tolist() == [0.7] * 4 + [0.0] * 4
    assert arrays.contact_margins[1].tolist() == [0.01] * 4 + [JOINT_MARGIN_M] * 4
    assert arrays.contact_margins[4].tolist() == [0.03] * 4 + [JOINT_MARGIN_M] * 4


def test_world_scale_scales_the_counterparts_only(good):
    plain, scaled = good.arrays(0.6, 0.03), good.arrays(0.6, 0.03, world_scale=0.5)
    np.testing.assert_array_equal(scaled.positions, plain.positions)
    np.testing.assert_array_equal(scaled.sizes, plain.sizes)
    np.testing.assert_array_equal(scaled.puppet_positions, 0.5 * plain.puppet_positions)
    np.testing.assert_array_equal(scaled.puppet_sizes, 0.5 * plain.puppet_sizes)


def test_floor_only_equals_the_shipped_floor():
    shipped, built_in = load_environment(CONFIG / 'floor.yaml'), floor_only()
    assert shipped.names == built_in.names
    for a, b in zip(shipped.arrays(0.6, 0.03), built_in.arrays(0.6, 0.03)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize('path', sorted(CONFIG.glob('*.yaml')), ids=lambda path: path.stem)
def test_shipped_environments_load(path):
    assert load_environment(path).names


MISTAKES = {
    'unknown shape': (
        '- name: x\n  shape: cone\n',
        r':4: objects\[0\].shape: expected one of plane, box, sphere, cylinder, capsule, '
        r"got 'cone'",
    ),
    'no shape': ('- name: x\n', r':3: objects\[0\].shape: expected this key'),
    'no name': ('- shape: plane\n', r':3: objects\[0\].name: expected this key'),
    'same name twice': (
        '- {name: x, shape: plane}\n- {name: x, shape: plane}\n',
        r":4: objects\[1\].name: expected a unique name, got 'x'",
    ),
    'box without size': ('- name: x\n  shape: box\n', r'size_m: expected this key'),
    'sphere without radius': ('- name: x\n  shape: sphere\n', r'radius_m: expected this key'),
    'pole without length': (
        '- name: x\n  shape: cylinder\n  radius_m: 1.0\n',
        r'length_m: expected this key',
    ),
    'zero size': (
        '- name: x\n  shape: box\n  size_m: [1.0, 0.0, 1.0]\n',
        r':5: objects\[0\].size_m: expected 3 numbers > 0 and <= 1000',
    ),
    'negative radius': (
        '- name: x\n  shape: sphere\n  radius_m: -1.0\n',
        r':5: objects\[0\].radius_m: expected a number > 0 and <= 1000, got -1.0',
    ),
    'no distance of the hips': (
        '- {name: x, shape: plane, influence_distance_m: {hips: 0.0}}\n',
        'influence_distance_m.hips: expected a number > 0',
    ),
    'head at its own hat': (
        '- {name: x, shape: sphere, radius_m: 0.1, follows: {segment: head},'
        ' influence_distance_m: {head: 0.1}}\n',
        'influence_distance_m: expected hips and head at what is not on the body, got them at one',
    ),
    'margin of the hips': (
        '- {name: x, shape: plane, contact_margin_m: {hips: 0.1}}\n',
        'contact_margin_m.*hips',
    ),
    'margin without influence': (
        '- {name: x, shape: plane, contact_margin_m: {left_knee: 0.1}}\n',
        'contact_margin_m: expected margins of elbows and knees that have',
    ),
    'huge radius': ('- {name: x, shape: sphere, radius_m: 1.0e9}\n', 'radius_m: expected'),
    'short position': (
        '- name: x\n  shape: plane\n  position_m: [0.0, 1.0]\n',
        r':5: objects\[0\].position_m: expected 3 finite numbers',
    ),
    'nan': ('- {name: x, shape: plane, position_m: [0, .nan, 0]}\n', 'position_m: expected 3 fin'),
    'text as number': ('- {name: x, shape: sphere, radius_m: wide}\n', 'radius_m: expected a num'),
    'misspelt key': (
        '- name: x\n  shape: plane\n  positon_m: [0, 0, 0]\n',
        r':5: objects\[0\].positon_m: expected a known key',
    ),
    'size of a plane': (
        '- {name: x, shape: plane, size_m: [1, 1, 1]}\n',
        'size_m: expected a kno',
    ),
    'misspelt key of the counterpart': (
        '- name: x\n  shape: plane\n  puppet: {positon_m: [0, 0, 0]}\n',
        r':5: objects\[0\].puppet.positon_m: expected a known key',
    ),
    'zero influence': (
        '- {name: x, shape: plane, influence_distance_m: 0.0}\n',
        r'influence_distance_m: expected a number > 0 and <= 1000, got 0.0',
    ),
    'negative margin': (
        '- {name: x, shape: plane, contact_margin_m: -0.1}\n',
        r'contact_margin_m: expected a number in 0 .. 1000, got -0.1',
    ),
    'unknown end-effector': (
        '- {name: x, shape: plane, contact_margin_m: {left_paw: 0.1}}\n',
        r'contact_margin_m.left_paw: expected a known key.*left_hand',
    ),
    'no list': ('  name: x\n', 'objects: expected a list of entries'),
}


@pytest.mark.parametrize('body, message', MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_reported_with_file_line_and_key(tmp_path, body, message):
    path = write(tmp_path, HEAD + body)
    with pytest.raises(InputFileError, match=message) as caught:
        load_environment(path)
    assert str(caught.value).startswith(f'{path}:')


def test_distances_of_single_pairs_stand_over_those_of_the_file(good):
    """Shin2002 eq. 4.3: D of each pair of end-effector and object."""
    name = good.objects[0].name
    changed = good.with_distances(f' {name}.left_hand = 0.35, {name}.head=0 ')
    assert changed.names == good.names
    for before, after in zip(good.objects, changed.objects):
        expected = before.influence_distances.copy()
        if before.name == name:
            expected[[ENDS.index('left_hand'), ENDS.index('head')]] = 0.35, 0.0
        np.testing.assert_array_equal(after.influence_distances, expected)


@pytest.mark.parametrize('text', ['a', 'a.tail=1', '.left_hand=1', 'a.left_hand=far', 'a.head=-1'])
def test_text_that_is_no_distance_of_a_pair_is_refused(text):
    with pytest.raises(ConfigError, match='influence_distances_m: expected OBJECT.END=METRES'):
        Environment(()).with_distances(text)


def test_distance_of_an_unknown_object_is_refused():
    with pytest.raises(ConfigError, match="expected one of no object, got 'a'"):
        Environment(()).with_distances('a.head=1')
