# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics of frames by penalties (LeeShin1999 section 5; kernel).

Minimises g = 1/2 (alpha_0 |v0|^2 + sum alpha_i |v_i|^2) + 1/2 sum w_i c_i^2, eqs. 4 and 6, over
the unknowns of `constraint_kernels`, frame by frame. Gauss-Newton steps, each halved until
g falls, take the place of the paper's conjugate gradients: weights of any size do them no harm.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import N_SEGMENTS
from puppet_core.math import (
    dot,
    factorise_in_place,
    Floats,
    Ints,
    kernel,
    norm,
    quat,
    scale,
    solve_factorised,
    sub,
    values,
    vec3,
    Vec3s,
)
from puppet_edit.editor.constraint_kernels import (
    beyond_limits,
    DISTANCE,
    LIMB_OF,
    limit_slopes,
    N_UNKNOWNS,
    PLANE,
    POSE,
    PoseTask,
    pull_row_back,
    residual,
    UPPER,
)
from puppet_edit.editor.limb_kernels import (
    choose_unknowns,
    CLOSED,
    FREE,
    LIMB,
    limb_rows,
    move_pose,
    prepare_limbs,
)

PENALTY = 1e5  # w of a constraint of weight 1 [1/m^2], where turning a joint costs 1 [1/rad^2]
LIMIT_PENALTY = 1e4  # of going beyond a joint's limit [1/rad^2]
MET_M = 1e-9  # residuals below it are ignored

LARGEST_TURN = 0.7  # of one segment in one step [rad]
SHORTEST_STEP = 1e-6  # of a whole one

TORSO_WEIGHT = 0.05  # or a pelvis could hardly be moved while feet are planted before and after


class FrameTasks(NamedTuple):
    """Constraints of a motion's frames, and what does not change from frame to frame."""

    frames: Ints  # (k,) rising, those with a constraint
    starts: Ints  # (k + 1,) first item of each
    items: np.ndarray  # ITEM (m,)
    offsets: Vec3s  # (n, 16, 3) of each frame's body [m]
    rigidity: Floats  # (17,)
    limits: np.ndarray  # LIMIT (16,)


class SolverOptions(NamedTuple):
    is_full: bool  # Whether no limb is solved in closed form
    max_iterations: int  # Cap of the steps in one frame
    tolerance: float  # Fall of g that a further step would have to promise


class Workspace(NamedTuple):
    """Memory of the solver, filled anew in each frame."""

    poses: np.ndarray  # POSE (2,)
    limbs: np.ndarray  # LIMB (4,)
    columns: Ints  # (51,) see `choose_unknowns`
    row_of: Ints
    full: Floats  # (51,) a derivative by all angles
    row: Floats  # (51,) and those by the unknowns, the first n count
    gradient: Floats
    newton: Floats
    limb_rows: Floats  # (36, 51)
    curvature: Floats  # (51, 51)


def workspace() -> Workspace:
    n = N_UNKNOWNS
    places, rows, matrices = np.zeros((2, n), np.int64), np.zeros((4, n)), np.zeros((36 + n, n))
    limbs = np.zeros(4, LIMB)
    return Workspace._make(
        (np.zeros(2, POSE), limbs, *places, *rows, matrices[:36], matrices[36:])
    )


@kernel
def _has_mode(task: PoseTask, segment: int, mode: int) -> bool:
    limb = LIMB_OF[segment]
    return limb >= 0 and task.limbs[limb].mode == mode


@kernel
def deviation(task: PoseTask, pose: Any, out: Floats) -> float:
    """
    Write the derivative of the secondary terms by all unknowns, shape (51,); return their value.

    The derivative of alpha |v|^2 / 2, v = log(q0^-1 q), by a turn in the segment's own frame is
    alpha v: v is an eigenvector of what relates the two.
    """
    moved = sub(vec3(pose.root), vec3(task.start.root))
    total = task.rigidity[0] * dot(moved, moved)
    out[:3] = scale(moved, task.rigidity[0])
    for segment in range(N_SEGMENTS):
        first, alpha, turn = 3 + 3 * segment, task.rigidity[1 + segment], (0.0, 0.0, 0.0)
        if not _has_mode(task, segment, FREE):
            before = values.conjugate(quat(task.start.rotations[segment]))
            turn = values.log(values.multiply(before, quat(pose.rotations[segment])))
        total += alpha * dot(turn, turn)
        out[first : first + 3] = scale(turn, alpha)
    return 0.5 * total


@kernel
def penalties(task: PoseTask, pose: Any) -> float:
    total = 0.0
    for i in range(len(task.items)):
        apart = residual(task.items[i], pose)
        total += PENALTY * task.items[i].weight * dot(apart, apart)
    for segment in range(1, N_SEGMENTS):
        if not _has_mode(task, segment, FREE):
            by_swing, by_twist = beyond_limits(task.limits[segment], quat(pose.rotations[segment]))
            total += LIMIT_PENALTY * (by_swing * by_swing + by_twist * by_twist)
    return 0.5 * total


@kernel
def _to_unknowns(task: PoseTask, work: Workspace, n: int, out: Floats) -> None:
    """Turn a derivative by all angles, `work.full`, into one by the unknowns."""
    for i in range(n):
        column = work.columns[i]
        is_swivel = column >= 3 and _has_mode(task, (column - 3) // 3, CLOSED)
        out[i] = 0.0 if is_swivel else work.full[column]
    for limb in range(4):
        if task.limbs[limb].mode == CLOSED:
            for k in range(9):
                factor = work.full[3 + 3 * UPPER[limb] + k]
                if factor != 0.0:
                    for i in range(n):
                        out[i] += factor * work.limb_rows[9 * limb + k, i]


@kernel
def _add_square(row: Floats, weight: float, value: float, n: int, work: Workspace) -> None:
    """Add a squared residual's derivative and curvature; the lower triangle counts."""
    for i in range(n):
        factor = weight * row[i]
        if factor != 0.0:
            work.gradient[i] += factor * value
            for j in range(i + 1):
                work.curvature[i, j] += factor * row[j]


@kernel
def pose_gradient(task: PoseTask, pose: Any, work: Workspace, n: int) -> None:
    """
    Fill the derivative of g by the n unknowns and its curvature, of the first order.

    At a placed posture: the first n of `work.gradient`, and the lower triangle of the first n
    rows of `work.curvature`.
    """
    limb_rows(task, pose, work.row_of, work.full, work.limb_rows)
    deviation(task, pose, work.full)
    _to_unknowns(task, work, n, work.gradient)
    for i in range(n):
        work.curvature[i, : i + 1] = 0.0
        segment = (work.columns[i] - 3) // 3 if work.columns[i] >= 3 else -1
        if segment < 0 or not _has_mode(task, segment, CLOSED):
            work.curvature[i, i] = task.rigidity[1 + segment]
    for limb in range(4):
        if task.limbs[limb].mode == CLOSED:
            for k in range(9):
                alpha = task.rigidity[1 + UPPER[limb] + k // 3]
                _add_square(work.limb_rows[9 * limb + k], alpha, 0.0, n, work)
    for i in range(len(task.items)):
        item = task.items[i]
        apart = residual(item, pose)
        # a limb in closed form meets a constraint whatever the torso does
        follows = _has_mode(task, item.segment, CLOSED)
        for k in range(1 if item.kind == PLANE or item.kind == DISTANCE else 3):
            if not (follows and abs(apart[k]) < MET_M):
                pull_row_back(item, pose, k, work.full)
                _to_unknowns(task, work, n, work.row)
                _add_square(work.row, PENALTY * item.weight, apart[k], n, work)
    for segment in range(1, N_SEGMENTS):
        limit, q = task.limits[segment], quat(pose.rotations[segment])
        beyond = beyond_limits(limit, q)
        if not _has_mode(task, segment, FREE) and beyond[0] + beyond[1] > 0.0:
            slopes = limit_slopes(limit, q)
            for k in range(2):
                if beyond[k] > 0.0:
                    work.full[:] = 0.0
                    work.full[3 + 3 * segment : 6 + 3 * segment] = slopes[k]
                    _to_unknowns(task, work, n, work.row)
                    _add_square(work.row, LIMIT_PENALTY, beyond[k], n, work)


@kernel
def solve_pose(task: PoseTask, options: SolverOptions, work: Workspace) -> None:
    """Bring the start to the minimum of g, in the first of `work.poses`."""
    pose, trial = work.poses[0], work.poses[1]
    work.row[:] = 0.0
    prepare_limbs(task, options.is_full)
    n = choose_unknowns(task, work.columns, work.row_of)
    move_pose(task, task.start, 0.0, work.row, pose)
    energy = deviation(task, pose, work.full) + penalties(task, pose)
    for _ in range(options.max_iterations):
        pose_gradient(task, pose, work, n)
        factorise_in_place(work.curvature, n)
        solve_factorised(work.curvature, work.gradient, n, work.newton)
        work.row[:] = 0.0
        fall, largest = 0.0, LARGEST_TURN
        for i in range(n):
            fall += work.gradient[i] * work.newton[i]
            work.row[work.columns[i]] = -work.newton[i]
            largest = max(largest, abs(work.newton[i]) if work.columns[i] >= 3 else 0.0)
        if not fall > options.tolerance:
            break
        step, tried = LARGEST_TURN / largest, math.inf
        while step > SHORTEST_STEP and not tried < energy:
            move_pose(task, pose, step, work.row, trial)
            tried = deviation(task, trial, work.full) + penalties(task, trial)
            step *= 0.5
        if not tried < energy:
            break
        energy = tried
        work.poses[0] = trial


@kernel
def solve_frames(
    tasks: FrameTasks,
    poses: np.ndarray,
    options: SolverOptions,
    work: Workspace,
    solved: np.ndarray,
    weights: Floats,
) -> None:
    """
    Solve every constrained frame from the motion as it is.

    `poses` (n,) of POSE are the motion's. Written are the solutions `solved` (k,), and `weights`
    (k, 17) of root and segments in the displacement map: 0 if no constraint depends on them,
    TORSO_WEIGHT for the torso where all constraints are of limbs, else 1.
    """
    for j in range(len(tasks.frames)):
        frame = tasks.frames[j]
        task = PoseTask(
            tasks.offsets[frame],
            poses[frame],
            tasks.items[tasks.starts[j] : tasks.starts[j + 1]],
            work.limbs,
            tasks.rigidity,
            tasks.limits,
        )
        solve_pose(task, options, work)
        solved[j] = work.poses[0]
        torso = TORSO_WEIGHT
        for i in range(len(task.items)):
            if LIMB_OF[task.items[i].segment] < 0:
                torso = 1.0
        weights[j, 0] = torso
        for segment in range(N_SEGMENTS):
            moves = _has_mode(task, segment, CLOSED) or work.row_of[3 + 3 * segment] >= 0
            weight = 1.0 if LIMB_OF[segment] >= 0 else torso
            weights[j, 1 + segment] = weight if moves else 0.0


@kernel
def item_errors(items: np.ndarray, places: Ints, poses: np.ndarray, out: Floats) -> None:
    """Write the length of each item's residual in the posture of its place, shape (m,) [m]."""
    for i in range(len(items)):
        out[i] = norm(residual(items[i], poses[places[i]]))
