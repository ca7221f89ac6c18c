# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Many frames of a clip through importance and solver in one call (kernel layer).

What `ImportanceModel.step` and the end-effector solver do one after the other for a frame, without
coming back to Python between: for libraries of clips, where that takes a third of it.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.posture_check import is_posture
from puppet_retarget.importance.estimator import estimate_packed, ROW
from puppet_retarget.importance.self_interaction import step_packed
from puppet_retarget.solvers.end_effector_solver import solve_packed


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
        np.empty((n, 3)), np.empty((n, 16, 4)), np.empty((n, 16, 4)), np.empty((n, 16, 3)),
        np.empty((n, 8, 3)), np.empty((n, 4, ROW)), np.empty((n, 8, self_columns)),
        np.empty((n, 8)), np.empty((n, 4)), np.empty((n, 4)), np.zeros(n),
    )


@kernel
def retarget_frames(
    models: Models, lags: Lags, performer: PerformerFrames, near_s: Floats, solver_s: Floats,
    puppet: PuppetFrames, begin: int, end: int,
) -> int:  # fmt: skip
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
            models.self_interaction, rotations, segments, points, velocities, rows,
            lags.self_prediction_s, lags.self_passing_s, lags.self_smoothing_s,
            lags.samples_only, near_s[i],
        )  # fmt: skip
        puppet.body_iterations[i] = solve_packed(
            models.solver, root, performer.hips[i], rotations, rows, self_rows, solver_s[i]
        )
        _keep_nearness(rows, self_rows, puppet, i)
        _keep_posture(models.solver, puppet, i)
    return end


@kernel
def _keep_nearness(rows: Floats, self_rows: Floats, puppet: PuppetFrames, i: int) -> None:
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
