# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of motions of the SMPL family of body models: AMASS' npz files, and those of SMPL-X.

All its models begin with the same 22 joints, and at zero pose all joints have the same axes. Bones
depend on `betas` by a model file; without it they are those of a mean body.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.reading import read_bytes, refuse_damage
from puppet_core.io import InputFileError
from puppet_core.math import frozen, Vec3s
from puppet_core.math.quaternions import exp, from_matrix, log

NAMES = tuple(
    'Pelvis L_Hip R_Hip Spine1 L_Knee R_Knee Spine2 L_Ankle R_Ankle Spine3 L_Foot R_Foot Neck '
    'L_Collar R_Collar Head L_Shoulder R_Shoulder L_Elbow R_Elbow L_Wrist R_Wrist L_Hand '
    'R_Hand'.split()
)
PARENTS = np.array([-1, 0, 0, 0, *range(1, 10), 9, 9, 12, 13, 14, *range(16, 22)])
# Each joint in its parent's axes [cm]: X left, Y up, Z forward
_MEAN = """ 0 -22 3    7 -9 -1   -7 -9 -1    0 11 -3   4 -38 -1   -4 -38 -1   0 14 0    -1 -40 -4
            1 -40 -4   0 5 3      3 -5 12    -3 -5 12  0 21 -4    8 12 -4    -8 12 -4  0 7 5
            9 3 -1     -9 3 -1    26 -1 -3   -26 -1 -3 25 1 0     -25 1 0    8 -1 -1   -8 -1 -1"""
_TURNING = 22
_MATRIX_TOL = 1e-3  # of the product of a rotation matrix and its transpose
_HANDS = {24: (22, 23), 52: (25, 40), 55: (28, 43)}  # in models of so many joints


def read_smpl(path: Path, options: ClipOptions) -> ClipFile:
    """Return a motion of the SMPL family, in metres, axes as in the file; or InputFileError."""
    with refuse_damage(path, 'SMPL motion'):
        data = np.load(BytesIO(read_bytes(path, 'npz')))
        name = _first(path, data, 'poses', 'root_orient', 'global_orient')
        poses = _rotation_vectors(path, name, data[name])
        if name != 'poses':
            body = _first(path, data, 'pose_body', 'body_pose')
            poses = np.hstack([poses, _rotation_vectors(path, body, data[body])])
        if poses.shape[1] < 3 * _TURNING:
            wanted = f'rotations of at least {_TURNING} joints'
            raise InputFileError(path, wanted, str(poses.shape[1] // 3), field=name)
        turns = exp(poses[:, : 3 * _TURNING].reshape(-1, _TURNING, 3).astype(float))
        trans = _first(path, data, 'trans', 'transl')
        if data[trans].shape != (len(poses), 3):
            got = f'shape {data[trans].shape}'
            wanted = f'shape ({len(poses)}, 3), a place a frame'
            raise InputFileError(path, wanted, got, field=trans)
        rate_hz = options.rate_hz or _rate_hz(path, data)
        betas = np.atleast_2d(data['betas'])[0] if 'betas' in data else np.zeros(1)
        offsets = np.array(_MEAN.split(), dtype=float).reshape(-1, 3) / 100.0
        if options.body_model is not None:
            offsets = _offsets(Path(options.body_model), betas)
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(turns), len(NAMES), 1))
        rotations[:, :_TURNING] = turns
        translations = np.tile(offsets, (len(turns), 1, 1))
        translations[:, 0] += data[trans]
        if not len(turns) or not np.isfinite([turns.sum(), translations.sum(), rate_hz]).all():
            raise ValueError('numbers that are not finite')
    is_mean = options.body_model is None and betas.any()
    notes = ('bones of a mean body, --body-model has its own',) if is_mean else ()
    clip = ClipFile(
        path,
        rate_hz,
        NAMES,
        PARENTS,
        offsets,
        frozen(rotations),
        frozen(translations),
        1.0,
        '',
        notes,
    )
    return clip.scaled(options.unit_m or 1.0).with_rest_upright()


def _rotation_vectors(path: Path, name: str, rotations: np.ndarray) -> np.ndarray:
    """Return rotation vectors (n, 3 j) of joints; rotation matrices (n, j, 3, 3) are read, too."""
    if rotations.ndim >= 3 and rotations.shape[-2:] == (3, 3):
        matrices = rotations.reshape(len(rotations), -1, 3, 3).astype(float)
        square = matrices @ np.swapaxes(matrices, -1, -2)
        is_turn = np.abs(square - np.eye(3)).max(initial=0.0) < _MATRIX_TOL
        if not is_turn or np.linalg.det(matrices).min(initial=1.0) < 0.0:
            wanted = 'rotation matrices or rotation vectors'
            raise InputFileError(path, wanted, 'matrices that are no rotations', field=name)
        return log(from_matrix(matrices)).reshape(len(rotations), -1)
    if rotations.ndim > 2 and rotations.shape[-1] != 3:
        wanted = 'rotation vectors (n, 3 j) or (n, j, 3), or matrices (n, j, 3, 3)'
        raise InputFileError(path, wanted, f'shape {rotations.shape}', field=name)
    return rotations.reshape(len(rotations), -1)


def _rate_hz(path: Path, data: Any) -> float:
    hint = 'or give the rate, --rate-hz'
    name = _first(path, data, 'mocap_framerate', 'mocap_frame_rate', 'fps', hint=hint)
    values = np.ravel(data[name])
    if len(values) != 1 or not 0.0 < float(values[0]) < np.inf:
        raise InputFileError(path, 'frames per second', str(values[:4]), field=name, hint=hint)
    return float(values[0])


def _first(path: Path, data: Any, *names: str, hint: str = '') -> str:
    for name in names:
        if name in data:
            return name
    got = ', '.join(data.files)[:200]
    raise InputFileError(path, f'an array {" or ".join(names)}', got or 'none', hint=hint)


def _offsets(path: Path, betas: np.ndarray) -> Vec3s:
    """Return each joint in its parent's axes for a shape, by a model file [m]."""
    with refuse_damage(path, 'SMPL model, npz with J_regressor, v_template and shapedirs'):
        model = np.load(BytesIO(read_bytes(path, 'npz')))
        shapes = model['shapedirs'][:, :, : len(betas)]
        vertices = model['v_template'] + shapes @ betas[: shapes.shape[2]]
        joints = model['J_regressor'] @ vertices
        joints = joints[[*range(_TURNING), *_HANDS[len(joints)]]]
        return np.vstack([joints[:1], joints[1:] - joints[PARENTS[1:]]])
