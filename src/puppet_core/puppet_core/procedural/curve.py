# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth curves that procedural motions are made of, two derivatives always; limbs to match."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_core.procedural.motion_loop import smooth_step


class End(NamedTuple):
    value: float
    velocity: float = 0.0
    acceleration: float = 0.0


def check_timing(t_pose_s: float, rate_hz: float) -> None:
    """Raise ConfigError unless a performance can begin with such a T-pose at such a rate."""
    if not 0.0 <= t_pose_s < 1e4 or not 1.0 <= rate_hz < 1e4:
        raise ConfigError(
            f'expected t_pose_s >= 0 and rate_hz >= 1, got {t_pose_s:g} s and {rate_hz:g} Hz'
        )


def eased(t: Floats, keys: Sequence[tuple[float, float]]) -> Floats:
    """Return the curve that rests at keys (time, value), a smooth step between each two."""
    curve = np.full(len(t), float(keys[0][1]))
    for (start, before), (end, after) in zip(keys, keys[1:]):
        curve += (after - before) * smooth_step((t - start) / (end - start))
    return curve


def bump(u: Floats) -> Floats:
    """Return 1 at u = 1/2, 0 outside (0, 1), with two derivatives vanishing at the ends."""
    u = np.clip(u, 0.0, 1.0)
    return 64.0 * (u * (1.0 - u)) ** 3


def quintic(t: Floats, start_s: float, end_s: float, start: End, end: End) -> Floats:
    """Return the quintic through both ends at times t, meant for start_s <= t <= end_s."""
    span = end_s - start_s
    u = (t - start_s) / span
    p0, v0, a0 = start.value, start.velocity * span, start.acceleration * span * span
    p1, v1, a1 = end.value, end.velocity * span, end.acceleration * span * span
    d = p1 - p0 - v0 - 0.5 * a0
    dv, da = v1 - v0 - a0, a1 - a0
    c3, c4 = 10.0 * d - 4.0 * dv + 0.5 * da, -15.0 * d + 7.0 * dv - da
    c5 = 6.0 * d - 3.0 * dv + 0.5 * da
    return p0 + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))


def smoothed(values: Floats, rate_hz: float, width_s: float) -> Floats:
    """Return one period (n, ...) smoothed by a Gaussian of `width_s` [s] along axis 0."""
    frequencies = np.fft.rfftfreq(len(values), 1.0 / rate_hz)
    gain = np.exp(-0.5 * (2.0 * np.pi * frequencies * width_s) ** 2)
    gain = gain.reshape((-1,) + (1,) * (values.ndim - 1))
    return np.fft.irfft(np.fft.rfft(values, axis=0) * gain, len(values), axis=0)


# Two-segment limbs over whole motions: from where both ends are to segment orientations.
#
# Elbow and knee bend about one axis of the upper segment, as they do; the bending plane is given
# by a pole, the direction towards which the middle joint points.

STRETCH_LIMIT = 1.0 - 1e-12  # a longer way is walked only as far as the limb reaches


def unit(vectors: Vec3s) -> Vec3s:
    """Return vectors (..., 3) divided by their lengths."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def middle_joint(start: Vec3s, end: Vec3s, lengths: Floats, pole: Vec3s) -> Vec3s:
    """Return elbows or knees (n, 3) between ends (n, 3) [m], towards the pole (3,) or (n, 3)."""
    upper, lower = lengths
    axis = unit(end - start)
    distance = np.linalg.norm(end - start, axis=-1)
    distance = np.minimum(distance, (upper + lower) * STRETCH_LIMIT)
    along = (distance**2 + upper**2 - lower**2) / (2.0 * distance)
    across = np.sqrt(np.maximum(upper**2 - along**2, 0.0))
    sideways = unit(pole - np.sum(pole * axis, axis=-1, keepdims=True) * axis)
    return start + along[:, None] * axis + across[:, None] * sideways


def segment_rotations(bone: Vec3s, rest_bone: Floats, hinge: Vec3s, rest_hinge: Floats) -> Quats:
    """Return what turns a rest bone and hinge (3,) into (n, 3); the hinge made square to it."""
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
    return quaternions.multiply(quaternions.conjugate(parent), child)
