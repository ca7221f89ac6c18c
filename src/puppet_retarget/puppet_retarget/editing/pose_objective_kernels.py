# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the inverse kinematics of one frame minimises, and its derivative (LeeShin1999 section 5).

g = 1/2 (alpha_0 |v0|^2 + sum alpha_i |v_i|^2) + 1/2 sum w_i c_i^2, eqs. 4 and 6, over the
unknowns of `pose_arrays`.

"""

from puppet_core.arrays import Floats
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import conjugate, log, multiply
from puppet_core.skeleton import N_SEGMENTS
from puppet_core.work_array import work_array, work_table
from puppet_retarget.editing.goal_kernels import constraint_residual, pull_row_back, Residual
from puppet_retarget.editing.limit_row_kernels import limit_rows
from puppet_retarget.editing.pose_arrays import (
    CLOSED,
    FREE,
    LIMB_OF,
    MODE,
    Pose,
    PoseTask,
    SEGMENT,
    Unknowns,
    UPPER,
    WEIGHT,
)
from puppet_retarget.editing.pose_place_kernels import reduce_limbs

PENALTY = 1e5  # w of a constraint of weight 1 [1/m^2], where turning a joint costs 1 [1/rad^2]
LIMIT_PENALTY = 1e4  # of going beyond a joint's limit [1/rad^2]
MET_M = 1e-9  # residuals below it have no say


@kernel
def _is_moving(task: PoseTask, segment: int) -> bool:
    limb = LIMB_OF[segment]
    return limb < 0 or task.limbs[limb, MODE] != FREE


@kernel
def deviation(task: PoseTask, pose: Pose, out: Floats) -> float:
    """
    Write the derivative of the secondary terms by all unknowns, shape (51,); return their value.

    The derivative of alpha |v|^2 / 2, v = log(q0^-1 q), by a turn in the segment's own frame is
    alpha v: v is an eigenvector of what relates the two.

    """
    total, turn = 0.0, work_array(4)
    for k in range(3):
        moved = pose.root[k] - task.root[k]
        out[k] = task.rigidity[0] * moved
        total += task.rigidity[0] * moved * moved
    for segment in range(N_SEGMENTS):
        first = 3 + 3 * segment
        if not _is_moving(task, segment):
            for k in range(3):
                out[first + k] = 0.0
            continue
        conjugate(task.rotations[segment], turn)
        multiply(turn, pose.rotations[segment], turn)
        log(turn, out[first:first + 3])
        alpha = task.rigidity[1 + segment]
        for k in range(3):
            total += alpha * out[first + k] * out[first + k]
            out[first + k] *= alpha
    return 0.5 * total


@kernel
def penalties(task: PoseTask, pose: Pose, residual: Residual) -> float:
    """Return the penalty terms of g."""
    total = 0.0
    values, rows = work_array(2), work_table(2, 3)
    for i in range(len(task.items)):
        constraint_residual(task.items[i], pose, residual)
        square = 0.0
        for row in range(3):
            square += residual.values[row] * residual.values[row]
        total += PENALTY * task.items[i, WEIGHT] * square
    for segment in range(1, N_SEGMENTS):
        if _is_moving(task, segment):
            for row in range(limit_rows(task.limits[segment], pose.rotations[segment], values,
                                        rows)):
                total += LIMIT_PENALTY * values[row] * values[row]
    return 0.5 * total


@kernel
def _to_unknowns(
    task: PoseTask, full: Floats, limb_rows: Floats, unknowns: Unknowns, n: int, out: Floats
) -> None:
    """Turn a derivative by all angles into one by the unknowns."""
    for i in range(n):
        column = unknowns.columns[i]
        limb = LIMB_OF[(column - 3) // 3] if column >= 3 else -1
        is_swivel = limb >= 0 and task.limbs[limb, MODE] == CLOSED
        out[i] = 0.0 if is_swivel else full[column]
    for limb in range(4):
        if task.limbs[limb, MODE] != CLOSED:
            continue
        first = 3 + 3 * UPPER[limb]
        for k in range(9):
            share = full[first + k]
            if share != 0.0:
                for i in range(n):
                    out[i] += share * limb_rows[9 * limb + k, i]


@kernel
def _add_square(row: Floats, weight: float, value: float, n: int, gradient: Floats,
                curvature: Floats) -> None:  # fmt: skip
    """Add a squared residual's derivative and curvature; the lower triangle counts."""
    for i in range(n):
        share = weight * row[i]
        if share != 0.0:
            gradient[i] += share * value
            for j in range(i + 1):
                curvature[i, j] += share * row[j]


@kernel
def _start_curvature(
    task: PoseTask, limb_rows: Floats, unknowns: Unknowns, n: int, out: Floats
) -> None:
    """Fill the curvature of the secondary terms."""
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = 0.0
        column = unknowns.columns[i]
        segment = (column - 3) // 3 if column >= 3 else -1
        limb = LIMB_OF[segment] if segment >= 0 else -1
        if limb < 0 or task.limbs[limb, MODE] != CLOSED:
            out[i, i] = task.rigidity[1 + segment]
    for limb in range(4):
        if task.limbs[limb, MODE] != CLOSED:
            continue
        for k in range(9):
            row, alpha = limb_rows[9 * limb + k], task.rigidity[1 + UPPER[limb] + k // 3]
            for i in range(n):
                share = alpha * row[i]
                if share != 0.0:
                    for j in range(i + 1):
                        out[i, j] += share * row[j]


@kernel
def pose_gradient(
    task: PoseTask, pose: Pose, unknowns: Unknowns, n: int, residual: Residual, full: Floats,
    limb_rows: Floats, row: Floats, gradient: Floats, curvature: Floats,
) -> None:  # fmt: skip
    """
    Fill the derivative of g by the unknowns and its curvature, of the first order.

    Parameters
    ----------
    task, pose, unknowns, n
        The problem, at a placed posture.
    residual : Residual
        Working space.
    full, row : ndarray, shape (51,)
        Working space.
    limb_rows : ndarray, shape (36, 51)
        Working space.
    gradient : ndarray, shape (51,)
        Out: its first n.
    curvature : ndarray, shape (51, 51)
        Out: the lower triangle of its first n rows.

    """
    reduce_limbs(task, pose, unknowns, n, full, limb_rows)
    deviation(task, pose, full)
    _to_unknowns(task, full, limb_rows, unknowns, n, gradient)
    _start_curvature(task, limb_rows, unknowns, n, curvature)
    for i in range(len(task.items)):
        constraint_residual(task.items[i], pose, residual)
        weight = PENALTY * task.items[i, WEIGHT]
        for k in range(3):
            if abs(residual.values[k]) < MET_M and _follows(task, i):
                continue
            pull_row_back(task.items[i], pose, residual, k, full)
            _to_unknowns(task, full, limb_rows, unknowns, n, row)
            _add_square(row, weight, residual.values[k], n, gradient, curvature)
    values, rows = work_array(2), work_table(2, 3)
    for segment in range(1, N_SEGMENTS):
        if not _is_moving(task, segment):
            continue
        for k in range(limit_rows(task.limits[segment], pose.rotations[segment], values, rows)):
            full[:] = 0.0
            copy(rows[k], full[3 + 3 * segment:6 + 3 * segment])
            _to_unknowns(task, full, limb_rows, unknowns, n, row)
            _add_square(row, LIMIT_PENALTY, values[k], n, gradient, curvature)


@kernel
def _follows(task: PoseTask, index: int) -> bool:
    """Return whether a constraint is met by a limb in closed form, whatever the torso does."""
    limb = LIMB_OF[int(task.items[index, SEGMENT])]
    return limb >= 0 and task.limbs[limb, MODE] == CLOSED
