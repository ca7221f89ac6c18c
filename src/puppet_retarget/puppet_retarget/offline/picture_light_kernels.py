# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How much light arrives at a point of a picture (kernel layer): soft shadows, open sky.

Near bodies are found through balls around each body and each of its parts.

"""

import math

from numba import njit
from puppet_core.arrays import Vec3, Vec3s
from puppet_retarget.offline.picture_ray_kernels import (
    CAPSULE,
    is_near,
    passes,
    SceneArrays,
    SOLID,
    solid_hit,
)

OCCLUSION_REACH = 7.0  # radii from a capsule at which it no longer hides any sky [-]
SUN_SPREAD = 0.045  # tangent of half the light's apparent size: how soft shadows are [-]
_SUN_SAMPLES = 16  # rays towards the light where a box or cylinder may be in the way
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@njit(cache=True, nogil=True)
def _capsule_light(hit: Vec3, light: Vec3, start: Vec3, end: Vec3, radius: float) -> float:
    """
    Return the share of the light that a capsule lets through, in [0, 1].

    The core line's closest approach to the ray, over the distance to it, is compared with
    the light's apparent size.

    """
    ux, uy, uz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    x, y, z = hit[0] - start[0], hit[1] - start[1], hit[2] - start[2]
    uu = ux * ux + uy * uy + uz * uz
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
    gap = math.sqrt(dx * dx + dy * dy + dz * dz) - radius
    share = min(max(0.5 + 0.5 * gap / (SUN_SPREAD * t + 1e-4), 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


@njit(cache=True, nogil=True)
def _solid_light(hit: Vec3, scene: SceneArrays, own: int, work: Vec3s) -> float:
    """Return the share of the light that boxes and cylinders let through."""
    light, seen = scene.light, 0
    near = False
    for i in range(len(scene.solid_kinds)):
        if i != own and not passes(hit, light, scene.solid_balls[i], SUN_SPREAD):
            near = True
    if not near:
        return 1.0
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
        for i in range(len(scene.solid_kinds)):
            if i != own and clear:
                t = solid_hit(
                    hit, ray, scene.solid_kinds[i], scene.solid_positions[i],
                    scene.solid_orientations[i], scene.solid_sizes[i], work,
                )  # fmt: skip
                clear = t == math.inf
        seen += clear
    return seen / _SUN_SAMPLES


@njit(cache=True, nogil=True)
def light_share(hit: Vec3, scene: SceneArrays, kind: int, own: int, work: Vec3s) -> float:
    """
    Return the share of the direct light that arrives at a point of a surface, in [0, 1].

    `kind` and `own` say which surface, for it does not shade itself: it is convex, and its
    far side is dark by its normal. `work`, shape (3, 3), is overwritten.

    """
    share, light = 1.0, scene.light
    for body in range(len(scene.bodies)):
        if passes(hit, light, scene.body_balls[body], SUN_SPREAD):
            continue
        for part in range(scene.bodies[body, 0], scene.bodies[body, 1]):
            if share <= 0.0 or passes(hit, light, scene.part_balls[part], SUN_SPREAD):
                continue
            for i in range(scene.parts[part, 0], scene.parts[part, 1]):
                if kind != CAPSULE or i != own:
                    seen = _capsule_light(
                        hit, light, scene.starts[i], scene.ends[i], scene.radii[i]
                    )
                    share = min(share, seen)
    if len(scene.solid_kinds) > 0 and share > 0.0:
        share = min(share, _solid_light(hit, scene, own if kind == SOLID else -1, work))
    return share


@njit(cache=True, nogil=True)
def _filled(hit: Vec3, normal: Vec3, start: Vec3, end: Vec3, radius: float) -> float:
    """Return the share of the sky over a surface that a capsule hides."""
    ux, uy, uz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    x, y, z = hit[0] - start[0], hit[1] - start[1], hit[2] - start[2]
    uu = ux * ux + uy * uy + uz * uz
    s = min(max((ux * x + uy * y + uz * z) / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    x, y, z = s * ux - x, s * uy - y, s * uz - z
    apart = math.sqrt(x * x + y * y + z * z) + 1e-9
    fade = max(1.0 - (apart / (OCCLUSION_REACH * radius)) ** 2, 0.0)
    # the nearest ball of the capsule fills (r / d)^2 cos of the sky over the normal
    cosine = (x * normal[0] + y * normal[1] + z * normal[2]) / apart
    return max(cosine, 0.0) * min(radius / apart, 1.0) ** 2 * fade * fade


@njit(cache=True, nogil=True)
def openness(hit: Vec3, normal: Vec3, scene: SceneArrays, kind: int, own: int) -> float:
    """Return the share of the sky that the bodies near a point leave open, in (0, 1]."""
    share = 1.0
    for body in range(len(scene.bodies)):
        if not is_near(hit, scene.body_balls[body], 1.0):
            continue
        for part in range(scene.bodies[body, 0], scene.bodies[body, 1]):
            reach = OCCLUSION_REACH * scene.part_radii[part]
            if not is_near(hit, scene.part_balls[part], reach):
                continue
            # a part's capsules overlap: only the one that hides most counts
            hidden = 0.0
            for i in range(scene.parts[part, 0], scene.parts[part, 1]):
                if kind != CAPSULE or i != own:
                    here = _filled(
                        hit, normal, scene.starts[i], scene.ends[i], scene.radii[i]
                    )
                    hidden = max(hidden, here)
            share *= 1.0 - 0.75 * hidden
    return share
