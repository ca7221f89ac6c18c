# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How much light arrives at a point of a picture (kernel layer): soft shadows, open sky.

What is near or in the way is chosen beforehand, by `picture_cull_kernels`.

"""

import math

from numba import njit
from puppet_core.arrays import Floats, Ints, Vec3, Vec3s
from puppet_retarget.offline.picture_cull_kernels import is_within
from puppet_retarget.offline.picture_ray_kernels import SceneArrays, solid_hit

OCCLUSION_REACH = 7.0  # radii from a capsule at which it no longer hides any sky [-]
SUN_SPREAD = 0.045  # tangent of half the light's apparent size: how soft shadows are [-]
_SUN_SAMPLES = 16  # rays towards the light where a box or cylinder may be in the way
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@njit(cache=True, nogil=True, error_model='numpy')
def _capsule_light(hit: Vec3, light: Vec3, capsules: Floats, i: int) -> float:
    """
    Return the share of the light that capsule i lets through, in [0, 1].

    The core line's closest approach to the ray, over the distance to it, is compared with
    the light's apparent size.

    """
    ux, uy, uz, uu = capsules[i, 3], capsules[i, 4], capsules[i, 5], capsules[i, 6]
    x, y, z = hit[0] - capsules[i, 0], hit[1] - capsules[i, 1], hit[2] - capsules[i, 2]
    ul = ux * light[0] + uy * light[1] + uz * light[2]
    up = ux * x + uy * y + uz * z
    lp = light[0] * x + light[1] * y + light[2] * z
    a = uu - ul * ul
    s = 0.0
    if a > 1e-9 * uu:
        s = min(max((up - ul * lp) / a, 0.0), 1.0)
    t = s * ul - lp
    if t <= 0.0:
        return 1.0
    dx, dy, dz = x + t * light[0] - s * ux, y + t * light[1] - s * uy, z + t * light[2] - s * uz
    soft, radius = SUN_SPREAD * t + 1e-4, capsules[i, 7]
    apart = dx * dx + dy * dy + dz * dz
    if apart >= (radius + soft) ** 2:
        return 1.0
    share = min(max(0.5 + 0.5 * (math.sqrt(apart) - radius) / soft, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


@njit(cache=True, nogil=True, error_model='numpy')
def light_share(hit: Vec3, light: Vec3, capsules: Floats, own: int, near: Ints) -> float:
    """
    Return the share of the direct light that capsules let through to a point, in [0, 1].

    Parameters
    ----------
    hit : ndarray, shape (3,)
        The point, on a surface [m].
    light : ndarray, shape (3,)
        Unit, towards the light.
    capsules : ndarray, shape (n, 8)
        As in SceneArrays.
    own : int
        The capsule that the point is on, or -1: it does not shade itself, for it is convex, and
        its far side is dark by its normal.
    near : ndarray of int
        The capsules that may be in the way.

    """
    share = 1.0
    for k in range(len(near)):
        if near[k] != own:
            share = min(share, _capsule_light(hit, light, capsules, near[k]))
            if share <= 0.0:
                break
    return share


@njit(cache=True, nogil=True, error_model='numpy')
def solids_light_share(
    hit: Vec3, scene: SceneArrays, own: int, near: Ints, work: Vec3s
) -> float:
    """
    Return the share of the light that boxes and cylinders let through, in [0, 1].

    The parameters are those of `light_share`, for solids; `work`, shape (3, 3), is overwritten.

    """
    light, seen = scene.light, 0
    ray = work[2]
    for sample in range(_SUN_SAMPLES):
        # evenly over the light's disc, on a sunflower spiral
        out = SUN_SPREAD * math.sqrt((sample + 0.5) / _SUN_SAMPLES)
        angle = sample * _GOLDEN_ANGLE
        ray[0] = light[0] + out * math.cos(angle)
        ray[1] = light[1] + out * math.sin(angle)
        ray[2] = light[2]
        scale = 1.0 / math.sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2])
        ray[0], ray[1], ray[2] = scale * ray[0], scale * ray[1], scale * ray[2]
        clear = True
        for k in range(len(near)):
            i = near[k]
            if i != own and clear:
                t = solid_hit(
                    hit, ray, scene.solid_kinds[i], scene.solid_positions[i],
                    scene.solid_orientations[i], scene.solid_sizes[i], work,
                )  # fmt: skip
                clear = t == math.inf
        seen += clear
    return seen / _SUN_SAMPLES


@njit(cache=True, nogil=True, error_model='numpy')
def _hidden(hit: Vec3, normal: Vec3, capsules: Floats, i: int) -> float:
    """Return the share of the sky over a surface that capsule i hides."""
    ux, uy, uz, uu = capsules[i, 3], capsules[i, 4], capsules[i, 5], capsules[i, 6]
    x, y, z = hit[0] - capsules[i, 0], hit[1] - capsules[i, 1], hit[2] - capsules[i, 2]
    s = min(max((ux * x + uy * y + uz * z) / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    x, y, z = s * ux - x, s * uy - y, s * uz - z
    cosine = x * normal[0] + y * normal[1] + z * normal[2]
    if cosine <= 0.0:
        return 0.0
    radius = capsules[i, 7]
    far_sq, near_sq = (OCCLUSION_REACH * radius) ** 2, x * x + y * y + z * z + 1e-12
    if near_sq >= far_sq:
        return 0.0
    fade = 1.0 - near_sq / far_sq
    # the nearest ball of the capsule fills (r / d)^2 cos of the sky over the normal
    return cosine / math.sqrt(near_sq) * min(radius * radius / near_sq, 1.0) * fade * fade


@njit(cache=True, nogil=True, error_model='numpy')
def sky_hiders(region: Floats, scene: SceneArrays, out: Ints) -> int:
    """Write which capsules can hide sky from a region, shape (4,) [m]; return how many."""
    balls, capsules, count = scene.balls, scene.capsules, 0
    for i in range(len(balls)):
        # measured from the core line: the ball around a capsule has its radius in it
        if is_within(region, balls, i, (OCCLUSION_REACH - 1.0) * capsules[i, 7]):
            out[count] = i
            count += 1
    return count


@njit(cache=True, nogil=True, error_model='numpy')
def openness(
    hit: Vec3, normal: Vec3, capsules: Floats, parts: Ints, own: int, near: Ints
) -> float:
    """
    Return the share of the sky that the capsules near a point leave open, in (0, 1].

    Parameters
    ----------
    hit, normal : ndarray, shape (3,)
        The point, on a surface [m], and the surface's outward direction.
    capsules, parts : ndarray, shapes (n, 8) and (n,)
        As in SceneArrays.
    own : int
        The capsule that the point is on, or -1.
    near : ndarray of int
        The capsules that can hide sky there, from the first part to the last.

    """
    share, hidden, part = 1.0, 0.0, -1
    for k in range(len(near)):
        i = near[k]
        if parts[i] != part:
            # a part's capsules overlap: only the one that hides most counts
            share *= 1.0 - 0.75 * hidden
            hidden, part = 0.0, parts[i]
        if i != own:
            hidden = max(hidden, _hidden(hit, normal, capsules, i))
    return share * (1.0 - 0.75 * hidden)
