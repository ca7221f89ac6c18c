# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The elbow-circle solver as a whole, by the claims made of the importance-based one."""

from collections.abc import Callable

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.offline.whole_motion import RetargetResult
import pytest

EXACT_TOL_M = 1e-9
EXACT_TOL_RAD = 1e-6
PUPPETS = ('tall_character', 'short_character')


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


def largest_turn(a: Quats, b: Quats) -> float:
    """Return the largest angle between rotations [rad]."""
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


@pytest.fixture(params=PUPPETS)
def both(request, retarget: Callable, stepping_motion: Motion):
    """Return the stepping motion on a puppet by this solver and by the thesis' own."""
    character = request.getfixturevalue(request.param)
    return [
        retarget(stepping_motion, character, solver=name)
        for name in ('elbow_circle', 'importance_based')
    ]


def test_root_and_ends_are_those_of_the_importance_based_solver(both) -> None:
    """The same root and body; planted feet at the same goals, legs posed in their own way."""
    circle, side = both
    np.testing.assert_array_equal(circle.puppet.root_positions, side.puppet.root_positions)
    important = circle.rows[:, 2:, IMPORTANCE] == 1.0
    assert important.sum() > 20
    away = circle.puppet.end_effectors[:, 2:4] - side.puppet.end_effectors[:, 2:4]
    np.testing.assert_allclose(away[important], 0.0, atol=EXACT_TOL_M)
    assert largest_turn(circle.puppet.rotations, side.puppet.rotations) > 1e-3


def knee_axes_turn(result: RetargetResult, motion: Motion) -> float:
    """Return the largest angle between the axes of captured and of solved knees [rad]."""
    knees = LIMB_SEGMENTS[2:, 1]
    before, after = (
        qb.log(rotations[:, knees]) for rotations in (motion.rotations, result.puppet.rotations)
    )
    sine = np.linalg.norm(np.cross(before, after), axis=-1)
    return float(np.arctan2(sine, (before * after).sum(axis=-1)).max())


def test_knees_stay_hinges_where_the_other_form_twists_them(both, stepping_motion) -> None:
    """The performer's knees bend about one axis; so do the puppet's, whatever the blend."""
    circle, side = both
    assert knee_axes_turn(circle, stepping_motion) < EXACT_TOL_RAD
    assert knee_axes_turn(side, stepping_motion) > 1e-3


def test_puppet_that_is_the_performer_repeats_it(
    retarget: Callable, stepping_motion: Motion, adult_character
) -> None:
    out = retarget(stepping_motion, adult_character, solver='elbow_circle')
    assert out.rows[..., IMPORTANCE].max() == 1.0
    np.testing.assert_allclose(
        out.puppet.root_positions, stepping_motion.root_positions, atol=EXACT_TOL_M
    )
    assert largest_turn(out.puppet.rotations, stepping_motion.rotations) < EXACT_TOL_RAD


def test_free_limbs_are_exactly_as_captured(both, stepping_motion: Motion) -> None:
    circle, _ = both
    assert circle.rows[:, :2, IMPORTANCE].max() == 0.0
    arms = LIMB_SEGMENTS[:2].ravel()
    np.testing.assert_array_equal(
        circle.puppet.rotations[:, arms], stepping_motion.rotations[:, arms]
    )


def test_nothing_ends_inside_the_environment(
    retarget: Callable, procedural: Motion, short_character, scene
) -> None:
    """A table within the arms' swing; palms that touch it still do."""
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, short_character, scene(scene.floor, table), solver='elbow_circle')
    assert out.penetrations.max() < 1e-3


def test_palms_touch_the_table_where_the_performers_do(
    retarget: Callable, procedural: Motion, tall_character, scene
) -> None:
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, tall_character, scene(scene.floor, table), solver='elbow_circle')
    touching = out.rows[:, :2, IMPORTANCE] > 0.9999
    assert touching.sum() > 50
    away = np.linalg.norm(out.puppet.end_effectors - procedural.end_effectors, axis=2)
    assert np.percentile(away[:, :2][touching], 95) < 0.005


@pytest.mark.parametrize('puppet', PUPPETS)
def test_mirrored_input_gives_the_mirrored_answer(
    retarget: Callable, stepping_motion: Motion, puppet: str, request
) -> None:
    character = request.getfixturevalue(puppet)
    own = stepping_motion
    mirror = Motion(
        own.skeleton,
        own.rate_hz,
        own.root_positions * [1.0, -1.0, 1.0],
        mirrored_rotations(own.rotations),
        own.end_effectors[:, MIRROR_POINTS] * [1.0, -1.0, 1.0],
    )
    plain, other = (
        retarget(motion, character, solver='elbow_circle').puppet for motion in (own, mirror)
    )
    np.testing.assert_allclose(
        other.root_positions, plain.root_positions * [1.0, -1.0, 1.0], atol=EXACT_TOL_M
    )
    assert largest_turn(other.rotations, mirrored_rotations(plain.rotations)) < EXACT_TOL_RAD
