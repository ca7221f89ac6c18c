# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint rotations over time as plain numbers that curves can be fitted to, and back.

Rotation vectors: q = exp(axis psi) centre exp(r). The centre is the joint's mean rotation, so
r stays short; psi takes up whole turns about a fixed axis, for joints that turn round and
round, such as the root of somebody walking in circles, and is zero for the others. Euler
angles: the three that lock least for each joint. Both are continuous in time and not reduced
to one turn; any smooth curve of the numbers is one of rotations.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import SEGMENTS
from puppet_core.clips import euler_to_quats, quats_to_continuous_euler
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_core.math import quaternions as qb

ROTVEC, EULER = 'rotvec', 'euler'
CHANNEL_KINDS = (ROTVEC, EULER)
MAX_ROTVEC = 1.8 * np.pi  # [rad] about the centre; at 2 pi the vectors lose their direction
SPLIT_ROTVEC = 1.1 * np.pi  # [rad] about the centre; beyond it an axis of turning may help
# Intrinsic axes, x forward, y left, z up; the middle one locks at a quarter turn, so it is the
# one about which the joint turns least far.
_EULER_AXES = {
    'pelvis': (2, 1, 0),
    'thigh': (2, 0, 1),
    'shank': (2, 0, 1),
    'foot': (2, 0, 1),
    'forearm': (2, 0, 1),
    'hand': (0, 2, 1),
}
_OTHER_EULER_AXES = (0, 1, 2)


def make_channels(kind: str, rotations: Quats, joints: Sequence[int]) -> 'Channels':
    """
    Return channels, one of CHANNEL_KINDS, of the rotations (n, joints, 4) of some segments.

    Raises
    ------
    ConfigError : for an unknown kind, or a joint that turns too far for rotation vectors.

    """
    if kind == EULER:
        return EulerChannels(rotations, joints)
    if kind == ROTVEC:
        return RotvecChannels(rotations, joints)
    raise ConfigError(f'channels: expected one of {", ".join(CHANNEL_KINDS)}, got {kind!r}')


class RotvecChannels:
    """Turn about a fixed axis and rotation vector: four numbers a joint."""

    def __init__(self, rotations: Quats, joints: Sequence[int]) -> None:
        # an axis of turning only where vectors alone are long: a joint that wobbles has a net
        # turn too, without turning round
        axes, turns = _turning(rotations)
        plain = _vectors(rotations)
        along = _vectors(qb.multiply(qb.exp(-turns[..., None] * axes), rotations))
        split = (plain.lengths() > SPLIT_ROTVEC) & (along.lengths() < plain.lengths())
        self._axes = np.where(split[:, None], axes, 0.0)
        self._turns = np.where(split, turns, 0.0)
        self._centres = np.where(split[:, None], along.centres, plain.centres)
        self._quats = np.where(split[:, None], along.quats, plain.quats)
        vectors = _long_log(self._quats)
        lengths = np.linalg.norm(vectors, axis=-1).max(axis=0)
        if np.any(lengths > MAX_ROTVEC):
            worst = int(np.argmax(lengths))
            raise ConfigError(
                f'{SEGMENTS[joints[worst]]}: expected a joint that turns at most '
                f'{np.degrees(MAX_ROTVEC):.0f} degrees from its mean, '
                f'got {np.degrees(lengths[worst]):.0f}; choose {EULER} channels'
            )
        self.values: Floats = np.concatenate((self._turns[..., None], vectors), axis=-1)
        """The numbers of these rotations, shape (n, joints, 4) [rad]."""

    def near(self, rotations: Quats, frames: Ints) -> Floats:
        """Return numbers of other rotations (k, joints, 4), next to those of some frames."""
        turns = self._turns[frames]
        rest = qb.multiply(qb.exp(-turns[..., None] * self._axes), rotations)
        quats = qb.multiply(qb.conjugate(self._centres), rest)
        dots = np.sum(quats * self._quats[frames], axis=-1, keepdims=True)
        vectors = _long_log(np.where(dots < 0.0, -quats, quats))
        return np.concatenate((turns[..., None], vectors), axis=-1)

    def rotations(self, values: Floats) -> Quats:
        """Return what numbers (..., joints, 4) stand for, shape (..., joints, 4)."""
        turn = qb.exp(values[..., :1] * self._axes)
        return qb.multiply(turn, qb.multiply(self._centres, qb.exp(values[..., 1:])))


class EulerChannels:
    """Three angles a joint."""

    def __init__(self, rotations: Quats, joints: Sequence[int]) -> None:
        names = [SEGMENTS[joint].split('_', 1)[-1] for joint in joints]
        self._axes = [_EULER_AXES.get(name, _OTHER_EULER_AXES) for name in names]
        self.values: Floats = np.concatenate(
            [
                quats_to_continuous_euler(rotations[:, i : i + 1], axes)
                for i, axes in enumerate(self._axes)
            ],
            axis=1,
        )
        """The numbers of these rotations, shape (n, joints, 3) [rad]."""

    def near(self, rotations: Quats, frames: Ints) -> Floats:
        """Return numbers of other rotations (k, joints, 4), next to those of some frames."""
        out = np.empty((len(frames), len(self._axes), 3))
        for i, axes in enumerate(self._axes):
            triples = quats_to_continuous_euler(rotations[None, :, i], axes)[0]
            others = triples + [np.pi, 0.0, np.pi]
            others[:, 1] = np.pi - triples[:, 1]
            wanted = self.values[frames, i]
            both = [_nearest_turn(angles, wanted) for angles in (triples, others)]
            gaps = [np.abs(angles - wanted).sum(axis=1, keepdims=True) for angles in both]
            out[:, i] = np.where(gaps[0] <= gaps[1], both[0], both[1])
        return out

    def rotations(self, values: Floats) -> Quats:
        """Return what numbers (..., joints, 3) stand for, shape (..., joints, 4)."""
        parts = [euler_to_quats(axes, values[..., i, :]) for i, axes in enumerate(self._axes)]
        return np.stack(parts, axis=-2)


Channels = RotvecChannels | EulerChannels


class _Vectors(NamedTuple):
    """Rotations about the mean of each joint."""

    centres: Quats
    quats: Quats

    def lengths(self) -> Floats:
        """Return the longest rotation vector of each joint, shape (joints,) [rad]."""
        return np.linalg.norm(_long_log(self.quats), axis=-1).max(axis=0)


def _turning(rotations: Quats) -> tuple[Vec3s, Floats]:
    """Return the axis of each joint's net turn (joints, 3) and the turn about it (n, joints)."""
    steps = qb.log(qb.multiply(rotations[1:], qb.conjugate(rotations[:-1])))
    net = steps.sum(axis=0)
    axes = net / np.maximum(np.linalg.norm(net, axis=-1, keepdims=True), 1e-12)
    turns = np.zeros(rotations.shape[:2])
    turns[1:] = np.cumsum(np.sum(steps * axes, axis=-1), axis=0)
    return axes, turns


def _vectors(rotations: Quats) -> _Vectors:
    """Return rotations about their means, with signs continuous in time."""
    # the eigenvector of largest eigenvalue of sum q q^T does not care for signs
    _, vectors = np.linalg.eigh(np.einsum('nja,njb->jab', rotations, rotations))
    centres = np.ascontiguousarray(vectors[..., -1])
    quats = qb.align_signs(qb.multiply(qb.conjugate(centres), rotations))
    # both signs are the same rotation: take the one that is near the identity for longest
    flips = np.where(quats[..., 0].sum(axis=0) < 0.0, -1.0, 1.0)
    return _Vectors(centres, flips[:, None] * quats)


def _long_log(quats: Quats) -> Vec3s:
    """Return rotation vectors up to a whole turn long: q and -q have different ones."""
    sine = np.linalg.norm(quats[..., 1:], axis=-1, keepdims=True)
    small = sine < 1e-8
    angle = 2.0 * np.arctan2(sine, quats[..., :1])
    scale = np.where(small, 2.0, angle / np.where(small, 1.0, sine))
    return scale * quats[..., 1:]


def _nearest_turn(angles: Floats, reference: Floats) -> Floats:
    return angles - 2.0 * np.pi * np.round((angles - reference) / (2.0 * np.pi))
