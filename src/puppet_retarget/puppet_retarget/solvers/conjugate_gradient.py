# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Body posture by nonlinear conjugate gradients (kernel, Shin2002 section 5.2).

Polak-Ribiere with restarts, preconditioned by the curvature. With the exact one a few steps
reach the minimum, and only the minimum itself moves continuously with the goals, whatever the
start. Where the exact curvature is not positive definite, far from the minimum, that of
straight paths takes its place.

Every step that is tried costs one evaluation of the objective, and the cap counts those that
fail as well, so it bounds the time of a frame.

"""

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.work_array import work_array, work_table
from puppet_retarget.solvers.body_objective import (
    add_bends,
    body_energy,
    body_gradient,
    BodyState,
    BodyTask,
    move_unknowns,
    N_UNKNOWNS,
)
from puppet_retarget.solvers.linear_system import factorise_in_place, solve_factorised

GRADIENT_TOL = 1e-8  # [m]; at the default weights within a micrometre of the minimum
SUFFICIENT = 1e-4  # share of the promised fall that a step must bring (Armijo) [-]
ROUNDING = 1e-14  # promised fall that the objective's rounding hides, of its value [-]
LARGEST_TURN = 0.7  # of one segment in one step [rad]
SHORTEST_STEP = 1e-9  # of the promised one: nothing left to gain [-]


@kernel
def _dot(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@kernel
def _shorter(step: float, slope: float, rise: float) -> float:
    """Return the minimum of the parabola through a failed step, within a tenth and a half."""
    bend = rise - slope * step
    wanted = -0.5 * slope * step * step / bend if bend > 0.0 else 0.0
    return min(max(wanted, 0.1 * step), 0.5 * step)


@kernel
def _first_step(direction: Floats, n: int) -> float:
    """Return the full step, or what of it turns no segment too far."""
    largest = 0.0
    for k in range(3, n):
        largest = max(largest, abs(direction[k]))
    return LARGEST_TURN / largest if largest > LARGEST_TURN else 1.0


@kernel
def _newton_step(
    task: BodyTask, state: BodyState, torso_segments: int, gradient: Floats, curvature: Floats,
    spare: Floats, newton: Floats,
) -> bool:  # fmt: skip
    """Fill the gradient, and it over the curvature; return whether that is the exact one."""
    n = 6 + 3 * torso_segments
    body_gradient(task, state, torso_segments, gradient, curvature)
    for row in range(n):
        copy(curvature[row], spare[row])
    add_bends(state, torso_segments, True, curvature)
    is_exact = factorise_in_place(curvature, n, False)
    if not is_exact:
        curvature = spare
        add_bends(state, torso_segments, False, curvature)
        factorise_in_place(curvature, n, True)
    solve_factorised(curvature, gradient, n, newton)
    return is_exact


@kernel
def _start(task: BodyTask, state: BodyState, torso_segments: int) -> float:
    """Fill the state from its unknowns, or from zeros if these are better; return the energy."""
    state.unknowns[6 + 3 * torso_segments:] = 0.0
    guess = work_array(N_UNKNOWNS)
    copy(state.unknowns, guess)
    state.unknowns[:] = 0.0
    energy = body_energy(task, state)
    if _dot(guess, guess, N_UNKNOWNS) > 0.0:
        copy(guess, state.unknowns)
        guess_energy = body_energy(task, state)
        if guess_energy < energy:
            return guess_energy
        state.unknowns[:] = 0.0
        body_energy(task, state)
    return energy


@kernel
def _turn_downhill(
    direction: Floats, ratio: float, newton: Floats, gradient: Floats, n: int
) -> float:
    """Fill the conjugate direction, or the plain one if that does not fall; return the slope."""
    for k in range(n):
        direction[k] = ratio * direction[k] - newton[k]
    slope = _dot(gradient, direction, n)
    if slope >= 0.0:
        for k in range(n):
            direction[k] = -newton[k]
        slope = -_dot(gradient, newton, n)
    return slope


@kernel
def _line_search(
    task: BodyTask, state: BodyState, direction: Floats, slope: float, energy: float,
    torso_segments: int, is_last: bool, max_trials: int, trial: BodyState,
) -> tuple[int, float, float]:  # fmt: skip
    """
    Fill the trial with a state of sufficiently lower energy along a direction.

    The last step, whose promise the rounding hides, is taken as it is.

    Returns
    -------
    trials, step, energy : tuple
        The trial's step and energy; a step of 0 if none was good enough.

    """
    step = _first_step(direction, 6 + 3 * torso_segments)
    shortest = SHORTEST_STEP * step
    trials = 0
    while trials < max_trials and step > shortest:
        trials += 1
        move_unknowns(
            state.unknowns, state.q_body, step, direction, torso_segments, trial.unknowns
        )
        trial_energy = body_energy(task, trial)
        if is_last or trial_energy < energy + SUFFICIENT * step * slope:
            return trials, step, trial_energy
        step = _shorter(step, slope, trial_energy - energy)
    return trials, 0.0, energy


@kernel
def minimise_body(
    unknowns: Floats, offsets: Vec3s, root: Vec3, rotations: Quats, wrist_goals: Vec3s,
    radii: Floats, weights: Vec3, torso_segments: int, max_iterations: int, q_body: Quats,
    p_body: Vec3s,
) -> int:  # fmt: skip
    """
    Minimise eqs. 5.3 to 5.5; return the number of steps tried.

    Parameters
    ----------
    unknowns : ndarray, shape (12,)
        In: a guess, such as the frame before's; zeros are taken instead where they are better.
        Out: root displacement [m] and rotation vectors of pelvis, spine, chest [rad].
    offsets, root, rotations, wrist_goals, radii, weights : ndarray
        As in BodyTask.
    torso_segments : int
        1 for a rigid torso (nine unknowns, the others become 0), 2 for spine and chest.
    max_iterations : int
        Cap of the steps tried, each being one evaluation; at most three more are made before.
    q_body, p_body : ndarray, shapes (3, 4), (3, 3)
        Out: frames of pelvis, spine and chest.

    """
    n = 6 + 3 * torso_segments
    task = BodyTask(offsets, root, rotations, wrist_goals, radii, weights)
    state = BodyState(
        unknowns, q_body, p_body, work_table(4, 3), work_table(4, 3), work_array(4),
        work_array(4),
    )  # fmt: skip
    trial = BodyState(
        work_array(N_UNKNOWNS), work_table(3, 4), work_table(3, 3), work_table(4, 3),
        work_table(4, 3), work_array(4), work_array(4),
    )  # fmt: skip
    gradient, newton = work_array(N_UNKNOWNS), work_array(N_UNKNOWNS)
    old_gradient, direction = work_array(N_UNKNOWNS), work_array(N_UNKNOWNS)
    trial.unknowns[:], direction[:] = 0.0, 0.0
    curvature, spare = work_table(N_UNKNOWNS, N_UNKNOWNS), work_table(N_UNKNOWNS, N_UNKNOWNS)
    energy = _start(task, state, torso_segments)
    tried, was_full, old_fall = 0, False, 0.0
    while tried < max_iterations:
        is_exact = _newton_step(
            task, state, torso_segments, gradient, curvature, spare, newton
        )
        if _dot(gradient, gradient, n) <= GRADIENT_TOL**2:
            break
        fall = _dot(newton, gradient, n)
        ratio = 0.0
        if was_full and not is_exact:
            # Polak-Ribiere
            ratio = max((fall - _dot(newton, old_gradient, n)) / old_fall, 0.0)
        slope = _turn_downhill(direction, ratio, newton, gradient, n)
        is_last = -slope <= ROUNDING * energy
        trials, step, energy = _line_search(
            task, state, direction, slope, energy, torso_segments, is_last,
            max_iterations - tried, trial,
        )  # fmt: skip
        tried += trials
        if step == 0.0:
            break
        # a shortened step says that the curvature was not to be trusted
        was_full, old_fall = step == 1.0, fall
        copy(gradient, old_gradient)
        state, trial = trial, state
        if is_last:
            break
    copy(state.unknowns, unknowns)
    for segment in range(3):
        copy(state.q_body[segment], q_body[segment])
        copy(state.p_body[segment], p_body[segment])
    return tried
