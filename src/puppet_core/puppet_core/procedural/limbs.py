# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two-segment limbs over whole motions: from where both ends are to segment orientations.

Elbow and knee bend about one axis of the upper segment, as they do; the bending plane is
given by a pole, the direction towards which the middle joint points.
"""

from functools import reduce

import numpy as np
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s

STRETCH_LIMIT = 1.0 - 1e-12  # a longer way is walked only as far as the limb reaches


def unit(vectors: Vec3s) -> Vec3s:
    """Return vectors (..., 3) divided by their lengths."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def middle_joint(start: Vec3s, end: Vec3s, lengths: Floats, pole: Vec3s) -> Vec3s:
    """
    Return elbows or knees, shape (n, 3) [m], of limbs between two ends (n, 3).

    They stand towards the pole, a direction (3,) or (n, 3) that is not along the limb.
    """
    upper, lower = lengths
    axis = unit(end - start)
    distance = np.linalg.norm(end - start, axis=-1)
    distance = np.minimum(distance, (upper + lower) * STRETCH_LIMIT)
    along = (distance**2 + upper**2 - lower**2) / (2.0 * distance)
    across = np.sqrt(np.maximum(upper**2 - along**2, 0.0))
    sideways = unit(pole - np.sum(pole * axis, axis=-1, keepdims=True) * axis)
    return start + along[:, None] * axis + across[:, None] * sideways


def segment_rotations(bone: Vec3s, rest_bone: Floats, hinge: Vec3s, rest_hinge: Floats) -> Quats:
    """
    Return the orientations that turn a rest bone and hinge axis (3,) into given ones (n, 3).

    The axis is made square to the bone.
    """
    world, rest = _axes(bone, hinge), _axes(rest_bone[None], rest_hinge[None])
    return quaternions.from_matrix(world @ np.swapaxes(rest, -1, -2))


def two_bone_rotations(
    start: Vec3s, end: Vec3s, bones: Floats, rest_hinge: Floats, pole: Vec3s
) -> tuple[Quats, Quats]:
    """
    Return world orientations of upper and lower segment, shape (n, 4) each.

    The rest hinge is the axis of bending in the rest pose: the pole there times the bone; bones as
    rest offsets (2, 3), ends and pole as in `middle_joint` [m].
    """
    middle = middle_joint(start, end, np.linalg.norm(bones, axis=1), pole)
    hinge = np.cross(pole, end - start)
    upper = segment_rotations(middle - start, bones[0], hinge, rest_hinge)
    lower = segment_rotations(end - middle, bones[1], hinge, rest_hinge)
    return upper, lower


def _axes(bone: Vec3s, hinge: Vec3s) -> Floats:
    first = unit(bone)
    third = unit(np.cross(first, hinge))
    return np.stack((first, np.cross(third, first), third), axis=-1)


def about(axis: Vec3, angle: Floats | float) -> Quats:
    """Return rotations about an axis (3,) by angles (n,) [rad]."""
    return quaternions.exp(np.asarray(angle)[..., None] * axis)


def product(*factors: Quats) -> Quats:
    """Return the Hamilton product of rotations, the last one done first."""
    return reduce(quaternions.multiply, factors)


def relative(parent: Quats, child: Quats) -> Quats:
    """Return the rotation of a child in its parent's frame."""
    return quaternions.multiply(quaternions.conjugate(parent), child)
