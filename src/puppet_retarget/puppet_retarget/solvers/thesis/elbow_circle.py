# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The limb of the slides, by its swivel angle (kernels, ShinSlides 3.3).

A wrist at its goal leaves the elbow a circle about the line from the shoulder. The limb bends in
its own plane until the wrist is as far from the shoulder as the goal, turns onto the goal's line,
and swivels about that line to where the upper segment is oriented most like the captured one.
"""

import math

from puppet_core.math import kernel
from puppet_core.math.values import (
    add,
    between,
    clamp,
    cross,
    dot,
    exp,
    multiply,
    norm,
    normalized,
    QuatLike,
    rotate,
    scale,
    sub,
    Vec3,
    Vec3Like,
)
from puppet_retarget.solvers.thesis.limbs import Limb, Solved

NO_SWIVEL = 1e-12  # amplitude below which all swivel angles are equally good [-]
NO_LENGTH_M = 1e-9  # shorter lines have no direction
STRAIGHT = 1e-6  # sine of a joint's angle below which a limb has no plane [-]
# where elbows and knees bend to, in the frame of the upper segment
BACKWARD, FORWARD = (-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)


@kernel
def swivel_angle(q_start: QuatLike, axis: Vec3Like, q_captured: QuatLike) -> float:
    """
    Return the turn about an axis that brings one orientation nearest to another [rad].

    Maximises |q* . q(theta)| with q(theta) = e^(theta k / 2) q0. Of the rotation t from q* to q0
    only the scalar part and the component along k count, so that the product is t_w cos(theta / 2)
    - (k . t) sin(theta / 2) = A sin(theta / 2 + alpha), which is +-A where the tangent of theta /
    2 is -(k . t) / t_w. Where A = 0 every angle is as good, and it is 0.
    """
    a, b = q_start, q_captured
    scalar = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    # vector part of q0 q*^-1
    x = -a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = -a[0] * b[2] + a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = -a[0] * b[3] + a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    along = axis[0] * x + axis[1] * y + axis[2] * z
    if scalar * scalar + along * along < NO_SWIVEL * NO_SWIVEL:
        return 0.0
    if scalar < 0.0:
        scalar, along = -scalar, -along
    return -2.0 * math.atan2(along, scalar)


@kernel
def bent(limb: Limb, is_arm: bool, distance: float) -> Solved:
    """Return a limb bent in its captured plane until its wrist is so far from its shoulder [m]."""
    upper, lower = limb.upper, limb.lower
    q_upper = multiply(limb.q_parent, limb.joints[0])
    q_lower = multiply(q_upper, limb.joints[1])
    to_elbow, to_wrist = rotate(q_upper, limb.to_elbow), rotate(q_lower, limb.to_wrist)
    hinge = cross(to_elbow, to_wrist)
    if norm(hinge) <= STRAIGHT * upper * lower:
        # straight: as elbows and knees bend
        hinge = cross(to_elbow, rotate(q_upper, FORWARD if is_arm else BACKWARD))
    if norm(hinge) <= STRAIGHT * upper:
        return Solved(q_upper, q_lower)
    hinge = normalized(hinge)
    captured = math.atan2(dot(hinge, cross(to_elbow, to_wrist)), dot(to_elbow, to_wrist))
    cosine = (distance * distance - upper * upper - lower * lower) / (2.0 * upper * lower)
    turn = exp(scale(hinge, math.acos(clamp(cosine, -1.0, 1.0)) - captured))
    # the wrist stays on its line: the whole limb turns back about the hinge
    back = between(add(to_elbow, rotate(turn, to_wrist)), add(to_elbow, to_wrist))
    return Solved(multiply(back, q_upper), multiply(back, multiply(turn, q_lower)))


@kernel
def solve_on_circle(limb: Limb, is_arm: bool, goal: Vec3) -> Solved:
    """
    Return a limb whose wrist is at a goal in world, or points to one out of reach.

    The best of all swivel angles gives the least turn that takes the wrist's direction, as the
    bent limb had it, to the goal's. It is continuous in everything but where these are opposite.
    """
    to_goal = sub(goal, limb.shoulder)
    distance = norm(to_goal)
    solved = bent(limb, is_arm, distance)
    line = add(rotate(solved.q_upper, limb.to_elbow), rotate(solved.q_lower, limb.to_wrist))
    if distance < NO_LENGTH_M or norm(line) < NO_LENGTH_M:
        return solved
    turn, axis = between(line, to_goal), normalized(to_goal)
    captured = multiply(limb.q_parent, limb.joints[0])
    turn = multiply(
        exp(scale(axis, swivel_angle(multiply(turn, solved.q_upper), axis, captured))), turn
    )
    return Solved(multiply(turn, solved.q_upper), multiply(turn, solved.q_lower))
