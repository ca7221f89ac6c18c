# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The solver rate_control in the live pipeline: what it keeps, and that it stays calm."""

from dataclasses import replace

from body_fixtures import floor_only
from continuity_runs import Act, phase, play, SIDES, swell
import numpy as np
from puppet_core.body.joint_limits import JointLimit
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE
from puppet_retarget.offline import quality
from puppet_retarget.offline.whole_motion import performer_arrays, retarget_motion, RetargetJob
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.rate_control import RateControlSolver
import pytest

GOAL_TOL_M = 1e-3
PUPPETS = ('tall_character', 'short_character')


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


@pytest.mark.parametrize('base', ['pelvis', 'chest', 'right_hand', 'left_foot', 'contact'])
def test_puppet_that_is_the_performer_repeats_it(retarget, stepping_motion, adult_character, base):
    tuning = SolverConfig(rate_base=base)
    out = retarget(stepping_motion, adult_character, solver='rate_control', tuning=tuning)
    away = out.puppet.root_positions - stepping_motion.root_positions
    assert np.abs(away).max() < GOAL_TOL_M
    turns = qb.log(qb.multiply(qb.conjugate(stepping_motion.rotations), out.puppet.rotations))
    assert np.linalg.norm(turns, axis=-1).max() < 0.02


@pytest.mark.parametrize('base', ['pelvis', 'chest', 'right_foot', 'contact'])
@pytest.mark.parametrize('every', [1, 4, 12])
def test_important_end_effectors_are_at_their_goals(
    retarget, stepping_motion, puppet, every, base
):
    """At 120, 30 and 10 Hz."""
    tuning = SolverConfig(rate_base=base)
    motion = at_rate(stepping_motion, every)
    out = retarget(motion, puppet, solver='rate_control', tuning=tuning)
    important = out.rows[..., IMPORTANCE] == 1.0
    assert important.sum() > 5
    assert out.goal_errors[important].max() < GOAL_TOL_M


class BaseRecorder(RateControlSolver):
    def _run(self, *frame):
        steps = super()._run(*frame)
        self.bases = [*getattr(self, 'bases', []), self._controller.base]
        return steps


def test_base_is_the_planted_foot_and_changes_unseen(retarget, stepping_motion, puppet):
    """Both feet are where they are to be, so the body cannot tell which one it hangs on."""
    job = RetargetJob(puppet, floor_only(), 'rate_control')
    leg, roots = stepping_motion.skeleton.leg_length, {}
    for base in ('left_foot', 'contact'):
        solver = BaseRecorder(puppet, floor_only(), leg, SolverConfig(rate_base=base))
        out = retarget_motion(stepping_motion, job, solver=solver)
        roots[base] = out.puppet.root_positions
    bases = np.array(solver.bases[1:])  # of the contact; one call more, to compile
    planted = quality.planted_feet(performer_arrays(stepping_motion), stepping_motion.rate_hz)
    feet = [SEGMENT_INDEX[f'{side}_foot'] for side, _ in SIDES]
    one = planted.sum(axis=1) == 1
    assert np.mean(bases[one] == np.where(planted[:, 0], *feet)[one]) > 0.95
    switches = np.flatnonzero(np.diff(bases)) + 1
    assert len(switches) > 2
    at = np.concatenate([switches - 2, switches - 1])
    assert np.abs(roots['contact'] - roots['left_foot']).max() < 0.01
    away = np.diff(roots['contact'] - roots['left_foot'], 2, axis=0)
    assert np.abs(away[at]).max() < 2e-4


def test_nothing_is_asked_of_the_pelvis_with_another_base(retarget, stepping_motion, puppet):
    """ChoiKo2000's clip 2: where the pelvis should be has no influence while feet are planted."""
    roots = {}
    for base in ('pelvis', 'contact'):
        for ratio in (0.9, 1.0):
            tuning = SolverConfig(rate_base=base, root_height_ratio=ratio)
            out = retarget(stepping_motion, puppet, solver='rate_control', tuning=tuning)
            roots[base, ratio] = out.puppet.root_positions
    stands = (out.rows[:, 2:, IMPORTANCE] == 1.0).all(axis=1)
    away = {b: np.abs(roots[b, 0.9] - roots[b, 1.0])[stands].max() for b in ('pelvis', 'contact')}
    assert away['contact'] < GOAL_TOL_M < away['pelvis']


def test_planted_feet_slide_as_little_as_the_performers(retarget, procedural, puppet):
    planted = quality.planted_feet(performer_arrays(procedural), procedural.rate_hz)
    out = retarget(procedural, puppet, solver='rate_control')
    slide = quality.slide_mm_s(out.puppet, planted, procedural.rate_hz)
    own = quality.slide_mm_s(performer_arrays(procedural), planted, procedural.rate_hz)
    assert slide < own + 3.0


@pytest.mark.parametrize(
    ('rate_hz', 'base'),
    [*((rate, 'pelvis') for rate in (10.0, 30.0, 120.0)), (30.0, 'contact'), (120.0, 'contact')],
)
def test_goals_far_out_of_reach_are_left_in_peace(puppet, adult_character, rate_hz, base):
    """All at once important, metres away and moving; two seconds later all is as before."""
    act = Act(puppet, adult_character)
    t = np.concatenate((phase(rate_hz), np.zeros(round(2.0 * rate_hz))))
    script = act.stage.script(len(t))
    home = script.rows.copy()
    script.rows[:, :4, IMPORTANCE] = swell(t)[:, None]
    ways = [[1, 0, 1], [-1, 1, 1], [0, 2, 0], [0, 0, 1]]
    away = 4.0 * np.sin(2.0 * np.pi * t)[:, None, None] * ways
    script.rows[:, :4, GOAL : GOAL + 3] = home[:, :4, GOAL : GOAL + 3] + away
    played = play(act.solver(SolverConfig(rate_base=base), RateControlSolver), script, rate_hz)
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
    # an arm that just reaches straightens at the thesis' root, where the shorter one is fastest
    assert fastest[0].ends < 4.0 and fastest[0].joints < 25.0
    assert fastest[1].ends < 1.5 * fastest[0].ends
    assert fastest[1].joints < 4.0 * fastest[0].joints


def test_fast_puppet_is_not_taken_for_one_astray(retarget, stepping_motion, adult_character):
    """At 6 m/s and 30 Hz the root goes 20 cm in a frame; it repeats its performer all the same."""
    still = at_rate(stepping_motion, 4)
    way = 0.2 * np.arange(still.n_frames)[:, None] * [1.0, 0.0, 0.0]
    carried = replace(
        still,
        root_positions=still.root_positions + way,
        end_effectors=still.end_effectors + way[:, None],
    )
    out = retarget(carried, adult_character, solver='rate_control')
    assert np.abs(out.puppet.root_positions - carried.root_positions).max() < GOAL_TOL_M


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
