# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Limb postures computation, third step of a frame (kernels, Shin2002 5.3.3).

The elbow goes to the nearest place on its sphere about the shoulder that is in its own ball and
lets the hand into its balls, then the hand to the nearest place on its sphere about the elbow.
Shoulder and elbow joints turn by the least rotation from the captured direction to that one, and
are blended with the captured ones by importance. The wrist keeps the captured orientation of the
hand in world. Legs are as arms.
"""

import math
from typing import NamedTuple

from puppet_core.math import copy, kernel
from puppet_core.math.values import (
    add,
    between,
    clamp,
    conjugate,
    cross,
    dot,
    exp,
    IDENTITY,
    multiply,
    norm,
    Quat,
    quat,
    QuatLike,
    rotate,
    scale,
    slerp,
    sub,
    Vec3,
    vec3,
)
from puppet_retarget.solvers.thesis.ball_intersection import (
    ball,
    closest_in_shells,
    NO_SHELL,
    Shell,
    sphere,
)
from puppet_retarget.solvers.thesis.errata import Errata
from puppet_retarget.solvers.thesis.puppet import CARRIED_BY, Pose, Puppet, STARTS
from puppet_retarget.solvers.thesis.ranges import elbow_shell

PARALLEL = 1e-6  # sine of an angle without an axis [-]

Joints = tuple[Quat, Quat]  # rotations of shoulder and elbow, or hip and knee


class Limb(NamedTuple):
    """A limb with its captured angles, on the body as it is posed, in world."""

    q_parent: Quat  # chest or pelvis
    shoulder: Vec3  # or hip [m]
    to_elbow: Vec3  # in the frame of the upper segment [m]
    to_wrist: Vec3  # in that of the lower one [m]
    upper: float  # lengths of these [m]
    lower: float
    joints: Joints  # captured


class Solved(NamedTuple):
    """Orientations of a limb's segments in world."""

    q_upper: Quat
    q_lower: Quat


class Ranges(NamedTuple):
    """Where a limb should be: its wrist for the environment and for the own body, its elbow."""

    outer_wrist: Shell
    own_wrist: Shell
    own_elbow: Shell


@kernel
def limb_of(puppet: Puppet, limb: int, pose: Pose) -> Limb:
    """Return a limb as it is posed."""
    start = STARTS[limb]
    return Limb(
        quat(pose.q[CARRIED_BY[limb]]),
        vec3(pose.p[start]),
        vec3(puppet.offsets[start + 1]),
        vec3(puppet.offsets[start + 2]),
        puppet.lengths[limb, 0],
        puppet.lengths[limb, 1],
        (quat(pose.rotations[start]), quat(pose.rotations[start + 1])),
    )


@kernel
def turn_onto(captured: Vec3, target: Vec3, errata: Errata) -> Quat:
    """
    Return the turn from one direction to another.

    The printed axis turns the other way, and there is none where they are parallel or opposite:
    no turn then. Corrected, opposite ones turn about any axis square to them (errata 8). The
    printed cosine is the product of vectors as long as the limb's segments (errata 14).
    """
    if errata.turn_axis and errata.unit_directions:
        return between(captured, target)
    # Shin2002 eqs. 5.11 and 5.13
    axis = cross(target, captured)
    sine = norm(axis)
    if sine <= PARALLEL * norm(captured) * norm(target):
        return between(captured, target) if errata.turn_axis else IDENTITY
    angle = math.acos(clamp(dot(captured, target), -1.0, 1.0))
    if errata.unit_directions:
        angle = math.atan2(sine, dot(captured, target))
    return exp(scale(axis, (-angle if errata.turn_axis else angle) / sine))


@kernel
def solve_limb(limb: Limb, ranges: Ranges, errata: Errata) -> Solved:
    """Return a limb whose elbow and wrist are in their ranges, as far as it can."""
    all_candidates, growing = errata.all_candidates, errata.growing_balls
    q_upper = multiply(limb.q_parent, limb.joints[0])
    way = rotate(q_upper, limb.to_elbow)
    shells = (
        sphere(limb.shoulder, limb.upper),
        elbow_shell(ranges.outer_wrist, limb.lower),
        elbow_shell(ranges.own_wrist, limb.lower),
        ranges.own_elbow,
    )
    elbow = closest_in_shells(add(limb.shoulder, way), shells, all_candidates, growing)[1]
    # Shin2002 eq. 5.12
    q_upper = multiply(turn_onto(way, sub(elbow, limb.shoulder), errata), q_upper)
    q_lower = multiply(q_upper, limb.joints[1])
    way = rotate(q_lower, limb.to_wrist)
    shells = sphere(elbow, limb.lower), ranges.outer_wrist, ranges.own_wrist, NO_SHELL
    wrist = closest_in_shells(add(elbow, way), shells, all_candidates, growing)[1]
    return Solved(q_upper, multiply(turn_onto(way, sub(wrist, elbow), errata), q_lower))


@kernel
def blend_limb(limb: Limb, solved: Solved, weights: tuple[float, float]) -> Joints:
    """Return the joint rotations between captured and solved ones, by their importances."""
    shoulder = multiply(conjugate(limb.q_parent), solved.q_upper)
    elbow = multiply(conjugate(solved.q_upper), solved.q_lower)
    # Shin2002 eq. 5.14
    return slerp(limb.joints[0], shoulder, weights[0]), slerp(limb.joints[1], elbow, weights[1])


@kernel
def reach(limb: Limb, wrist: Vec3, errata: Errata) -> Joints:
    """Return the joint rotations that bring a wrist to a place, or nearest to it."""
    ranges = Ranges(ball(wrist, 0.0, 1.0), NO_SHELL, NO_SHELL)
    return blend_limb(limb, solve_limb(limb, ranges, errata), (1.0, 1.0))


@kernel
def importances_of(ranges: Ranges) -> tuple[float, float]:
    """Return the largest importances of what moves the shoulder, and the elbow joint."""
    end = max(ranges.outer_wrist.importance, ranges.own_wrist.importance)
    return max(end, ranges.own_elbow.importance), end


@kernel
def set_limb(limb: int, joints: Joints, q_end: QuatLike, pose: Pose) -> None:
    """Write the joint rotations of a limb whose hand or foot has an orientation in world."""
    start = STARTS[limb]
    q_lower = multiply(multiply(pose.q[CARRIED_BY[limb]], joints[0]), joints[1])
    copy(joints[0], pose.rotations[start])
    copy(joints[1], pose.rotations[start + 1])
    copy(multiply(conjugate(q_lower), q_end), pose.rotations[start + 2])
