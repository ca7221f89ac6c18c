# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer's body as the kernels of the posture share it (kernel layer)."""

from typing import NamedTuple

from puppet_core.body import N_SEGMENTS
from puppet_core.math import Quat, Quats, Vec3, Vec3s

N_POINTS = 9  # root, then the eight general end-effectors
ROOT_SLOT = N_SEGMENTS
PELVIS, SPINE, CHEST, HEAD = 0, 1, 2, 3


class BodyArrays(NamedTuple):
    """The posture in all forms that are published; in: the last one, out: the new one."""

    rotations: Quats  # (16, 4) row 0 in world, others relative to the parent
    root: Vec3  # (3,) [m]
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3) [m]
    torso: Quat  # (4,) chest in the pelvis' frame
    carrying: Quat  # (4,) that as it was when the chest began to carry the pelvis
    points: Vec3s  # general end-effectors, (8, 3) [m]
    velocities: Vec3s  # (8, 3) [m/s]
    eased: Quats  # (16, 4) rotations of the limbs before their ends are put to the points
    turns: Quats  # (8, 4) that do that, in world: upper and lower segment of each limb


class Proportions(NamedTuple):
    """The performer's skeleton, as writable copies so that kernels compile but once."""

    offsets: Vec3s  # (16, 3) [m]
    interaction_points: Vec3s  # (4, 3) [m]
