# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Root position estimation, first step of a frame (kernels, Shin2002 5.1).

The root begins where the performer's is, goes the mean of the ways that the end-effectors have to
their goals, and from there to the nearest place from which all goals can be reached.
"""

import math

from puppet_core.math import Floats, kernel
from puppet_core.math.values import add, rotate, scale, sub, Vec3, vec3, Vec3Like
from puppet_retarget.solvers.thesis.ball_intersection import ball, closest_in_shells, Shell
from puppet_retarget.solvers.thesis.puppet import Goals, Pose, Puppet, Settings, STARTS


@kernel
def first_root(
    puppet: Puppet, settings: Settings, root: Vec3Like, hips: Vec3Like, q_root: Floats
) -> Vec3:
    """
    Return where the root of the puppet is before anything is estimated [m].

    Printed it is at the performer's, in a world of the puppet's scale. A puppet with shorter legs
    then hangs in the air until its feet matter, so its hips get a height of their own (errata 2).
    The performer's root and mid-point of the hips are in world.
    """
    if not settings.errata.own_height:
        return scale(root, settings.world_scale)
    across, up = settings.world_scale, settings.height_ratio
    own = across * hips[0], across * hips[1], up * hips[2]
    return sub(own, rotate(q_root, puppet.hip_centre))


@kernel
def mean_offset(goals: Goals, points: Floats, is_continuous: bool) -> Vec3:
    """
    Return the mean of the ways (4, 3) from end-effectors to their goals [m].

    Continuous it is divided by at least one, or it jumps to nothing as the last importance
    vanishes (errata 2). As printed it is 0/0 there, and nothing moves.
    """
    total, offset = 0.0, (0.0, 0.0, 0.0)
    for i in range(4):
        w = goals.importances[i]
        total += w
        offset = add(offset, scale(sub(goals.palms[i], points[i]), w))
    # Shin2002 eq. 5.1
    if is_continuous:
        return scale(offset, 1.0 / max(total, 1.0))
    return scale(offset, 1.0 / total) if total > 0.0 else offset


@kernel
def reach_over_importance(puppet: Puppet, limb: int, importance: float) -> float:
    """Return the radius of a limb's ball [m]; infinity, no ball, without importance (errata 3)."""
    # Shin2002 eq. 5.2
    length = puppet.lengths[limb, 0] + puppet.lengths[limb, 1]
    return length / importance if importance > 0.0 else math.inf


@kernel
def estimate_root(puppet: Puppet, settings: Settings, goals: Goals, pose: Pose) -> Vec3:
    """Return the root from which a pose reaches its goals, if there is one [m]."""
    root, errata = vec3(pose.root), settings.errata
    if settings.has_mean:
        root = add(root, mean_offset(goals, pose.points, errata.continuous_mean))
    balls = (
        _ball(puppet, goals, pose, 0),
        _ball(puppet, goals, pose, 1),
        _ball(puppet, goals, pose, 2),
        _ball(puppet, goals, pose, 3),
    )
    return closest_in_shells(root, balls, errata.all_candidates, errata.growing_balls)[1]


@kernel
def _ball(puppet: Puppet, goals: Goals, pose: Pose, limb: int) -> Shell:
    """Return where the root is when a limb begins within reach of its goal."""
    from_root = sub(pose.p[STARTS[limb]], pose.root)
    radius = reach_over_importance(puppet, limb, goals.importances[limb])
    return ball(sub(goals.wrists[limb], from_root), radius, goals.importances[limb])
