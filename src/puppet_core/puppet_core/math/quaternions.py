# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations over arrays, quaternions (..., 4) and vectors (..., 3), as `math.values` has them."""

from typing import Any

import numpy as np
from puppet_core.math import values
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3s
from puppet_core.math.compiled import kernel


def _of_rows(formula: Any, *rows: Floats) -> Floats:
    """Return a value kernel's result for broadcast rows (..., k), by numpy, so not compiled."""
    return np.stack(formula.py_func(*(np.moveaxis(np.asarray(r), -1, 0) for r in rows)), axis=-1)


def multiply(a: Quats, b: Quats) -> Quats:
    """Return the Hamilton products a b, shape (..., 4)."""
    return _of_rows(values.multiply, a, b)


def rotate(q: Quats, v: Vec3s) -> Vec3s:
    """Return the vectors v, shape (..., 3), rotated by q."""
    return _of_rows(values.rotate, q, v)


def conjugate(q: Quats) -> Quats:
    return np.asarray(q) * np.array([1.0, -1.0, -1.0, -1.0])


def normalize(q: Quats) -> Quats:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def exp(rotvec: Vec3s) -> Quats:
    """Return the rotations by the vectors `rotvec`, whose lengths are the full angles [rad]."""
    rotvec = np.asarray(rotvec, dtype=np.float64)
    angle = np.linalg.norm(rotvec, axis=-1, keepdims=True)
    # np.sinc(x) = sin(pi x) / (pi x)
    scale = 0.5 * np.sinc(angle / (2.0 * np.pi))
    return np.concatenate((np.cos(0.5 * angle), scale * rotvec), axis=-1)


def from_rpy(angles: Floats) -> Quats:
    """Return the rotations by roll, pitch and yaw (..., 3) [rad] about fixed x, then y, then z."""
    roll, pitch, yaw = np.moveaxis(np.asarray(angles)[..., None] * np.eye(3), -2, 0)
    return multiply(multiply(exp(yaw), exp(pitch)), exp(roll))


def log(q: Quats) -> Vec3s:
    """Return the shortest rotation vectors [rad], lengths at most pi."""
    q = np.where(np.asarray(q)[..., :1] < 0.0, -np.asarray(q), q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    small = sine < 1e-8
    safe = np.where(small, 1.0, sine)
    scale = np.where(small, 2.0, 2.0 * np.arctan2(sine, q[..., :1]) / safe)
    return scale * q[..., 1:]


def slerp(a: Quats, b: Quats, t: Floats | float) -> Quats:
    """Return the rotations a fraction t (broadcast against the leading axes) from a to b."""
    fraction = np.asarray(t, dtype=np.float64)[..., None]
    return multiply(a, exp(fraction * log(multiply(conjugate(a), b))))


def align_signs(q: Quats) -> Quats:
    """Return q (n, ..., 4) with signs chosen so that neighbours along axis 0 are nearest."""
    q = np.array(q, dtype=np.float64)
    dots = np.sum(q[1:] * q[:-1], axis=-1, keepdims=True)
    flips = np.cumprod(np.where(dots < 0.0, -1.0, 1.0), axis=0)
    q[1:] *= flips
    return q


def mean(q: Quats) -> Quat:
    """Return the mean of rotations (n, 4), whatever their signs: they differ from it least."""
    return np.linalg.eigh(q.T @ q)[1][:, -1]


def _scipy_rotation() -> Any:
    # takes a fifth of a second to import, which nodes do not need
    from scipy.spatial.transform import Rotation

    return Rotation


def to_matrix(q: Quats) -> Floats:
    """Return rotation matrices, shape (..., 3, 3)."""
    q = np.asarray(q)
    flat = _scipy_rotation().from_quat(q.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix()
    return flat.reshape(*q.shape[:-1], 3, 3)


def from_matrix(matrix: Floats) -> Quats:
    """Return the unit quaternions, w >= 0, of rotation matrices (..., 3, 3)."""
    matrix = np.asarray(matrix)
    flat = _scipy_rotation().from_matrix(matrix.reshape(-1, 3, 3)).as_quat(canonical=True)
    return flat[:, [3, 0, 1, 2]].reshape(*matrix.shape[:-2], 4)


def matrix_of_rpy(angles: Floats) -> Floats:
    """Return the matrix (3, 3) of URDF's roll, pitch and yaw about fixed axes, x first [rad]."""
    return _scipy_rotation().from_euler('xyz', angles).as_matrix()


def two_axis_matrix(first: Vec3s, second: Vec3s) -> Floats:
    """Return columns: first's direction, second made square to it, their product; else NaN."""
    with np.errstate(invalid='ignore', divide='ignore'):
        x = first / np.linalg.norm(first, axis=-1, keepdims=True)
        z = np.cross(x, second)
        z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


@kernel
def between_rows(u: Vec3s, v: Vec3s, out: Quats) -> None:
    """Write the shortest rotations from unit vectors u to v, shapes (n, 3), as (n, 4)."""
    for i in range(len(out)):
        out[i] = values.between(u[i], v[i])


@kernel
def continuous_rows(q: Quats, out: Quats) -> None:
    """Write unit quaternions (n, k, 4), each with the sign that is nearer to its frame before."""
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            unit = values.normalize(q[i, j])
            out[i, j] = unit if i == 0 else values.align_sign(out[i - 1, j], unit)
