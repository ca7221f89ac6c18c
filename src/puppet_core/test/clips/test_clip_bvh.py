# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""BVH: the format, its meaning, every way a file can be wrong, and files of ours read back."""

from clip_samples import assert_same_motion, pure_angles_deg, SMALL_BVH, wave_motion
import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.clips.bvh import read_bvh, write_bvh
from puppet_core.clips.load import load_clip, read_clip
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation


@pytest.fixture
def read(tmp_path):
    path = tmp_path / 'clip.bvh'

    def read_text(text, **arguments):
        path.write_bytes(text.encode())
        return read_bvh(path, **arguments)

    return read_text


def test_joints_offsets_and_rate(read):
    clip = read(SMALL_BVH)
    assert clip.joint_names == ('base', 'arm', 'arm (end)')
    assert clip.parents.tolist() == [-1, 0, 1]
    assert clip.rate_hz == 100.0
    np.testing.assert_allclose(clip.offsets, [[0, 0, 0], [0, 0.1, 0], [0, 0, 0.2]])
    assert [clip.is_tip(k) for k in range(3)] == [False, False, True]


def test_rotations_turn_in_channel_order(read):
    clip = read(SMALL_BVH)
    expected = [
        Rotation.from_euler('ZXY', [10, 20, 30], degrees=True).as_quat()[[3, 0, 1, 2]],
        Rotation.from_euler('YX', [40, 50], degrees=True).as_quat()[[3, 0, 1, 2]],
    ]
    assert pure_angles_deg(clip.rotations[0, :2], expected).max() < 1e-9


def test_world_positions_chain_the_joints(read):
    q_world, p_world = read(SMALL_BVH).world()
    np.testing.assert_allclose(
        p_world[1], [[0.04, 0.05, 0.06], [0.04, 0.15, 0.06], [0.04, 0.15, 0.26]]
    )
    # 90 degrees about y takes the tip's z to x.
    np.testing.assert_allclose(p_world[2, 2], [0.27, 0.18, 0.09], atol=1e-12)
    assert q_world.shape == (3, 3, 4)


@pytest.mark.parametrize(
    'change',
    [
        lambda text: text.replace('\n', '\r\n'),
        lambda text: text.replace('\n', '\r'),
        lambda text: text.replace(' ', '\t '),
        lambda text: text.replace('base\n{', 'base {').replace('Site\n    {', 'Site {'),
        lambda text: text.replace('0 50\n4 5', '0\n50 4\n\n5'),
        lambda text: text.replace('\n4', ' 4').replace('\n7', ' 7'),
        lambda text: text.lower(),
        lambda text: text.replace('Frames: 3', 'Frames:3').replace('Time: ', 'Time:\t'),
        lambda text: text.rstrip('\n'),
        lambda text: '\n\n' + text + '\n \n',
        lambda text: text.replace('0.01', '1.0e-2'),
        lambda text: text.replace('MOTION\nFrames', 'MOTION Frames'),
    ],
    ids='crlf cr tabs braces wrapped joined lower colons no-end blank exponent head'.split(),
)
def test_layout_does_not_matter(read, change):
    clip, plain = read(change(SMALL_BVH)), read(SMALL_BVH)
    np.testing.assert_array_equal(clip.rotations, plain.rotations)
    np.testing.assert_array_equal(clip.translations, plain.translations)


@pytest.mark.parametrize(
    ('offset', 'values'),
    [('0 10 0', (11, 9, 10)), ('0 10 0', (1, -1, 0)), ('0 0 0', (11, 9, 10))],
    ids=['instead of the offset', 'added to the offset', 'no offset'],
)
def test_position_channels_move_a_joint(read, offset, values):
    text = SMALL_BVH.replace('CHANNELS 2 Yrotation', 'CHANNELS 3 Yposition Yrotation')
    text = text.replace('OFFSET 0 10 0', f'OFFSET {offset}')
    text = text.replace('30 40', f'30 {values[0]} 40')
    text = text.replace('0 0 0 0 0\n7', f'0 0 0 {values[1]} 0 0\n7')
    clip = read(text.replace('90 0 0', f'90 {values[2]} 0 0'))
    np.testing.assert_allclose(clip.translations[:, 1, 1], [0.11, 0.09, 0.10])
    np.testing.assert_allclose(clip.offsets[1], [0.0, 0.10, 0.0])


def test_a_rounded_frame_time_gives_the_whole_rate(read):
    assert read(SMALL_BVH.replace('0.01', '0.00833333')).rate_hz == 120.0
    assert read(SMALL_BVH.replace('0.01', '0.0333667')).rate_hz == pytest.approx(29.97, abs=1e-3)


@pytest.mark.parametrize('line', ['', 'Frame Time: 0\n', 'Frame Time: -1\n', 'Frame Time: x\n'])
def test_without_a_frame_time_the_rate_must_be_given(read, line):
    text = SMALL_BVH.replace('Frame Time: 0.01\n', line)
    with pytest.raises(InputFileError, match='; or give the rate, --rate-hz'):
        read(text)
    clip = read(text, rate_hz=50.0)
    assert clip.rate_hz == 50.0
    np.testing.assert_array_equal(clip.translations, read(SMALL_BVH).translations)


def test_joints_without_channels_stand_still(read):
    text = SMALL_BVH.replace('    CHANNELS 2 Yrotation Xrotation\n', '')
    text = text.replace(' 40 50', '').replace('0 0 0 0 0\n7', '0 0 0\n7').replace('90 0 0', '90')
    clip = read(text)
    np.testing.assert_array_equal(clip.rotations[:, 1], [[1.0, 0.0, 0.0, 0.0]] * 3)
    np.testing.assert_allclose(clip.translations[2, 0], [0.07, 0.08, 0.09])


@pytest.mark.parametrize(
    'old, new, text',
    [
        ('HIERARCHY\n', '', ":1: HIERARCHY: expected 'HIERARCHY', got 'ROOT'"),
        ('MOTION\n', '', 'HIERARCHY: expected ROOT, JOINT, End Site'),
        ('ROOT base', 'JOINT base', ':2: HIERARCHY: expected one ROOT'),
        ('JOINT arm', 'JOINT base', ":6: JOINT: expected a new joint name, got 'base'; it"),
        ('JOINT arm', 'JOINT', ':6: JOINT: expected a joint name, got none'),
        ('JOINT arm', 'JIONT arm', ":6: HIERARCHY: expected ROOT, JOINT, .* got 'JIONT'"),
        ('OFFSET 0 10 0', 'OFFSET 0 10', ':9: arm OFFSET: expected 3 finite numbers'),
        ('OFFSET 0 10 0\n', '', ':13: arm OFFSET: expected an OFFSET, got none'),
        ('      OFFSET 0 0 20', 'OFFSET 0 0 20 CHANNELS 1 Xrotation', ':13: arm .end. CHANNELS: '),
        ('CHANNELS 2', 'CHANNELS two', ":9: arm CHANNELS: expected a channel count .* 'two'"),
        ('CHANNELS 2', 'CHANNELS 3', ":10: arm CHANNELS: expected 3 different ones .* 'End'"),
        ('Yrotation\n', 'Wrotation\n', ":5: base CHANNELS: .* got 'Wrotation'"),
        ('  }\n}\n', '  }\n', "base: expected '}', got the end of the hierarchy"),
        ('  }\n}\n', '  }\n}\n}\n', ":16: '}': expected '}' inside a joint, got it outside"),
        ('  }\n}\n', '  }\n}\nJOINT b\n{\n', ':16: HIERARCHY: expected JOINT inside the ROOT'),
        ('Frames: 3', 'Frames: 0', ":17: Frames: expected a frame count >= 1, got '0'"),
        ('Frames: 3', f'Frames: {10**12}', f'expected {10**12} frames of 8 values, got 3 frames'),
        ('Frames: 3', 'Frames: ' + '9' * 6000, ':17: Frames: expected a frame count'),
        ('Frames: 3', 'Frames: 1', ':21: Frames: expected 1 frames of 8 values, got 3 frames'),
        ('Frame Time: 0.01\n', '', "expected 'Frame Time: <s>', got something else"),
        ('Time: 0.01', 'Time: 0', ":18: Frame Time: expected seconds in .*, got '0'"),
        ('0 0 0 0 0\n7', '0 0 0 0\n7', ':20: MOTION: expected 8 channel values, got 7'),
        ('Frames: 3', 'Frames: 5', ':21: Frames: .* got 3 frames; the motion block is cut off'),
        ('7 8 9 0 0 90 0 0\n', '7 8', ':21: MOTION: expected 8 channel values, got 2'),
        ('4 5 6', '4 x 6', ":20: value 2: expected a finite number, got 'x'"),
    ],
)
def test_bad_file_is_refused_with_its_line(read, old, new, text):
    assert old in SMALL_BVH
    assert pytest.raises(InputFileError, read, SMALL_BVH.replace(old, new)).match(text)


def test_deep_nesting_costs_no_stack(read):
    depth = 990
    joint = '{{ OFFSET 0 1 0 CHANNELS 1 Xrotation JOINT j{} '
    text = 'HIERARCHY ROOT r ' + ''.join(joint.format(i) for i in range(depth))
    text += '{ OFFSET 0 1 0 CHANNELS 1 Xrotation' + ' }' * (depth + 1)
    text += '\nMOTION\nFrames: 1\nFrame Time: 0.1\n' + '0 ' * (depth + 1)
    assert len(read(text).joint_names) == depth + 1


def test_absurdly_many_joints_are_refused(read):
    tips = 'End Site { OFFSET 0 0 1 } ' * 1001
    text = 'HIERARCHY ROOT r { OFFSET 0 0 0 CHANNELS 1 Xrotation ' + tips + '}\nMOTION\n'
    with pytest.raises(InputFileError, match='HIERARCHY: expected at most 1000 joints, got more'):
        read(text)


POSITION_TOL_M = 1e-6  # asked for; what is reached is 1e-9
ANGLE_TOL_DEG = np.degrees(1e-6)


@pytest.fixture
def motion(rng, adult_character):
    return wave_motion(adult_character.skeleton, rng, n_frames=60, swing=2.5)


def assert_same(motion, loaded):
    assert_same_motion(motion, loaded, ANGLE_TOL_DEG, POSITION_TOL_M)
    np.testing.assert_allclose(motion.end_effectors, loaded.end_effectors, atol=POSITION_TOL_M)
    assert motion.rate_hz == pytest.approx(loaded.rate_hz, rel=1e-9)


@pytest.mark.parametrize(
    ('height', 'root'),
    [(0.0, None), (3.0, None), (0.0, [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])],
    ids=['as it is', 'in the air', 'lying'],
)
def test_written_file_reads_back_the_same(tmp_path, motion, height, root):
    rotations = np.array(motion.rotations)
    if root is not None:
        rotations[:, 0] = root
    places = motion.root_positions + [0.0, 0.0, height]
    motion = Motion.from_rotations(motion.skeleton, motion.rate_hz, places, rotations)
    write_bvh(motion, tmp_path / 'a.bvh')
    loaded = load_clip(tmp_path / 'a.bvh')
    assert_same(motion, loaded)
    for name in ('offsets', 'interaction_points'):
        own, other = getattr(motion.skeleton, name), getattr(loaded.skeleton, name)
        np.testing.assert_allclose(own, other, atol=1e-9)


@pytest.mark.parametrize('character', ['performer', 'sally', 'blubby', 'frog'])
def test_every_body_is_read_back(tmp_path, rng, characters_dir, character):
    skeleton = load_character(characters_dir / f'{character}.yaml').skeleton
    motion = wave_motion(skeleton, rng, n_frames=40)
    write_bvh(motion, tmp_path / 'a.bvh')
    assert_same(motion, load_clip(tmp_path / 'a.bvh'))


def test_joints_are_the_segments_in_a_t_pose_of_centimetres(motion, tmp_path):
    write_bvh(motion, tmp_path / 'out.bvh')
    clip = read_bvh(tmp_path / 'out.bvh', unit_m=1.0)
    real = [k for k in range(len(clip.joint_names)) if not clip.is_tip(k)]
    assert {clip.joint_names[k] for k in real} == set(SEGMENTS)
    shank = clip.joint_names.index('left_shank')
    length_cm = 100.0 * motion.skeleton.limb_lengths[2, 0]
    np.testing.assert_allclose(clip.offsets[shank], [0.0, -length_cm, 0.0], atol=1e-6)
    forearm = clip.joint_names.index('left_forearm')
    assert clip.offsets[forearm, 0] == pytest.approx(100.0 * motion.skeleton.limb_lengths[0, 0])


def test_facing_x_is_facing_the_files_z(tmp_path, motion):
    rotations = np.zeros((2, 16, 4))
    rotations[..., 0] = 1.0
    roots = np.array([[0.0, 0.0, 1.0], [1.0, 0.5, 1.0]])
    write_bvh(Motion.from_rotations(motion.skeleton, 30.0, roots, rotations), tmp_path / 'a.bvh')
    clip = read_bvh(tmp_path / 'a.bvh')
    np.testing.assert_allclose(clip.translations[:, 0], [[0, 1, 0], [0.5, 1, 1]], atol=1e-9)
    np.testing.assert_allclose(clip.rotations[..., 0], 1.0)


def test_angles_do_not_jump(tmp_path, adult_character):
    # All joints turn steadily by several turns, each about an axis of its own.
    random = np.random.default_rng(4)
    axes = random.normal(size=(16, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turn = np.linspace(0.0, 15.0, 600)[:, None, None] * axes
    quats = Rotation.from_rotvec(turn.reshape(-1, 3)).as_quat()[:, [3, 0, 1, 2]]
    motion = Motion.from_rotations(
        adult_character.skeleton, 120.0, np.zeros((600, 3)), quats.reshape(600, 16, 4)
    )
    write_bvh(motion, tmp_path / 'a.bvh')
    body = (tmp_path / 'a.bvh').read_text().split('Frame Time')[1].split('\n', 1)[1]
    values = np.array([row.split() for row in body.strip().split('\n')], dtype=float)
    # 1.43 degrees a frame; near its lock a triple may run faster, but never jumps by half a turn.
    assert np.abs(np.diff(values, axis=0)).max() < 60.0


def test_angles_in_radians_are_read_as_such_and_told(tmp_path):
    """A root that travels with joints within six degrees is no walk: its angles are radians."""
    degrees = read_clip(named_files.sample('walk'))
    head, _, rows = named_files.sample('walk').read_text().partition('Frame Time:')
    time, *lines = rows.strip().splitlines()
    values = np.array([line.split() for line in lines], dtype=float)
    values[:, 3:] = np.radians((values[:, 3:] + 180.0) % 360.0 - 180.0)
    path = tmp_path / 'radians.bvh'
    text = '\n'.join(' '.join(f'{v:.6f}' for v in row) for row in values)
    path.write_text(f'{head}Frame Time:{time}\n{text}\n')
    radians = read_clip(path)
    assert any('radians' in note for note in radians.notes)
    assert not any('radians' in note for note in degrees.notes)
    away = radians.motion.end_effectors - degrees.motion.end_effectors
    assert np.abs(away).max() < 1e-3


@pytest.mark.parametrize('claimed', [2, 4])
def test_one_frame_more_or_less_than_promised_is_read_and_told(read, claimed):
    whole = read(SMALL_BVH)
    clip = read(SMALL_BVH.replace('Frames: 3', f'Frames: {claimed}'))
    np.testing.assert_array_equal(clip.rotations, whole.rotations)
    assert clip.notes == (f'3 frames, where the file says {claimed}',)


def test_names_in_another_encoding_stay_distinct(tmp_path):
    names = ('左臂', '右臂')
    text = SMALL_BVH.replace('base', names[0]).replace('arm', names[1])
    (tmp_path / 'gbk.bvh').write_bytes(text.encode('gbk'))
    assert len(set(read_bvh(tmp_path / 'gbk.bvh').joint_names)) == 3
