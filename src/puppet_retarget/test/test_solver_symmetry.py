# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Identities and symmetries of the importance-based solver: size, place, direction, side."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.solvers.state import SolverConfig
import pytest

EXACT_TOL_M = 1e-9
EXACT_TOL_RAD = 1e-6


def other_side(name: str) -> str:
    """Return the segment on the other side."""
    swap = {'left': 'right', 'right': 'left'}
    side, _, rest = name.partition('_')
    return f'{swap[side]}_{rest}' if side in swap else name


MIRROR_SEGMENTS = [SEGMENT_INDEX[other_side(name)] for name in SEGMENT_INDEX]
MIRROR_POINTS = [1, 0, 3, 2, 5, 4, 7, 6]


def mirrored_rotations(rotations: Quats) -> Quats:
    """Return joint rotations (n, 16, 4) in a mirror through the plane y = 0."""
    return rotations[:, MIRROR_SEGMENTS] * [1.0, -1.0, 1.0, -1.0]


def mirrored(motion: Motion) -> Motion:
    """Return the motion in that mirror."""
    return Motion(
        motion.skeleton,
        motion.rate_hz,
        motion.root_positions * [1.0, -1.0, 1.0],
        mirrored_rotations(motion.rotations),
        motion.end_effectors[:, MIRROR_POINTS] * [1.0, -1.0, 1.0],
    )


def turned(motion: Motion, q: Floats, offset: Vec3) -> Motion:
    """Return the motion turned about the origin, then shifted."""
    rotations = motion.rotations.copy()
    rotations[:, 0] = qb.multiply(q, rotations[:, 0])
    return Motion(
        motion.skeleton,
        motion.rate_hz,
        qb.rotate(q, motion.root_positions) + offset,
        rotations,
        qb.rotate(q, motion.end_effectors) + offset,
    )


def largest_turn(a: Quats, b: Quats) -> float:
    """Return the largest angle between rotations [rad]."""
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


def test_puppet_that_is_the_performer_repeats_it(
    retarget: Callable, stepping_motion: Motion, adult_character: Character
) -> None:
    """Knees bent, so that softening has nothing to do."""
    out = retarget(stepping_motion, adult_character)
    assert out.rows[..., IMPORTANCE].max() == 1.0
    np.testing.assert_allclose(
        out.puppet.root_positions, stepping_motion.root_positions, atol=EXACT_TOL_M
    )
    assert largest_turn(out.puppet.rotations, stepping_motion.rotations) < EXACT_TOL_RAD


def test_scaled_world_scales_the_answer_of_any_puppet(
    retarget: Callable, scaled: Callable, procedural: Motion, adult_character, tall_character
) -> None:
    """A puppet in a world of twice the size: the same motion at twice the size."""
    walk = Motion(
        procedural.skeleton,
        120.0,
        procedural.root_positions[700:900],
        procedural.rotations[700:900],
        procedural.end_effectors[700:900],
    )
    one = retarget(walk, tall_character)
    config = SolverConfig(position_weight=0.25)  # m^2 against rad^2
    two = retarget(walk, replace(scaled(tall_character, 2.0), world_scale=2.0), tuning=config)
    np.testing.assert_allclose(
        two.puppet.root_positions, 2.0 * one.puppet.root_positions, atol=1e-6
    )
    assert largest_turn(two.puppet.rotations, one.puppet.rotations) < 1e-5


@pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])
def test_answer_turns_and_shifts_with_the_input(
    retarget: Callable, stepping_motion: Motion, puppet: str, request
) -> None:
    """About the vertical and on the floor: nothing in the world says where or which way."""
    character = request.getfixturevalue(puppet)
    q, offset = qb.exp(np.array([0.0, 0.0, 2.0])), np.array([3.0, -2.0, 0.0])
    plain = retarget(stepping_motion, character).puppet
    moved = retarget(turned(stepping_motion, q, offset), character).puppet
    np.testing.assert_allclose(
        moved.root_positions, qb.rotate(q, plain.root_positions) + offset, atol=EXACT_TOL_M
    )
    assert largest_turn(moved.rotations[:, 1:], plain.rotations[:, 1:]) < EXACT_TOL_RAD


@pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])
def test_mirrored_input_gives_the_mirrored_answer(
    retarget: Callable, stepping_motion: Motion, puppet: str, request
) -> None:
    character = request.getfixturevalue(puppet)
    plain = retarget(stepping_motion, character).puppet
    other = retarget(mirrored(stepping_motion), character).puppet
    np.testing.assert_allclose(
        other.root_positions, plain.root_positions * [1.0, -1.0, 1.0], atol=EXACT_TOL_M
    )
    assert largest_turn(other.rotations, mirrored_rotations(plain.rotations)) < EXACT_TOL_RAD
