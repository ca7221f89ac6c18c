# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The joint angles of a posture, segment by segment: the inverse of forward kinematics (kernels).

A segment's joints are turns about one to three fixed axes. a1 . R a3 depends on the middle angle
alone, A cos t + B sin t + C, which gives two angles (PiovanBullo2012), or the nearest one where
the axes do not reach R. The first angle then takes the last axis to where R has it, and the last
one does the rest. A posture that the robot can take is found exactly. Of any other each segment,
from the pelvis outwards, is as near as limits allow: its joints in turn are turned the best way.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import N_SEGMENTS, PARENTS, Robot, Skeleton
from puppet_core.math import copy, Floats, Ints, kernel, quaternions, Quats, Vec3s
from puppet_core.math.values import (
    add,
    angle_between,
    clamp,
    conjugate,
    cross,
    dot,
    exp,
    multiply,
    Quat,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)

TINY = 1e-12  # [-]
SWEEPS = 12
BEND_COST = 0.02  # of the largest angle, when both solutions would do [-]
_PARENTS = tuple(int(p) for p in PARENTS)


class Hinges(NamedTuple):
    """Joints in their order from the pelvis outwards, at zero pose."""

    axes: Vec3s  # (n, 3) unit
    origins: Vec3s  # (n, 3) [m]
    lower: Floats  # (n,) [rad]
    upper: Floats  # (n,) [rad]


class TurnedRobot(NamedTuple):
    """A robot in the posture that is nearest to one, segment by segment."""

    angles: Floats  # Shape (n,) [rad]
    q_world: Quats  # Orientations of its segments, shape (16, 4)
    p_world: Vec3s  # Joint centres, shape (16, 3) [m]


def turn_segments(robot: Robot, skeleton: Skeleton, root: Vec3Like, q_world: Quats) -> TurnedRobot:
    """Return a robot at a root [m] whose joints turn its segments to orientations (16, 4)."""
    first = np.searchsorted(robot.segments, np.arange(N_SEGMENTS + 1))
    hinges = Hinges(robot.axes, robot.origins, robot.lower, robot.upper)
    # its bodies take a point v of the zero pose to q v + p
    q, p = quaternions.multiply(q_world, robot.rest), np.zeros((N_SEGMENTS, 3))
    p[0], angles = root, np.zeros(len(robot.names))
    turn_bodies(hinges, first, q, p, angles)
    places = p + quaternions.rotate(q, robot.centres(skeleton))
    return TurnedRobot(angles, quaternions.multiply(q, quaternions.conjugate(robot.rest)), places)


@kernel
def turn_bodies(hinges: Hinges, first: Ints, q: Quats, p: Vec3s, angles: Floats) -> None:
    """
    Turn bodies (16, 4) as near to where they are as joints can, and fill their places and angles.

    Joints of a segment are from `first` (17,) of it up to the next one's.
    """
    for s in range(1, 16):
        k, end, above = first[s], first[s + 1], _PARENTS[s]
        goal = multiply(conjugate(q[above]), q[s])
        own = Hinges(
            hinges.axes[k:end], hinges.origins[k:end], hinges.lower[k:end], hinges.upper[k:end]
        )
        copy(q[above], q[s])
        copy(p[above], p[s])
        if k == end:
            continue
        found, cost = _angles_for(own, goal, 1.0)
        if end - k == 3:
            other, other_cost = _angles_for(own, goal, -1.0)
            found = other if other_cost < cost else found
        for i in range(k, end):
            angles[i] = found[i - k]
        _improve(own, goal, angles[k:end])
        for i in range(k, end):
            # about a line through o: p + q o - q' o
            turned = multiply(q[s], exp(scale(hinges.axes[i], angles[i])))
            arm = sub(rotate(q[s], hinges.origins[i]), rotate(turned, hinges.origins[i]))
            copy(add(p[s], arm), p[s])
            copy(turned, q[s])


@kernel
def _angles_for(joints: Hinges, goal: Quat, side: float) -> tuple[Vec3, float]:
    """
    Return the angles of one to three joints that come near to a rotation [rad], and their cost.

    Three joints have two solutions, on either side of a middle angle: 1 or -1.
    """
    axes, n = joints.axes, len(joints.axes)
    last, before = vec3(axes[n - 1]), (1.0, 0.0, 0.0, 0.0)
    first, middle = 0.0, 0.0
    if n == 3:
        middle = _allowed(joints, 1, _middle_angle(axes, goal, side))
        before = exp(scale(axes[1], middle))
    if n > 1:
        first = _allowed(
            joints, 0, _angle_about(axes[0], rotate(before, last), rotate(goal, last))
        )
        before = multiply(exp(scale(axes[0], first)), before)
    end = _allowed(joints, n - 1, _twist(multiply(conjugate(before), goal), last))
    left = angle_between(goal, multiply(before, exp(scale(last, end))))
    cost = left + BEND_COST * max(abs(first), abs(middle), abs(end))
    if n == 1:
        return (end, 0.0, 0.0), cost
    return (first, end, 0.0) if n == 2 else (first, middle, end), cost


@kernel
def _improve(joints: Hinges, goal: Quat, angles: Floats) -> None:
    """Turn each joint as near to a rotation as it can come, some times over."""
    n, axes = len(angles), joints.axes
    for _ in range(SWEEPS):
        for i in range(n):
            q = goal
            for k in range(i):
                q = multiply(exp(scale(axes[k], -angles[k])), q)
            for k in range(n - 1, i, -1):
                q = multiply(q, exp(scale(axes[k], -angles[k])))
            angles[i] = _allowed(joints, i, _twist(q, axes[i]))


@kernel
def _twist(q: Quat, axis: Vec3Like) -> float:
    """Return the angle about an axis that comes nearest to a rotation."""
    return 2.0 * math.atan2(dot((q[1], q[2], q[3]), axis), q[0])


@kernel
def _middle_angle(axes: Vec3s, q: Quat, side: float) -> float:
    """Return one of both middle angles that give three axes their a1 . R a3."""
    a, b, c = vec3(axes[0]), vec3(axes[1]), vec3(axes[2])
    constant = dot(a, b) * dot(b, c)
    cosine, sine = dot(a, c) - constant, dot(a, cross(b, c))
    size = max(math.hypot(cosine, sine), TINY)
    spread = math.acos(clamp((dot(a, rotate(q, c)) - constant) / size, -1.0, 1.0))
    return math.atan2(sine, cosine) + side * spread


@kernel
def _angle_about(axis: Vec3Like, start: Vec3, goal: Vec3) -> float:
    """Return the angle about an axis from one direction to another, 0 for its own."""
    sine, cosine = (
        dot(axis, cross(start, goal)),
        dot(start, goal) - dot(axis, start) * dot(axis, goal),
    )
    return math.atan2(sine, cosine) if math.hypot(sine, cosine) > TINY else 0.0


@kernel
def _allowed(joints: Hinges, i: int, angle: float) -> float:
    """Return the angle within a joint's limits that is nearest to one modulo whole turns."""
    lower, upper, turn = joints.lower[i], joints.upper[i], 2.0 * math.pi
    angle -= turn * round(angle / turn)
    if lower <= angle <= upper:
        return angle
    beyond = lower + (angle - lower) % turn
    if beyond <= upper:
        return beyond
    return lower if (lower - angle) % turn < (angle - upper) % turn else upper
