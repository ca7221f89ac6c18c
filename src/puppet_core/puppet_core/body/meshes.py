# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth triangle meshes around rods and balls for drawing (Gibson1998, Taubin1995)."""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Ints, Vec3s

ENOUGH_CELLS, MAX_CELLS = 60_000, 1_000_000
FINEST_M, COARSEST_M = 0.002, 0.012
CELLS_A_RADIUS, FEWEST_A_RADIUS = 3.0, 1.5
ROUNDS = 6  # of smoothing, there and back
SHRINK, GROW = 0.5, -0.53
_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
_EDGES = [
    (a, b)
    for a in range(8)
    for b in range(a + 1, 8)
    if np.sum(np.abs(_CORNERS[a] - _CORNERS[b])) == 1
]


class Rods(NamedTuple):
    """Balls swept along straight lines; a line of no length is a ball."""

    starts: Vec3s  # Shape (n, 3) [m]
    ends: Vec3s  # Shape (n, 3) [m]
    radii: Floats  # Shape (n,) [m]


def smooth_surface(rods: Rods) -> tuple[Vec3s, Ints]:
    """Return vertices (n, 3) [m] and triangles (m, 3), outside in front, around the rods."""
    low = np.min(np.minimum(rods.starts, rods.ends) - rods.radii[:, None], axis=0)
    high = np.max(np.maximum(rods.starts, rods.ends) + rods.radii[:, None], axis=0)
    # cells so small that the thinnest rod is seen, as long as they are not too many
    radius, volume = float(rods.radii.min()), float(np.prod(high - low))
    size = float(np.clip(radius / CELLS_A_RADIUS, FINEST_M, COARSEST_M))
    enough = min((volume / ENOUGH_CELLS) ** (1.0 / 3.0), radius / FEWEST_A_RADIUS)
    size = max(size, enough, (volume / MAX_CELLS) ** (1.0 / 3.0))
    counts = np.ceil((high - low) / size).astype(np.int64) + 3
    origin = low - size
    axes = [origin[k] + size * np.arange(counts[k]) for k in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1)
    distances = _distances(points.reshape(-1, 3), rods).reshape(points.shape[:3])
    vertices, numbers = _vertices(distances)
    triangles = _triangles(distances, numbers)
    return _smoothed(origin + size * vertices, triangles), triangles


def _distances(points: Vec3s, rods: Rods) -> Floats:
    """Return how far outside the union points are; inside it is negative."""
    nearest = np.full(len(points), np.inf)
    for start, end, radius in zip(*rods):
        core, away = end - start, points - start
        share = np.clip(away @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
        gap = np.linalg.norm(away - share[:, None] * core, axis=1) - radius
        nearest = np.minimum(nearest, gap)
    return nearest


def _vertices(distances: Floats) -> tuple[Vec3s, Ints]:
    """Return vertices in cells, and the number of the vertex of each cell, -1 for none."""
    cells = tuple(n - 1 for n in distances.shape)
    corners = [
        distances[x : x + cells[0], y : y + cells[1], z : z + cells[2]] for x, y, z in _CORNERS
    ]
    total, count = np.zeros((*cells, 3)), np.zeros(cells)
    for a, b in _EDGES:
        crossed = (corners[a] < 0.0) != (corners[b] < 0.0)
        gap = np.where(crossed, corners[a] - corners[b], 1.0)
        share = np.where(crossed, corners[a] / gap, 0.0)[..., None]
        place = _CORNERS[a] + share * (_CORNERS[b] - _CORNERS[a])
        total += np.where(crossed[..., None], place, 0.0)
        count += crossed
    has = count > 0
    numbers = np.where(has, np.cumsum(has).reshape(cells) - 1, -1)
    return total[has] / count[has][:, None] + np.argwhere(has), numbers


def _triangles(distances: Floats, numbers: Ints) -> Ints:
    """Return two triangles for each edge of the grid that the surface crosses."""
    inside = distances < 0.0
    found = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        here = np.moveaxis(inside, (axis, u, v), (0, 1, 2))
        cells = np.moveaxis(numbers, (axis, u, v), (0, 1, 2))
        leaves = here[:-1, 1:-1, 1:-1] & ~here[1:, 1:-1, 1:-1]
        enters = ~here[:-1, 1:-1, 1:-1] & here[1:, 1:-1, 1:-1]
        a, b = cells[:, :-1, :-1], cells[:, 1:, :-1]
        c, d = cells[:, 1:, 1:], cells[:, :-1, 1:]
        for crossed, quad in ((leaves, (a, b, c, d)), (enters, (a, d, c, b))):
            p, q, r, s = (corner[crossed] for corner in quad)
            found += [np.stack((p, q, r), axis=-1), np.stack((p, r, s), axis=-1)]
    return np.concatenate(found)


def _smoothed(vertices: Vec3s, triangles: Ints) -> Vec3s:
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = np.bincount(pairs[:, 0], minlength=len(vertices))[:, None]
    for _ in range(ROUNDS):
        for factor in (SHRINK, GROW):
            mean = np.stack(
                [
                    np.bincount(pairs[:, 0], vertices[pairs[:, 1], k], len(vertices))
                    for k in range(3)
                ],
                axis=-1,
            ) / np.maximum(count, 1)
            vertices = vertices + factor * (mean - vertices)
    return vertices
