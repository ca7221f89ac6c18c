# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Character files: the built-in ones, mirroring, saving, and what bad ones are told."""

from dataclasses import replace

import numpy as np
from puppet_core.body import Capsule, Character, load_character, person, save_character
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import InputFileError
import pytest

BUILT_IN = ('performer', 'sally', 'blubby', 'frog')
FLOOR_TOL_M = 2e-3  # soles stand on the floor to the eye
HEADER = 'format: puppet-character/1\n'
JOINTS = """joints_m:
  spine: [0.0, 0.0, 0.1]
  chest: [0.0, 0.0, 0.15]
  head: [0.0, 0.0, 0.25]
  left_upper_arm: [0.0, 0.2, 0.2]
  left_forearm: [0.0, 0.3, 0.0]
  left_hand: [0.0, 0.25, 0.0]
  left_thigh: [0.0, 0.1, -0.05]
  left_shank: [0.0, 0.0, -0.4]
  left_foot: [0.0, 0.0, -0.4]
"""
POINTS = """interaction_points_m:
  left_hand: [0.0, 0.08, -0.02]
  left_foot: [0.05, 0.0, -0.07]
"""
CAPSULES = """capsules:
  - {segment: pelvis, start_m: [0.0, 0.0, 0.0], radius_m: 0.1}
  - {segment: left_hand, start_m: [0, 0.03, 0], end_m: [0, 0.1, 0.01], radius_m: 0.03}
"""
GOOD = HEADER + JOINTS + POINTS + CAPSULES


@pytest.fixture
def read(tmp_path):
    def run(text):
        path = tmp_path / 'body.yaml'
        path.write_text(text)
        return load_character(path)

    return run


def _in_world(character, capsule):
    """Return both ends of a capsule in the rest pose, soles at the floor."""
    rest = character.skeleton.rest_positions()
    origin = rest[capsule.segment] + [0.0, 0.0, character.skeleton.rest_root_height]
    return capsule.start + origin, capsule.end + origin


def _lowest(character):
    """Return the height of a body's lowest point in the rest pose, soles at the floor [m]."""
    return min(
        min(start[2], end[2]) - capsule.radius
        for capsule in character.capsules
        for start, end in [_in_world(character, capsule)]
    )


@pytest.mark.parametrize('name', BUILT_IN)
def test_built_in_characters_are_whole_symmetric_and_stand_on_their_soles(characters_dir, name):
    character = load_character(characters_dir / f'{name}.yaml')
    assert character.name == name and character.title
    assert {capsule.segment for capsule in character.capsules} == set(range(16))
    mirror, offsets = [1.0, -1.0, 1.0], character.skeleton.offsets
    np.testing.assert_array_equal(
        offsets[LIMB_SEGMENTS[1::2]], offsets[LIMB_SEGMENTS[::2]] * mirror
    )
    points = character.skeleton.interaction_points
    np.testing.assert_array_equal(points[1::2], points[::2] * mirror)
    assert _lowest(character) == pytest.approx(0.0, abs=FLOOR_TOL_M)


def test_right_side_is_the_mirror_image_of_the_left(read):
    character = read(GOOD)
    right = character.skeleton.offsets[SEGMENT_INDEX['right_upper_arm']]
    np.testing.assert_array_equal(right, [0.0, -0.2, 0.2])
    capsule = next(c for c in character.capsules if SEGMENTS[c.segment] == 'right_hand')
    np.testing.assert_array_equal(capsule.end, [0.0, -0.1, 0.01])


def test_a_right_side_of_its_own_is_kept(read):
    text = GOOD.replace('  left_thigh', '  right_forearm: [0.0, -0.5, 0.0]\n  left_thigh')
    text += '  - {segment: right_hand, start_m: [0, 0, 0], radius_m: 0.5}\n'
    character = read(text)
    assert character.skeleton.limb_lengths[1, 0] == pytest.approx(0.5)
    hands = [c.radius for c in character.capsules if SEGMENTS[c.segment] == 'right_hand']
    assert hands == [0.5]


def _assert_same(one, other):
    np.testing.assert_array_equal(one.skeleton.offsets, other.skeleton.offsets)
    np.testing.assert_array_equal(
        one.skeleton.interaction_points, other.skeleton.interaction_points
    )
    for field in ('name', 'title', 'colour', 'world_scale', 'root_height_ratio'):
        assert getattr(one, field) == getattr(other, field)
    assert len(one.capsules) == len(other.capsules)
    for a, b in zip(one.capsules, other.capsules):
        assert (a.segment, a.radius, a.colour) == (b.segment, b.radius, b.colour)
        np.testing.assert_array_equal([a.start, a.end], [b.start, b.end])


@pytest.mark.parametrize('name', BUILT_IN)
def test_saving_and_loading_is_the_identity(characters_dir, tmp_path, name):
    character = load_character(characters_dir / f'{name}.yaml')
    save_character(character, tmp_path / 'copy.yaml')
    _assert_same(load_character(tmp_path / 'copy.yaml'), character)


@pytest.mark.parametrize('name', ['no', '1e5', '02_01', 'a: b'])
def test_awkward_values_survive_saving(read, tmp_path, name):
    character = replace(
        read(GOOD),
        name=name,
        title='Größe: "x"\n#',
        world_scale='auto',
        root_height_ratio=1e-7,
        colour=(0.1 + 0.2, 1e-300, 1.0),
        capsules=(Capsule(0, np.full(3, 1 / 3), np.full(3, -1e-20), 5e-324),),
    )
    save_character(character, tmp_path / 'copy.yaml')
    _assert_same(load_character(tmp_path / 'copy.yaml'), character)


@pytest.mark.parametrize(
    'line, expected',
    [
        ('world_scale: 2.0', 2.0),
        ('world_scale: auto', 0.435),
        ('root_height_ratio: 0.5', 0.5),
        ('root_height_ratio: legs', 0.435),  # errata 2
    ],
)
def test_scales_are_numbers_or_the_leg_length_ratio(read, line, expected):
    character = read(GOOD + line)
    scale = character.scale_for if line.startswith('world') else character.root_ratio_for
    assert scale(2.0) == pytest.approx(expected)


BAD = [
    (
        '[0.0, 0.3, 0.0]',
        '[0, 0, 0]',
        7,
        'left_forearm: expected left_upper_arm to be >= 0.01 m long',
    ),
    ('  head:', '  haed:', 2, 'joints_m.head: expected this key, got no such key; keys here: sp'),
    ('  left_hand: [0.0, 0.08', '  left_hnd: [0.0, 0.08', 12, 'm.left_hand: expected this key'),
    ('  spine', '  tail: [0, 0, 0]\n  spine', 3, 'joints_m.tail: expected a known key'),
    ('[0.0, 0.0, 0.15]', '[0.0, 0.15]', 4, 'joints_m.chest: expected 3 finite numbers'),
    ('[0.0, 0.0, 0.15]', 'high', 4, "expected 3 finite numbers, got 'high'"),
    ('radius_m: 0.1}', 'radius_m: 0}', 16, 'capsules[0].radius_m: expected a number > 0'),
    ('radius_m: 0.1}', 'radius: 0.1}', 16, 'capsules[0].radius_m: expected this key'),
    ('segment: pelvis', 'segment: hips', 16, 'capsules[0].segment: expected one of pelvis, sp'),
    ('radius_m: 0.03}', 'radius_m: 0.03, colour: [1, 2, 0]}', 17, 'red, green, blue in 0 .. 1'),
    ('left_shank: [0.0, 0.0, -0.4]', 'left_shank: [0.0, 0.0, -400]', 10, 'expected up to 10 m'),
    (HEADER, HEADER + 'world_scale: big\n', 2, 'world_scale: expected a number > 0 or auto, got'),
    (HEADER, HEADER + 'root_height_ratio: auto\n', 2, 'expected a number > 0 or legs'),
    (HEADER, HEADER + 'color: [1, 1, 1]\n', 2, 'color: expected a known key'),
    (HEADER, HEADER + 'name: [x]\n', 2, 'name: expected a text'),
    (HEADER, 'format: puppet-character/2\n', 1, 'format: expected one of puppet-character/1'),
]


@pytest.mark.parametrize('old, new, line, words', BAD, ids=[row[3][:40] for row in BAD])
def test_bad_files_are_reported_with_file_line_and_key(read, old, new, line, words):
    assert old in GOOD
    with pytest.raises(InputFileError) as caught:
        read(GOOD.replace(old, new, 1))
    assert f'body.yaml:{line}: ' in str(caught.value)
    assert words in str(caught.value)


def test_a_file_cut_off_anywhere_is_an_input_error_or_loads(read):
    for length in range(0, len(GOOD), 3):
        try:
            assert isinstance(read(GOOD[:length]), Character)
        except InputFileError as err:
            assert 'body.yaml' in str(err)


def test_default_shape_stands_on_the_soles_of_any_skeleton(rng, adult_character):
    offsets = adult_character.skeleton.offsets * (1.0 + 0.2 * rng.random((16, 3)))
    offsets[[13, 14, 15]] = offsets[[10, 11, 12]] * [1.0, -1.0, 1.0]
    skeleton = Skeleton(offsets, 1.3 * adult_character.skeleton.interaction_points)
    body = person('x', skeleton)
    assert {capsule.segment for capsule in body.capsules} == set(range(16))
    assert _lowest(body) == pytest.approx(0.0, abs=FLOOR_TOL_M)
