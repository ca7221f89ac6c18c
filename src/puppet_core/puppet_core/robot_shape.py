# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's boxes, cylinders and balls as capsules of our segments, inside what they stand for."""

from collections.abc import Sequence

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.capsule import Capsule
from puppet_core.default_shape import default_capsules
from puppet_core.robot_tree import BodyShape, RobotTree
from puppet_core.skeleton import N_SEGMENTS, Skeleton

MAX_BARS = 5  # capsules beside each other in one box
MIN_RADIUS_M = 1e-3


def robot_capsules(
    tree: RobotTree, segments: Sequence[int], rest: Quats, centres: Vec3s, skeleton: Skeleton
) -> tuple[Capsule, ...]:
    """
    Return the shape of a robot; a segment without solids has that of a human.

    Parameters
    ----------
    tree : RobotTree
        The robot at zero pose.
    segments : sequence of int
        Segment of each of its joints.
    rest : ndarray, shape (16, 4)
        From zero pose to T-pose.
    centres : ndarray, shape (16, 3)
        Joint centres at zero pose [m].
    skeleton : Skeleton
        What comes of them.

    """
    found: dict[int, list[Capsule]] = {i: [] for i in range(N_SEGMENTS)}
    for shape in tree.shapes:
        segment = 0 if shape.body < 0 else segments[shape.body]
        for start, end, radius in _bars(shape):
            ends = qb.rotate(rest[segment], np.array([start, end]) - centres[segment])
            radius = max(radius, MIN_RADIUS_M)
            found[segment].append(Capsule(segment, ends[0], ends[1], radius))
    bare = {i for i in range(N_SEGMENTS) if not found[i]}
    if not np.any(skeleton.offsets[2]) and (found[1] or found[2]):
        bare -= {1, 2}  # spine and chest turn about one point: one part
    for capsule in default_capsules(skeleton):
        if capsule.segment in bare:
            found[capsule.segment].append(capsule)
    return tuple(capsule for capsules in found.values() for capsule in capsules)


def _bars(shape: BodyShape) -> list[tuple[Floats, Floats, float]]:
    """Return start, end and radius of the capsules of one solid."""
    turn, middle = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == 'sphere':
        return [(middle, middle, float(shape.size[0]))]
    if shape.kind == 'cylinder':
        radius, length = shape.size
        if length >= 2.0 * radius:
            half = (0.5 * length - radius) * turn[:, 2]
            return [(middle - half, middle + half, float(radius))]
        edges = np.array([np.sqrt(np.pi) * radius] * 2 + [length])  # of the disc's own area
    else:
        edges = shape.size
    thin, wide, long = np.argsort(edges)
    radius = 0.5 * float(edges[thin])
    n = int(np.clip(np.ceil(edges[wide] / edges[thin] - 0.3), 1, MAX_BARS))
    half = (0.5 * edges[long] - radius) * turn[:, long]
    places = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
    return [
        (middle + place - half, middle + place + half, radius)
        for place in places[:, None] * (0.5 * edges[wide] - radius) * turn[:, wide]
    ]
