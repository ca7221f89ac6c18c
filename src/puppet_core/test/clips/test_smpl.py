# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of the SMPL family: AMASS' arrays and SMPL-X's, mean bones and those of a model."""

import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.clips.load import load_clip, read_clip
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.smpl import PARENTS
from puppet_core.io import InputFileError
import pytest
from scipy.spatial.transform import Rotation

N = 60
Z_UP = np.array([np.pi / 2.0, 0.0, 0.0])  # turns the models' Y up


@pytest.fixture
def arrays():
    """Return somebody who lifts the left arm and walks along X, Z up."""
    poses = np.zeros((N, 156))
    poses[:, :3] = Z_UP
    poses[:, 3 * 16 + 2] = np.linspace(-1.2, 0.0, N)
    poses[:, 3 * 18 + 1] = -0.5
    trans = np.zeros((N, 3))
    trans[:, 0], trans[:, 2] = np.linspace(0.0, 1.0, N), 1.2
    return {'poses': poses, 'trans': trans, 'betas': np.ones(16), 'mocap_framerate': 120.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'walk_poses.npz'


def model(tmp_path, n_joints=52):
    """Write a model whose vertices are its joints, taller by a tenth for each unit of betas[0]."""
    rest = np.zeros((n_joints, 3))
    for joint, parent in enumerate(PARENTS[:22]):
        side = {0: 0.0, 1: 1.0, 2: -1.0}[joint % 3] if joint else 0.0
        step = np.array([0.1 * side, 0.0, 0.0])
        step += [0, -0.4, 0] if joint in (4, 5, 7, 8) else [0, 0.1, 0]
        step += [0, -0.1, 0.1] if joint in (10, 11) else 0.0
        rest[joint] = step + (rest[parent] if joint else 0.0)
    for joint in (16, 17, 18, 19, 20, 21, 25, 40):
        above = {25: 20, 40: 21}.get(joint, int(PARENTS[joint]) if joint < 22 else 0)
        side = 1.0 if joint in (16, 18, 20, 25) else -1.0
        rest[joint] = rest[above] + [0.25 * side, 0.0, 0.0]
    shapes = np.zeros((n_joints, 3, 10))
    shapes[..., 0] = 0.1 * rest
    file = tmp_path / 'model.npz'
    np.savez(file, v_template=rest, shapedirs=shapes, J_regressor=np.eye(n_joints))
    return file, rest


def test_amass_files_are_read(path, arrays):
    np.savez(path, **arrays)
    read = read_clip(path)
    assert read.names == 'smpl' and read.motion.rate_hz == 120.0 and read.motion.n_frames == N
    assert 'unit metres' in read.text and 'up z (head over feet along z in 100%' in read.text
    assert any('--body-model' in note for note in read.notes)
    _, p = read.motion.world_segments()
    assert p[-1, 0, 0] - p[0, 0, 0] == pytest.approx(1.0)
    # he faces -Y, so the left hand, lifted to the T-pose, is in front of X
    hand, shoulder = (p[:, SEGMENT_INDEX[name]] for name in ('left_hand', 'left_upper_arm'))
    assert hand[0, 2] < shoulder[0, 2] - 0.3
    assert hand[-1, 2] == pytest.approx(shoulder[-1, 2], abs=0.1)
    assert np.linalg.norm(hand[-1] - shoulder[-1]) > 0.45


def test_smplx_files_give_the_same(path, arrays, tmp_path):
    np.savez(path, **arrays)
    other = tmp_path / 'stageii.npz'
    rest = {'trans': arrays['trans'], 'betas': arrays['betas'], 'mocap_frame_rate': 120.0}
    poses = arrays['poses']
    np.savez(other, root_orient=poses[:, :3], pose_body=poses[:, 3:66], **rest)
    np.testing.assert_array_equal(load_clip(path).rotations, load_clip(other).rotations)


def test_a_model_gives_the_bones_of_the_betas(path, arrays, tmp_path):
    np.savez(path, **arrays)
    file, rest = model(tmp_path)
    motion = load_clip(path, options=ClipOptions(body_model=str(file)))
    shank = np.linalg.norm(rest[7] - rest[4]) * 1.1
    assert np.linalg.norm(motion.skeleton.offsets[SEGMENT_INDEX['left_foot']]) == pytest.approx(
        shank
    )
    notes = read_clip(path, options=ClipOptions(body_model=str(file))).notes
    assert not any('--body-model' in note for note in notes)
    np.savez(file, v_template=rest)
    with pytest.raises(InputFileError, match=r'model\.npz: expected a whole SMPL model'):
        load_clip(path, options=ClipOptions(body_model=str(file)))


@pytest.mark.parametrize(
    ('changed', 'text'),
    [
        ({'poses': None}, 'an array poses or root_orient or global_orient, got trans, betas'),
        ({'trans': None}, 'an array trans or transl'),
        ({'mocap_framerate': None}, 'an array mocap_framerate or mocap_frame_rate'),
        ({'trans': np.full((N, 3), np.nan)}, 'not finite'),
    ],
)
def test_what_is_missing_or_odd_is_named(path, arrays, changed, text):
    np.savez(path, **{k: v for k, v in (arrays | changed).items() if v is not None})
    with pytest.raises(InputFileError, match=text):
        load_clip(path)


def test_what_is_no_npz_is_refused(path):
    path.write_bytes(b'PK\3\4 nothing')
    with pytest.raises(InputFileError, match='expected a whole SMPL motion'):
        load_clip(path)


def test_rotation_matrices_are_read_as_such(path, arrays):
    np.savez(path, **arrays)
    plain = load_clip(path)
    vectors = arrays['poses'][:, : 3 * 24].reshape(N, 24, 3)
    matrices = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(N, 24, 3, 3)
    np.savez(path, **arrays | {'poses': matrices})
    np.testing.assert_allclose(load_clip(path).rotations, plain.rotations, atol=1e-9)
    np.savez(path, **arrays | {'poses': 1.1 * matrices})
    with pytest.raises(InputFileError, match='poses: expected rotation matrices.*no rotations'):
        load_clip(path)


@pytest.mark.parametrize('name, rate', [('fps', 30), ('mocap_frame_rate', [30.0])])
def test_rates_of_other_programs_are_read(path, arrays, name, rate):
    del arrays['mocap_framerate']
    np.savez(path, **arrays, **{name: rate})
    assert load_clip(path).rate_hz == 30.0


@pytest.mark.parametrize(
    'change, text',
    [
        ({'mocap_framerate': 0.0}, 'mocap_framerate: expected frames per second.*--rate-hz'),
        ({'mocap_framerate': [1.0, 2.0]}, 'mocap_framerate: expected frames per second'),
        ({'trans': np.zeros(3)}, r'trans: expected shape \(60, 3\)'),
        ({'trans': np.zeros((N + 1, 3))}, r'trans: expected shape \(60, 3\)'),
        ({'poses': np.zeros((N, 24, 4))}, r'poses: expected rotation vectors'),
        ({'poses': np.zeros((N, 60))}, 'poses: expected rotations of at least 22 joints, got 20'),
    ],
)
def test_arrays_of_another_shape_are_refused_by_name(path, arrays, change, text):
    np.savez(path, **arrays | change)
    with pytest.raises(InputFileError, match=text):
        load_clip(path)
