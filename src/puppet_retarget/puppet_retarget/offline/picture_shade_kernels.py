# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Colours of a picture's pixels (kernel layer): materials, light, floor grid, smooth edges.

One sun with soft shadows, a sky that is open or hidden by near bodies, and light that the
floor throws back. Colours are linear light here; the picture's gamma comes last.

"""

import math

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints, Vec3, Vec3s
from puppet_retarget.offline.picture_light_kernels import light_share, openness
from puppet_retarget.offline.picture_ray_kernels import (
    CAPSULE,
    first_hit,
    FLOOR,
    is_near,
    NOTHING,
    SceneArrays,
    solid_normal,
)

SUN = (1.02, 0.97, 0.88)  # linear light
SKY = (0.40, 0.44, 0.50)  # from straight above
BOUNCE = (0.20, 0.19, 0.175)  # from the floor
FLOOR_COLOUR = (0.60, 0.605, 0.61)
HORIZON = (0.80, 0.82, 0.84)
ZENITH = (0.52, 0.60, 0.70)
GRID_STEP_M = 0.5
GRID_WIDTH_M = 0.008
GRID_DARKNESS = 0.16
FADE_START_M, FADE_END_M = 5.0, 16.0  # distance from the picture's centre: floor to horizon
BLEND_SHARE = 0.5  # of a radius: how far the normals of touching capsules run into each other
SURFACE_TOL_M = 1e-3  # a hit may lie this far outside the ball around what it hit
SUBSAMPLES = 3  # along each side of a pixel on an edge
EDGE_CONTRAST = 0.06  # sum of differences between neighbours' colours that makes an edge [-]


@njit(cache=True, nogil=True)
def _grid_cover(coordinate: float, width: float) -> float:
    """Return how much of a footprint of this width is covered by a grid line."""
    apart = abs(coordinate / GRID_STEP_M - round(coordinate / GRID_STEP_M)) * GRID_STEP_M
    half = 0.5 * GRID_WIDTH_M
    low, high = max(apart - 0.5 * width, -half), min(apart + 0.5 * width, half)
    return max(high - low, 0.0) / width


@njit(cache=True, nogil=True)
def _floor_albedo(hit: Vec3, ray: Vec3, t: float, pixel: float, out: Vec3) -> None:
    """Write the floor's colour with its grid, averaged over the pixel's footprint."""
    slope = 1.0 / max(-ray[2], 1e-3)
    # the footprint is longer along the ray's own direction over the floor
    level = math.sqrt(ray[0] * ray[0] + ray[1] * ray[1]) + 1e-9
    cx, cy = abs(ray[0]) / level, abs(ray[1]) / level
    width = t * pixel
    cover_x = _grid_cover(hit[0], width * (1.0 + cx * (slope - 1.0)))
    cover_y = _grid_cover(hit[1], width * (1.0 + cy * (slope - 1.0)))
    dark = 1.0 - GRID_DARKNESS * (1.0 - (1.0 - cover_x) * (1.0 - cover_y))
    for k in range(3):
        out[k] = dark * FLOOR_COLOUR[k]


@njit(cache=True, nogil=True)
def _background(ray: Vec3, out: Vec3) -> None:
    up = min(max(1.6 * ray[2], 0.0), 1.0)
    for k in range(3):
        out[k] = HORIZON[k] + up * (ZENITH[k] - HORIZON[k])


@njit(cache=True, nogil=True)
def _surface(
    hit: Vec3, kind: int, index: int, scene: SceneArrays, normal: Vec3, albedo: Vec3
) -> None:
    """Write normal and colour of a capsule or solid at a point of its surface."""
    if kind != CAPSULE:
        solid_normal(
            hit, scene.solid_kinds[index], scene.solid_positions[index],
            scene.solid_orientations[index], scene.solid_sizes[index], normal,
        )  # fmt: skip
        albedo[:] = scene.solid_colours[index]
        return
    albedo[:] = scene.colours[index]
    normal[:] = 0.0
    for body in range(len(scene.bodies)):
        if not is_near(hit, scene.body_balls[body], SURFACE_TOL_M):
            continue
        for part in range(scene.bodies[body, 0], scene.bodies[body, 1]):
            reach = SURFACE_TOL_M + BLEND_SHARE * scene.part_radii[part]
            if not is_near(hit, scene.part_balls[part], reach):
                continue
            for i in range(scene.parts[part, 0], scene.parts[part, 1]):
                if _same_colour(scene.colours[i], albedo):
                    _add_blended_normal(hit, i, index, scene, normal)
    scale = 1.0 / max(math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2), 1e-9)
    for k in range(3):
        normal[k] *= scale


@njit(cache=True, nogil=True)
def _same_colour(a: Vec3, b: Vec3) -> bool:
    return a[0] == b[0] and a[1] == b[1] and a[2] == b[2]


@njit(cache=True, nogil=True)
def _add_blended_normal(
    hit: Vec3, i: int, index: int, scene: SceneArrays, normal: Vec3
) -> None:
    """Add capsule i's normal, the more the nearer its surface: seams look filled in."""
    blend = BLEND_SHARE * min(scene.radii[i], scene.radii[index])
    start, end = scene.starts[i], scene.ends[i]
    ux, uy, uz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    x, y, z = hit[0] - start[0], hit[1] - start[1], hit[2] - start[2]
    uu = ux * ux + uy * uy + uz * uz
    s = min(max((ux * x + uy * y + uz * z) / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    x, y, z = x - s * ux, y - s * uy, z - s * uz
    apart = math.sqrt(x * x + y * y + z * z)
    weight = max(1.0 - max(apart - scene.radii[i], 0.0) / blend, 0.0)
    scale = weight * weight / max(apart, 1e-9)
    normal[0], normal[1], normal[2] = (
        normal[0] + scale * x, normal[1] + scale * y, normal[2] + scale * z
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _lit(
    albedo: Vec3, normal: Vec3, ray: Vec3, scene: SceneArrays, direct: float, open_sky: float,
    gloss: float,
) -> None:
    """Replace a colour by the light it sends along the ray backwards."""
    light = scene.light
    cosine = normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2]
    sun = max(cosine, 0.0) * direct
    up = 0.5 + 0.5 * normal[2]
    facing = -(normal[0] * ray[0] + normal[1] * ray[1] + normal[2] * ray[2])
    # a highlight half way between light and eye, and a faint rim against the background
    hx, hy, hz = light[0] - ray[0], light[1] - ray[1], light[2] - ray[2]
    half = (normal[0] * hx + normal[1] * hy + normal[2] * hz) / math.sqrt(
        hx * hx + hy * hy + hz * hz
    )
    shine = gloss * (0.20 * max(half, 0.0) ** 40 * direct + 0.10 * (1.0 - max(facing, 0.0)) ** 4)
    for k in range(3):
        around = open_sky * (up * SKY[k] + (1.0 - up) * BOUNCE[k])
        albedo[k] = albedo[k] * (sun * SUN[k] + around) + shine * (0.3 + 0.7 * open_sky)


@njit(cache=True, nogil=True)
def trace(
    point: Vec3, ray: Vec3, scene: SceneArrays, centre: Vec3, pixel: float, work: Vec3s, out: Vec3
) -> int:
    """
    Write the colour that a ray brings back; return which kind of thing it met.

    `pixel` is the angle between neighbouring pixels [rad], `centre` where the floor is at
    its clearest [m]; `work`, shape (6, 3), is overwritten.

    """
    t, kind, index = first_hit(point, ray, scene, work)
    if kind == NOTHING:
        _background(ray, out)
        return kind
    hit, normal = work[3], work[4]
    for k in range(3):
        hit[k] = point[k] + t * ray[k]
    if kind == FLOOR:
        away = math.sqrt((hit[0] - centre[0]) ** 2 + (hit[1] - centre[1]) ** 2)
        fade = min(max((away - FADE_START_M) / (FADE_END_M - FADE_START_M), 0.0), 1.0)
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        hit[2] = 0.0
        _floor_albedo(hit, ray, t, pixel, out)
    else:
        fade = 0.0
        _surface(hit, kind, index, scene, normal, out)
    for k in range(3):
        hit[k] += 1e-5 * normal[k]
    direct = light_share(hit, scene, kind, index, work)
    open_sky = openness(hit, normal, scene, kind, index)
    _lit(out, normal, ray, scene, direct, open_sky, 0.0 if kind == FLOOR else 1.0)
    for k in range(3):
        out[k] += fade * (HORIZON[k] - out[k])
    return kind


@njit(cache=True, nogil=True)
def _aim(axes: Vec3s, x: float, y: float, ray: Vec3) -> None:
    """Write the direction through (x, y) of the image plane; axes: right, up, forward."""
    norm = 0.0
    for k in range(3):
        ray[k] = x * axes[0, k] + y * axes[1, k] + axes[2, k]
        norm += ray[k] * ray[k]
    scale = 1.0 / math.sqrt(norm)
    for k in range(3):
        ray[k] *= scale


@njit(cache=True, nogil=True)
def draw_rows(
    eye: Vec3s, pixel: float, rows: tuple[int, int], scene: SceneArrays, image: Floats, kinds: Ints
) -> None:
    """
    Fill rows of an image, one ray a pixel.

    Parameters
    ----------
    eye : ndarray, shape (5, 3)
        The camera's right, up and forward axes, its position and the picture's centre [m].
    pixel : float
        Size of a pixel on the image plane at distance one.
    rows : tuple of int
        First row, and one past the last.
    scene : SceneArrays
        What there is to see.
    image : ndarray, shape (height, width, 3)
        Out: linear light.
    kinds : ndarray, shape (height, width)
        Out: which kind of thing, NOTHING ... SOLID.

    """
    height, width = kinds.shape
    ray, work = np.empty(3), np.empty((6, 3))
    for row in range(rows[0], rows[1]):
        for column in range(width):
            x, y = pixel * (column + 0.5 - 0.5 * width), pixel * (0.5 * height - row - 0.5)
            _aim(eye, x, y, ray)
            kinds[row, column] = trace(
                eye[3], ray, scene, eye[4], pixel, work, image[row, column]
            )


@njit(cache=True, nogil=True)
def _is_edge(row: int, column: int, image: Floats, kinds: Ints) -> bool:
    height, width = kinds.shape
    here = image[row, column]
    for d_row, d_column in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        r, c = row + d_row, column + d_column
        if 0 <= r < height and 0 <= c < width:
            if kinds[r, c] != kinds[row, column]:
                return True
            # the floor's lines and shadows are smooth of themselves
            there = image[r, c]
            step = abs(there[0] - here[0]) + abs(there[1] - here[1]) + abs(there[2] - here[2])
            if kinds[r, c] > FLOOR and step > EDGE_CONTRAST:
                return True
    return False


@njit(cache=True, nogil=True)
def smooth_rows(
    eye: Vec3s, pixel: float, rows: tuple[int, int], scene: SceneArrays, coarse: Floats,
    kinds: Ints, image: Floats,
) -> None:
    """
    Copy rows of `coarse` into `image`, with the pixels on edges traced anew and finer.

    The parameters are those of `draw_rows`; `coarse` and `kinds` are what it filled.

    """
    height, width = kinds.shape
    ray, work, colour = np.empty(3), np.empty((6, 3)), np.empty(3)
    for row in range(rows[0], rows[1]):
        for column in range(width):
            image[row, column] = coarse[row, column]
            if not _is_edge(row, column, coarse, kinds):
                continue
            image[row, column] = 0.0
            for sub in range(SUBSAMPLES * SUBSAMPLES):
                right = (sub % SUBSAMPLES + 0.5) / SUBSAMPLES
                down = (sub // SUBSAMPLES + 0.5) / SUBSAMPLES
                x = pixel * (column + right - 0.5 * width)
                _aim(eye, x, pixel * (0.5 * height - row - down), ray)
                trace(eye[3], ray, scene, eye[4], pixel, work, colour)
                for k in range(3):
                    # bright spots are cut before averaging, or their edges stay jagged
                    image[row, column, k] += min(colour[k], 1.0)
            image[row, column] /= SUBSAMPLES * SUBSAMPLES
