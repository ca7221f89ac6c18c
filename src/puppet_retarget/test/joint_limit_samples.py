# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An adult's joint limits, and what several tests of them share."""

import numpy as np
from puppet_core.body.character import load_character, save_character
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.solvers.joint_limits import KEPT, limit_arrays, limit_joint

# an adult's, roughly, wide enough for straight and folded elbows and knees to stay as they are
ADULT_LIMITS = """joint_limits:
  chest: {swing_deg: [25, 35], swing_centre_rpy_deg: [0, 10, 0], twist_deg: [-40, 40]}
  head: {swing_deg: [40, 55], twist_deg: [-75, 75]}
  left_upper_arm:
    {swing_deg: [110, 95], swing_centre_rpy_deg: [-15, 0, -35], twist_deg: [-110, 110]}
  left_forearm: {swing_deg: [10, 85], swing_centre_rpy_deg: [0, 0, -70], twist_deg: [-90, 90]}
  left_hand: {swing_deg: [80, 35], twist_deg: [-30, 30]}
  left_thigh: {swing_deg: [45, 80], swing_centre_rpy_deg: [10, -40, 0], twist_deg: [-45, 45]}
  left_shank: {swing_deg: [5, 80], swing_centre_rpy_deg: [0, 68, 0], twist_deg: [-15, 15]}
  left_foot: {swing_deg: [65, 20], swing_centre_rpy_deg: [0, 10, 0], twist_deg: [-30, 20]}
"""
JOINTS = ('chest', 'left_upper_arm', 'right_forearm', 'left_shank', 'right_foot')


def with_adult_limits(character, folder):
    """Return a character with the limits above, through a character file in a folder."""
    path = folder / 'limited.yaml'
    save_character(character, path)
    path.write_text(path.read_text() + ADULT_LIMITS)
    return load_character(path)


def adult_limits(adult, folder):
    return limit_arrays(with_adult_limits(adult, folder))


def limited(limits, joint, rotations):
    """Return a joint's rotations (n, 4) after its limits."""
    i, out = SEGMENT_INDEX[joint], np.empty((len(rotations), 4))
    for q, row in zip(rotations, out):
        row[:] = limit_joint(limits, i, q, KEPT)[1]
    return out


def turn_between(a, b):
    """Return angles of the rotations from a to b [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


def any_rotations(rng, n):
    return qb.normalize(rng.normal(size=(n, 4)))
