# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's URDF made into a character: what is found, what names add, what is refused."""

from dataclasses import replace
import re

import numpy as np
from puppet_core.body.character import load_character, save_character
from puppet_core.body.robot import BodyShape
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.io import InputFileError
from puppet_core.robots.character_check import findings, require_t_pose
from puppet_core.robots.limbs import load_robot_map, RobotMap
import pytest
from scipy.spatial.transform import Rotation
from urdf_make import rooted_at_the_trunk, seven_axis_arms, X
from urdf_walk import HUMANOID, limits

TEXT = HUMANOID.read_text()
EXPECTED = {
    'chest': ['waist_yaw', 'waist_roll', 'waist_pitch'],
    'head': ['neck_yaw', 'neck_pitch'],
    'upper_arm': ['shoulder_pitch', 'shoulder_roll', 'shoulder_yaw'],
    'forearm': ['elbow'],
    'hand': ['wrist_yaw', 'wrist_pitch'],
    'thigh': ['hip_yaw', 'hip_roll', 'hip_pitch'],
    'shank': ['knee'],
    'foot': ['ankle_pitch', 'ankle_roll'],
}


def by_segment(robot):
    found = {}
    for name, segment in zip(robot.names, robot.segments):
        found.setdefault(SEGMENTS[segment], []).append(name)
    return found


def expected():
    groups = {}
    for segment, names in EXPECTED.items():
        if segment in ('chest', 'head'):
            groups[segment] = names
            continue
        for side in ('left', 'right'):
            groups[f'{side}_{segment}'] = [f'{side}_{name}' for name in names]
    return groups


def test_every_joint_is_found_with_its_limits(made):
    robot = made(TEXT).character.robot
    assert by_segment(robot) == expected()
    for i, name in enumerate(robot.names):
        assert (robot.lower[i], robot.upper[i]) == limits(TEXT)[name]
    assert robot.urdf == TEXT


def test_names_are_not_needed(made):
    """With all joints called j0, j1, .. the same ones move the same segments."""
    named = made(TEXT).character
    names = re.findall(r'<joint name="(\w+)"', TEXT)
    hidden = TEXT
    for k, name in enumerate(names):
        hidden = hidden.replace(f'<joint name="{name}"', f'<joint name="j{k}"')
    character = made(hidden).character
    assert [names[int(name[1:])] for name in character.robot.names] == list(named.robot.names)
    np.testing.assert_array_equal(character.skeleton.offsets, named.skeleton.offsets)


def test_the_rest_pose_is_a_t_pose(made):
    skeleton = made(TEXT).character.skeleton
    for i, name in enumerate(SEGMENTS):
        side = 1.0 if name.startswith('left') else -1.0
        way = skeleton.offsets[i] / max(np.linalg.norm(skeleton.offsets[i]), 1e-9)
        if name.endswith(('forearm', 'hand')):
            assert way @ [0.0, side, 0.0] > 0.999
        if name.endswith(('shank', 'foot')):
            assert way @ [0.0, 0.0, -1.0] > 0.999
    assert np.all(skeleton.interaction_points[:2, 1] * [1, -1] > 0.0)
    np.testing.assert_allclose(skeleton.interaction_points[2:, 2], -0.07, atol=1e-6)
    assert skeleton.leg_length == pytest.approx(0.80, abs=0.005)


def bent(text, angle):
    """Return the robot with another zero pose: its elbows bent, limits moved along."""
    for side in ('left', 'right'):
        old = re.search(rf'<joint name="{side}_elbow".*?</joint>', text, re.S).group()
        new = old.replace('rpy="0 0 0"', f'rpy="0 {angle} 0"')
        new = new.replace('lower="-2.3"', f'lower="{-2.3 - angle}"')
        new = new.replace('upper="0.1"', f'upper="{0.1 - angle}"')
        assert new != old
        text = text.replace(old, new)
    return text


def test_bent_elbows_at_zero_give_the_same_skeleton(made):
    straight = made(TEXT).character
    for angle in (-1.5707963, -0.6):
        character = made(bent(TEXT, angle)).character
        np.testing.assert_allclose(
            character.skeleton.offsets, straight.skeleton.offsets, atol=2e-3
        )
        assert findings(character) == ()


def test_a_robot_that_faces_elsewhere_is_turned_by_its_map(made, tmp_path):
    path = tmp_path / 'map.yaml'
    path.write_text('format: puppet-robot-map/1\nforward: [0, 1, 0]\n')
    turned = TEXT
    # a root link above all, turned by a quarter
    turned = turned.replace(
        '<link name="base">',
        '<link name="world"/><joint name="mount" type="fixed"><origin xyz="0 0 0" '
        'rpy="0 0 1.5707963267948966"/><parent link="world"/><child link="base"/></joint>'
        '<link name="base">',
    )
    character = made(turned, load_robot_map(path)).character
    plain = made(TEXT).character
    np.testing.assert_allclose(character.skeleton.offsets, plain.skeleton.offsets, atol=1e-8)


def test_names_that_speak_against_feet_and_knees_are_noticed(made, tmp_path):
    turned = TEXT.replace('left_', 'tmp_').replace('right_', 'left_').replace('tmp_', 'right_')
    with pytest.raises(InputFileError, match=r'forward: \[1, 0, 0\]'):
        made(turned)
    path = tmp_path / 'map.yaml'
    path.write_text('format: puppet-robot-map/1\nforward: [1, 0, 0]\n')
    assert 'right_knee' in moved(made(turned, load_robot_map(path)), 'left_shank')


@pytest.mark.parametrize('angle, forward', [(np.pi, '[-1, 0, 0]'), (np.pi / 2, '[0, 1, 0]')])
def test_a_robot_that_faces_elsewhere_is_turned_by_its_feet_and_knees(made, angle, forward):
    mount = (
        '<link name="world"/><joint name="mount" type="fixed"><parent link="world"/>'
        f'<child link="base"/><origin rpy="0 0 {angle}"/></joint></robot>'
    )
    plain, found = made(TEXT), made(TEXT.replace('</robot>', mount))
    offsets = found.character.skeleton.offsets, plain.character.skeleton.offsets
    np.testing.assert_allclose(*offsets, atol=1e-8)
    assert f'forward: {forward} in the axes of the root link, by knees and feet' in found.notes


def test_a_robot_whose_root_is_its_trunk_has_its_pelvis_where_the_legs_meet(made, tmp_path):
    plain = made(seven_axis_arms(0.0).text()).character
    turned = made(rooted_at_the_trunk().text()).character
    assert (plain.robot.pelvis, turned.robot.pelvis) == ('', 'base')
    assert by_segment(turned.robot) == by_segment(plain.robot)
    places = np.array([c.skeleton.rest_positions() for c in (plain, turned)])
    # a waist that turns about Z may be anywhere on that line
    np.testing.assert_allclose(*np.delete(places, [1, 2], axis=1), atol=1e-9)
    np.testing.assert_array_equal(
        turned.skeleton.interaction_points, plain.skeleton.interaction_points
    )
    assert findings(turned) == findings(plain)
    path = tmp_path / 'there' / 'trunk.yaml'
    save_character(turned, path)
    assert load_character(path).robot.pelvis == 'base'


def test_points_of_contact_without_a_size_are_soles(made):
    corners = [(x, y) for x in (-0.07, 0.15) for y in (-0.05, 0.05)]
    points = ''.join(
        f'<collision><origin xyz="{x} {y} -0.07"/><geometry><sphere radius="0"/></geometry>'
        '</collision>'
        for x, y in corners
    )
    feet = r'<collision><origin xyz="0.04 0 -0.055" rpy="0 0 0"/><geometry><box .*?</collision>'
    plain, found = made(TEXT).character, made(re.sub(feet, points, TEXT)).character
    given = found.skeleton.interaction_points
    np.testing.assert_allclose(given, plain.skeleton.interaction_points, atol=1e-9)


@pytest.mark.parametrize('kind', ['cylinder', 'capsule'])
def test_points_reach_as_far_as_the_solid_and_no_farther(rng, kind):
    for turn in Rotation.random(20, random_state=3).as_matrix():
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, rng.normal(size=3)
        found = BodyShape(0, kind, np.array([0.2, 0.7]), pose).points()
        axis, angles = turn[:, 2], np.linspace(0.0, 2.0 * np.pi, 3601)
        rim = 0.2 * (np.outer(np.cos(angles), turn[:, 0]) + np.outer(np.sin(angles), turn[:, 1]))
        most = rim.max(axis=0) if kind == 'cylinder' else np.full(3, 0.2)
        far = np.abs(0.35 * axis) + most
        np.testing.assert_allclose(found.max(axis=0) - pose[:3, 3], far, atol=1e-6)
        np.testing.assert_allclose(found.min(axis=0) - pose[:3, 3], -far, atol=1e-6)
        along = np.abs((found - pose[:3, 3]) @ axis)
        assert along.max() <= 0.35 + (0.2 if kind == 'capsule' else 0.0) + 1e-9


def test_the_edges_of_soles_are_capsules(made):
    character = made(TEXT).character
    for foot in (12, 15):
        rails = [c for c in character.capsules if c.segment == foot and c.radius < 0.005]
        ends = np.array([(c.start, c.end) for c in rails]).reshape(-1, 3)
        reach = np.ptp(ends, axis=0) + 2.0 * rails[0].radius
        size = re.search(r'<link name="left_foot">.*?<box size="([^"]*)"', TEXT, re.S).group(1)
        np.testing.assert_allclose(reach[:2], [float(x) for x in size.split()[:2]], atol=1e-6)
        low = ends[:, 2].min() - rails[0].radius
        sole = character.skeleton.interaction_points[2 + (foot == 15), 2]
        np.testing.assert_allclose(low, sole, atol=1e-9)


@pytest.mark.parametrize('name', ['meshes/{}', 'package://tin_description/meshes/{}'])
def test_meshes_are_shape_soles_and_palms(made, tmp_path, name):
    trimesh = pytest.importorskip('trimesh')
    (tmp_path / 'meshes').mkdir()
    text = TEXT
    for k, size in enumerate(re.findall(r'<box size="([^"]*)"/>', TEXT)):
        box = trimesh.creation.box([1e3 * float(edge) for edge in size.split()])
        box.export(tmp_path / 'meshes' / f'{k}.stl')
        mesh = f'<mesh filename="{name.format(f"{k}.stl")}" scale="0.001 0.001 0.001"/>'
        text = text.replace(f'<box size="{size}"/>', mesh, 1)
    plain, found = made(TEXT).character, made(text).character
    given = found.skeleton.interaction_points
    np.testing.assert_allclose(given, plain.skeleton.interaction_points, atol=1e-6)
    assert len(found.capsules) == len(plain.capsules)
    assert findings(found) == ()


def test_feet_that_limits_keep_from_the_t_pose_refuse_with_the_joint(made, tmp_path):
    stuck = re.sub(
        r'(="left_hip_pitch".*?)lower="-2.1" upper="0.9"',
        r'\1lower="-2.1" upper="-1.4"',
        TEXT,
        flags=re.S,
    )
    wanted = (
        r'left_foot: expected within 60 deg and 5 cm of the T-pose, .* left_hip_pitch; .*--map'
    )
    with pytest.raises(InputFileError, match=wanted):
        made(stuck)
    path = tmp_path / 'tin.yaml'
    character = made(TEXT).character
    rest = character.robot.rest.copy()
    rest[12] = [0.0, 0.0, 0.0, 1.0]
    wrong = replace(character, robot=replace(character.robot, rest=rest))
    with pytest.raises(InputFileError, match=r'left_foot: .*robot.rest_wxyz'):
        require_t_pose(wrong, path)


def test_solids_of_other_programs_are_left_out_and_capsules_read(made):
    capsule = '<capsule radius="0.05" length="0.26"/><drake:declare_convex/>'
    found = made(TEXT.replace('<cylinder radius="0.05" length="0.36"/>', capsule)).character
    shank = next(c for c in found.capsules if SEGMENTS[c.segment] == 'left_shank')
    np.testing.assert_allclose(np.linalg.norm(shank.end - shank.start), 0.26)


def test_saving_and_loading_is_the_identity(made, tmp_path):
    character = made(TEXT).character
    path = tmp_path / 'below' / 'tin.yaml'
    save_character(character, path)
    copy = load_character(path)
    assert copy.robot.urdf == TEXT
    for name in ('names', 'held'):
        assert getattr(copy.robot, name) == getattr(character.robot, name)
    for name in ('segments', 'axes', 'origins', 'lower', 'upper', 'rest'):
        np.testing.assert_allclose(
            getattr(copy.robot, name), getattr(character.robot, name), atol=1e-15
        )
    np.testing.assert_array_equal(copy.skeleton.offsets, character.skeleton.offsets)


@pytest.mark.parametrize(
    'parts, missing',
    [
        (r'waist_\w+', {'chest'}),
        (r'neck_\w+', {'head'}),
        (r'\w+_wrist_\w+', {'left_hand', 'right_hand'}),
        (r'\w+_ankle_\w+', {'left_foot', 'right_foot'}),
    ],
)
@pytest.mark.parametrize('kind', ['fixed', 'prismatic'])
def test_segment_without_a_joint_is_reported_as_rigid(made, parts, missing, kind):
    text = re.sub(rf'name="({parts})" type="revolute"', rf'name="\1" type="{kind}"', TEXT)
    character = made(text).character
    assert set(expected()) - set(by_segment(character.robot)) == missing
    for segment in missing - {'chest'}:
        assert f'robot: no joint turns the {segment}, it is rigid' in findings(character)


def test_meshes_that_are_not_there_and_joints_that_are_held_are_noticed(made, tmp_path):
    (tmp_path / 'there.stl').touch()
    for file, is_told in (
        ('none.stl', True),
        ('file:///none.stl', True),
        ('there.stl', False),
        ('package://x/none.stl', True),
    ):
        text = TEXT.replace('<sphere radius="0.09"/>', f'<mesh filename="{file}"/>')
        told = [t for t in findings(made(text).character) if t.startswith('robot: link head: ')]
        assert bool(told) == is_told and (not is_told or told[0].endswith(f'no file {file}'))
    robot = made(TEXT, RobotMap(segments={'head': ('neck_yaw',)})).character
    assert findings(robot) == ('robot: not moved: neck_pitch',)


def test_check_finds_what_is_odd(made, adult_character):
    assert findings(adult_character) == ()
    character = made(TEXT).character
    assert findings(character) == ()
    offsets = character.skeleton.offsets.copy()
    offsets[11, 2] *= 0.2
    odd = findings(replace(character, skeleton=replace(character.skeleton, offsets=offsets)))
    assert any(text.startswith('joints_m.left_shank: the right one') for text in odd)
    assert any('left_leg: its lower part' in text for text in odd)
    tight = TEXT.replace('lower="-0.4" upper="2.4"', 'lower="-0.4" upper="0.8"', 1)
    assert any('left_upper_arm by' in text for text in findings(made(tight).character))


def moved(found, segment):
    robot = found.character.robot
    return [robot.names[j] for j in robot.joints_of(SEGMENTS.index(segment))]


def mimicking(follower, leader):
    old = re.search(rf'<joint name="{follower}".*?</joint>', TEXT, re.S).group()
    return TEXT.replace(old, old.replace('</joint>', f'<mimic joint="{leader}"/></joint>'))


def with_clavicles(joints=1):
    """Return a robot of arms with seven axes and more before them."""
    urdf = seven_axis_arms(0.0)
    for side in ('l', 'r'):
        above = 'torso'
        for k in range(joints):
            urdf.joint(f'{side}c{k}', above, f'{side}c{k}', (0, 0, 0), X, (-0.3, 0.3))
            above = f'{side}c{k}'
        first = urdf.joints[side + 'a1']
        urdf.joints[side + 'a1'] = (above, *first[1:])
    return urdf.text()


def test_hips_that_share_a_motor_are_held_and_the_legs_are_found(made):
    found = made(mimicking('right_hip_yaw', 'left_hip_yaw'))
    for side in ('left', 'right'):
        assert moved(found, f'{side}_thigh') == [f'{side}_hip_roll', f'{side}_hip_pitch']
        assert moved(found, f'{side}_shank') == [f'{side}_knee']
        assert moved(found, f'{side}_upper_arm')[0] == f'{side}_shoulder_pitch'
    assert dict(found.character.robot.held) == {'left_hip_yaw': 0.0}
    assert 'left_hip_yaw: held, right_hip_yaw follows it in another limb' in found.notes


def test_a_joint_that_follows_one_of_its_own_limb_is_held_and_named(made):
    found = made(mimicking('right_wrist_pitch', 'right_elbow'))
    assert moved(found, 'right_hand') == ['right_wrist_yaw']
    assert moved(found, 'left_hand') == ['left_wrist_yaw', 'left_wrist_pitch']
    assert found.notes == ('right_wrist_pitch: held, it follows right_elbow',)


def test_joints_that_follow_others_cannot_be_named(made):
    segments = {'right_thigh': ('right_hip_yaw', 'right_hip_roll', 'right_hip_pitch')}
    with pytest.raises(InputFileError, match='an angle of their own, got right_hip_yaw'):
        made(mimicking('right_hip_yaw', 'left_hip_yaw'), RobotMap(segments=segments))


def test_a_clavicle_is_held_and_named(made):
    found, plain = made(with_clavicles()), made(seven_axis_arms(0.0).text())
    for segment in ('left_upper_arm', 'left_forearm', 'left_hand', 'right_hand'):
        assert moved(found, segment) == moved(plain, segment) != []
    assert 'left_arm: held, no part of it: lc0' in found.notes
    assert 'right_arm: held, no part of it: rc0' in found.notes
    assert not any('held' in note for note in plain.notes)


BAD = [
    ('<robot name', '<!DOCTYPE robot [<!ENTITY a "b">]><robot name', 'expected no DOCTYPE'),
    ('<robot name', '<!DOCTYPE robot SYSTEM "x.dtd"><robot name', 'expected no DOCTYPE'),
    ('</robot>', '', 'expected valid XML'),
    ('<robot name="tin">', '<model name="tin">', 'expected valid XML'),
    ('<child link="torso"/>', '<child link="tors"/>', "a link of this file, got 'tors'"),
    ('<child link="torso"/>', '<child link="base"/>', 'expected one tree'),
    ('<child link="head"/>', '<child link="torso"/>', 'one joint above the link torso'),
    ('type="revolute"', 'type="hinge"', "got 'hinge'"),
    ('lower="-1.5" upper="1.5"', 'lower="1.5" upper="-1.5"', 'expected lower <= upper'),
    ('lower="-1.5" upper="1.5"', 'lower="x" upper="1.5"', "1 finite number as lower, got 'x'"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', 'an axis with a direction'),
    ('xyz="0 0 0.09"', 'xyz="0 0 nan"', "3 finite numbers as xyz, got '0 0 nan'"),
    ('<link name="neck"/>', '<link name="neck"/><link name="neck"/>', 'each link once'),
    ('radius="0.09"', 'radius="-0.09"', 'a size >= 0'),
    ('radius="0.09"', 'radius="nan"', "head: expected 1 finite number as radius, got 'nan'"),
    ('<sphere radius="0.09"/>', '<mesh/>', 'head: expected the attribute filename'),
    ('<sphere radius="0.09"/>', '<blob/>', 'head: expected a solid, one of box, cylinder'),
    ('<parent link="left_shank"/>', '<parent link="left_ankle"/>', 'expected one tree below'),
    ('<child link="left_ankle"/>', '<child link="left_thigh"/>', 'joint above the link left_th'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="no"/>', 'left_hip_pitch: expected to mimic a joint'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="left_hip_pitch"/>', 'that mimics none'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="left_knee" offset="inf"/>', '1 finite number as offs'),
    ('<link name="neck"/>', '<link/>', '<link>: expected the attribute name'),
]


@pytest.mark.parametrize('old, new, words', BAD, ids=[row[2] + row[1][:12] for row in BAD])
def test_a_bad_urdf_is_reported_with_file_and_line(made, old, new, words):
    assert old in TEXT
    with pytest.raises(InputFileError, match=r'robot\.urdf:\d+: ') as caught:
        made(TEXT.replace(old, new, 1))
    assert words in str(caught.value)


def retyped(names, kind):
    """Return the robot with joints of a name pattern made another type."""
    return re.sub(rf'({names})" type="revolute"', rf'\1" type="{kind}"', TEXT)


@pytest.mark.parametrize(
    'text, words',
    [
        ('<robot name="a"/>', 'expected links'),
        ('<robot name="a"><link name="b"/></robot>', 'expected two legs'),
        (re.sub(r'type="revolute"', 'type="prismatic"', TEXT), 'expected two legs'),
        (retyped(r'_shoulder_\w+|_elbow', 'fixed'), 'expected two arms'),
        (retyped(r'_knee', 'fixed'), 'left_leg: hip and knee'),
        (retyped(r'_knee', 'prismatic'), 'hip and knee with'),
        (TEXT.replace('xyz="0 -0.36 0"', 'xyz="0 0 0"'), 'left_leg: hip and knee with two parts'),
        (
            re.sub(
                r'(="(left|right)_knee.*?)(<axis)',
                r'\1<mimic joint="\2_hip_pitch"/>\3',
                TEXT,
                flags=re.S,
            ),
            'left_leg: hip and knee',
        ),
        (retyped(r'left_hip_\w+', 'fixed'), 'expected two arms.* taken as legs: left_sh'),
        (re.sub(r'origin xyz="[^"]*"', 'origin xyz="0 0 0"', TEXT), 'expected two legs'),
    ],
)
def test_robot_that_is_no_humanoid_is_refused_with_a_hint(made, text, words):
    with pytest.raises(InputFileError, match=words):
        made(text)


def test_lengths_in_millimetres_are_refused_with_a_hint(made):
    def longer(match):
        return f'origin xyz="{" ".join(str(1e3 * float(x)) for x in match[1].split())}"'

    with pytest.raises(InputFileError, match='up to 10 m apart, got .* m;? .*not millimetres'):
        made(re.sub(r'origin xyz="([^"]*)"', longer, TEXT))


@pytest.mark.parametrize(
    'old, new, words',
    [
        ('joint: left_knee', 'joint: left_nee', "the URDF, got 'left_nee'"),
        ('left_knee\n    segment: left_shank', 'left_knee\n    segment: calf', 'one of spine'),
        ('joint: left_knee', 'joint: right_knee', 'each joint once, got right_knee'),
        ('axis: [0.0, 0.0, 1.0]', 'axis: [0.0, 0.0, 2.0]', '3 numbers of length 1'),
        ('lower_rad: -1.5', 'lower_rad: 2.5', 'a number in 2.5 .. inf'),
        ('urdf: ', 'urdf: no_', 'a readable file'),
    ],
)
def test_a_bad_section_is_reported_with_file_and_key(made, tmp_path, old, new, words):
    path = tmp_path / 'tin.yaml'
    save_character(made(TEXT).character, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputFileError) as caught:
        load_character(path)
    assert words in str(caught.value)


def test_an_empty_link_below_the_robot_is_no_part_of_it(made):
    plain, text = made(TEXT).character, TEXT
    world = (
        '<link name="world"/><joint name="fix" type="fixed"><origin xyz="0 0 -1"/>'
        '<parent link="world"/><child link="base"/></joint><link name="base">'
    )
    stood = made(text.replace('<link name="base">', world)).character
    np.testing.assert_allclose(stood.skeleton.offsets, plain.skeleton.offsets)
    np.testing.assert_allclose(
        stood.skeleton.interaction_points, plain.skeleton.interaction_points
    )
    np.testing.assert_allclose(stood.robot.origins, plain.robot.origins)


def test_limits_in_degrees_are_noticed(made):
    text = re.sub(r'upper="1.5"', 'upper="85"', TEXT)
    assert any('look like degrees' in line for line in findings(made(text).character))
