# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes of unit solids, which the viewer draws many times at different sizes."""

import numpy as np
from puppet_core.arrays import Floats, Ints

ROUND_STEPS = 24  # around; half as many from pole to pole


def unit_sphere() -> tuple[Floats, Ints]:
    """Return vertices (n, 3) and triangles (m, 3) of the sphere of radius 1."""
    heights = np.linspace(0.0, np.pi, ROUND_STEPS // 2 + 1)
    around = np.arange(ROUND_STEPS) * 2.0 * np.pi / ROUND_STEPS
    rings = np.stack(
        [
            np.outer(np.sin(heights), np.cos(around)),
            np.outer(np.sin(heights), np.sin(around)),
            np.outer(np.cos(heights), np.ones(ROUND_STEPS)),
        ],
        axis=-1,
    )
    return rings.reshape(-1, 3), _rings_joined(len(heights))


def unit_cylinder() -> tuple[Floats, Ints]:
    """Return the open cylinder of radius 1 and length 1 along z, centred; its ends are balls."""
    around = np.arange(ROUND_STEPS) * 2.0 * np.pi / ROUND_STEPS
    ring = np.stack([np.cos(around), np.sin(around), np.full(ROUND_STEPS, 0.5)], axis=-1)
    return np.concatenate((ring, ring * [1.0, 1.0, -1.0])), _rings_joined(2)


def closed_cylinder() -> tuple[Floats, Ints]:
    """Return the cylinder of radius 0.5 and length 1 along z with its end faces."""
    side, triangles = unit_cylinder()
    side = side * [0.5, 0.5, 1.0]
    n = ROUND_STEPS
    # end faces have vertices of their own, so that their edge is shaded sharply
    vertices = np.concatenate((side, side, [[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]]))
    here, there = np.arange(n), (np.arange(n) + 1) % n
    top = np.stack([np.full(n, 4 * n), 2 * n + here, 2 * n + there], axis=-1)
    bottom = np.stack([np.full(n, 4 * n + 1), 3 * n + there, 3 * n + here], axis=-1)
    return vertices, np.concatenate((triangles, top, bottom))


def _rings_joined(n_rings: int) -> Ints:
    """Return the triangles between consecutive rings of vertices, outside in front."""
    triangles = []
    for ring in range(n_rings - 1):
        first, second = ring * ROUND_STEPS, (ring + 1) * ROUND_STEPS
        for step in range(ROUND_STEPS):
            following = (step + 1) % ROUND_STEPS
            a, b = first + step, first + following
            c, d = second + step, second + following
            triangles += [(a, c, b), (b, c, d)]
    return np.array(triangles, dtype=np.int64)
