# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The two baselines of Shin2002 figs. 7.2 and 7.3, and the registry of solvers."""

from collections.abc import Callable

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_core.io import SolverError
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.offline import quality
from puppet_retarget.offline.whole_motion import performer_arrays
from puppet_retarget.solvers.registry import make_solver
from puppet_retarget.solvers.state import SolverConfig
import pytest


def test_joint_angles_copies_the_angles_and_nothing_else(
    retarget: Callable, stepping_motion: Motion, short_character: Character
) -> None:
    out = retarget(stepping_motion, short_character, solver='joint_angles')
    np.testing.assert_array_equal(out.puppet.rotations, stepping_motion.rotations)
    ratio = short_character.skeleton.leg_length / stepping_motion.skeleton.leg_length
    np.testing.assert_allclose(
        out.puppet.root_positions[:, :2], stepping_motion.root_positions[:, :2], atol=1e-12
    )
    assert np.ptp(out.puppet.root_positions[:, 2]) < ratio * 1.1 * np.ptp(
        stepping_motion.root_positions[:, 2]
    )
    assert out.body_iterations.max() == 0


def test_joint_angles_slides_several_times_more(
    retarget: Callable, procedural: Motion, short_character: Character
) -> None:
    """Issue: the joint-angle baseline slides several times more."""
    performer = performer_arrays(procedural)
    planted = quality.planted_feet(performer, procedural.rate_hz)
    slides = [
        quality.slide_mm_s(
            retarget(procedural, short_character, solver=name).puppet, planted, procedural.rate_hz
        )
        for name in ('importance_based', 'joint_angles')
    ]
    assert slides[1] > 4.0 * slides[0]


def test_position_puts_every_end_effector_where_the_performers_is(
    retarget: Callable, stepping_motion: Motion, tall_character: Character
) -> None:
    """Important or not; a puppet with longer limbs reaches all of it."""
    out = retarget(
        stepping_motion,
        tall_character,
        solver='position',
        tuning=SolverConfig(root_smoothing_s=0.0),
    )
    assert out.rows[:, :2, IMPORTANCE].max() == 0.0
    np.testing.assert_allclose(
        out.puppet.end_effectors[:, :4], stepping_motion.end_effectors[:, :4], atol=1e-6
    )


def test_unknown_solver_is_refused_with_the_known_ones(short_character: Character) -> None:
    with pytest.raises(SolverError, match=r"solver: expected one of importance_based, .*'ik'"):
        make_solver('ik', short_character, floor_only(), 0.93, SolverConfig())
