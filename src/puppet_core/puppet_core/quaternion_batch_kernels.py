# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations over arrays: products of any shape, and those of frames (kernel layer)."""

from numba import guvectorize
from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import align_sign, between, normalize


@guvectorize(['f8[:], f8[:], f8[:]'], '(q),(q)->(q)', nopython=True, cache=True)
def multiply_all(a: Quat, b: Quat, out: Quat) -> None:
    """Write the Hamilton products a b; the last axis has four numbers."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]


@guvectorize(['f8[:], f8[:], f8[:]'], '(q),(v)->(v)', nopython=True, cache=True)
def rotate_all(q: Quat, v: Vec3, out: Vec3) -> None:
    """Write the vectors v rotated by q; the last axes have three and four numbers."""
    # v + 2 w (u x v) + 2 u x (u x v), u the vector part
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    out[0] = v[0] + q[0] * tx + (q[2] * tz - q[3] * ty)
    out[1] = v[1] + q[0] * ty + (q[3] * tx - q[1] * tz)
    out[2] = v[2] + q[0] * tz + (q[1] * ty - q[2] * tx)


@kernel
def between_rows(u: Vec3s, v: Vec3s, out: Quats) -> None:
    """Write the shortest rotations from unit vectors u to v, shapes (n, 3), as (n, 4)."""
    for i in range(len(out)):
        between(u[i], v[i], out[i])


@kernel
def continuous_rows(q: Quats, out: Quats) -> None:
    """
    Write quaternions made unit, each with the sign that is nearer to its frame before.

    Parameters
    ----------
    q : ndarray, shape (n, k, 4)
        Quaternions of k joints over n frames, none of them zero.
    out : ndarray, shape (n, k, 4)
        Out.

    """
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            normalize(q[i, j], out[i, j])
            if i > 0:
                align_sign(out[i - 1, j], out[i, j], out[i, j])
