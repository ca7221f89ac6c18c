# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics of one frame by penalties and conjugate gradients (LeeShin1999 section 5).

Polak-Ribiere, preconditioned by the curvature that the objective has as far as derivatives of
first order tell, which makes penalties of any weight harmless.

"""

from puppet_core.arrays import Floats
from puppet_core.kernel import copy, kernel
from puppet_retarget.editing.goal_kernels import Residual
from puppet_retarget.editing.pose_arrays import copy_pose, Pose, PoseTask, Unknowns
from puppet_retarget.editing.pose_objective_kernels import deviation, penalties, pose_gradient
from puppet_retarget.editing.pose_place_kernels import (
    choose_unknowns,
    move_pose,
    place_all,
    prepare_limbs,
)
from puppet_retarget.solvers.linear_system import factorise_in_place, solve_factorised

SUFFICIENT = 1e-4  # share of the promised fall that a step must bring (Armijo) [-]
LARGEST_TURN = 0.7  # of one segment in one step [rad]
SHORTEST_STEP = 1e-6  # of the promised one


@kernel
def _inner(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@kernel
def _spread(direction: Floats, unknowns: Unknowns, n: int, out: Floats) -> float:
    """Write a direction at the places of its unknowns; return the longest step along it."""
    out[:] = 0.0
    largest = 0.0
    for i in range(n):
        out[unknowns.columns[i]] = direction[i]
        if unknowns.columns[i] >= 3:
            largest = max(largest, abs(direction[i]))
    return LARGEST_TURN / largest if largest > LARGEST_TURN else 1.0


@kernel
def solve_pose(
    task: PoseTask, pose: Pose, trial: Pose, is_full: bool, max_iterations: int,
    tolerance: float, unknowns: Unknowns, residual: Residual, space: Floats, out: Pose,
) -> int:  # fmt: skip
    """
    Bring a posture to the minimum of g; return the number of steps.

    Parameters
    ----------
    task : PoseTask
        The problem.
    pose : Pose
        Where to start, such as the posture before; working space.
    trial : Pose
        Working space.
    is_full : bool
        Whether no limb is solved in closed form.
    max_iterations : int
        Cap of the steps.
    tolerance : float
        Fall of g that a further step would have to promise.
    unknowns, residual
        Working space.
    space : ndarray, shape (51 + 36 + 6, 51)
        Working space.
    out : Pose
        The solution, without its forward kinematics.

    """
    curvature, limb_rows = space[0:51], space[51:87]
    full, row, gradient, newton = space[87], space[88], space[89], space[90]
    old_gradient, direction = space[91], space[92]
    place_all(task, pose)
    prepare_limbs(task, pose, is_full)
    n = choose_unknowns(task, unknowns)
    full[:] = 0.0
    move_pose(task, pose, 0.0, full, trial)
    pose, trial = trial, pose
    energy = deviation(task, pose, full) + penalties(task, pose, residual)
    steps, old_fall = 0, 0.0
    while steps < max_iterations:
        pose_gradient(
            task, pose, unknowns, n, residual, full, limb_rows, row, gradient, curvature
        )
        factorise_in_place(curvature, n, True)
        solve_factorised(curvature, gradient, n, newton)
        fall = _inner(gradient, newton, n)
        if not fall > tolerance:
            break
        ratio = max((fall - _inner(newton, old_gradient, n)) / old_fall, 0.0) if (
            old_fall > 0.0
        ) else 0.0
        for i in range(n):
            direction[i] = ratio * direction[i] - newton[i]
        slope = _inner(gradient, direction, n)
        if not slope < 0.0:
            for i in range(n):
                direction[i] = -newton[i]
            slope = -fall
        step = _spread(direction, unknowns, n, full)
        was_full, shortest = step == 1.0, SHORTEST_STEP * step
        copy(full, row)
        found = False
        while step > shortest:
            move_pose(task, pose, step, row, trial)
            tried = deviation(task, trial, full) + penalties(task, trial, residual)
            if tried < energy + SUFFICIENT * step * slope:
                found = True
                break
            was_full = False
            bend = tried - energy - slope * step
            wanted = -0.5 * slope * step * step / bend if bend > 0.0 else 0.0
            step = min(max(wanted, 0.1 * step), 0.5 * step)
        if not found:
            break
        steps += 1
        energy = tried
        old_fall = fall if was_full else 0.0
        copy(gradient, old_gradient)
        pose, trial = trial, pose
    copy_pose(pose, out)
    return steps
