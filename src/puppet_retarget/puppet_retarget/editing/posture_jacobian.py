# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Derivatives of postures, many at once: points of the body, and differences of rotations.

Joints move by small rotation vectors in their segments' own frames, q exp(delta): one chart
for all of them, without a singularity. All functions broadcast over postures.

"""

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS

GENERAL_SEGMENTS = np.concatenate((LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]))
"""The segment that each general end-effector is fixed in, shape (8,)."""


def _ancestors() -> np.ndarray:
    above = np.eye(N_SEGMENTS, dtype=bool)
    for segment in range(1, N_SEGMENTS):
        above[segment] |= above[PARENTS[segment]]
    return above


ANCESTORS = _ancestors()
"""Whether segment j is segment s or above it, shape (16, 16), indexed [s, j]."""


def point_jacobian(q_world: Quats, p_world: Vec3s, points: Vec3s) -> Floats:
    """
    Return how the general end-effectors move with the joints.

    A joint turned by delta in its segment's frame moves a point below it by
    (R delta) x (point - joint).

    Parameters
    ----------
    q_world, p_world : ndarray, shapes (n, 16, 4) and (n, 16, 3)
        Segments in world [m].
    points : ndarray, shape (n, 8, 3)
        The general end-effectors in world [m].

    Returns
    -------
    jacobian : ndarray, shape (n, 8, 3, 16, 3)
        Indexed by posture, end-effector, component of its position, joint and component of
        the joint's delta [m/rad].

    """
    axes = np.swapaxes(quaternion_batch.to_matrix(q_world), -1, -2)  # [n, joint, axis, xyz]
    levers = points[:, :, None] - p_world[:, None]
    turned = np.cross(axes[:, None], levers[:, :, :, None])
    turned *= ANCESTORS[GENERAL_SEGMENTS][:, :, None, None]
    return np.moveaxis(turned, -1, 2)


def right_jacobian_inverse(rotvec: Vec3s) -> Floats:
    """
    Return the derivative of log(exp(rotvec) exp(delta)) by delta at zero.

    Parameters
    ----------
    rotvec : ndarray, shape (..., 3)
        Rotation vectors shorter than a whole turn [rad].

    Returns
    -------
    jacobian : ndarray, shape (..., 3, 3)

    """
    rotvec = np.asarray(rotvec)
    x, y, z = np.moveaxis(rotvec, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack((zero, -z, y, z, zero, -x, -y, x, zero), axis=-1)
    cross = cross.reshape(*rotvec.shape, 3)
    angle = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    # Sola2018 eq. 144 with (1 + cos a) / sin a = cot(a / 2), and its series at zero
    factor = np.where(
        small,
        1.0 / 12.0 + angle**2 / 720.0,
        (1.0 / safe - 0.5 / np.tan(0.5 * safe)) / safe,
    )
    return np.eye(3) + 0.5 * cross + factor * (cross @ cross)
