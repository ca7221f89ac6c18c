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
from puppet_retarget.solvers.limbs import ATTACHED_TO, STARTS

N_UNKNOWNS = 12

ROUNDING = 1e-14  # promised fall that the objective's rounding hides, of its value [-]
LARGEST_TURN = 0.7  # of one segment in one step [rad]


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
    radii: Floats  # reach over importance (Shin2002 eq. 5.2), four used; infinity is no goal [m]
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
        top = ATTACHED_TO[i]
        arm = rotate(state.q_body[top], task.offsets[STARTS[i]])
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
        top, away = min(ATTACHED_TO[i], torso_segments), state.away[i]
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


# Newton steps, halved until they fall; the thesis takes conjugate gradients.
#
# Only the minimum itself moves continuously with the goals, whatever the start. Every step that is
# tried costs one evaluation of the objective, and the cap counts those that fail as well, so it
# bounds the time of a frame.


@kernel
def minimise_body(
    task: BodyTask, torso_segments: int, max_iterations: int, first: BodyState, spare: BodyState
) -> int:
    """
    Minimise Shin2002 eqs. 5.3 to 5.5; return the number of steps tried.

    Unknowns (12,) are root displacement [m] and rotation vectors of pelvis, spine, chest [rad]:
    in `first` a guess, such as the frame before's, then the result with the frames of the three
    segments. One torso segment leaves nine unknowns, the others become 0.
    """
    n, state, trial = 6 + 3 * torso_segments, first, spare
    gradient, way = work_array(N_UNKNOWNS), work_array(N_UNKNOWNS)
    curvature = work_table(N_UNKNOWNS, N_UNKNOWNS)
    state.unknowns[n:], trial.unknowns[:] = 0.0, 0.0
    energy, tried = body_energy(task, state), 0
    while tried < max_iterations:
        body_gradient(task, state, torso_segments, gradient, curvature)
        factorise_in_place(curvature, n)
        solve_factorised(curvature, gradient, n, way)
        fall, largest = 0.0, LARGEST_TURN
        for k in range(n):
            fall += gradient[k] * way[k]
            largest = max(largest, abs(way[k]) if k >= 3 else 0.0)
        if fall <= ROUNDING * energy:  # nothing left to gain
            break
        step, found = LARGEST_TURN / largest, math.inf
        while tried < max_iterations and found >= energy:
            move_unknowns(state.unknowns, state.q_body, -step, way, torso_segments, trial.unknowns)
            found = body_energy(task, trial)
            tried, step = tried + 1, 0.5 * step
        if found >= energy:
            break
        energy, state, trial = found, trial, state
    copy(state.unknowns, first.unknowns)
    for segment in range(3):
        copy(state.q_body[segment], first.q_body[segment])
        copy(state.p_body[segment], first.p_body[segment])
    return tried
