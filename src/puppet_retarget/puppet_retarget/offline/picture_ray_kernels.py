# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rays against the solids of a picture (kernel layer): what they meet first, and where.

A ray is a point and a unit direction; a miss is infinity. Everything is in world
coordinates, in metres; the floor is the plane z = 0.

"""

import math
from typing import NamedTuple

from numba import njit
from puppet_core.arrays import Floats, Ints, Quat, Quats, Vec3, Vec3s
from puppet_core.quaternion import rotate, rotate_inverse

NOTHING, FLOOR, CAPSULE, SOLID = 0, 1, 2, 3
BOX_SOLID, CYLINDER_SOLID = 0, 1


class SceneArrays(NamedTuple):
    """All that rays can meet, as arrays for the kernels."""

    capsules: Floats  # (n, 8) start, end minus start [m], that squared [m^2], radius [m]
    balls: Floats  # (n, 4) centre and radius of a ball around each capsule [m]
    parts: Ints  # (n,) which part of a body a capsule belongs to, never falling
    colours: Vec3s  # (n, 3) linear light
    solid_kinds: Ints  # (m,) BOX_SOLID or CYLINDER_SOLID
    solid_positions: Vec3s  # (m, 3)
    solid_orientations: Quats  # (m, 4)
    solid_sizes: Vec3s  # (m, 3) half extents; radius, radius, half length
    solid_balls: Floats  # (m, 4) centre and radius of a ball around each [m]
    solid_colours: Vec3s  # (m, 3) linear light
    light: Vec3  # (3,) unit, towards the light


@njit(cache=True, nogil=True, error_model='numpy')
def _ball_hit(x: float, y: float, z: float, ray: Vec3, radius: float) -> float:
    """Return the distance along the ray to a ball's near side; x, y, z: from its centre."""
    ahead = x * ray[0] + y * ray[1] + z * ray[2]
    inside = ahead * ahead - (x * x + y * y + z * z - radius * radius)
    if inside < 0.0:
        return math.inf
    t = -ahead - math.sqrt(inside)
    return t if t > 0.0 else math.inf


@njit(cache=True, nogil=True, error_model='numpy')
def capsule_hit(point: Vec3, ray: Vec3, capsules: Floats, i: int) -> float:
    """Return the distance along the ray to the outside of capsule i, or infinity."""
    ux, uy, uz, uu = capsules[i, 3], capsules[i, 4], capsules[i, 5], capsules[i, 6]
    x, y, z = point[0] - capsules[i, 0], point[1] - capsules[i, 1], point[2] - capsules[i, 2]
    radius = capsules[i, 7]
    ur = ux * ray[0] + uy * ray[1] + uz * ray[2]
    up = ux * x + uy * y + uz * z
    # squared distance to the endless core line, times uu, is a quadratic in t
    a = uu - ur * ur
    if a < 1e-9 * uu or uu == 0.0:
        if ur >= 0.0:
            return _ball_hit(x, y, z, ray, radius)
        return _ball_hit(x - ux, y - uy, z - uz, ray, radius)
    b = uu * (x * ray[0] + y * ray[1] + z * ray[2]) - up * ur
    c = uu * (x * x + y * y + z * z - radius * radius) - up * up
    inside = b * b - a * c
    if inside < 0.0:
        return math.inf
    t = -(b + math.sqrt(inside)) / a
    along = up + t * ur
    if along < 0.0:
        return _ball_hit(x, y, z, ray, radius)
    if along > uu:
        return _ball_hit(x - ux, y - uy, z - uz, ray, radius)
    return t if t > 0.0 else math.inf


@njit(cache=True, nogil=True, error_model='numpy')
def _box_hit(point: Vec3, ray: Vec3, half: Vec3) -> float:
    near, far = -math.inf, math.inf
    for k in range(3):
        if abs(ray[k]) < 1e-12:
            if abs(point[k]) > half[k]:
                return math.inf
            continue
        low, high = (-half[k] - point[k]) / ray[k], (half[k] - point[k]) / ray[k]
        near, far = max(near, min(low, high)), min(far, max(low, high))
    return near if 0.0 < near <= far else math.inf


@njit(cache=True, nogil=True, error_model='numpy')
def _cylinder_hit(point: Vec3, ray: Vec3, size: Vec3) -> float:
    """Return the distance to an upright cylinder about the origin."""
    near, far = -math.inf, math.inf
    a = ray[0] * ray[0] + ray[1] * ray[1]
    c = point[0] * point[0] + point[1] * point[1] - size[0] * size[0]
    if a > 1e-12:
        b = point[0] * ray[0] + point[1] * ray[1]
        inside = b * b - a * c
        if inside < 0.0:
            return math.inf
        near, far = (-b - math.sqrt(inside)) / a, (-b + math.sqrt(inside)) / a
    elif c > 0.0:
        return math.inf
    if abs(ray[2]) > 1e-12:
        low, high = (-size[2] - point[2]) / ray[2], (size[2] - point[2]) / ray[2]
        near, far = max(near, min(low, high)), min(far, max(low, high))
    elif abs(point[2]) > size[2]:
        return math.inf
    return near if 0.0 < near <= far else math.inf


@njit(cache=True, nogil=True, error_model='numpy')
def solid_hit(
    point: Vec3, ray: Vec3, kind: int, position: Vec3, orientation: Quat, size: Vec3, work: Vec3s
) -> float:
    """Return the distance to a box or cylinder; `work`, shape (2, 3), is overwritten."""
    for k in range(3):
        work[0, k] = point[k] - position[k]
    rotate_inverse(orientation, work[0], work[0])
    rotate_inverse(orientation, ray, work[1])
    if kind == BOX_SOLID:
        return _box_hit(work[0], work[1], size)
    return _cylinder_hit(work[0], work[1], size)


@njit(cache=True, nogil=True, error_model='numpy')
def solid_normal(
    hit: Vec3, kind: int, position: Vec3, orientation: Quat, size: Vec3, out: Vec3
) -> None:
    """Write the outward normal of a box or cylinder at a point of its surface."""
    for k in range(3):
        out[k] = hit[k] - position[k]
    rotate_inverse(orientation, out, out)
    x, y, z = out[0], out[1], out[2]
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    if kind == BOX_SOLID:
        dx, dy, dz = abs(x) / size[0], abs(y) / size[1], abs(z) / size[2]
        if dx >= dy and dx >= dz:
            out[0] = math.copysign(1.0, x)
        elif dy >= dz:
            out[1] = math.copysign(1.0, y)
        else:
            out[2] = math.copysign(1.0, z)
    elif abs(z) / size[2] > math.sqrt(x * x + y * y) / size[0]:
        out[2] = math.copysign(1.0, z)
    else:
        scale = 1.0 / math.sqrt(x * x + y * y)
        out[0], out[1] = scale * x, scale * y
    rotate(orientation, out, out)


@njit(cache=True, nogil=True, error_model='numpy')
def first_capsule(point: Vec3, ray: Vec3, capsules: Floats, near: Ints) -> tuple[float, int, int]:
    """
    Return distance, kind and index of what the ray meets first: floor or capsules.

    `near` are the capsules that it can meet. Here and wherever work is done for each ray, only
    the arrays that are needed are handed on: to hand on all of a scene takes longer than the work.

    """
    best, kind, index = math.inf, NOTHING, -1
    if ray[2] < 0.0 < point[2]:
        best, kind = -point[2] / ray[2], FLOOR
    for k in range(len(near)):
        t = capsule_hit(point, ray, capsules, near[k])
        if t < best:
            best, kind, index = t, CAPSULE, near[k]
    return best, kind, index


@njit(cache=True, nogil=True, error_model='numpy')
def first_solid(
    point: Vec3, ray: Vec3, scene: SceneArrays, near: Ints, work: Vec3s
) -> tuple[float, int]:
    """Return distance and index of the solid that the ray meets first; work: shape (2, 3)."""
    best, index = math.inf, -1
    for k in range(len(near)):
        i = near[k]
        t = solid_hit(
            point, ray, scene.solid_kinds[i], scene.solid_positions[i],
            scene.solid_orientations[i], scene.solid_sizes[i], work,
        )  # fmt: skip
        if t < best:
            best, index = t, i
    return best, index
