# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The hinge of an elbow or knee: the normal of the plane that the bone beyond it sweeps.

Turning the palm or the toes moves that bone about itself and does not disturb the plane. Where
the centres lie need not be exact either: a bone that is not at a right angle to the hinge sweeps
a cone, whose circle lies in a plane with the same normal.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Vec3
from puppet_core.skeleton import PARENTS, SEGMENTS
from puppet_retarget.performer.joint_centres import Centres
from puppet_retarget.performer.motion_recording import Joint, RelativePoses
from puppet_retarget.performer.robust_mean import tukey_weights

HINGES = ('upper_arm', 'thigh')  # segments with a hinge at their far end
# The plane is told by how far the arc bulges from its chord: its second largest variance. One
# swing through 60 degrees has 0.0016; a limb that is straight most of the time not much more.
MIN_BULGE = 0.001
MAX_UNSURE_RAD = 0.25
EFFECTIVE_FRAMES = 10.0  # soft tissue and pronation repeat themselves


class Hinge(NamedTuple):
    """Where elbow or knee bends about."""

    axis: Vec3
    """Unit vector in the frame of the near segment's sensor; flexion is right-handed about it."""

    sd: float
    """Standard deviation [rad]."""


def hinge_axis(
    bone: tuple[int, int], joints: Sequence[Joint], relatives: Sequence[RelativePoses],
    centres: Centres,
) -> Hinge | None:  # fmt: skip
    """
    Return the hinge at the far end of an upper arm or thigh; None if the motion hides it.

    Parameters
    ----------
    bone : tuple of int
        Joints at the segment's near and far end.
    joints, relatives, centres : sequences and Centres
        What the motion told.

    """
    near, far = bone
    if SEGMENTS[PARENTS[joints[far].segment]].split('_', 1)[-1] not in HINGES:
        return None
    beyond = [j for j, joint in enumerate(joints) if joint.parent == joints[far].child]
    if len(beyond) != 1 or PARENTS[joints[beyond[0]].segment] != joints[far].segment:
        return None
    lower = centres.points[beyond[0], 0] - centres.points[far, 1]
    upper = centres.points[far, 0] - centres.points[near, 1]
    swept = relatives[far].rotations @ (lower / max(float(np.linalg.norm(lower)), 1e-3))
    normal, variances = _plane(swept)
    if variances[1] < MIN_BULGE:
        return None
    unsure = float(np.sqrt(max(variances[0], 0.0) / variances[1] / EFFECTIVE_FRAMES))
    if unsure > MAX_UNSURE_RAD:
        return None
    # upper x lower is along the axis, as long as the sine of the flexion
    flexion = np.mean(np.cross(upper, swept), axis=0)
    return Hinge(normal if normal @ flexion > 0.0 else -normal, unsure)


def _plane(directions: Floats) -> tuple[Vec3, Floats]:
    """Return the normal of the plane that directions (n, 3) sweep, and their variances."""
    weights = np.ones(len(directions))
    normal, variances = np.zeros(3), np.zeros(3)
    for _ in range(5):
        mean = weights @ directions / np.sum(weights)
        centred = directions - mean
        # rising: across the plane, the arc's bulge, along its chord
        variances, axes = np.linalg.eigh((centred.T * weights) @ centred / np.sum(weights))
        normal = axes[:, 0]
        weights = tukey_weights(np.abs(centred @ normal), 1e-6)
    return normal, variances
