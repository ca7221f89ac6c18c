# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The solver rate_control in the live pipeline: what it keeps, and that it stays calm."""

from dataclasses import replace

from continuity_runs import Act, phase, play, SIDES, swell
import numpy as np
from puppet_core.body.joint_limits import JointLimit
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE
from puppet_retarget.offline import quality
from puppet_retarget.offline.whole_motion import performer_arrays
from puppet_retarget.solvers.rate_control import RateControlSolver
from puppet_retarget.solvers.state import SolverConfig
import pytest

GOAL_TOL_M = 1e-3
PUPPETS = ('tall_character', 'short_character')
RATES = (10.0, 30.0, 120.0)


@pytest.fixture(params=PUPPETS)
def puppet(request):
    return request.getfixturevalue(request.param)


def at_rate(motion, every):
    return Motion(
        motion.skeleton,
        motion.rate_hz / every,
        motion.root_positions[::every],
        motion.rotations[::every],
        motion.end_effectors[::every],
    )


def test_puppet_that_is_the_performer_repeats_it(retarget, stepping_motion, adult_character):
    out = retarget(stepping_motion, adult_character, solver='rate_control')
    away = out.puppet.root_positions - stepping_motion.root_positions
    assert np.abs(away).max() < GOAL_TOL_M
    turns = qb.log(qb.multiply(qb.conjugate(stepping_motion.rotations), out.puppet.rotations))
    assert np.linalg.norm(turns, axis=-1).max() < 0.02


@pytest.mark.parametrize('every', [1, 4, 12])
def test_important_end_effectors_are_at_their_goals(retarget, stepping_motion, puppet, every):
    """At 120, 30 and 10 Hz."""
    out = retarget(at_rate(stepping_motion, every), puppet, solver='rate_control')
    important = out.rows[..., IMPORTANCE] == 1.0
    assert important.sum() > 5
    assert out.goal_errors[important].max() < GOAL_TOL_M


def test_planted_feet_slide_as_little_as_the_performers(retarget, procedural, puppet):
    planted = quality.planted_feet(performer_arrays(procedural), procedural.rate_hz)
    out = retarget(procedural, puppet, solver='rate_control')
    slide = quality.slide_mm_s(out.puppet, planted, procedural.rate_hz)
    own = quality.slide_mm_s(performer_arrays(procedural), planted, procedural.rate_hz)
    assert slide < own + 3.0


@pytest.mark.parametrize('rate_hz', RATES)
def test_goals_far_out_of_reach_are_left_in_peace(puppet, adult_character, rate_hz):
    """All at once important, metres away and moving; two seconds later all is as before."""
    act = Act(puppet, adult_character)
    t = np.concatenate((phase(rate_hz), np.zeros(round(2.0 * rate_hz))))
    script = act.stage.script(len(t))
    home = script.rows.copy()
    script.rows[:, :4, IMPORTANCE] = swell(t)[:, None]
    ways = [[1, 0, 1], [-1, 1, 1], [0, 2, 0], [0, 0, 1]]
    away = 4.0 * np.sin(2.0 * np.pi * t)[:, None, None] * ways
    script.rows[:, :4, GOAL : GOAL + 3] = home[:, :4, GOAL : GOAL + 3] + away
    played = play(act.solver(SolverConfig(), RateControlSolver), script, rate_hz)
    assert np.isfinite(played.ends).all()
    assert np.abs(played.roots - act.stage.reference).max() < 6.0
    still = np.abs(np.diff(played.ends[-10:], axis=0)).max()
    assert still < 1e-3
    assert np.linalg.norm(played.roots[-1] - act.stage.reference) < 0.05


def test_importance_that_comes_and_goes_moves_nothing_by_jumps(puppet, adult_character):
    """A hand is drawn to a goal and let go: at ten times the rate it moves as fast, no faster."""
    act = Act(puppet, adult_character)
    fastest = []
    for rate_hz in (120.0, 1200.0):
        t = phase(rate_hz)
        script = act.stage.script(len(t))
        script.rows[:, 2:, IMPORTANCE] = 1.0
        script.rows[:, 0, IMPORTANCE] = swell(t)
        script.rows[:, 0, GOAL : GOAL + 3] += [0.15, 0.05, 0.1]
        played = play(act.solver(SolverConfig(), RateControlSolver), script, rate_hz)
        fastest.append(played.speeds(rate_hz))
    assert fastest[0].ends < 4.0 and fastest[0].joints < 15.0
    assert fastest[1].ends < 1.5 * fastest[0].ends
    assert fastest[1].joints < 2.0 * fastest[0].joints


def test_joint_limits_of_the_character_hold(retarget, stepping_motion, short_character):
    knees = [SEGMENT_INDEX[f'{side}_shank'] for side, _ in SIDES]
    limits = tuple(
        JointLimit(knee, np.array([0.1, 0.6]), np.array([-0.5, 0.5]), np.zeros(3))
        for knee in knees
    )
    limited = replace(short_character, joint_limits=limits)
    out = retarget(stepping_motion, limited, solver='rate_control')
    bends = np.linalg.norm(qb.log(out.puppet.rotations[:, knees]), axis=-1)
    assert bends.max() < 0.8
