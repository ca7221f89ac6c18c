# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a file's skeleton to ours, whatever program, unit and axes: the same motion comes out."""

import re

from clip_conventions import convention_text, CONVENTIONS, Style
from clip_samples import (
    assert_same_motion,
    default_ends,
    file_text,
    Habit,
    ORDERS,
    pure_angles_deg,
    wave_motion,
    WORLDS,
    Y_UP,
)
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import END_EFFECTORS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import check_body
from puppet_core.clips.load import load_clip, read_clip, read_clip_file
from puppet_core.clips.name_map import joints_by_structure
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.skeleton_map import (
    canonical_direction,
    canonical_hinge,
    count_artificial_frames,
    to_motion,
)
from puppet_core.io import ConfigError, InputFileError
from puppet_core.procedural import procedural_motion
import pytest
from scipy.spatial.transform import Rotation

UNITS = {
    'centimetres': 0.01,
    'metres': 1.0,
    'inches': 0.0254,
    'millimetres': 0.001,
    "CMU's unit, 1/0.45 inch": 0.0254 / 0.45,
}


@pytest.fixture
def motion(rng, adult_character):
    return wave_motion(adult_character.skeleton, rng)


@pytest.fixture
def write(tmp_path, motion, rng):
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


@pytest.mark.parametrize('name', CONVENTIONS)
def test_without_names_the_tree_gives_the_motion(write, motion, name):
    read = read_clip(write(name, Style(named=False)))
    assert_same_motion(motion, read.motion)
    assert re.search('; joints by the tree: pelvis b.*, left_thigh b.*, right_hand b', read.text)


@pytest.mark.parametrize('parents', [[-1, *range(999)], [-1] + [0] * 999, [-1, 0, 0, 0, 3, 3, 3]])
def test_other_trees_are_no_bodies(parents):
    joints = len(parents)
    offsets = np.tile([0.0, -0.1, 0.0], (joints, 1))
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (2, joints, 1))
    names = tuple(f'b{i}' for i in range(joints))
    clip = ClipFile('a.bvh', 30.0, names, parents, offsets, rotations, np.tile(offsets, (2, 1, 1)))
    assert joints_by_structure(clip).startswith(('no pair', 'no neck'))


@pytest.mark.parametrize('name', ['cmu for motionbuilder', 'smpl', 'mocapnet'])
@pytest.mark.parametrize('seed', range(2))
def test_a_zero_pose_that_means_nothing_is_replaced_by_the_motion(
    tmp_path, rng, adult_character, name, seed
):
    motion = procedural_motion(adult_character, 30.0)
    style = Style(folded=np.random.default_rng(seed))
    (tmp_path / 'a.bvh').write_text(convention_text(motion, CONVENTIONS[name], rng, style))
    read = read_clip(tmp_path / 'a.bvh')
    assert 'rest pose from the motion, zero of ' in read.text
    offsets, points = read.motion.skeleton.offsets, read.motion.world_segments()[1]
    np.testing.assert_allclose(offsets, motion.skeleton.offsets, atol=0.02)
    np.testing.assert_allclose(points, motion.world_segments()[1], atol=0.02)
    angles = pure_angles_deg(motion.world_segments()[0], read.motion.world_segments()[0])
    # the performer's elbows are no pure hinges
    assert np.median(angles.reshape(-1, 16), axis=0).max() < 20.0


@pytest.mark.parametrize('flexion', [0.0, -0.2])
def test_straight_knees_bend_as_the_toes_point(tmp_path, rng, adult_character, flexion):
    start = procedural_motion(adult_character, 30.0)
    rotations = np.array(start.rotations[:50])
    rotations[:, [11, 14]] = np.cos(0.5 * flexion), 0.0, np.sin(0.5 * flexion), 0.0
    motion = Motion.from_rotations(start.skeleton, 30.0, start.root_positions[:50], rotations)
    style = Style(folded=np.random.default_rng(1))
    (tmp_path / 'a.bvh').write_text(convention_text(motion, CONVENTIONS['smpl'], rng, style))
    knees = read_clip(tmp_path / 'a.bvh').motion.rotations[:, [11, 14]]
    assert pure_angles_deg(knees, motion.rotations[:, [11, 14]]).max() < 2.0


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
    [*((unit, 'y') for unit in UNITS), *(('centimetres', world) for world in WORLDS)],
)
def test_unit_and_up_axis_are_found_and_said(write, motion, unit, world):
    style = Style(UNITS[unit], WORLDS[world])
    read = read_clip(write('mixamo', style), options=ClipOptions(joints_as_props=True))
    assert_same_motion(motion, read.motion)
    props = read.motion.props
    k = props.names.index('mixamorig:LeftHand')
    q_hand, p_hand = (part[:, SEGMENT_INDEX['left_hand']] for part in motion.world_segments())
    np.testing.assert_allclose(props.positions[:, k], p_hand, atol=1e-6)
    assert pure_angles_deg(props.orientations[:, k], q_hand).max() < 1e-5
    assert (read.unit.value, read.up_axis.value) == (unit, world)
    assert f'unit {unit} (stature about 1.7' in read.text
    assert f'; up {world} (head over feet along {world} in ' in read.text
    assert 'check' not in read.text


@pytest.mark.parametrize(
    ('factor', 'unit', 'said'),
    [
        (1.4, 'centimetres', 'stature about 2.45 m, check with'),
        (0.6, 'centimetres', 'stature about 1.05 m'),
    ],
)
def test_children_and_giants_are_no_other_unit_and_unusual_sizes_are_said(
    tmp_path, rng, adult_character, factor, unit, said
):
    body = adult_character.skeleton
    body = Skeleton(factor * body.offsets, factor * body.interaction_points)
    text = convention_text(wave_motion(body, rng), CONVENTIONS['mixamo'], rng, Style(UNITS[unit]))
    (tmp_path / 'a.bvh').write_text(text)
    assert f'unit {unit} ({said}' in read_clip(tmp_path / 'a.bvh').text


@pytest.mark.parametrize(
    ('segment', 'factor', 'said'),
    [
        ('left_upper_arm', 0.2, 'left shoulder 0.0.* m from the middle, 0.0. of the leg, people'),
        ('left_forearm', 0.7, 'upper_arm .* m on the left, .* m on the right'),
        ('right_foot', 0.5, 'right shank 0.2.* m long, .* of the leg, people have 0.50'),
        ('right_thigh', -1.0, None),
    ],
)
def test_bodies_unlike_a_persons_are_reported_or_refused(adult_character, segment, factor, said):
    offsets = np.array(adult_character.skeleton.offsets)
    assert not list(check_body('a.bvh', Skeleton(offsets, np.zeros((4, 3)))))
    offsets[SEGMENT_INDEX[segment]] *= factor
    skeleton = Skeleton(offsets, np.zeros((4, 3)))
    if said is None:
        with pytest.raises(InputFileError, match='a.bvh: skeleton: expected the right hip on its'):
            list(check_body('a.bvh', skeleton))
    else:
        assert re.search(said, '; '.join(check_body('a.bvh', skeleton)))


def test_given_unit_and_axis_are_not_guessed(write):
    path = write('mixamo', Style(0.001))
    read = read_clip(path, options=ClipOptions(unit_m=0.01, up_axis='z'))
    assert '; unit 0.01 m (as given); up z (as given)' in read.text
    assert read.motion.skeleton.leg_length > 5.0


@pytest.mark.parametrize('unit_m', [1e-5, 1.0 / 26.0, 15.0])
def test_a_size_of_no_usual_unit_becomes_an_adults_and_is_reported(write, unit_m):
    read = read_clip(write('mixamo', Style(unit_m)))
    assert read.motion.skeleton.leg_length == pytest.approx(0.9, abs=0.05)
    assert re.search(r'unit \S+ m \(no usual unit gives .* scaled to an adult of 1.7 m', read.text)
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
    assert 'the rest pose is upright along' in found.why


POSITION_TOL_M = 1e-7


@pytest.fixture
def clip(tmp_path, motion):
    """Return the motion as another program's file holds it."""
    path = tmp_path / 'sample.bvh'
    path.write_text(file_text(motion, Habit()))
    return read_clip_file(path)


def changed(clip, **fields):
    names = ('path', 'rate_hz', 'joint_names', 'parents', 'offsets', 'rotations', 'translations')
    return ClipFile(**({name: getattr(clip, name) for name in names} | fields))


def test_end_effectors_are_those_of_the_motion(clip, motion):
    loaded = to_motion(clip)
    np.testing.assert_allclose(
        loaded.end_effectors[:, 2:], motion.end_effectors[:, 2:], atol=POSITION_TOL_M
    )
    # The palm's height in the hand is not in the file; its place along the hand is.
    palms = loaded.skeleton.interaction_points[:2, 1]
    np.testing.assert_allclose(palms, motion.skeleton.interaction_points[:2, 1])


def test_a_limb_without_length_is_refused(clip):
    knee = clip.joint_names.index('LeftLeg')
    offsets, translations = np.array(clip.offsets), np.array(clip.translations)
    offsets[knee] = translations[:, knee] = 0.0
    flat = changed(clip, offsets=offsets, translations=translations)
    with pytest.raises(InputFileError, match='OFFSET: expected a body with .* left_shank: expect'):
        to_motion(flat)


@pytest.mark.parametrize(
    'fields, text',
    [
        ({'up_axis': 'w'}, "up_axis: expected one of auto, x, y, z, -x, -y, -z, got 'w'"),
        ({'unit_m': 0.0}, 'unit_m: expected 1e-06 .. 1000, got 0.0'),
        ({'unit_m': float('nan')}, 'unit_m: expected .* got nan'),
        ({'rate_hz': -1.0}, 'rate_hz: expected 0.1 .. 10000, got -1.0'),
    ],
)
def test_impossible_options_are_refused(fields, text):
    with pytest.raises(ConfigError, match=text):
        ClipOptions(**fields)


@pytest.mark.parametrize(
    ('frames', 'shift', 'dropped'),
    [(slice(None), [0.0, 0.7, 0.0], False), (slice(1), [0.5, 0.2, 0.4], True)],
)
def test_floor_and_artificial_start_are_corrected_unless_switched_off(
    clip, frames, shift, dropped
):
    translations = np.array(clip.translations)
    translations[frames, 0] += shift
    moved = changed(clip, translations=translations)
    corrected, kept = to_motion(moved), to_motion(moved, options=ClipOptions(correct=False))
    np.testing.assert_allclose(corrected.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)
    assert kept.n_frames == clip.n_frames and (corrected.n_frames < clip.n_frames) == dropped
    if not dropped:
        assert kept.root_positions[0, 2] - corrected.root_positions[0, 2] > 0.6


def test_hands_and_feet_without_ends_still_have_palms_and_soles(tmp_path, motion):
    path = tmp_path / 'sample.bvh'
    habit = Habit(ends=dict.fromkeys(END_EFFECTORS, np.zeros(3)))
    path.write_text(file_text(motion, habit))
    loaded = load_clip(path)
    points = loaded.skeleton.interaction_points
    assert 0.05 < points[0, 1] < 0.1
    assert points[1, 1] == pytest.approx(-points[0, 1])
    np.testing.assert_allclose(points[2:, 0], 0.15 * motion.skeleton.limb_lengths[2, 1])
    assert (points[2:, 2] < -0.03).all()
    np.testing.assert_allclose(loaded.end_effectors[-1, 2:4, 2], 0.0, atol=1e-9)


@pytest.fixture
def load(tmp_path):
    def write_and_load(motion, habit):
        path = tmp_path / 'sample.bvh'
        path.write_text(file_text(motion, habit))
        return load_clip(path)

    return write_and_load


def random_skeleton(rng, base):
    scale = np.repeat(rng.uniform(0.6, 1.5, (16, 1)), 3, axis=1)
    scale[7:10], scale[13:16] = scale[4:7], scale[10:13]
    return Skeleton(base.offsets * scale, base.interaction_points)


def a_pose_axes(arm_deg, leg_deg):
    axes = {}
    for segment in SEGMENTS:
        side = 1.0 if segment.startswith('left') else -1.0
        is_arm = segment.endswith(('arm', 'hand'))
        is_leg = segment.endswith(('thigh', 'shank', 'foot'))
        turn = -arm_deg * side * is_arm + leg_deg * side * is_leg
        axes[segment] = Y_UP * Rotation.from_euler('x', turn, degrees=True)
    return axes


def bone_axes(skeleton, along):
    """
    Return joint axes that follow the bones, as LAFAN1 has them.

    `along` is the file's axis along each bone; trunk and limbs alike. Another axis is the
    hinge's.
    """
    axes = {}
    ends = default_ends(skeleton)
    for segment in SEGMENTS:
        bone, hinge = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
        if segment.endswith('foot'):
            bone = ends[segment] / np.linalg.norm(ends[segment])
        elif '_' in segment:
            bone, hinge = canonical_direction(segment), canonical_hinge(segment)
        rows = np.stack([bone, np.cross(hinge, bone), hinge])
        axes[segment] = Rotation.from_matrix(np.roll(rows, along, axis=0))
    return axes


def turned_axes(rng):
    """Return joint axes turned alike, away from what maps axes on axes: that is taken exactly."""
    turn = Rotation.from_rotvec(np.radians(40.0) * np.array([0.6, -0.64, 0.48]))
    turn = turn * Rotation.from_euler('ZYX', 90.0 * rng.integers(0, 4, 3), degrees=True)
    return dict.fromkeys(SEGMENTS, turn * Y_UP)


def toes_out(rng):
    return {
        f'{side}_foot': Y_UP * Rotation.from_euler('z', turn, degrees=True)
        for side, turn in (('left', 12.0), ('right', -12.0))
    }


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('axes', [lambda rng: {}, turned_axes, toes_out])
def test_turned_rest_poses_and_channel_orders_do_not_matter(load, adult_character, seed, axes):
    rng = np.random.default_rng(seed)
    skeleton = adult_character.skeleton
    motion = wave_motion(skeleton if axes is toes_out else random_skeleton(rng, skeleton), rng)
    orders = {segment: str(rng.choice(ORDERS)) for segment in SEGMENTS}
    assert_same_motion(motion, load(motion, Habit(axes=axes(rng), orders=orders)))


@pytest.mark.parametrize('arm_deg, leg_deg', [(10.0, 0.0), (59.0, 20.0), (90.0, 20.0)])
def test_lowered_arms_and_spread_legs_are_brought_to_the_t_pose(
    load, rng, adult_character, arm_deg, leg_deg
):
    motion = wave_motion(adult_character.skeleton, rng)
    assert_same_motion(motion, load(motion, Habit(axes=a_pose_axes(arm_deg, leg_deg))))


@pytest.mark.parametrize('along', [0, 1])
def test_axes_along_the_bones_are_sorted_out_by_the_hinges(load, rng, adult_character, along):
    motion = wave_motion(adult_character.skeleton, rng)
    assert_same_motion(motion, load(motion, Habit(axes=bone_axes(motion.skeleton, along))))


def test_limbs_that_never_bend_still_point_the_right_way(load, adult_character):
    motion = wave_motion(adult_character.skeleton, np.random.default_rng(1))
    rotations = np.array(motion.rotations)
    rotations[:, 3:] = [1.0, 0.0, 0.0, 0.0]
    stiff = type(motion).from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, rotations
    )
    loaded = load(stiff, Habit(axes=bone_axes(motion.skeleton, 0)))
    p_loaded = loaded.world_segments()[1] - loaded.root_positions[:, None]
    p_stiff = stiff.world_segments()[1] - stiff.root_positions[:, None]
    np.testing.assert_allclose(p_loaded, p_stiff, atol=1e-7)
    # Left stays left: the thigh's own Y is where it was, not behind or inside.
    q_loaded, q_stiff = (m.world_segments()[0][:, 10] for m in (loaded, stiff))
    assert pure_angles_deg(q_loaded, q_stiff).max() < 1.0


def test_a_standing_foots_slope_to_the_toes_is_kept(load, rng, adult_character):
    motion = wave_motion(adult_character.skeleton, rng)
    toes = {f'{side}_foot': np.array([0.11, 0.0, -0.08]) for side in ('left', 'right')}
    loaded = load(motion, Habit(ends=toes))
    foot = SEGMENT_INDEX['left_foot']
    angles = pure_angles_deg(motion.rotations[:, foot], loaded.rotations[:, foot])
    assert angles.max() < 1e-5


@pytest.mark.parametrize('side', ['left', 'right'])
@pytest.mark.parametrize(('part', 'forward'), [('shank', -1), ('forearm', 1)])
def test_hinges_flex_shanks_backward_and_forearms_forward(side, part, forward):
    name = f'{side}_{part}'
    turn = Rotation.from_rotvec(0.5 * np.pi * canonical_hinge(name))
    moved = turn.apply(canonical_direction(name))
    np.testing.assert_allclose(moved, (forward, 0, 0), atol=1e-12)


def elsewhere(points):
    points[0] += [0.3, 0.1, -0.2]


def ringing(points):
    points[0] += 0.5
    points[1:6] += 0.5 * np.array([-0.3, 0.2, -0.1, 0.05, -0.02])[:, None, None]


def later_jump(points):
    points[100:] += 0.5


def fast(points):
    points *= 5.0


def still(points):
    points[:] = 0.0


@pytest.mark.parametrize(
    ('change', 'dropped'), [(elsewhere, 1), (ringing, 6), (later_jump, 0), (fast, 0), (still, 0)]
)
def test_a_pose_elsewhere_is_dropped_with_its_ringing_alone(rng, change, dropped):
    """Ten joints move at about one metre a second; short clips keep all."""
    directions = rng.normal(size=(10, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    t = np.arange(200)[:, None, None] / 120.0
    points = rng.normal(size=(10, 3)) + directions * np.sin(t)
    for n_frames in (1, 2, 3, 5, 200):
        assert count_artificial_frames(points[:n_frames], 120.0, 0.9) == 0
    change(points)
    assert count_artificial_frames(points, 120.0, 0.9) == dropped
