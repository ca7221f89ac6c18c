# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ranges of general end-effectors (kernels, Shin2002 5.3.1 and 5.3.2).

A ball for what the environment wants of a hand or foot, balls for the self-interaction of hands,
feet, elbows and knees, and what a hand's ball leaves to its elbow. Points of the performer's body
come with the rows of `importance.self_interaction`, as do the weights that they have.
"""

import math

from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import add, norm, rotate, scale, sub, vec3
from puppet_retarget.importance import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    GOAL,
    IMPORTANCE,
    MAX_CONTACTS,
    N_SAMPLES,
    RADIUS,
    SAMPLE,
    SELF_IMPORTANCE,
    WEIGHT,
)
from puppet_retarget.solvers.thesis.ball_intersection import ball, NO_SHELL, Shell
from puppet_retarget.solvers.thesis.puppet import (
    FIRST_OF_LIMBS,
    Goals,
    Pose,
    Puppet,
    Settings,
    STARTS,
)


@kernel
def fill_goals(puppet: Puppet, settings: Settings, rows: Floats, pose: Pose, goals: Goals) -> None:
    """Fill what the environment asks of hands and feet; the pose has the captured angles."""
    for limb in range(4):
        q_end, w = pose.q[STARTS[limb] + 2], rows[limb, IMPORTANCE]
        palm = scale(rows[limb, GOAL : GOAL + 3], settings.world_scale)
        copy(palm, goals.palms[limb])
        copy(sub(palm, rotate(q_end, puppet.palms[limb])), goals.wrists[limb])
        copy(q_end, goals.q_ends[limb])
        goals.importances[limb] = w
        # Shin2002 eq. 5.10; the radius at no importance is D of the nearest object
        goals.radii[limb] = settings.world_scale * rows[limb, RADIUS] * (1.0 - w)


@kernel
def self_ball(puppet: Puppet, settings: Settings, row: Floats, j: int, pose: Pose) -> Shell:
    """
    Return the ball that keeps the self-interaction of general end-effector j of a pose.

    The pose has the captured angles of the limbs. The displacements of eq. 5.7, measured from the
    performer, are in the frames of their segments, and turn with these.
    """
    w, farthest = row[SELF_IMPORTANCE], math.inf
    if not settings.errata.many_points:
        farthest = _third_nearest(row)
    total, nearest, shift = 0.0, math.inf, (0.0, 0.0, 0.0)
    point = vec3(pose.points[j])
    for i in range(MAX_CONTACTS):
        contact = row[FIRST_CONTACT + i * CONTACT_WIDTH : FIRST_CONTACT + (i + 1) * CONTACT_WIDTH]
        if contact[SAMPLE] < 0.0 or contact[WEIGHT] <= 0.0:
            continue
        v = contact[DISPLACEMENT : DISPLACEMENT + 3]
        distance = norm(v)
        if distance > farthest:
            continue
        sample = int(contact[SAMPLE])
        segment, k = sample // N_SAMPLES, sample % N_SAMPLES
        # Shin2002 eq. 5.8: v + p - p_e
        local = add(scale(v, settings.world_scale), puppet.samples[segment, :, k])
        way = sub(add(rotate(pose.q[segment], local), pose.p[segment]), point)
        # Shin2002 eq. 5.9: a limb comes half of the way
        share = 0.5 if segment >= FIRST_OF_LIMBS else 1.0
        shift = add(shift, scale(way, share * contact[WEIGHT]))
        total += contact[WEIGHT]
        nearest = min(nearest, settings.world_scale * distance)
    if w <= 0.0 or total <= 0.0:
        return NO_SHELL  # errata 6
    # Shin2002 eq. 5.6, as its text has it: printed is a ball that grows with w (errata 5)
    radius = nearest * (1.0 - w if settings.errata.shrinking_ball else w)
    return ball(add(point, scale(shift, 1.0 / total)), radius, w)


@kernel
def _third_nearest(row: Floats) -> float:
    """Return how far the third nearest sample point is [m]; infinity if there are fewer."""
    near = (math.inf, math.inf, math.inf)
    for i in range(MAX_CONTACTS):
        start = FIRST_CONTACT + i * CONTACT_WIDTH
        if row[start + SAMPLE] < 0.0 or row[start + WEIGHT] <= 0.0:
            continue
        d = norm(row[start + DISPLACEMENT : start + DISPLACEMENT + 3])
        if d < near[0]:
            near = d, near[0], near[1]
        elif d < near[1]:
            near = near[0], d, near[1]
        elif d < near[2]:
            near = near[0], near[1], d
    return near[2]


@kernel
def elbow_shell(hand: Shell, forearm: float) -> Shell:
    """Return where an elbow may be for a hand in a ball: a shell (Shin2002 fig. 5.6)."""
    # 5.3.2: the forearm outwards from the edge of the ball, or through its centre
    return Shell(hand.centre, forearm - hand.outer, forearm + hand.outer, hand.importance)
