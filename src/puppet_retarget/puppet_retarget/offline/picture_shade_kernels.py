# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Colours of a picture's pixels (kernel layer): materials and light.

One sun with soft shadows, a sky that is open or hidden by near bodies, and light that the
floor throws back. Colours are linear light here; the picture's gamma comes last.

"""

import math

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints, Vec3, Vec3s
from puppet_retarget.offline.picture_cull_kernels import shades
from puppet_retarget.offline.picture_floor_kernels import floor_shade
from puppet_retarget.offline.picture_light_kernels import (
    light_share,
    openness,
    sky_hiders,
    solids_light_share,
    SUN_SPREAD,
)
from puppet_retarget.offline.picture_ray_kernels import (
    CAPSULE,
    FLOOR,
    NOTHING,
    SceneArrays,
    SOLID,
    solid_normal,
)

SUN = (1.02, 0.97, 0.88)  # linear light
SKY = (0.40, 0.44, 0.50)  # from straight above
BOUNCE = (0.20, 0.19, 0.175)  # from the floor
FLOOR_COLOUR = (0.60, 0.605, 0.61)
HORIZON = (0.80, 0.82, 0.84)
ZENITH = (0.52, 0.60, 0.70)
FADE_START_M, FADE_END_M = 5.0, 16.0  # distance from the picture's centre: floor to horizon
BLEND_SHARE = 0.5  # of a radius: how far the normals of touching capsules run into each other


@njit(cache=True, nogil=True, error_model='numpy')
def _background(rays: Vec3s, i: int, out: Vec3s) -> None:
    up = min(max(1.6 * rays[i, 2], 0.0), 1.0)
    for k in range(3):
        out[i, k] = HORIZON[k] + up * (ZENITH[k] - HORIZON[k])


@njit(cache=True, nogil=True, error_model='numpy')
def _capsule_surface(
    hit: Vec3, index: int, capsules: Floats, colours: Vec3s, near: Ints, normal: Vec3, albedo: Vec3
) -> None:
    """Write normal and colour of a capsule at a point of its surface."""
    for k in range(3):
        albedo[k] = colours[index, k]
        normal[k] = 0.0
    for k in range(len(near)):
        if _same_colour(colours, near[k], index):
            _add_blended_normal(hit, capsules, near[k], index, normal)
    scale = 1.0 / max(math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2), 1e-9)
    for k in range(3):
        normal[k] *= scale


@njit(cache=True, nogil=True, error_model='numpy')
def _solid_surface(
    hit: Vec3, index: int, scene: SceneArrays, normal: Vec3, albedo: Vec3
) -> None:
    """Write normal and colour of a solid at a point of its surface."""
    solid_normal(
        hit, scene.solid_kinds[index], scene.solid_positions[index],
        scene.solid_orientations[index], scene.solid_sizes[index], normal,
    )  # fmt: skip
    for k in range(3):
        albedo[k] = scene.solid_colours[index, k]


@njit(cache=True, nogil=True, error_model='numpy')
def _same_colour(colours: Vec3s, i: int, j: int) -> bool:
    return (
        colours[i, 0] == colours[j, 0]
        and colours[i, 1] == colours[j, 1]
        and colours[i, 2] == colours[j, 2]
    )


@njit(cache=True, nogil=True, error_model='numpy')
def _add_blended_normal(
    hit: Vec3, capsules: Floats, i: int, index: int, normal: Vec3
) -> None:
    """Add capsule i's normal, the more the nearer its surface: seams look filled in."""
    radius = capsules[i, 7]
    blend = BLEND_SHARE * min(radius, capsules[index, 7])
    ux, uy, uz, uu = capsules[i, 3], capsules[i, 4], capsules[i, 5], capsules[i, 6]
    x, y, z = hit[0] - capsules[i, 0], hit[1] - capsules[i, 1], hit[2] - capsules[i, 2]
    s = min(max((ux * x + uy * y + uz * z) / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    x, y, z = x - s * ux, y - s * uy, z - s * uz
    apart = x * x + y * y + z * z
    if apart >= (radius + blend) ** 2:
        return
    apart = math.sqrt(apart)
    weight = max(1.0 - max(apart - radius, 0.0) / blend, 0.0)
    scale = weight * weight / max(apart, 1e-9)
    normal[0], normal[1], normal[2] = (
        normal[0] + scale * x, normal[1] + scale * y, normal[2] + scale * z
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model='numpy')
def _lit(
    albedo: Vec3, normal: Vec3, ray: Vec3, light: Vec3, direct: float, open_sky: float
) -> None:
    """Replace a colour by the light it sends along the ray backwards."""
    cosine = normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2]
    sun = max(cosine, 0.0) * direct
    up = 0.5 + 0.5 * normal[2]
    facing = -(normal[0] * ray[0] + normal[1] * ray[1] + normal[2] * ray[2])
    # a highlight half way between light and eye, and a faint rim against the background
    hx, hy, hz = light[0] - ray[0], light[1] - ray[1], light[2] - ray[2]
    half = (normal[0] * hx + normal[1] * hy + normal[2] * hz) / math.sqrt(
        hx * hx + hy * hy + hz * hz
    )
    shine = 0.20 * max(half, 0.0) ** 40 * direct + 0.10 * (1.0 - max(facing, 0.0)) ** 4
    for k in range(3):
        around = open_sky * (up * SKY[k] + (1.0 - up) * BOUNCE[k])
        albedo[k] = albedo[k] * (sun * SUN[k] + around) + shine * (0.3 + 0.7 * open_sky)


@njit(cache=True, nogil=True, error_model='numpy')
def _fade(x: float, y: float, centre_x: float, centre_y: float) -> float:
    """Return how much of the horizon's colour the floor has at a place, in [0, 1]."""
    away = math.sqrt((x - centre_x) ** 2 + (y - centre_y) ** 2)
    return min(max((away - FADE_START_M) / (FADE_END_M - FADE_START_M), 0.0), 1.0)


@njit(cache=True, nogil=True, error_model='numpy')
def _bounds(eye: Vec3s, rays: Vec3s, met: Ints, reach: Floats, on_floor: bool) -> Floats:
    """Return a ball around the points that rays met, on the floor or off it, shape (4,) [m]."""
    low, high = np.full(3, math.inf), np.full(3, -math.inf)
    for i in range(len(rays)):
        if met[i, 0] != NOTHING and (met[i, 0] == FLOOR) == on_floor:
            for k in range(3):
                place = eye[3, k] + reach[i] * rays[i, k]
                low[k], high[k] = min(low[k], place), max(high[k], place)
    ball, square = np.empty(4), 0.0
    for k in range(3):
        ball[k] = 0.5 * (low[k] + high[k])
        square += (0.5 * (high[k] - low[k])) ** 2
    ball[3] = math.sqrt(square)
    return ball


@njit(cache=True, nogil=True, error_model='numpy')
def _hide_far_floor(
    eye: Vec3s, rays: Vec3s, met: Ints, reach: Floats, colours: Vec3s
) -> tuple[bool, bool]:
    """
    Colour what needs no light: the sky, and floor that has faded; mark it as nothing.

    Return whether floor is left, and whether anything else.

    """
    floor, other = False, False
    for i in range(len(rays)):
        if met[i, 0] == NOTHING:
            _background(rays, i, colours)
        elif met[i, 0] != FLOOR:
            other = True
        elif _fade(
            eye[3, 0] + reach[i] * rays[i, 0], eye[3, 1] + reach[i] * rays[i, 1],
            eye[4, 0], eye[4, 1],
        ) >= 1.0:  # fmt: skip
            met[i, 0] = NOTHING
            for k in range(3):
                colours[i, k] = HORIZON[k]
        else:
            floor = True
    return floor, other


@njit(cache=True, nogil=True, error_model='numpy')
def shade_rays(
    eye: Vec3s, pixel: float, rays: Vec3s, scene: SceneArrays, met: Ints, reach: Floats,
    colours: Vec3s, lists: Ints,
) -> None:
    """
    Write the colours that neighbouring rays bring back.

    Parameters
    ----------
    eye : ndarray, shape (5, 3)
        The camera's right, up and forward axes, its position, and where the floor is at its
        clearest [m].
    pixel : float
        Size of a pixel on the image plane at distance one.
    rays : ndarray, shape (n, 3)
        Unit directions; the nearer to each other, the less work.
    scene : SceneArrays
        What there is to see.
    met, reach : ndarray, shapes (n, 2) and (n,)
        Kind and index of what each ray met, and how far away [m]; faded floor becomes NOTHING.
    colours : ndarray, shape (n, 3)
        Out: linear light.
    lists : ndarray, shape (3, capsules and solids)
        Is overwritten.

    """
    has_floor, has_others = _hide_far_floor(eye, rays, met, reach, colours)
    for on_floor in (True, False):
        if not (has_floor if on_floor else has_others):
            continue
        region = _bounds(eye, rays, met, reach, on_floor)
        sun = lists[0, :shades(region, scene.light, SUN_SPREAD, scene.balls, lists[0])]
        sky = lists[1, :sky_hiders(region, scene, lists[1])]
        solids = lists[2, :shades(region, scene.light, SUN_SPREAD, scene.solid_balls, lists[2])]
        if on_floor:
            _shade_floor(eye, pixel, rays, scene, met, reach, colours, sun, sky, solids)
        else:
            _shade_others(eye, rays, scene, met, reach, colours, sun, sky, solids)


@njit(cache=True, nogil=True, error_model='numpy')
def _shade_floor(
    eye: Vec3s, pixel: float, rays: Vec3s, scene: SceneArrays, met: Ints, reach: Floats,
    colours: Vec3s, sun: Ints, sky: Ints, solids: Ints,
) -> None:
    work, hit, normal = np.empty((3, 3)), np.zeros(3), np.array([0.0, 0.0, 1.0])
    capsules, parts, light = scene.capsules, scene.parts, scene.light
    for i in range(len(rays)):
        if met[i, 0] != FLOOR:
            continue
        t, down = reach[i], max(-rays[i, 2], 1e-3)
        hit[0], hit[1] = eye[3, 0] + t * rays[i, 0], eye[3, 1] + t * rays[i, 1]
        grey = floor_shade(hit[0], hit[1], rays[i, 0], rays[i, 1], t * pixel, 1.0 / down)
        direct = light_share(hit, light, capsules, -1, sun)
        if len(solids) > 0:
            direct = min(direct, solids_light_share(hit, scene, -1, solids, work))
        open_sky = openness(hit, normal, capsules, parts, -1, sky)
        fade = _fade(hit[0], hit[1], eye[4, 0], eye[4, 1])
        for k in range(3):
            lit = grey * FLOOR_COLOUR[k] * (light[2] * direct * SUN[k] + open_sky * SKY[k])
            colours[i, k] = lit + fade * (HORIZON[k] - lit)


@njit(cache=True, nogil=True, error_model='numpy')
def _shade_others(
    eye: Vec3s, rays: Vec3s, scene: SceneArrays, met: Ints, reach: Floats, colours: Vec3s,
    sun: Ints, sky: Ints, solids: Ints,
) -> None:
    work, ray, hit = np.empty((3, 3)), np.empty(3), np.empty(3)
    normal, colour = np.empty(3), np.empty(3)
    capsules, parts, albedos, light = scene.capsules, scene.parts, scene.colours, scene.light
    for i in range(len(rays)):
        kind, index = met[i, 0], met[i, 1]
        if kind == NOTHING or kind == FLOOR:
            continue
        for k in range(3):
            ray[k] = rays[i, k]
            hit[k] = eye[3, k] + reach[i] * ray[k]
        if kind == CAPSULE:
            _capsule_surface(hit, index, capsules, albedos, sky, normal, colour)
        else:
            _solid_surface(hit, index, scene, normal, colour)
        for k in range(3):
            hit[k] += 1e-5 * normal[k]
        own = index if kind == CAPSULE else -1
        direct = light_share(hit, light, capsules, own, sun)
        if len(solids) > 0:
            own_solid = index if kind == SOLID else -1
            direct = min(direct, solids_light_share(hit, scene, own_solid, solids, work))
        open_sky = openness(hit, normal, capsules, parts, own, sky)
        _lit(colour, normal, ray, light, direct, open_sky)
        for k in range(3):
            colours[i, k] = colour[k]
