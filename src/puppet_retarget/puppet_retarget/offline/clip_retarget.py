# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip through the live models in a loop: importance, solver, and the report on both."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Vec3s
from puppet_core.character import Character
from puppet_core.posture import Motion
from puppet_core.skeleton import LIMB_SEGMENTS, Skeleton
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import (
    GOAL,
    IMPORTANCE,
    ImportanceConfig,
    ImportanceEstimator,
    ROW,
)
from puppet_retarget.offline import quality
from puppet_retarget.offline.quality import MotionArrays
from puppet_retarget.solvers.ball_intersection import closest_in_balls
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.registry import make_solver


@dataclass(frozen=True, slots=True)
class RetargetJob:
    """Everything that decides the outcome for one clip."""

    character: Character
    """The puppet."""

    environment: Environment
    """Solids around the performer, with counterparts."""

    solver: str = 'importance_based'
    """Name of the solver."""

    importance: ImportanceConfig = ImportanceConfig()
    """Tuning of the importance."""

    tuning: SolverConfig = SolverConfig()
    """Tuning of the solver."""


@dataclass(frozen=True, slots=True)
class RetargetResult:
    """A retargeted clip, frame by frame."""

    puppet: MotionArrays
    """The puppet in its own world."""

    rows: Floats
    """Importance rows, shape (n, 4, 8)."""

    goal_errors: Floats
    """Shape (n, 4) [m]."""

    penetrations: Floats
    """Shape (n, 4) [m]."""

    body_iterations: Floats
    """Shape (n,)."""

    frame_ms: Floats
    """Time of each frame in importance and solver, shape (n,) [ms]."""

    def motion(self, character: Character, rate_hz: float) -> Motion:
        """Return the puppet's motion, for writing and drawing."""
        p = self.puppet
        return Motion(
            character.skeleton, rate_hz, p.root_positions, p.rotations, p.end_effectors
        )


def performer_arrays(motion: Motion) -> MotionArrays:
    """Return the captured body as the figures need it."""
    return MotionArrays(motion.root_positions, motion.rotations, motion.end_effectors)


def hip_centres(motion: Motion) -> Vec3s:
    """Return the mid-point of the hip joints of every frame, shape (n, 3) [m]."""
    _, p_world = motion.world_segments()
    return np.ascontiguousarray(p_world[:, LIMB_SEGMENTS[2:, 0]].mean(axis=1))


def retarget_motion(
    motion: Motion, job: RetargetJob, progress: Callable[[int], object] | None = None
) -> RetargetResult:
    """
    Run every frame of a motion through importance and solver, as the live nodes do.

    Parameters
    ----------
    motion : Motion
        The performer.
    job : RetargetJob
        Puppet, environment and tuning.
    progress : callable, optional
        Called with the number of frames done since the last call.

    """
    n = motion.n_frames
    estimator = ImportanceEstimator(job.environment, job.importance)
    solver = make_solver(
        job.solver, job.character, job.environment, motion.skeleton.leg_length, job.tuning
    )
    hips = hip_centres(motion)
    roots, rotations = motion.root_positions.copy(), motion.rotations.copy()
    points = motion.end_effectors.copy()
    velocities = motion.end_effector_velocities()
    step_ns = 1e9 / motion.rate_hz
    puppet = MotionArrays(np.empty((n, 3)), np.empty((n, 16, 4)), np.empty((n, 8, 3)))
    rows = np.empty((n, 4, ROW))
    goal_errors, penetrations = np.empty((n, 4)), np.empty((n, 4))
    iterations, frame_ms = np.zeros(n), np.empty(n)
    row = estimator.step(0, points[0], velocities[0])
    assert row is not None  # a motion is finite
    solver.solve(roots[0], hips[0], rotations[0], row, np.inf)
    estimator.reset()  # the call above only compiled
    for i in range(n):
        start = perf_counter()
        row = estimator.step(round(i * step_ns), points[i], velocities[i])
        assert row is not None
        dt = 1.0 / motion.rate_hz if i else np.inf
        out = solver.solve(roots[i], hips[i], rotations[i], row, dt)
        frame_ms[i] = (perf_counter() - start) * 1e3
        rows[i] = row
        puppet.root_positions[i] = out.root_position
        puppet.rotations[i] = out.rotations
        puppet.end_effectors[i] = out.end_effectors
        goal_errors[i], penetrations[i] = out.goal_errors, out.penetrations
        iterations[i] = out.body_iterations
        if progress is not None and i % 100 == 99:
            progress(100)
    return RetargetResult(puppet, rows, goal_errors, penetrations, iterations, frame_ms)


def report(motion: Motion, job: RetargetJob, result: RetargetResult) -> dict[str, Any]:
    """Return the figures of the retarget report as plain numbers with unit suffixes."""
    performer, puppet = performer_arrays(motion), result.puppet
    planted = quality.planted_feet(performer, motion.rate_hz)
    scale = job.character.scale_for(motion.skeleton.leg_length)
    baseline = retarget_motion(
        motion, RetargetJob(job.character, job.environment, 'joint_angles', job.importance)
    )
    importances = result.rows[..., IMPORTANCE]
    ms = result.frame_ms
    slide = {
        'performer': quality.slide_mm_s(performer, planted, motion.rate_hz),
        'puppet': quality.slide_mm_s(puppet, planted, motion.rate_hz),
        'joint_angles_baseline': quality.slide_mm_s(baseline.puppet, planted, motion.rate_hz),
    }
    deviation = quality.free_limb_deviation_deg(puppet, performer, importances)
    return {
        'frames': motion.n_frames,
        'solver': job.solver,
        'character': job.character.name,
        'ms_per_frame': {
            'median': float(np.median(ms)),
            'p99': float(np.percentile(ms, 99)),
            'max': float(np.max(ms)),
        },
        'body_iterations': int(result.body_iterations.sum()),
        'planted_foot_slide_mm_s': slide,
        'planted_impossible_share': impossible_share(motion, job, result, planted),
        'goal_error_mm': quality.percentiles(
            result.goal_errors[importances > quality.IMPORTANT], 1000.0
        ),
        'penetration_mm': {'environment_max': float(result.penetrations.max() * 1000.0)},
        'free_limb_deviation_deg_max': deviation,
        'jerk_ratio': quality.jerk_ratios(puppet, performer, scale),
    }


def impossible_share(
    motion: Motion, job: RetargetJob, result: RetargetResult, planted: np.ndarray
) -> float:
    """Return the share of frames in which no root brings all planted feet within leg length."""
    skeleton = job.character.skeleton
    scale = job.character.scale_for(motion.skeleton.leg_length)
    q_world, _ = motion.world_segments()
    soles = result.rows[:, 2:, GOAL: GOAL + 3] * scale
    impossible = 0
    for i in np.flatnonzero(planted.all(axis=1)):
        balls = _ankle_balls(skeleton, q_world[i], soles[i])
        radii = skeleton.limb_lengths[2:].sum(axis=1)
        start = balls.mean(axis=0)
        relaxed = closest_in_balls(start, balls, radii, np.ones(2), np.empty(2), np.empty(3))
        impossible += relaxed > 1e-9
    return float(impossible / motion.n_frames)


def _ankle_balls(skeleton: Skeleton, q_world: Floats, soles: Vec3s) -> Vec3s:
    """Return where the pelvis would be if each ankle's hip sat on its ankle, (2, 3) [m]."""
    feet, hips = LIMB_SEGMENTS[2:, 2], LIMB_SEGMENTS[2:, 0]
    drops = quaternion_batch.rotate(q_world[feet], skeleton.interaction_points[2:])
    arms = quaternion_batch.rotate(q_world[0], skeleton.offsets[hips])
    return np.ascontiguousarray(soles - drops - arms)
