# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Objective of the body posture and its analytic gradient (kernel, Shin2002 eqs. 5.3-5.5).

Twelve unknowns: displacement of the root position, then rotation vectors r of pelvis, spine
and chest, each joint rotation being its captured one times exp(r). The geodesic distance of
eq. 5.5 to the captured rotation is then simply |r|.

"""

import math

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.quaternion import exp, multiply, rotate, rotate_inverse

N_UNKNOWNS = 12
_STARTS = (4, 7, 10, 13)  # upper segments of the limbs
_MOVED_BY = (3, 3, 1, 1)  # body segments that carry the shoulder: pelvis..chest, or pelvis


@njit(cache=True)
def right_jacobian_transposed(r: Vec3, v: Vec3, out: Vec3) -> None:
    """
    Write J_r(r)^T v, with J_r the right Jacobian of the exponential map.

    exp(r + dr) = exp(r) exp(J_r dr) to first order ([Sola2018]_ eq. 143); its transpose is
    the left Jacobian.

    """
    angle_sq = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    angle = math.sqrt(angle_sq)
    if angle < 1e-4:
        a, b = 0.5 - angle_sq / 24.0, 1.0 / 6.0 - angle_sq / 120.0
    else:
        a = (1.0 - math.cos(angle)) / angle_sq
        b = (angle - math.sin(angle)) / (angle_sq * angle)
    c0 = r[1] * v[2] - r[2] * v[1]
    c1 = r[2] * v[0] - r[0] * v[2]
    c2 = r[0] * v[1] - r[1] * v[0]
    d0 = r[1] * c2 - r[2] * c1
    d1 = r[2] * c0 - r[0] * c2
    d2 = r[0] * c1 - r[1] * c0
    out[0] = v[0] + a * c0 + b * d0
    out[1] = v[1] + a * c1 + b * d1
    out[2] = v[2] + a * c2 + b * d2


@njit(cache=True)
def apply_unknowns(
    unknowns: Floats, offsets: Vec3s, root: Vec3, rotations: Quats, q_body: Quats, p_body: Vec3s
) -> None:
    """
    Fill the world frames of pelvis, spine and chest, shapes (3, 4) and (3, 3).

    `root` and `rotations` (16, 4) are the estimated root and the captured rotations.

    """
    turn = np.empty(4)
    for segment in range(3):
        exp(unknowns[3 + 3 * segment: 6 + 3 * segment], turn)
        multiply(rotations[segment], turn, turn)
        if segment == 0:
            q_body[0] = turn
            p_body[0] = root + unknowns[0:3]
        else:
            rotate(q_body[segment - 1], offsets[segment], p_body[segment])
            p_body[segment] += p_body[segment - 1]
            multiply(q_body[segment - 1], turn, q_body[segment])


@njit(cache=True)
def body_objective(
    unknowns: Floats, offsets: Vec3s, root: Vec3, rotations: Quats, wrist_goals: Vec3s,
    radii: Floats, weights: Vec3, q_body: Quats, p_body: Vec3s, gradient: Floats,
    curvature: Floats,
) -> float:  # fmt: skip
    """
    Return E = E_g + alpha E_p and fill its gradient.

    Parameters
    ----------
    unknowns : ndarray, shape (12,)
        Root displacement [m] and rotation vectors of pelvis, spine, chest [rad].
    offsets, root, rotations
        Puppet's joint offsets (16, 3), estimated root (3,), captured rotations (16, 4).
    wrist_goals : ndarray, shape (4, 3)
        Goals of wrists and ankles [m].
    radii : ndarray, shape (4,)
        Reach over importance (eq. 5.2); infinity is no goal [m].
    weights : ndarray, shape (3,)
        alpha, beta, gamma.
    q_body, p_body : ndarray, shapes (3, 4), (3, 3)
        Out: frames of pelvis, spine and chest.
    gradient : ndarray, shape (12,)
        Out.
    curvature : ndarray, shape (12, 12)
        Out: lower triangle of the second derivatives, but for those of the rotations
        themselves; positive definite.

    """
    apply_unknowns(unknowns, offsets, root, rotations, q_body, p_body)
    alpha, beta, gamma = weights[0], weights[1], weights[2]
    energy = 0.0
    curvature[:] = 0.0
    # Shin2002 eq. 5.5
    for k in range(N_UNKNOWNS):
        weight = alpha * (gamma if k < 3 else beta)
        energy += weight * unknowns[k] * unknowns[k]
        gradient[k] = 2.0 * weight * unknowns[k]
        curvature[k, k] = 2.0 * weight
    away, rates = np.empty(3), np.empty((3, N_UNKNOWNS))
    for i in range(4):
        if radii[i] == math.inf:
            continue
        distance = _from_goal(i, offsets, wrist_goals[i], q_body, p_body, away)
        excess = distance - radii[i]
        if excess > 0.0:
            # Shin2002 eq. 5.4 with the radius of eq. 5.2
            energy += excess * excess
            _shoulder_rates(i, unknowns, offsets, q_body, p_body, rates)
            _add_goal(excess, excess / distance, away, rates, gradient, curvature)
    return energy


@njit(cache=True)
def _from_goal(
    limb: int, offsets: Vec3s, goal: Vec3, q_body: Quats, p_body: Vec3s, away: Vec3
) -> float:
    """Return the distance of a shoulder or hip from its goal; fill the direction from there."""
    top = _MOVED_BY[limb] - 1
    rotate(q_body[top], offsets[_STARTS[limb]], away)
    square = 0.0
    for k in range(3):
        away[k] += p_body[top, k] - goal[k]
        square += away[k] * away[k]
    distance = math.sqrt(square)
    for k in range(3):
        away[k] = away[k] / distance if distance > 0.0 else 0.0
    return distance


@njit(cache=True)
def _shoulder_rates(
    limb: int, unknowns: Floats, offsets: Vec3s, q_body: Quats, p_body: Vec3s, rates: Floats
) -> None:
    """Fill the derivative of a shoulder's or hip's position, shape (3, 12)."""
    top = _MOVED_BY[limb] - 1
    arm, shoulder, torque = np.empty(3), np.empty(3), np.empty(3)
    rotate(q_body[top], offsets[_STARTS[limb]], shoulder)
    rates[:] = 0.0
    for axis in range(3):
        rates[axis, axis] = 1.0
    for segment in range(top + 1):
        for k in range(3):
            arm[k] = shoulder[k] + p_body[top, k] - p_body[segment, k]
        at = 3 + 3 * segment
        for axis in range(3):
            # arm x (unit vector along the axis)
            torque[axis] = 0.0
            torque[(axis + 1) % 3] = arm[(axis + 2) % 3]
            torque[(axis + 2) % 3] = -arm[(axis + 1) % 3]
            rotate_inverse(q_body[segment], torque, torque)
            right_jacobian_transposed(unknowns[at: at + 3], torque, rates[axis, at: at + 3])


@njit(cache=True)
def _add_goal(
    excess: float, share: float, away: Vec3, rates: Floats, gradient: Floats, curvature: Floats
) -> None:
    """Add the gradient of a squared excess distance, and its curvature along and across."""
    pull = np.empty(N_UNKNOWNS)
    for k in range(N_UNKNOWNS):
        pull[k] = away[0] * rates[0, k] + away[1] * rates[1, k] + away[2] * rates[2, k]
        gradient[k] += 2.0 * excess * pull[k]
        for j in range(k + 1):
            across = (
                rates[0, k] * rates[0, j] + rates[1, k] * rates[1, j] + rates[2, k] * rates[2, j]
            )
            curvature[k, j] += 2.0 * ((1.0 - share) * pull[k] * pull[j] + share * across)
