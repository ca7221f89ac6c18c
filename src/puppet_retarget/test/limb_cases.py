# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Captured limbs on bodies, and where joint rotations bring them."""

from typing import NamedTuple

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, LIMBS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_retarget.solvers import limbs
import pytest

ALL_LIMBS = pytest.mark.parametrize('limb', range(4), ids=LIMBS)


class Captured(NamedTuple):
    """A captured limb on a body."""

    q_parent: Quat
    shoulder: Vec3
    captured: Quats
    q_end: Quat
    offsets: Vec3s
    lengths: Floats

    @property
    def full(self) -> float:
        """Return its length [m]."""
        return float(self.lengths.sum())

    def limb(self, index: int) -> limbs.Limb:
        """Return it as kernels take it."""
        return limbs.limb_of(index, *self[:5], *self.lengths)


def random_limb(rng: np.random.Generator, character: Character, limb: int) -> Captured:
    """Return a limb in any posture."""
    skeleton = character.skeleton
    return Captured(
        qb.normalize(rng.normal(size=4)),
        rng.normal(size=3),
        qb.exp(rng.normal(size=(3, 3))),
        qb.normalize(rng.normal(size=4)),
        skeleton.offsets[LIMB_SEGMENTS[limb, 1:]].copy(),
        skeleton.limb_lengths[limb],
    )


def forward(body: Captured, rotations: Quats) -> tuple[Quats, Vec3, Vec3]:
    """Return the orientations in world (3, 4), the elbow and the wrist."""
    upper = qb.multiply(body.q_parent, rotations[0])
    lower = qb.multiply(upper, rotations[1])
    elbow = body.shoulder + qb.rotate(upper, body.offsets[0])
    wrist = elbow + qb.rotate(lower, body.offsets[1])
    return np.stack((upper, lower, qb.multiply(lower, rotations[2]))), elbow, wrist


def goal_in_reach(rng: np.random.Generator, body: Captured) -> Vec3:
    """Return a place that the wrist can get to."""
    low, away = abs(np.subtract(*body.lengths)), rng.normal(size=3)
    reach = rng.uniform(low + 0.01 * body.full, 0.997 * body.full)
    return body.shoulder + reach * away / np.linalg.norm(away)
