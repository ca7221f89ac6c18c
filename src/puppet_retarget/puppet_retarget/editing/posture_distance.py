# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How alike two postures are, wherever they stand and face: what a good seam is chosen by."""

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats
from puppet_core.motion_loop import heading
from puppet_core.posture import Motion

VELOCITY_S = 0.15  # a difference of 1 m/s counts as this many metres


def posture_features(motion: Motion) -> Floats:
    """
    Return joints and their velocities, seen from the pelvis' place and heading, shape (n, 96).

    In metres; of two frames' features the distance is the root of the summed squares over the
    sixteen joints.

    """
    _, joints = motion.world_segments()
    turn = qb.conjugate(heading(motion.rotations[:, 0]))
    below = motion.root_positions * (1.0, 1.0, 0.0)
    places = qb.rotate(turn[:, None], joints - below[:, None])
    speeds = np.zeros_like(joints) if len(joints) < 2 else np.gradient(joints, axis=0)
    speeds = qb.rotate(turn[:, None], speeds) * motion.rate_hz * VELOCITY_S
    return np.concatenate((places, speeds), axis=1).reshape(len(joints), -1)


def distances(first: Floats, second: Floats) -> Floats:
    """Return the distances of all pairs of features (n, c) and (m, c), RMS of joints [m]."""
    squares = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2.0 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / 16.0))
