# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The elbow-circle solver as a whole, by the claims made of the importance-based one."""

from collections.abc import Callable

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.offline.whole_motion import RetargetResult
import pytest

EXACT_TOL_M = 1e-9
EXACT_TOL_RAD = 1e-6
PUPPETS = ('tall_character', 'short_character')


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
