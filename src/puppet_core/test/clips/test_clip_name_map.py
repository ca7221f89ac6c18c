# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Name maps: the built-in namings, YAML maps, prefixes, and what is said when none fits."""

import numpy as np
from puppet_core.body.skeleton import PARENTS, SEGMENTS
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.name_map import (
    BUILT_IN,
    built_in_map,
    KNOWN_MAPS,
    load_name_map,
    match_joints,
)
from puppet_core.io import InputFileError
import pytest

LEAVES = ('head', 'left_hand', 'right_hand', 'left_foot', 'right_foot')


def clip_of(names, parents):
    """Return a clip of one frame with these joints, all in one place."""
    count = len(names)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (1, count, 1))
    offsets = np.zeros((count, 3))
    return ClipFile('clip.bvh', 100.0, tuple(names), parents, offsets, rotations, offsets[None])


def clip_with(joint_of, without=(), ends=()):
    """Return a clip whose joints are the segments', renamed, with tips after `ends`."""
    kept = [segment for segment in SEGMENTS if segment not in without]
    names = [joint_of(segment) for segment in kept]

    def parent_of(segment):
        index = PARENTS[SEGMENTS.index(segment)]
        above = SEGMENTS[index]
        return -1 if index < 0 else kept.index(above) if above in kept else parent_of(above)

    parents = [parent_of(segment) for segment in kept]
    for end in ends:
        parents.append(kept.index(end))
        names.append(names[kept.index(end)] + ' (end)')
    return clip_of(names, parents)


def first_names(map_name):
    """Return the joint that each segment has first in a built-in map."""
    taken = set()
    names = {}
    for segment in (*(s for s in SEGMENTS if s != 'spine'), 'spine'):
        names[segment] = next(n for n in BUILT_IN[map_name][segment] if n not in taken)
        taken.add(names[segment])
    return names


@pytest.mark.parametrize('map_name', KNOWN_MAPS)
def test_each_known_naming_is_found(map_name):
    names = first_names(map_name)
    joints = match_joints(clip_with(names.get))
    assert joints.frames == joints.origins == tuple(range(16))
    assert set(joints.map.joints['left_thigh']) & {names['left_thigh']}


@pytest.mark.parametrize(
    'prefix', ['mixamorig:', 'mixamorig7:', 'mixamorig', 'mixamorig_', 'a:b:', 'Actor1_', 'Bip ']
)
def test_namespaces_and_shared_prefixes_do_not_matter(prefix):
    names = first_names('mixamo')
    joints = match_joints(clip_with(lambda segment: prefix + names[segment]))
    assert joints.frames == tuple(range(16))


def test_the_map_that_finds_most_joints_wins():
    names = first_names('lafan1') | {'spine': 'Spine', 'chest': 'Spine2'}
    clip = clip_with(names.get)
    extra = clip_of((*clip.joint_names, 'LeftToe', 'RightToe'), (*clip.parents, 12, 15))
    joints = match_joints(extra)
    assert joints.extras == {'left_toe': 16, 'right_toe': 17}


def test_a_missing_spine_is_the_pelvis():
    names = first_names('biovision') | {'chest': 'Chest'}
    joints = match_joints(clip_with(names.get, without=('spine',)))
    assert joints.frames[1] == joints.origins[1] == joints.frames[0]
    assert joints.frames[2] == 1


def test_missing_hands_feet_and_head_sit_at_the_ends_of_their_chains():
    names = first_names('cmu_bvh')
    parents = ('chest', 'left_forearm', 'right_forearm', 'left_shank', 'right_shank')
    clip = clip_with(names.get, without=LEAVES, ends=parents)
    joints = match_joints(clip)
    hand, forearm = SEGMENTS.index('left_hand'), SEGMENTS.index('left_forearm')
    assert joints.frames[hand] == joints.frames[forearm]
    assert clip.joint_names[joints.origins[hand]] == 'lForeArm (end)'


def test_unknown_joints_are_listed_with_what_is_missing():
    clip = clip_with({**first_names('cmu_bvh'), 'left_thigh': 'gauche'}.get)
    with pytest.raises(InputFileError) as caught:
        match_joints(clip)
    text = str(caught.value)
    assert 'got none for left_thigh by the nearest map, cmu_bvh; by the tree: no pair of' in text
    assert 'joints here: hip, abdomen, chest' in text and 'gauche' in text
    assert 'known maps: puppet, cmu_asf, cmu_bvh' in text


def test_a_named_map_is_the_only_one_tried():
    clip = clip_with(first_names('cmu_bvh').get)
    with pytest.raises(InputFileError, match='expected joints of the map mixamo, got none'):
        match_joints(clip, built_in_map('mixamo'))


def test_a_tree_that_does_not_fit_the_names_is_refused():
    clip = clip_with(first_names('cmu_bvh').get)
    parents = np.array(clip.parents)
    parents[11] = 0
    with pytest.raises(InputFileError, match='HIERARCHY: expected left_shank below left_thigh'):
        match_joints(clip_of(clip.joint_names, parents))


def _write(path, text):
    path.write_text('format: puppet-name-map/1\n' + text)
    return path


def _yaml_of(names, **other):
    rows = [f'{key}: {value}' for key, value in other.items()]
    return '\n'.join([*rows, 'joints:', *(f'  {role}: {name}' for role, name in names.items())])


def test_a_yaml_map_names_any_joints(tmp_path):
    names = {segment: f'b{i}' for i, segment in enumerate(SEGMENTS)}
    listed = {**names, 'left_thigh': '[oberschenkel, b10]'}
    path = _write(tmp_path / 'studio.yaml', _yaml_of(listed, rest='t_pose'))
    name_map = load_name_map(path)
    assert name_map.name == 'studio'
    assert name_map.rest == 't_pose'
    assert match_joints(clip_with(names.get), name_map).frames == tuple(range(16))


@pytest.mark.parametrize(
    'text, expected',
    [
        ('joints: {hip: a}', ':2: joints.hip: expected one of pelvis, spine'),
        ('joints: {pelvis: 3}', ':2: joints.pelvis: expected a joint name or a list of them'),
        ('joints: {pelvis: []}', ':2: joints.pelvis: expected a joint name or a list of them'),
        ('joints: {pelvis: a}\nrest: a_pose', ':3: rest: expected one of derive, motion, t_pose'),
        ('joints: {pelvis: a}\njoint: {}', ':3: joint: expected a known key'),
        ('name: x', 'joints: expected this key'),
    ],
)
def test_wrong_yaml_maps_name_line_and_key(tmp_path, text, expected):
    assert pytest.raises(InputFileError, load_name_map, _write(tmp_path / 'm.yaml', text)).match(
        expected
    )
