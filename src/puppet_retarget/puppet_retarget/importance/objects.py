# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Distance, nearest point and counterpart map of each object shape (kernel layer).

Shapes are solids in their own frame: `plane` is the half space z <= 0, `box` has full extents
(x, y, z), `sphere` a radius, `cylinder` and `capsule` a radius and a length along z (the
capsule's length is its core line's). Sizes are rows of three: extents, (r, r, r) or
(r, r, length).
"""

import math
from typing import NamedTuple

from puppet_core.math import add, kernel, norm, rotate, rotate_inverse, scale, sub
from puppet_core.math.values import Quat, QuatLike, Vec3, Vec3Like

PLANE, BOX, SPHERE, CYLINDER, CAPSULE = 0, 1, 2, 3, 4
EDGE_M = 0.015  # radius of a box's edges
SHAPES = ('plane', 'box', 'sphere', 'cylinder', 'capsule')


@kernel
def _ball(x: float, y: float, z: float, radius: float) -> tuple[float, Vec3]:
    rho = math.sqrt(x * x + y * y + z * z)
    normal = (x / rho, y / rho, z / rho) if rho > 1e-12 else (1.0, 0.0, 0.0)
    return rho - radius, normal


@kernel
def _box(p: Vec3Like, size: Vec3Like) -> tuple[float, Vec3]:
    x, y, z = abs(p[0]) - 0.5 * size[0], abs(p[1]) - 0.5 * size[1], abs(p[2]) - 0.5 * size[2]
    out = max(x, 0.0), max(y, 0.0), max(z, 0.0)
    distance = norm(out)
    if distance == 0.0:
        distance = max(x, y, z)
        if x == distance:  # of equally near faces the first
            out = 1.0, 0.0, 0.0
        else:
            out = (0.0, 1.0, 0.0) if y == distance else (0.0, 0.0, 1.0)
    length = norm(out)
    return distance, (
        math.copysign(out[0], p[0]) / length,
        math.copysign(out[1], p[1]) / length,
        math.copysign(out[2], p[2]) / length,
    )


@kernel
def _cylinder(p: Vec3Like, radius: float, half_length: float) -> tuple[float, Vec3]:
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    ux, uy = (p[0] / rho, p[1] / rho) if rho > 1e-12 else (1.0, 0.0)
    side, cap = rho - radius, abs(p[2]) - half_length
    up = math.copysign(1.0, p[2])
    if side <= 0.0 and cap <= 0.0:
        return (side, (ux, uy, 0.0)) if side > cap else (cap, (0.0, 0.0, up))
    side, cap = max(side, 0.0), max(cap, 0.0)
    distance = math.sqrt(side * side + cap * cap)
    side, cap = side / distance, cap / distance
    return distance, (side * ux, side * uy, cap * up)


@kernel
def signed_distance(shape: int, size: Vec3Like, p: Vec3Like) -> tuple[float, Vec3]:
    """
    Return the distance of a point in the object's frame [m], negative inside, and its gradient.

    The gradient is a unit normal that points out of the solid.
    """
    if shape == PLANE:
        return p[2], (0.0, 0.0, 1.0)
    if shape == BOX:
        return _box(p, size)
    if shape == CYLINDER:
        return _cylinder(p, size[0], 0.5 * size[2])
    half = 0.5 * size[2] if shape == CAPSULE else 0.0
    return _ball(p[0], p[1], p[2] - min(max(p[2], -half), half), size[0])


@kernel
def counterpart_point(
    shape: int, size: Vec3Like, other: Vec3Like, p: Vec3Like, distance: float, normal: Vec3Like
) -> Vec3:
    """
    Map a point near an object, its distance and normal, to the same place near another size [m].

    The nearest point of the surface is scaled with the solid; the gap to it keeps its length and
    direction. Touching stays touching, and a gap of 3 cm stays a gap of 3 cm. A point inside,
    which a solid does not allow and noise does, comes to the surface.
    """
    x, y, z = sub(p, scale(normal, distance))
    gap = scale(normal, max(distance, 0.0))
    if shape == PLANE:
        return add((x, y, z), gap)
    if shape == CAPSULE:
        # the core line scales with the length, the distance from it with the radius
        half, share = 0.5 * size[2], other[0] / size[0]
        core = min(max(z, -half), half)
        end = core * (other[2] / size[2]) if size[2] > 0.0 else 0.0
        return add((share * x, share * y, share * (z - core) + end), gap)
    near = other[0] / size[0] * x, other[1] / size[1] * y, other[2] / size[2] * z
    return add(near, gap)


@kernel
def to_object(q: QuatLike, origin: Vec3Like, p: Vec3Like) -> Vec3:
    """Return a world point in an object's frame."""
    return rotate_inverse(q, sub(p, origin))


@kernel
def from_object(q: QuatLike, origin: Vec3Like, p: Vec3Like) -> Vec3:
    """Return a point of an object's frame in world."""
    return add(rotate(q, p), origin)


class Solid(NamedTuple):
    """An object where it stands."""

    shape: int
    size: Vec3
    q: Quat
    origin: Vec3  # [m]


@kernel
def distance_from(solid: Solid, point: Vec3Like) -> tuple[float, Vec3]:
    """
    Return the distance of a point in world from a solid [m], and its normal in world.

    The edges of boxes are rounded, or the way out would change at once as a hand slides over one.
    """
    size, radius = solid.size, 0.0
    if solid.shape == BOX:
        radius = min(EDGE_M, 0.25 * min(size[0], size[1], size[2]))
        size = size[0] - 2.0 * radius, size[1] - 2.0 * radius, size[2] - 2.0 * radius
    local = to_object(solid.q, solid.origin, point)
    distance, normal = signed_distance(solid.shape, size, local)
    return distance - radius, rotate(solid.q, normal)
