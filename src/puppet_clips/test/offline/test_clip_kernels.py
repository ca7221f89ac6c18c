# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames in one compiled call against the same frames one by one through the live models."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.self_interaction import SELF_IMPORTANCE, SELF_ROW
from puppet_retarget.offline.whole_motion import (
    empty_puppet_frames,
    Lags,
    Models,
    PerformerFrames,
    retarget_frames,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
from puppet_retarget.solvers.registry import make_solver, SOLVER_NAMES
import pytest

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
FIELDS = (
    'q_world',
    'p_world',
    'rows',
    'self_rows',
    'goal_errors',
    'penetrations',
    'self_depths',
    'body_iterations',
    'robot_angles',
)


def assert_same(one: RetargetResult, other: RetargetResult) -> None:
    """Check that two results are equal to the last bit."""
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for name in ('root_positions', 'rotations', 'end_effectors'):
        np.testing.assert_array_equal(getattr(one.puppet, name), getattr(other.puppet, name), name)


@pytest.mark.parametrize('solver', SOLVER_NAMES)
def test_chunks_change_nothing(procedural: Motion, short_character, solver: str) -> None:
    """Solvers that are not one call take the frames one by one all the same."""
    job = RetargetJob(short_character, floor_only(), solver)
    assert_same(retarget_motion(procedural, job), retarget_motion(procedural, job, chunk=37))


def test_a_robot_takes_its_frames_one_by_one(procedural: Motion) -> None:
    job = RetargetJob(character_from_urdf(HUMANOID, RobotMap()).character, floor_only())
    one, other = (retarget_motion(procedural, job, chunk=chunk) for chunk in (1, 64))
    assert one.robot_angles.shape[1] > 0
    assert_same(one, other)


@pytest.mark.parametrize('chunk', [2, 64, 1_000_000])
def test_any_size_of_chunk_will_do(procedural: Motion, tall_character, chunk: int) -> None:
    job = RetargetJob(tall_character, floor_only())
    whole = retarget_motion(procedural, job, self_columns=SELF_IMPORTANCE + 1)
    told: list[int] = []
    parts = retarget_motion(
        procedural, job, told.append, self_columns=SELF_IMPORTANCE + 1, chunk=chunk
    )
    assert_same(whole, parts)
    assert sum(told) == procedural.n_frames
    assert (parts.frame_ms > 0.0).all()
    assert len(np.unique(parts.frame_ms)) <= -(-procedural.n_frames // chunk)


@pytest.mark.parametrize('rate_hz', [3.9, 4.0, 4.1])
def test_slow_clips_start_the_smoothing_anew_as_the_models_do(
    procedural: Motion, short_character, rate_hz: float
) -> None:
    """A step of more than a quarter of a second is a gap."""
    slow = replace(procedural, rate_hz=rate_hz)
    job = RetargetJob(short_character, floor_only())
    assert_same(retarget_motion(slow, job), retarget_motion(slow, job, chunk=64))


def test_first_frame_that_is_no_posture_is_named(procedural: Motion, short_character) -> None:
    n = 8
    arrays = PerformerFrames(
        procedural.root_positions[:n].copy(),
        procedural.root_positions[:n].copy(),
        procedural.rotations[:n].copy(),
        procedural.world_segments()[1][:n].copy(),
        procedural.end_effectors[:n].copy(),
        np.zeros((n, 8, 3)),
    )
    job = RetargetJob(short_character, floor_only())
    model = ImportanceModel(
        job.environment, job.importance, job.self_interaction, procedural.skeleton
    )
    leg_length = procedural.skeleton.leg_length
    solver = make_solver(job.solver, job.character, job.environment, leg_length, job.tuning)
    models, lags = Models(*model.packed, solver.packed), Lags(0.0, 0.0, 0.0, 0.0, 0.0, False)
    puppet, steps_s = empty_puppet_frames(n, SELF_ROW), np.full(n, 0.01)
    arrays.rotations[5, 3] = np.nan
    assert retarget_frames(models, lags, arrays, steps_s, steps_s, puppet, 0, n) == 5
    arrays.rotations[5, 3] = arrays.rotations[4, 3]
    arrays.velocities[6, 2] = np.inf
    assert retarget_frames(models, lags, arrays, steps_s, steps_s, puppet, 0, n) == 6
