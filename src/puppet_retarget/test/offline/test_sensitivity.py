# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a nudge of the input does to the output, of solvers whose answer is known."""

from body_fixtures import floor_only
import numpy as np
from puppet_core.body import Motion, Props
from puppet_core.math import quaternions as qb
from puppet_retarget.offline import nudged, retarget_motion, RetargetJob, sensitivity
from puppet_retarget.offline.sensitivity import NUDGE_RAD, sensitivities
from puppet_retarget.solvers import make_solver
import pytest

RATE_HZ = 60.0
N = 30
JUMP_RAD = 0.01


@pytest.fixture
def motion(adult_character, rng):
    """Return a body that stirs; its measured end-effectors are 1 cm off."""
    skeleton = adult_character.skeleton
    turns = 0.1 * rng.normal(size=(16, 3)) * np.sin(np.arange(N) / 10.0)[:, None, None]
    root = np.tile([0.0, 0.0, skeleton.rest_root_height], (N, 1))
    props = Props(('ball',), np.zeros((N, 1, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (N, 1, 1)))
    made = Motion.from_rotations(skeleton, RATE_HZ, root, qb.exp(turns), props)
    points = made.end_effectors + [0.01, 0.0, 0.0]
    return Motion(skeleton, RATE_HZ, root, made.rotations, points, props)


@pytest.fixture
def job(tall_character):
    return RetargetJob(tall_character, floor_only(), 'joint_angles')


def test_every_joint_is_turned_alike_in_all_frames(motion):
    turned = nudged(motion)
    turns = qb.log(qb.multiply(qb.conjugate(motion.rotations), turned.rotations))
    np.testing.assert_allclose(np.linalg.norm(turns, axis=-1), NUDGE_RAD, rtol=1e-6)
    np.testing.assert_allclose(turns, np.broadcast_to(turns[0], turns.shape), atol=1e-12)
    assert len(np.unique(turns[0].round(12), axis=0)) == 16
    # what is measured moves with the body, and is as far off it as before
    places = [
        Motion.from_rotations(m.skeleton, RATE_HZ, m.root_positions, m.rotations).end_effectors
        for m in (motion, turned)
    ]
    off = turned.end_effectors - places[1] - [0.01, 0.0, 0.0]
    assert np.abs(off).max() < 1e-12
    assert 0.0 < np.abs(places[1] - places[0]).max() < 1e-3
    np.testing.assert_array_equal(turned.root_positions, motion.root_positions)
    assert turned.props is motion.props
    np.testing.assert_array_equal(nudged(motion).rotations, turned.rotations)
    assert (nudged(motion, seed=1).rotations != turned.rotations).any()


def test_copied_angles_change_as_much_as_the_input(motion, job):
    told = []
    found = sensitivity(motion, job, progress=told.append)
    assert found == pytest.approx({'median': 1.0, 'worst': 1.0}, rel=1e-4)
    result = retarget_motion(motion, job)
    assert sensitivity(motion, job, result) == found


def test_a_solver_that_jumps_is_seen_where_it_jumps(motion, job):
    """Its second run has the head turned in one frame."""
    runs = []

    def make():
        solver = make_solver(
            job.solver, job.character, job.environment, motion.skeleton.leg_length, job.tuning
        )
        is_second, solve = bool(runs), solver.solve
        runs.append([])

        def jumping(*given):
            out = solve(*given)
            runs[-1].append(0)
            if is_second and len(runs[-1]) == 1 + 12:  # the first call only warms up
                out.rotations[3] = qb.multiply(out.rotations[3], qb.exp([JUMP_RAD, 0.0, 0.0]))
            return out

        solver.solve = jumping
        return solver

    found = sensitivities(motion, job, make_solver=make)
    assert len(runs) == 2
    assert found[11] == pytest.approx(JUMP_RAD / NUDGE_RAD, rel=0.02)
    np.testing.assert_allclose(np.delete(found, 11), 1.0, rtol=1e-4)


def test_frames_to_which_the_performer_leaps_are_left_out(motion, job):
    root = motion.root_positions.copy()
    root[20:, 0] += 1.0
    torn = Motion.from_rotations(motion.skeleton, RATE_HZ, root, motion.rotations)
    result = retarget_motion(torn, job)
    turned = qb.multiply(result.puppet.rotations[20], qb.exp(np.full((16, 3), 0.01)))
    result.puppet.rotations[20] = turned
    assert sensitivities(torn, job, result)[20] > 50.0
    assert sensitivity(torn, job, result)['worst'] == pytest.approx(1.0, rel=1e-4)
