# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far a posed puppet misses its goals and is inside objects and itself (kernels)."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import nearest_capsule_within
from puppet_core.math import Floats, frozen, kernel
from puppet_core.math.values import norm, rotate_inverse, scale, sub, Vec3Like
from puppet_retarget.importance import GOAL, ObjectArrays, RELEVANT
from puppet_retarget.solvers.thesis.objects import least_distance
from puppet_retarget.solvers.thesis.puppet import Pose, Puppet

_COUNTS = tuple(tuple(bool(counts) for counts in row) for row in RELEVANT)


class Measures(NamedTuple):
    """Figures of a frame [m]; default arrays are copied when they are packed."""

    goal_errors: Floats = frozen(np.zeros(4))
    penetrations: Floats = frozen(np.zeros(4))
    self_depths: Floats = frozen(np.zeros(8))


@kernel
def measure(
    puppet: Puppet,
    objects: ObjectArrays,
    rows: Floats,
    world_scale: float,
    pose: Pose,
    found: Measures,
) -> None:
    """Fill the figures of a pose; goals are those of the importance rows."""
    for i in range(4):
        goal = scale(rows[i, GOAL : GOAL + 3], world_scale)
        found.goal_errors[i] = norm(sub(pose.points[i], goal))
        found.penetrations[i] = max(-least_distance(objects, pose.points[i]), 0.0)
    for j in range(8):
        found.self_depths[j] = _self_depth(puppet, pose, j, pose.points[j])


@kernel
def _self_depth(puppet: Puppet, pose: Pose, j: int, point: Vec3Like) -> float:
    """Return how deep general end-effector j is in the own body, 0 outside [m]."""
    depth = 0.0
    for segment in range(16):
        if _COUNTS[j][segment]:
            local = rotate_inverse(pose.q[segment], sub(point, pose.p[segment]))
            depth = max(depth, -nearest_capsule_within(puppet.shape, segment, local, -depth)[0])
    return depth
