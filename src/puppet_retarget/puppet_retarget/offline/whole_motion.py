# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One clip through the live models in a loop: importance and solver.

`retarget_motion` is the entry. Where it can, it solves many frames in one call of
`retarget_frames`, which does what `ImportanceModel.step` and the end-effector solver do, without
returning to Python between frames; for libraries of clips that saves a third of the time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, is_posture, LIMB_SEGMENTS, Motion, Posture
from puppet_core.math import copy, Floats, kernel, Quats, Vec3s
from puppet_retarget.importance import (
    Environment,
    estimate_packed,
    GOAL,
    ImportanceConfig,
    ImportanceModel,
    MAX_STEP_S,
    ProximityResult,
    ROW,
    SELF_ROW,
    SelfInteractionConfig,
    step_packed,
)
from puppet_retarget.offline.quality import MotionArrays
from puppet_retarget.solvers import (
    EndEffectorSolver,
    follower_of,
    make_solver,
    RobotFollower,
    solve_packed,
    Solver,
    SolverConfig,
    SolverOutput,
)

CHUNK = 64  # frames that are worth one call, and not too many between two words of progress
TOLD = 100  # frames from one word of progress to the next


# Many frames in one call (kernels).


class PerformerFrames(NamedTuple):
    """The captured body, n frames, contiguous."""

    root_positions: Vec3s  # (n, 3) [m]
    hips: Vec3s  # (n, 3) mid-points of the hip joints [m]
    rotations: Quats  # (n, 16, 4)
    segments: Vec3s  # (n, 16, 3) joints in world [m]
    end_effectors: Vec3s  # (n, 8, 3) general ones in world [m]
    velocities: Vec3s  # (n, 8, 3) theirs [m/s]


class PuppetFrames(NamedTuple):
    """What becomes of it, n frames."""

    root_positions: Vec3s  # (n, 3) [m]
    rotations: Quats  # (n, 16, 4)
    q_world: Quats  # (n, 16, 4)
    p_world: Vec3s  # (n, 16, 3) [m]
    end_effectors: Vec3s  # (n, 8, 3) [m]
    rows: Floats  # (n, 4, ROW)
    self_rows: Floats  # (n, 8, columns) the first columns
    self_depths: Floats  # (n, 8) [m]
    goal_errors: Floats  # (n, 4) [m]
    penetrations: Floats  # (n, 4) [m]
    body_iterations: Floats  # (n,)


class Models(NamedTuple):
    """Packed arrays of what lives from frame to frame."""

    importance: np.ndarray  # EstimatorArrays
    self_interaction: np.ndarray  # SelfArrays
    solver: np.ndarray  # SolverArrays


class Lags(NamedTuple):
    """Times in the importance of the environment and of the own body."""

    prediction_s: float
    smoothing_s: float
    self_prediction_s: float
    self_passing_s: float
    self_smoothing_s: float
    samples_only: bool


def empty_puppet_frames(n: int, self_columns: int) -> PuppetFrames:
    """Return room for n frames."""
    return PuppetFrames(
        np.empty((n, 3)),
        np.empty((n, 16, 4)),
        np.empty((n, 16, 4)),
        np.empty((n, 16, 3)),
        np.empty((n, 8, 3)),
        np.empty((n, 4, ROW)),
        np.empty((n, 8, self_columns)),
        np.empty((n, 8)),
        np.empty((n, 4)),
        np.empty((n, 4)),
        np.zeros(n),
    )


@kernel
def retarget_frames(
    models: Models,
    lags: Lags,
    performer: PerformerFrames,
    near_s: Floats,
    solver_s: Floats,
    puppet: PuppetFrames,
    begin: int,
    end: int,
) -> int:
    """
    Fill some of the puppet's frames.

    Parameters
    ----------
    models : Models
        As the frame before `begin` has left them.
    lags : Lags
        Tuning that is not in the packed arrays.
    performer : PerformerFrames
        In.
    near_s, solver_s : ndarray, shape (n,)
        Time since the frame before [s], for importance and solver; infinity starts them anew.
    puppet : PuppetFrames
        Out.
    begin, end : int
        The first frame, and the one after the last.

    Returns
    -------
    done : int
        The first frame that was not filled: `end`, or one that is not a posture.

    """
    rows, self_rows = models.importance[0].rows[:], models.self_interaction[0].rows[:]
    for i in range(begin, end):
        root, segments = performer.root_positions[i], performer.segments[i]
        rotations, points = performer.rotations[i], performer.end_effectors[i]
        velocities = performer.velocities[i]
        if not is_posture(root, segments, rotations):
            return i
        if not estimate_packed(
            models.importance, points, velocities, lags.prediction_s, lags.smoothing_s, near_s[i]
        ):
            return i
        step_packed(
            models.self_interaction,
            rotations,
            segments,
            points,
            velocities,
            rows,
            lags.self_prediction_s,
            lags.self_passing_s,
            lags.self_smoothing_s,
            lags.samples_only,
            near_s[i],
        )
        puppet.body_iterations[i] = solve_packed(
            models.solver, root, performer.hips[i], rotations, rows, self_rows, solver_s[i]
        )
        _keep_proximity(rows, self_rows, puppet, i)
        _keep_posture(models.solver, puppet, i)
    return end


@kernel
def _keep_proximity(rows: Floats, self_rows: Floats, puppet: PuppetFrames, i: int) -> None:
    for limb in range(4):
        copy(rows[limb], puppet.rows[i, limb])
    for point in range(8):
        copy(self_rows[point], puppet.self_rows[i, point])  # as many as there is room for


@kernel
def _keep_posture(solver: np.ndarray, puppet: PuppetFrames, i: int) -> None:
    frame = solver[0].frame
    copy(frame.root[:], puppet.root_positions[i])
    for segment in range(16):
        copy(frame.rotations[segment], puppet.rotations[i, segment])
        copy(frame.q_world[segment], puppet.q_world[i, segment])
        copy(frame.p_world[segment], puppet.p_world[i, segment])
    for point in range(8):
        copy(frame.end_effectors[point], puppet.end_effectors[i, point])
    copy(frame.self_depths[:], puppet.self_depths[i])
    copy(frame.goal_errors[:], puppet.goal_errors[i])
    copy(frame.penetrations[:], puppet.penetrations[i])


# A whole clip.


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
    """Time of each frame in importance and solver, of a chunk the mean, shape (n,) [ms]."""

    robot_angles: Floats
    """Joints of a puppet that is a robot, shape (n, joints) [rad]; of others (n, 0)."""

    def motion(self, character: Character, rate_hz: float) -> Motion:
        """Return the puppet's motion, for writing and drawing."""
        p = self.puppet
        return Motion(character.skeleton, rate_hz, p.root_positions, p.rotations, p.end_effectors)


def performer_arrays(motion: Motion) -> MotionArrays:
    """Return the captured body as the figures need it."""
    return MotionArrays(motion.root_positions, motion.rotations, motion.end_effectors)


def retarget_motion(
    motion: Motion,
    job: RetargetJob,
    progress: Callable[[int], object] | None = None,
    solver: Solver | None = None,
    self_columns: int = SELF_ROW,
    chunk: int = 1,
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
    solver : Solver, optional
        What to run instead of the solver that the job names.
    self_columns : int
        How many columns of the self-interaction's rows to keep; they take most of the memory.
    chunk : int
        Frames that are done in one compiled call, and timed together, where the solver allows
        that; with 1 each is timed by itself.

    """
    leg_length = motion.skeleton.leg_length
    if solver is None:
        solver = make_solver(job.solver, job.character, job.environment, leg_length, job.tuning)
    robot = follower_of(job.character)
    run = _Run(motion, job, () if robot is None else robot.names, self_columns)
    done = progress or _no_progress
    one_call = solver if isinstance(solver, EndEffectorSolver) and solver.is_one_call else None
    if chunk > 1 and robot is None and one_call is not None:
        run.in_chunks(one_call.packed, chunk, done)
    else:
        run.one_by_one(solver, robot, job.character.scale_for(leg_length), done)
    return run.result()


class _Run:
    """A motion on its way through the models, with room for what becomes of it."""

    def __init__(
        self, motion: Motion, job: RetargetJob, robot_names: Sequence[str], self_columns: int
    ) -> None:
        n = motion.n_frames
        segments = np.ascontiguousarray(motion.world_segments()[1])
        self._performer = PerformerFrames(
            motion.root_positions.copy(),
            np.ascontiguousarray(segments[:, LIMB_SEGMENTS[2:, 0]].mean(axis=1)),
            motion.rotations.copy(),
            segments,
            motion.end_effectors.copy(),
            motion.end_effector_velocities(),
        )
        self._stamps_ns = [round(i * 1e9 / motion.rate_hz) for i in range(n)]
        self._solver_s = np.full(n, 1.0 / motion.rate_hz)
        self._solver_s[0] = np.inf
        self._job = job
        self._model = ImportanceModel(
            job.environment, job.importance, job.self_interaction, motion.skeleton
        )
        self._puppet = empty_puppet_frames(n, self_columns)
        self._frame_ms = np.empty(n)
        self._angles = np.empty((n, len(robot_names)))

    def result(self) -> RetargetResult:
        """Return what has become of all frames."""
        p = self._puppet
        return RetargetResult(
            MotionArrays(p.root_positions, p.rotations, p.end_effectors),
            p.q_world,
            p.p_world,
            p.rows,
            p.self_rows,
            p.goal_errors,
            p.penetrations,
            p.self_depths,
            p.body_iterations,
            self._frame_ms,
            self._angles,
        )

    def in_chunks(self, solver: np.ndarray, chunk: int, progress: Callable[[int], object]) -> None:
        """Go through all frames in the compiled loop; `solver` holds SolverArrays."""
        near, own = self._job.importance, self._job.self_interaction
        lags = Lags(
            near.prediction_s,
            near.smoothing_s,
            own.prediction_s,
            own.foot_passing_s,
            own.smoothing_s,
            own.samples_only,
        )
        near_s = np.concatenate([[np.inf], np.diff(np.array(self._stamps_ns, float)) * 1e-9])
        near_s[near_s > MAX_STEP_S] = np.inf
        models, n = Models(*self._model.packed, solver), len(near_s)

        def follow(begin: int, end: int) -> None:
            done = retarget_frames(
                models, lags, self._performer, near_s, self._solver_s, self._puppet, begin, end
            )
            assert done == end  # a motion is finite

        follow(0, 1)  # only compiles: the first frame starts everything anew
        for begin in range(0, n, chunk):
            end = min(begin + chunk, n)
            start = perf_counter()
            follow(begin, end)
            self._frame_ms[begin:end] = (perf_counter() - start) * 1e3 / (end - begin)
            progress(end - begin)

    def one_by_one(
        self,
        solver: Solver,
        robot: RobotFollower | None,
        scale: float,
        progress: Callable[[int], object],
    ) -> None:
        """Go through the frames as the live nodes do; `scale` is that of a robot's goals."""
        model, performer, puppet = self._model, self._performer, self._puppet
        roots, hips, rotations, segments, points, velocities = performer

        def step(i: int) -> tuple[ProximityResult, SolverOutput]:
            posture = Posture(roots[i], rotations[i], points[i], velocities[i])
            near = model.step(self._stamps_ns[i], posture, segments[i])
            assert near is not None  # a motion is finite
            return near, solver.solve(
                roots[i], hips[i], rotations[i], near.rows, self._solver_s[i], near.self_rows
            )

        step(0)
        model.reset()  # the call above only compiled
        for i in range(len(roots)):
            start = perf_counter()
            near, out = step(i)
            if robot is not None:
                self._angles[i] = robot.step(out, scale * near.rows[:, GOAL : GOAL + 3])
            self._frame_ms[i] = (perf_counter() - start) * 1e3
            puppet.rows[i] = near.rows
            puppet.self_rows[i] = near.self_rows[:, : puppet.self_rows.shape[2]]
            puppet.self_depths[i] = out.self_depths
            puppet.root_positions[i] = out.root_position
            puppet.rotations[i] = out.rotations
            puppet.end_effectors[i] = out.end_effectors
            puppet.q_world[i], puppet.p_world[i] = out.q_world, out.p_world
            puppet.goal_errors[i], puppet.penetrations[i] = out.goal_errors, out.penetrations
            puppet.body_iterations[i] = out.body_iterations
            if i % TOLD == TOLD - 1:
                progress(TOLD)


def _no_progress(n_frames: int) -> None:
    """Take the progress of a run that nobody watches."""


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
