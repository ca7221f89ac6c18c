# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies in postures that touch themselves, and their distances by definition in plain numpy."""

from typing import NamedTuple

import numpy as np
from puppet_core.body.posture import general_end_effectors, Posture, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats, Vec3s
from puppet_retarget.importance.self_interaction import (
    CONTACT_WIDTH,
    FIRST_CONTACT,
    MAX_CONTACTS,
    SAMPLE,
)

ROOT = np.array([0.3, -0.2, 1.0])


class Body(NamedTuple):
    rotations: Quats  # (16, 4)
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3)
    points: Vec3s  # (8, 3) general end-effectors

    def posture(self, velocities=None):
        speeds = np.zeros((8, 3)) if velocities is None else velocities
        return Posture(self.p_world[0], self.rotations, self.points, speeds)


def body_of_rotations(skeleton, rotations, root=ROOT):
    """Return the body in the posture of joint rotations (16, 4)."""
    q_world, p_world = world_segments(skeleton, root[None], rotations[None])
    points = general_end_effectors(skeleton, q_world, p_world)
    return Body(rotations.copy(), q_world[0].copy(), p_world[0].copy(), points[0].copy())


def curled_up(skeleton, rng, size=1.2):
    """Return a body all curled up, so that much of it touches."""
    return body_of_rotations(skeleton, qb.exp(size * rng.normal(size=(16, 3))))


def at_rest(skeleton):
    return body_of_rotations(skeleton, np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)))


def random_arms(skeleton, rng):
    """Return a standing body with arms anywhere before, beside and behind it."""
    vectors = np.zeros((16, 3))
    for side, (upper, lower, hand) in zip((1.0, -1.0), LIMB_SEGMENTS[:2]):
        vectors[upper] = rng.uniform(-1.5, 1.5, 3)
        vectors[upper, 0] = -side * rng.uniform(0.0, 1.6)
        vectors[lower] = [0.0, 0.0, -side * rng.uniform(0.0, 2.3)]
        vectors[hand] = rng.uniform(-0.4, 0.4, 3)
    return body_of_rotations(skeleton, qb.exp(vectors))


def capsule_distances(points, capsule, q, origin):
    """Return the signed distances of world points (n, 3) from one capsule [m]."""
    start, end = (origin + qb.rotate(q, e) for e in (capsule.start, capsule.end))
    bone = end - start
    square = bone @ bone
    along = np.clip((points - start) @ bone / square, 0.0, 1.0) if square else np.zeros(1)
    return np.linalg.norm(points - start - np.outer(along, bone), axis=1) - capsule.radius


def plain_distances(body, capsules):
    """Return signed distances of all general end-effectors from all segments, (8, 16) [m]."""
    out = np.full((8, 16), np.inf)
    for c in capsules:
        s = c.segment
        found = capsule_distances(body.points, c, body.q_world[s], body.p_world[s])
        out[:, s] = np.minimum(out[:, s], found)
    return out


def contacts(row):
    """Return the contacts of a row of self-interaction that are taken, (n, CONTACT_WIDTH)."""
    listed = row[FIRST_CONTACT:].reshape(MAX_CONTACTS, CONTACT_WIDTH)
    return listed[listed[:, SAMPLE] >= 0.0]
