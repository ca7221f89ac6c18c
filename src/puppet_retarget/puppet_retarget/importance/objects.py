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

from puppet_core.math import kernel, Quat, rotate, rotate_inverse, Vec3, work_array

PLANE, BOX, SPHERE, CYLINDER, CAPSULE = 0, 1, 2, 3, 4
SHAPES = ('plane', 'box', 'sphere', 'cylinder', 'capsule')


@kernel
def _radial(p: Vec3, normal: Vec3, z_core: float) -> float:
    """Return the distance from the point (0, 0, z_core); fill the unit direction from it."""
    x, y, z = p[0], p[1], p[2] - z_core
    rho = math.sqrt(x * x + y * y + z * z)
    if rho > 1e-12:
        normal[0], normal[1], normal[2] = x / rho, y / rho, z / rho
    else:
        normal[0], normal[1], normal[2] = 1.0, 0.0, 0.0
    return rho


@kernel
def _box(p: Vec3, size: Vec3, normal: Vec3) -> float:
    outside = 0.0
    nearest, face = math.inf, 0
    for k in range(3):
        excess = abs(p[k]) - 0.5 * size[k]
        step = max(excess, 0.0)
        normal[k] = math.copysign(step, p[k])
        outside += step * step
        if -excess < nearest:
            nearest, face = -excess, k
    if outside > 0.0:
        distance = math.sqrt(outside)
        for k in range(3):
            normal[k] /= distance
        return distance
    normal[0], normal[1], normal[2] = 0.0, 0.0, 0.0
    normal[face] = math.copysign(1.0, p[face])
    return -nearest


@kernel
def _cylinder(p: Vec3, radius: float, half_length: float, normal: Vec3) -> float:
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    ux, uy = (p[0] / rho, p[1] / rho) if rho > 1e-12 else (1.0, 0.0)
    side, cap = rho - radius, abs(p[2]) - half_length
    up = math.copysign(1.0, p[2])
    if side <= 0.0 and cap <= 0.0:
        if side > cap:
            normal[0], normal[1], normal[2] = ux, uy, 0.0
            return side
        normal[0], normal[1], normal[2] = 0.0, 0.0, up
        return cap
    side, cap = max(side, 0.0), max(cap, 0.0)
    distance = math.sqrt(side * side + cap * cap)
    side, cap = side / distance, cap / distance
    normal[0], normal[1], normal[2] = side * ux, side * uy, cap * up
    return distance


@kernel
def signed_distance(shape: int, size: Vec3, p: Vec3, normal: Vec3) -> float:
    """
    Return the distance of a point in the object's frame, negative inside; write its gradient.

    The gradient is a unit normal that points out of the solid; sizes are as in the module's head
    [m].
    """
    if shape == PLANE:
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        return p[2]
    if shape == BOX:
        return _box(p, size, normal)
    if shape == SPHERE:
        return _radial(p, normal, 0.0) - size[0]
    if shape == CYLINDER:
        return _cylinder(p, size[0], 0.5 * size[2], normal)
    half = 0.5 * size[2]
    return _radial(p, normal, min(max(p[2], -half), half)) - size[0]


@kernel
def counterpart_point(shape: int, size: Vec3, other: Vec3, p: Vec3, out: Vec3) -> None:
    """
    Map a point near an object to the same place near an object of another size [m].

    The nearest point of the surface is scaled with the solid; the gap to it keeps its length and
    direction. Touching stays touching, and a gap of 3 cm stays a gap of 3 cm. A point inside,
    which a solid does not allow and noise does, comes to the surface.
    """
    normal = work_array(3)
    distance = signed_distance(shape, size, p, normal)
    move_to_counterpart(shape, size, other, p, distance, normal, out)


@kernel
def move_to_counterpart(
    shape: int, size: Vec3, other: Vec3, p: Vec3, distance: float, normal: Vec3, out: Vec3
) -> None:
    """Write what `counterpart_point` does, with the signed distance and normal of p at hand."""
    gap = max(distance, 0.0)
    if shape == CAPSULE:
        # the core line scales with the length, the distance from it with the radius
        half = 0.5 * size[2]
        core = min(max(p[2] - distance * normal[2], -half), half)
        core_other = core * (other[2] / size[2]) if size[2] > 0.0 else 0.0
    else:
        core, core_other = 0.0, 0.0
    for k in range(3):
        nearest = p[k] - distance * normal[k]
        if k == 2:
            nearest -= core
        if shape == CAPSULE:
            scale = other[0] / size[0]
        elif shape == PLANE:
            scale = 1.0
        else:
            scale = other[k] / size[k]
        out[k] = scale * nearest + gap * normal[k]
    out[2] += core_other


@kernel
def to_object(q: Quat, origin: Vec3, p: Vec3, out: Vec3) -> None:
    """Write a world point in an object's frame."""
    for k in range(3):
        out[k] = p[k] - origin[k]
    out[:] = rotate_inverse(q, out)


@kernel
def from_object(q: Quat, origin: Vec3, p: Vec3, out: Vec3) -> None:
    """Write a point of an object's frame in world."""
    out[:] = rotate(q, p)
    for k in range(3):
        out[k] += origin[k]
