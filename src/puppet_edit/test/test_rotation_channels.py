# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation channels: there and back, continuous, also over whole turns and at the lock."""

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_edit.enhancement.motion_curves import CHANNEL_KINDS, EnhanceConfig, EULER, ROTVEC
import pytest

T = np.linspace(0.0, 6.0, 721)
JOINTS = (0, 4, 5, 10)


def smooth_rotations(reach: float) -> np.ndarray:
    """Return four joints that swing by a reach [rad], shape (721, 4, 4)."""
    speeds = 1.0 + 0.3 * np.arange(12).reshape(4, 3)
    return qb.exp(reach * np.sin(T[:, None, None] * speeds + np.arange(4)[:, None]))


def walking_round() -> np.ndarray:
    """Return a body that walks three times round, nodding; shape (721, 1, 4)."""
    nod = 0.3 * np.stack((np.sin(5.0 * T), np.cos(4.0 * T), 0.0 * T), axis=-1)
    turn = np.stack((0.0 * T, 0.0 * T, np.pi * T), axis=-1)
    return qb.multiply(qb.exp(turn), qb.exp(nod))[:, None]


def tumbling() -> np.ndarray:
    """Return three cartwheels; shape (721, 1, 4)."""
    roll = np.stack((np.pi * T, 0.2 * np.sin(T), 0.0 * T), axis=-1)
    return qb.exp(roll)[:, None]


def same_rotations(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether quaternions are the same but for their signs."""
    return bool(np.all(np.abs(np.sum(a * b, axis=-1)) > 1.0 - 1e-12))


@pytest.mark.parametrize('kind', CHANNEL_KINDS)
@pytest.mark.parametrize(
    ('rotations', 'joints'),
    [
        (smooth_rotations(0.3), JOINTS),
        (smooth_rotations(1.1), JOINTS),
        (walking_round(), (0,)),
        (tumbling(), (0,)),
    ],
    ids=['small', 'large', 'walking round', 'cartwheels'],
)
def test_values_stand_for_their_rotations_whatever_their_signs(
    kind: str, rotations: np.ndarray, joints: tuple, rng: np.random.Generator
) -> None:
    signs = np.where(rng.random(rotations.shape[:2]) < 0.5, -1.0, 1.0)[..., None]
    channels = CHANNEL_KINDS[kind](signs * rotations, joints)
    assert same_rotations(channels.rotations(channels.values), rotations)


@pytest.mark.parametrize(
    ('rotations', 'joints', 'fastest'),
    [(smooth_rotations(0.8), JOINTS, 4.0), (walking_round(), (0,), 1.5), (tumbling(), (0,), 2.0)],
    ids=['large', 'walking round', 'cartwheels'],
)
def test_rotation_vectors_change_about_as_fast_as_the_joint(
    rotations: np.ndarray, joints: tuple, fastest: float
) -> None:
    """No jump by a turn, no run through a pole."""
    channels = CHANNEL_KINDS[ROTVEC](rotations, joints)
    turned = np.linalg.norm(
        qb.log(qb.multiply(qb.conjugate(rotations[:-1]), rotations[1:])), axis=-1
    )
    steps = np.linalg.norm(np.diff(channels.values, axis=0), axis=-1)
    assert np.max(steps / turned.max()) < fastest


def test_a_joint_past_half_a_turn_is_continuous() -> None:
    """The logarithm alone would jump by a turn at pi."""
    angles = 2.6 + 1.2 * np.sin(T)
    rotations = qb.exp(angles[:, None] * np.array([0.0, 0.6, 0.8]))[:, None]
    values = CHANNEL_KINDS[ROTVEC](rotations, (4,)).values
    assert np.max(np.abs(np.diff(values, axis=0))) < 1.2 * 6.0 / 720.0 * 1.01


@pytest.mark.parametrize('kind', CHANNEL_KINDS)
def test_values_of_corrected_keyframes_are_next_to_the_measured_ones(
    kind: str, rng: np.random.Generator
) -> None:
    rotations = smooth_rotations(0.8)
    channels = CHANNEL_KINDS[kind](rotations, JOINTS)
    frames = np.arange(5, 721, 45)
    turns = rng.normal(0.0, 0.02, (len(frames), 4, 3))
    corrected = qb.multiply(rotations[frames], qb.exp(turns))
    near = channels.near(-corrected, frames)
    assert same_rotations(channels.rotations(near), corrected)
    assert np.max(np.abs(near - channels.values[frames])) < 0.5


def test_what_rotation_vectors_cannot_hold_is_refused_by_name() -> None:
    """Turns about two axes in one motion: a whole turn about y after one about z."""
    half = np.linspace(0.0, 4.0 * np.pi, 300)
    zero = 0.0 * half
    about_z = qb.exp(np.stack((zero, zero, half), axis=-1))
    about_y = qb.exp(np.stack((zero, half, zero), axis=-1))
    rotations = np.concatenate((about_z, about_y))[:, None]
    with pytest.raises(ConfigError, match='left_hand: expected a joint .*choose euler'):
        CHANNEL_KINDS[ROTVEC](rotations, (6,))
    assert len(CHANNEL_KINDS[EULER](rotations, (6,)).values) == 600


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="channels: expected one of rotvec, euler, got 'six'"):
        EnhanceConfig(channels='six')
