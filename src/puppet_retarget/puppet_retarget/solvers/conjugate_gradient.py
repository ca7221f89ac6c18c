# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Body posture by nonlinear conjugate gradients (kernel, Shin2002 section 5.2).

Polak-Ribiere with restarts, preconditioned by the curvature that the first derivatives of the
goals' distances tell. Four iterations reach the minimum of an ordinary frame, where dozens of
plain ones would be needed, and only the minimum itself moves continuously with the goals. The
iteration cap bounds the time of a frame.

"""

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_retarget.solvers.body_objective import apply_unknowns, body_objective, N_UNKNOWNS
from puppet_retarget.solvers.linear_system import factorise_in_place, solve_factorised

GRADIENT_TOL = 1e-8  # [m]; at the default weights within a micrometre of the minimum
SUFFICIENT = 1e-4  # share of the promised fall that a step must bring (Armijo) [-]
MAX_TRIALS = 12


@njit(cache=True)
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(cache=True)
def _shorter(step: float, slope: float, rise: float) -> float:
    """Return the minimum of the parabola through a failed step, within a tenth and a half."""
    bend = rise - slope * step
    wanted = -0.5 * slope * step * step / bend if bend > 0.0 else 0.0
    return min(max(wanted, 0.1 * step), 0.5 * step)


@njit(cache=True)
def minimise_body(
    unknowns: Floats, offsets: Vec3s, root: Vec3, rotations: Quats, wrist_goals: Vec3s,
    radii: Floats, weights: Vec3, max_iterations: int, q_body: Quats, p_body: Vec3s,
) -> int:  # fmt: skip
    """
    Improve the unknowns in place; return the number of iterations.

    Arguments as in `body_objective`. The objective never rises; `q_body` and `p_body` hold
    the frames of the result.

    """
    gradient, trial_gradient = np.empty(N_UNKNOWNS), np.empty(N_UNKNOWNS)
    newton, trial_newton = np.empty(N_UNKNOWNS), np.empty(N_UNKNOWNS)
    direction, trial = np.zeros(N_UNKNOWNS), np.empty(N_UNKNOWNS)
    curvature = np.empty((N_UNKNOWNS, N_UNKNOWNS))
    energy = body_objective(
        unknowns, offsets, root, rotations, wrist_goals, radii, weights, q_body, p_body,
        gradient, curvature,
    )  # fmt: skip
    factorise_in_place(curvature)
    solve_factorised(curvature, gradient, newton)
    ratio = 0.0
    iterations = 0
    while iterations < max_iterations and _dot(gradient, gradient) > GRADIENT_TOL**2:
        iterations += 1
        direction[:] = ratio * direction - newton
        slope = _dot(gradient, direction)
        if slope >= 0.0:
            direction[:] = -newton
            slope = _dot(gradient, direction)
        step, falls = 1.0, False
        for _ in range(MAX_TRIALS):
            trial[:] = unknowns + step * direction
            trial_energy = body_objective(
                trial, offsets, root, rotations, wrist_goals, radii, weights, q_body, p_body,
                trial_gradient, curvature,
            )  # fmt: skip
            falls = trial_energy < energy + SUFFICIENT * step * slope
            if falls:
                break
            step = _shorter(step, slope, trial_energy - energy)
        if not falls:
            break
        factorise_in_place(curvature)
        solve_factorised(curvature, trial_gradient, trial_newton)
        # Polak-Ribiere; a shortened step says that the curvature was not to be trusted
        change = _dot(trial_newton, trial_gradient) - _dot(trial_newton, gradient)
        ratio = max(change / _dot(newton, gradient), 0.0) if step == 1.0 else 0.0
        unknowns[:], energy = trial, trial_energy
        gradient[:], newton[:] = trial_gradient, trial_newton
    apply_unknowns(unknowns, offsets, root, rotations, q_body, p_body)
    return iterations
