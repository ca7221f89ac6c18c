# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The body's posture, second step of a frame: the objective and its minimiser (Shin2002 5.2).

`body_energy` is the objective (eqs. 5.3-5.5), `minimise_body` finds its minimum over twelve
unknowns: displacement of the root position, then rotation vectors r of pelvis, spine and chest,
each joint rotation being its captured one times exp(r). The geodesic distance of eq. 5.5 to the
captured rotation is then simply |r|. A rigid torso (n = 1) has the first nine: its chest keeps
the captured rotation on the spine. (Kernels.)
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import (
    add,
    copy,
    cross,
    dot,
    exp,
    factorise_in_place,
    Floats,
    frozen,
    kernel,
    log,
    multiply,
    norm,
    normalized,
    Quats,
    rotate,
    rotate_inverse,
    scale,
    solve_factorised,
    sub,
    Vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math.values import Vec3Like

N_UNKNOWNS = 12
_STARTS = (4, 7, 10, 13)  # upper segments of the limbs
_TOP = (2, 2, 0, 0)  # body segment that carries the shoulder or hip

GRADIENT_TOL = 1e-8  # [m]; at the default weights within a micrometre of the minimum
SUFFICIENT = 1e-4  # fraction of the promised fall that a step must bring (Armijo) [-]
ROUNDING = 1e-14  # promised fall that the objective's rounding hides, of its value [-]
LARGEST_TURN = 0.7  # of one segment in one step [rad]
SHORTEST_STEP = 1e-9  # of the promised one: nothing left to gain [-]


# The objective, its gradient and curvature.
#
# Derivatives are by increments (v, w_0, w_1, w_2): v moves the root, and w_j turns segment j and
# all that it carries about its joint, both in world axes. So a shoulder at an arm a_j from the
# joint moves by v + sum_j w_j x a_j to first order, and no chart of rotations is differentiated.


class BodyTask(NamedTuple):
    """What the body is to reach, and from where."""

    offsets: Vec3s  # (16, 3) puppet's joint offsets [m]
    root: Vec3  # (3,) estimated root [m]
    rotations: Quats  # (16, 4) captured
    wrist_goals: Vec3s  # (4, 3) goals of wrists and ankles [m]
    radii: Floats  # (4,) reach over importance (Shin2002 eq. 5.2); infinity is no goal [m]
    weights: Vec3Like  # alpha, beta, gamma


class BodyState(NamedTuple):
    """A trial posture of the body and how its shoulders and hips are pulled."""

    unknowns: Floats = frozen(np.zeros(N_UNKNOWNS))  # [m], [rad]
    q_body: Quats = frozen(np.zeros((3, 4)))  # pelvis, spine, chest in world
    p_body: Vec3s = frozen(np.zeros((3, 3)))  # [m]
    shoulders: Vec3s = frozen(np.zeros((4, 3)))  # shoulders and hips [m]
    away: Vec3s = frozen(np.zeros((4, 3)))  # unit vectors from the goals to there
    excess: Floats = frozen(np.zeros(4))  # distance beyond the radius, 0 within [m]
    share: Floats = frozen(np.zeros(4))  # excess over distance [-]


@kernel
def move_unknowns(
    unknowns: Floats,
    q_body: Quats,
    step: float,
    direction: Floats,
    torso_segments: int,
    out: Floats,
) -> None:
    """Write the unknowns after a step along increments; `q_body` are the frames before it."""
    copy(add(unknowns, scale(direction, step)), out[:3])
    for segment in range(torso_segments + 1):
        own = slice(3 + 3 * segment, 6 + 3 * segment)
        more = exp(rotate_inverse(q_body[segment], scale(direction[own], step)))
        copy(log(multiply(exp(unknowns[own]), more)), out[own])


@kernel
def body_energy(task: BodyTask, state: BodyState) -> float:
    """Return E = E_g + alpha E_p of a state's unknowns, and fill the rest of the state."""
    _place(task, state)
    unknowns, alpha, energy = state.unknowns, task.weights[0], 0.0
    # Shin2002 eq. 5.5
    for k in range(N_UNKNOWNS):
        weight = task.weights[2] if k < 3 else task.weights[1]
        energy += alpha * weight * unknowns[k] * unknowns[k]
    for i in range(4):
        state.excess[i] = 0.0
        if task.radii[i] == math.inf:
            continue
        top = _TOP[i]
        arm = rotate(state.q_body[top], task.offsets[_STARTS[i]])
        shoulder = add(arm, state.p_body[top])
        away = sub(shoulder, task.wrist_goals[i])
        copy(shoulder, state.shoulders[i])
        distance = norm(away)
        excess = distance - task.radii[i]
        if excess > 0.0:
            # Shin2002 eq. 5.4 with the radius of eq. 5.2
            energy += excess * excess
            state.excess[i], state.share[i] = excess, excess / distance
            copy(normalized(away), state.away[i])
    return energy


@kernel
def _place(task: BodyTask, state: BodyState) -> None:
    """Fill the world frames of pelvis, spine and chest."""
    q, p = state.q_body, state.p_body
    copy(add(task.root, state.unknowns), p[0])
    for segment in range(3):
        turn = exp(state.unknowns[3 + 3 * segment : 6 + 3 * segment])
        turn = multiply(task.rotations[segment], turn)
        if segment == 0:
            copy(turn, q[0])
        else:
            arm = rotate(q[segment - 1], task.offsets[segment])
            copy(add(arm, p[segment - 1]), p[segment])
            copy(multiply(q[segment - 1], turn), q[segment])


@kernel
def body_gradient(
    task: BodyTask, state: BodyState, torso_segments: int, gradient: Floats, curvature: Floats
) -> None:
    """
    Fill the derivatives of E by increments at a state that `body_energy` filled.

    The curvature is the lower triangle (12, 12) of the second derivatives, as if turning segments
    moved the shoulders on straight lines; positive definite.
    """
    curvature[:] = 0.0
    _add_posture(task, state, torso_segments, gradient, curvature)
    pull, arms = work_array(N_UNKNOWNS), work_table(3, 3)
    for i in range(4):
        excess = state.excess[i]
        if excess <= 0.0:
            continue
        top, away = min(_TOP[i], torso_segments), state.away[i]
        _arms(state, i, top, arms)
        copy(away, pull[:3])
        for j in range(top + 1):
            at = 3 + 3 * j
            copy(cross(arms[j], away), pull[at : at + 3])
        along = 2.0 * (1.0 - state.share[i])
        for k in range(6 + 3 * top):
            gradient[k] += 2.0 * excess * pull[k]
            own = along * pull[k]
            for j in range(k + 1):
                curvature[k, j] += own * pull[j]
        _add_motion(2.0 * state.share[i], arms, top, curvature)


@kernel
def add_bends(state: BodyState, torso_segments: int, all_of_them: bool, curvature: Floats) -> None:
    """
    Add what the curvature lacks because shoulders move on arcs.

    With all of it the curvature is the exact one, which need not be positive definite; else
    only a part is added that keeps it so.
    """
    arms = work_table(3, 3)
    for i in range(4):
        if state.excess[i] > 0.0:
            top = min(_TOP[i], torso_segments)
            _arms(state, i, top, arms)
            if all_of_them:
                _add_bend(2.0 * state.excess[i], state.away[i], arms, top, curvature)
            else:
                _add_inward_bend(2.0 * state.excess[i], state.away[i], arms, top, curvature)


@kernel
def _arms(state: BodyState, limb: int, top: int, arms: Vec3s) -> None:
    """Fill the ways from the body's joints to a shoulder or hip, shape (3, 3) [m]."""
    for j in range(top + 1):
        copy(sub(state.shoulders[limb], state.p_body[j]), arms[j])


@kernel
def _add_posture(
    task: BodyTask, state: BodyState, torso_segments: int, gradient: Floats, curvature: Floats
) -> None:
    """Set the gradient of alpha E_p and add its curvature."""
    weight = 2.0 * task.weights[0] * task.weights[2]
    for k in range(3):
        gradient[k] = weight * state.unknowns[k]
        curvature[k, k] += weight
    weight = 2.0 * task.weights[0] * task.weights[1]
    for segment in range(torso_segments + 1):
        at = 3 + 3 * segment
        own = gradient[at : at + 3]
        copy(rotate(state.q_body[segment], state.unknowns[at : at + 3]), own)
        square = dot(own, own)
        half = 0.5 * math.sqrt(square)
        # a geodesic distance grows slower across the turn than along it
        if half < 1e-2:
            across, more = 1.0 - square / 12.0, (1.0 + square / 60.0) / 12.0
        else:
            across = max(half / math.tan(half), 0.0)
            more = (1.0 - across) / square
        for j in range(3):
            curvature[at + j, at + j] += weight * across
            for k in range(j + 1):
                curvature[at + j, at + k] += weight * more * own[j] * own[k]
        copy(scale(own, weight), own)


@kernel
def _add_motion(weight: float, arms: Vec3s, top: int, curvature: Floats) -> None:
    """Add the weight times J^T J, with J the shoulder's motion by the increments."""
    for k in range(3):
        curvature[k, k] += weight
    for j in range(top + 1):
        at = 3 + 3 * j
        x, y, z = scale(arms[j], weight)
        curvature[at, 1] -= z
        curvature[at, 2] += y
        curvature[at + 1, 0] += z
        curvature[at + 1, 2] -= x
        curvature[at + 2, 0] -= y
        curvature[at + 2, 1] += x
        for i in range(j + 1):
            # (w_j x a_j) . (w_i x a_i)
            product = dot((x, y, z), arms[i])
            for row in range(3):
                own = weight * arms[i, row]
                for column in range(row + 1 if i == j else 3):
                    curvature[at + row, 3 + 3 * i + column] -= own * arms[j, column]
                curvature[at + row, 3 + 3 * i + row] += product


@kernel
def _add_bend(weight: float, away: Vec3, arms: Vec3s, top: int, curvature: Floats) -> None:
    """Add the weight times the second derivative of the shoulder's path along `away`."""
    for j in range(top + 1):
        at = 3 + 3 * j
        x, y, z = scale(arms[j], weight)
        along = dot((x, y, z), away)
        for i in range(j):
            # away . (w_i x (w_j x a_j)), the inner turn j moving with the outer one i
            for row in range(3):
                curvature[at + row, 3 + 3 * i] += away[row] * x
                curvature[at + row, 4 + 3 * i] += away[row] * y
                curvature[at + row, 5 + 3 * i] += away[row] * z
                curvature[at + row, 3 + 3 * i + row] -= along
        curvature[at, at] += away[0] * x - along
        curvature[at + 1, at + 1] += away[1] * y - along
        curvature[at + 2, at + 2] += away[2] * z - along
        curvature[at + 1, at] += 0.5 * (away[0] * y + away[1] * x)
        curvature[at + 2, at] += 0.5 * (away[0] * z + away[2] * x)
        curvature[at + 2, at + 1] += 0.5 * (away[1] * z + away[2] * y)


@kernel
def _add_inward_bend(weight: float, away: Vec3, arms: Vec3s, top: int, curvature: Floats) -> None:
    """Add a part of the same that is never negative: that of arms which point to the goal."""
    inward = 0.0
    for j in range(top, -1, -1):
        # no less than that of the joints further out: so the whole is positive semidefinite
        inward = max(inward, -dot(arms[j], away))
        at = 3 + 3 * j
        for i in range(j + 1):
            for row in range(3):
                own = weight * inward * away[row]
                for column in range(row + 1 if i == j else 3):
                    curvature[at + row, 3 + 3 * i + column] -= own * away[column]
                curvature[at + row, 3 + 3 * i + row] += weight * inward


# Nonlinear conjugate gradients.
#
# Polak-Ribiere with restarts, preconditioned by the curvature. With the exact one a few steps
# reach the minimum, and only the minimum itself moves continuously with the goals, whatever the
# start. Where the exact curvature is not positive definite, far from the minimum, that of
# straight paths takes its place.
#
# Every step that is tried costs one evaluation of the objective, and the cap counts those that
# fail as well, so it bounds the time of a frame.


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
    task: BodyTask,
    state: BodyState,
    torso_segments: int,
    gradient: Floats,
    curvature: Floats,
    spare: Floats,
    newton: Floats,
) -> bool:
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
    state.unknowns[6 + 3 * torso_segments :] = 0.0
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
    task: BodyTask,
    state: BodyState,
    direction: Floats,
    slope: float,
    energy: float,
    torso_segments: int,
    is_last: bool,
    max_trials: int,
    trial: BodyState,
) -> tuple[int, float, float]:
    """
    Fill the trial with a state of lower energy along a direction; return trials, step, energy.

    The last step, whose promise the rounding hides, is taken as it is. A step of 0: none was good.
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
    task: BodyTask, torso_segments: int, max_iterations: int, first: BodyState, spare: BodyState
) -> int:
    """
    Minimise Shin2002 eqs. 5.3 to 5.5; return the number of steps tried.

    Unknowns (12,) are root displacement [m] and rotation vectors of pelvis, spine, chest [rad]:
    in `first` a guess, such as the frame before's (zeros are taken instead where they are
    better), then the result with the frames of the three segments. One torso segment leaves nine
    unknowns, the others become 0. Each step is one evaluation; at most three more are made before.
    """
    n, state, trial = 6 + 3 * torso_segments, first, spare
    gradient, newton = work_array(N_UNKNOWNS), work_array(N_UNKNOWNS)
    old_gradient, direction = work_array(N_UNKNOWNS), work_array(N_UNKNOWNS)
    trial.unknowns[:], direction[:] = 0.0, 0.0
    curvature, plain = work_table(N_UNKNOWNS, N_UNKNOWNS), work_table(N_UNKNOWNS, N_UNKNOWNS)
    energy = _start(task, state, torso_segments)
    tried, was_full, old_fall = 0, False, 0.0
    while tried < max_iterations:
        is_exact = _newton_step(task, state, torso_segments, gradient, curvature, plain, newton)
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
            task,
            state,
            direction,
            slope,
            energy,
            torso_segments,
            is_last,
            max_iterations - tried,
            trial,
        )
        tried += trials
        if step == 0.0:
            break
        # a shortened step shows that the curvature was not to be trusted
        was_full, old_fall = step == 1.0, fall
        copy(gradient, old_gradient)
        state, trial = trial, state
        if is_last:
            break
    copy(state.unknowns, first.unknowns)
    for segment in range(3):
        copy(state.q_body[segment], first.q_body[segment])
        copy(state.p_body[segment], first.p_body[segment])
    return tried
