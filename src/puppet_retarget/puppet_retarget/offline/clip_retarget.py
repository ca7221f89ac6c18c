# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip through the live models in a loop: importance, solver, and the report on both."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.character import Character
from puppet_core.posture import general_end_effectors, Motion, Posture, world_segments
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.importance.contact_rows import SELF_IMPORTANCE, SELF_ROW
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import (
    GOAL,
    IMPORTANCE,
    ImportanceConfig,
    ROW,
)
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.self_interaction import SelfInteractionConfig
from puppet_retarget.offline import quality
from puppet_retarget.offline.quality import MotionArrays
from puppet_retarget.offline.reachability import impossible_share
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.registry import make_solver
from puppet_retarget.solvers.robot_follower import follower_of
from puppet_retarget.solvers.solver import Solver


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

    self_interaction: SelfInteractionConfig = SelfInteractionConfig()
    """Tuning of the self-interaction."""


@dataclass(frozen=True, slots=True)
class RetargetResult:
    """A retargeted clip, frame by frame."""

    puppet: MotionArrays
    """The puppet in its own world."""

    q_world: Quats
    """The puppet's segment orientations in world, shape (n, 16, 4)."""

    p_world: Vec3s
    """The puppet's joints in world, shape (n, 16, 3) [m]."""

    rows: Floats
    """Importance rows, shape (n, 4, 8)."""

    self_rows: Floats
    """Rows of the self-interaction, shape (n, 8, SELF_ROW), or their first columns."""

    goal_errors: Floats
    """Shape (n, 4) [m]."""

    penetrations: Floats
    """Shape (n, 4) [m]."""

    self_depths: Floats
    """Depth of the general end-effectors inside the puppet, shape (n, 8) [m]."""

    body_iterations: Floats
    """Shape (n,)."""

    frame_ms: Floats
    """Time of each frame in importance and solver, shape (n,) [ms]."""

    robot_angles: Floats
    """Joints of a puppet that is a robot, shape (n, joints) [rad]; of others (n, 0)."""

    def motion(self, character: Character, rate_hz: float) -> Motion:
        """Return the puppet's motion, for writing and drawing."""
        p = self.puppet
        return Motion(
            character.skeleton, rate_hz, p.root_positions, p.rotations, p.end_effectors
        )


def performer_arrays(motion: Motion) -> MotionArrays:
    """Return the captured body as the figures need it."""
    return MotionArrays(motion.root_positions, motion.rotations, motion.end_effectors)


def retarget_motion(
    motion: Motion, job: RetargetJob, progress: Callable[[int], object] | None = None,
    solver: Solver | None = None, self_columns: int = SELF_ROW,
) -> RetargetResult:  # fmt: skip
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
    solver : Solver, optional
        What to run instead of the solver that the job names.
    self_columns : int
        How many columns of the self-interaction's rows to keep; they take most of the memory.

    """
    n = motion.n_frames
    model = ImportanceModel(
        job.environment, job.importance, job.self_interaction, motion.skeleton
    )
    if solver is None:
        solver = make_solver(
            job.solver, job.character, job.environment, motion.skeleton.leg_length, job.tuning
        )
    robot, scale = follower_of(job.character), job.character.scale_for(motion.skeleton.leg_length)
    angles = np.empty((n, 0 if robot is None else len(robot.names)))
    segments = np.ascontiguousarray(motion.world_segments()[1])
    hips = np.ascontiguousarray(segments[:, LIMB_SEGMENTS[2:, 0]].mean(axis=1))
    roots, rotations = motion.root_positions.copy(), motion.rotations.copy()
    points = motion.end_effectors.copy()
    velocities = motion.end_effector_velocities()
    step_ns = 1e9 / motion.rate_hz
    puppet = MotionArrays(np.empty((n, 3)), np.empty((n, 16, 4)), np.empty((n, 8, 3)))
    q_world, p_world = np.empty((n, 16, 4)), np.empty((n, 16, 3))
    rows, self_rows = np.empty((n, 4, ROW)), np.empty((n, 8, self_columns))
    self_depths = np.empty((n, 8))
    goal_errors, penetrations = np.empty((n, 4)), np.empty((n, 4))
    iterations, frame_ms = np.zeros(n), np.empty(n)
    near = model.step(0, Posture(roots[0], rotations[0], points[0], velocities[0]), segments[0])
    assert near is not None  # a motion is finite
    solver.solve(roots[0], hips[0], rotations[0], near.rows, np.inf, near.self_rows)
    model.reset()  # the calls above only compiled
    for i in range(n):
        posture = Posture(roots[i], rotations[i], points[i], velocities[i])
        stamp_ns, dt = round(i * step_ns), 1.0 / motion.rate_hz if i else np.inf
        start = perf_counter()
        near = model.step(stamp_ns, posture, segments[i])
        assert near is not None
        out = solver.solve(roots[i], hips[i], rotations[i], near.rows, dt, near.self_rows)
        if robot is not None:
            angles[i] = robot.step(out, scale * near.rows[:, GOAL: GOAL + 3])
        frame_ms[i] = (perf_counter() - start) * 1e3
        rows[i], self_rows[i] = near.rows, near.self_rows[:, :self_columns]
        self_depths[i] = out.self_depths
        puppet.root_positions[i] = out.root_position
        puppet.rotations[i] = out.rotations
        puppet.end_effectors[i] = out.end_effectors
        q_world[i], p_world[i] = out.q_world, out.p_world
        goal_errors[i], penetrations[i] = out.goal_errors, out.penetrations
        iterations[i] = out.body_iterations
        if progress is not None and i % 100 == 99:
            progress(100)
    return RetargetResult(
        puppet, q_world, p_world, rows, self_rows, goal_errors, penetrations, self_depths,
        iterations, frame_ms, angles,
    )


def copied_angles(motion: Motion, job: RetargetJob) -> MotionArrays:
    """
    Return the puppet of a job with the captured joint angles and nothing else.

    The same as the solver `joint_angles` makes with the default tuning, for all frames at once.

    """
    skeleton, tuning = job.character.skeleton, SolverConfig()
    leg_length = motion.skeleton.leg_length
    hips = motion.world_segments()[1][:, LIMB_SEGMENTS[2:, 0]].mean(axis=1)
    scale = job.character.scale_for(leg_length)
    ratio = tuning.root_height_ratio or job.character.root_ratio_for(leg_length)
    centre = skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0)
    roots = hips * (scale, scale, ratio) - quaternion_batch.rotate(motion.rotations[:, 0], centre)
    q_world, p_world = world_segments(skeleton, roots, motion.rotations)
    points = general_end_effectors(skeleton, q_world, p_world)
    return MotionArrays(roots, motion.rotations, points)


def report(
    motion: Motion, job: RetargetJob, result: RetargetResult,
    baseline: MotionArrays | None = None,
) -> dict[str, Any]:  # fmt: skip
    """
    Return the figures of the retarget report as plain numbers with unit suffixes.

    Parameters
    ----------
    motion : Motion
        The performer.
    job : RetargetJob
        What was done.
    result : RetargetResult
        What came of it.
    baseline : MotionArrays, optional
        What `copied_angles` returns for the job, if that is at hand.

    """
    performer, puppet = performer_arrays(motion), result.puppet
    planted = quality.planted_feet(performer, motion.rate_hz)
    scale = job.character.scale_for(motion.skeleton.leg_length)
    if baseline is None:
        baseline = copied_angles(motion, job)
    importances = result.rows[..., IMPORTANCE]
    ms = result.frame_ms
    slide = {
        'performer': quality.slide_mm_s(performer, planted, motion.rate_hz),
        'puppet': quality.slide_mm_s(puppet, planted, motion.rate_hz),
        'joint_angles_baseline': quality.slide_mm_s(baseline, planted, motion.rate_hz),
    }
    deviation = quality.free_limb_deviation_deg(puppet, performer, limb_importances(result))
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
        'planted_impossible_share': impossible_share(
            job.character.skeleton, motion.world_segments()[0],
            scale * result.rows[:, 2:, GOAL: GOAL + 3], planted,
        ),
        'goal_error_mm': quality.percentiles(
            result.goal_errors[importances > quality.IMPORTANT], 1000.0
        ),
        'penetration_mm': {'environment_max': float(result.penetrations.max() * 1000.0)},
        'free_limb_deviation_deg_max': deviation,
        'jerk_ratio': quality.jerk_ratios(puppet, performer, scale),
    }


def require_finite(result: RetargetResult) -> None:
    """
    Refuse an outcome that cannot be used.

    Raises
    ------
    RuntimeError : naming the first frame that is not finite.

    """
    puppet = result.puppet
    finite = np.isfinite(puppet.root_positions).all(axis=1)
    finite &= np.isfinite(puppet.rotations).all(axis=(1, 2))
    if not finite.all():
        raise RuntimeError(f'frame {np.argmin(finite)}: expected a finite posture, got another')


def limb_importances(result: RetargetResult) -> Floats:
    """
    Return how much each limb has to do with the environment or the body, shape (n, 4).

    A limb that is at the puppet's own skin is there because it was moved out, or meets it.

    """
    near_self = result.self_rows[..., SELF_IMPORTANCE]
    at_skin = (result.self_depths > 0.0).astype(np.float64)
    strongest = np.maximum(near_self, at_skin)
    own = np.maximum(strongest[:, :4], strongest[:, 4:])
    return np.maximum(result.rows[..., IMPORTANCE], own)
