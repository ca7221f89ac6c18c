# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Distance of a point from a segment of a body made of capsules (kernel layer).

`shape_arrays` packs a character's capsules once; `segment_distance` is for the frame path.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints, Vec3, Vec3s
from puppet_core.capsule import Capsule
from puppet_core.kernel import kernel
from puppet_core.skeleton import N_SEGMENTS

_ROUNDING = 1.0 + 1e-12  # of squares that are compared for whether a root is worth taking
ON_CORE_M = 1e-12  # nearer to the core line than this, there is no direction from it


class ShapeArrays(NamedTuple):
    """A body's capsules, sorted by segment, each in its segment's frame."""

    starts: Vec3s
    """One end of each core line, shape (m, 3) [m]."""

    ends: Vec3s
    """The other end, shape (m, 3) [m]."""

    radii: Floats
    """Shape (m,) [m]."""

    first: Ints
    """Capsules first[s] to first[s + 1] - 1 are segment s; shape (17,)."""

    centres: Vec3s
    """Centre of a ball around each segment, shape (16, 3) [m]."""

    bounds: Floats
    """That ball's radius, shape (16,) [m]; -inf for a segment without capsules."""


def shape_arrays(capsules: tuple[Capsule, ...]) -> ShapeArrays:
    """Return capsules in the form that kernels take, with a ball around each segment."""
    ordered = sorted(capsules, key=lambda c: c.segment)
    starts = np.array([c.start for c in ordered]).reshape(-1, 3)
    ends = np.array([c.end for c in ordered]).reshape(-1, 3)
    radii = np.array([c.radius for c in ordered], dtype=np.float64)
    counts = np.bincount([c.segment for c in ordered], minlength=N_SEGMENTS)
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    centres, bounds = np.zeros((N_SEGMENTS, 3)), np.full(N_SEGMENTS, -np.inf)
    for segment in range(N_SEGMENTS):
        own = slice(first[segment], first[segment + 1])
        if not counts[segment]:
            continue
        tips = np.concatenate((starts[own], ends[own]))
        reach = np.concatenate((radii[own], radii[own]))
        low = (tips - reach[:, np.newaxis]).min(axis=0)
        high = (tips + reach[:, np.newaxis]).max(axis=0)
        centres[segment] = 0.5 * (low + high)
        # a ball is convex: it holds a capsule that has both end balls inside
        bounds[segment] = np.max(np.linalg.norm(tips - centres[segment], axis=1) + reach)
    return ShapeArrays(starts, ends, radii, first, centres, bounds)


@kernel
def _away_from_core(start: Vec3, end: Vec3, normal: Vec3) -> None:
    """Write a unit vector square to a core line; +X for a ball."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    normal[0], normal[1], normal[2] = 1.0, 0.0, 0.0
    square = x * x + y * y + z * z
    if square <= ON_CORE_M * ON_CORE_M:
        return
    if abs(x) > 0.8 * math.sqrt(square):
        normal[0], normal[2] = 0.0, 1.0
    along = (normal[0] * x + normal[2] * z) / square
    normal[0] -= along * x
    normal[1] -= along * y
    normal[2] -= along * z
    length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    for k in range(3):
        normal[k] /= length


@kernel
def nearest_capsule(
    shape: ShapeArrays, segment: int, p: Vec3, normal: Vec3
) -> tuple[float, int]:
    """
    Return the signed distance of a point from a segment's capsules and the nearest of them.

    It is the least of the distances from the single capsules. Outside this is the distance
    from their union. Inside it is the depth in the deepest capsule, which is never more than
    the way out of the union: a bound from below. It changes by at most the way that the
    point moves.

    Parameters
    ----------
    shape : ShapeArrays
        The body.
    segment : int
        Index into SEGMENTS.
    p : ndarray, shape (3,)
        Point in the segment's frame [m].
    normal : ndarray, shape (3,)
        Out: outward unit normal of the nearest (deepest) capsule; the surface is at
        p - distance * normal. On a core line it is a fixed direction square to it.

    Returns
    -------
    distance : float
        Negative inside [m]; infinity for a segment without capsules, with the normal +X.
    capsule : int
        Row of `shape`; -1 for none.

    """
    return nearest_capsule_within(shape, segment, p, math.inf, normal)


@kernel
def nearest_capsule_within(
    shape: ShapeArrays, segment: int, p: Vec3, limit: float, normal: Vec3
) -> tuple[float, int]:
    """
    As `nearest_capsule`, of the capsules that are nearer than `limit` [m] alone.

    The limit and -1 are returned if there are none. With a limit of zero it is the depth that
    is asked for, and what is outside costs little.

    """
    best, nearest, nearest_rho = limit, -1, 0.0
    normal[0], normal[1], normal[2] = 1.0, 0.0, 0.0
    for j in range(shape.first[segment], shape.first[segment + 1]):
        # from the nearest point of the core line
        bx = p[0] - shape.starts[j, 0]
        by = p[1] - shape.starts[j, 1]
        bz = p[2] - shape.starts[j, 2]
        ax = shape.ends[j, 0] - shape.starts[j, 0]
        ay = shape.ends[j, 1] - shape.starts[j, 1]
        az = shape.ends[j, 2] - shape.starts[j, 2]
        square = ax * ax + ay * ay + az * az
        if square > 0.0:
            along = min(max((ax * bx + ay * by + az * bz) / square, 0.0), 1.0)
            bx, by, bz = bx - along * ax, by - along * ay, bz - along * az
        square, reach = bx * bx + by * by + bz * bz, best + shape.radii[j]
        if reach < 0.0 or square > _ROUNDING * reach * reach:
            continue
        rho = math.sqrt(square)
        if rho - shape.radii[j] < best:
            best, nearest, nearest_rho = rho - shape.radii[j], j, rho
            normal[0], normal[1], normal[2] = bx, by, bz
    if nearest < 0:
        return best, nearest
    if nearest_rho > ON_CORE_M:
        for k in range(3):
            normal[k] /= nearest_rho
    else:
        _away_from_core(shape.starts[nearest], shape.ends[nearest], normal)
    return best, nearest


@kernel
def segment_distance(shape: ShapeArrays, segment: int, p: Vec3, normal: Vec3) -> float:
    """Return the signed distance alone; see `nearest_capsule`."""
    return nearest_capsule(shape, segment, p, normal)[0]
