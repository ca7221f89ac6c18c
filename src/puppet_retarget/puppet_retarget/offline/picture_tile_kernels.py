# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A picture tile by tile (kernel layer): rays through its pixels, and finer ones on edges.

The rays of a tile are near to each other, so that few of the solids matter for them.

"""

import math

from numba import njit
import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, Ints, Vec3, Vec3s
from puppet_core.image_file import Picture
from puppet_retarget.offline.picture_cull_kernels import cone_meets
from puppet_retarget.offline.picture_ray_kernels import (
    first_capsule,
    first_solid,
    FLOOR,
    SceneArrays,
    SOLID,
)
from puppet_retarget.offline.picture_shade_kernels import shade_rays

TILE_PX = 8
EDGE_CONTRAST = 0.06  # sum of differences between neighbours' colours that makes an edge [-]
TONES = 4096  # steps of the table from the root of linear light to screen values

Light = NDArray[np.float32]  # shape (height, width, 3), linear


@njit(cache=True, nogil=True, error_model='numpy')
def _aim(axes: Vec3s, x: float, y: float, rays: Vec3s, i: int) -> None:
    """Write the direction through (x, y) of the image plane; axes: right, up, forward."""
    scale = 1.0 / math.sqrt(x * x + y * y + 1.0)
    for k in range(3):
        rays[i, k] = scale * (x * axes[0, k] + y * axes[1, k] + axes[2, k])


@njit(cache=True, nogil=True, error_model='numpy')
def _cone(
    eye: Vec3s, pixel: float, tile: tuple[int, int, int, int], size: tuple[int, int], axis: Vec3
) -> float:
    """Write the middle direction of a tile; return the slope of a cone around all of it."""
    top, bottom, left, right = tile
    x = pixel * (0.5 * (left + right) - 0.5 * size[1])
    y = pixel * (0.5 * size[0] - 0.5 * (top + bottom))
    ray, slope = np.empty((1, 3)), 0.0
    _aim(eye, x, y, ray, 0)
    for k in range(3):
        axis[k] = ray[0, k]
    for row in (top, bottom):
        for column in (left, right):
            _aim(eye, pixel * (column - 0.5 * size[1]), pixel * (0.5 * size[0] - row), ray, 0)
            cosine = ray[0, 0] * axis[0] + ray[0, 1] * axis[1] + ray[0, 2] * axis[2]
            slope = max(slope, math.sqrt(max(1.0 - cosine * cosine, 0.0)) / max(cosine, 1e-3))
    return slope


@njit(cache=True, nogil=True, error_model='numpy')
def _trace(
    eye: Vec3s, pixel: float, rays: Vec3s, scene: SceneArrays, near: Ints, near_solids: Ints,
    met: Ints, reach: Floats, colours: Vec3s, lists: Ints,
) -> None:
    """Write what each ray meets, how far away, and the colour that it brings back."""
    work, ray, point, capsules = np.empty((2, 3)), np.empty(3), np.empty(3), scene.capsules
    for k in range(3):
        point[k] = eye[3, k]
    for i in range(len(rays)):
        for k in range(3):
            ray[k] = rays[i, k]
        reach[i], met[i, 0], met[i, 1] = first_capsule(point, ray, capsules, near)
        if len(near_solids) > 0:
            t, index = first_solid(point, ray, scene, near_solids, work)
            if t < reach[i]:
                reach[i], met[i, 0], met[i, 1] = t, SOLID, index
    shade_rays(eye, pixel, rays, scene, met, reach, colours, lists)


@njit(cache=True, nogil=True, error_model='numpy')
def draw_rows(
    eye: Vec3s, pixel: float, rows: tuple[int, int], scene: SceneArrays, image: Light, kinds: Ints
) -> None:
    """
    Fill rows of an image, one ray a pixel.

    Parameters
    ----------
    eye : ndarray, shape (5, 3)
        The camera's right, up and forward axes, its position, and where the floor is at its
        clearest [m].
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
    n, size = TILE_PX * TILE_PX, kinds.shape
    rays, colours, reach, axis = np.empty((n, 3)), np.empty((n, 3)), np.empty(n), np.empty(3)
    met = np.empty((n, 2), dtype=np.int64)
    lists = np.empty((5, max(len(scene.balls), len(scene.solid_balls), 1)), dtype=np.int64)
    for top in range(rows[0], rows[1], TILE_PX):
        bottom = min(top + TILE_PX, rows[1])
        for left in range(0, size[1], TILE_PX):
            right = min(left + TILE_PX, size[1])
            slope = _cone(eye, pixel, (top, bottom, left, right), size, axis)
            near = lists[3, :cone_meets(eye[3], axis, slope, scene.balls, lists[3])]
            solids = lists[4, :cone_meets(eye[3], axis, slope, scene.solid_balls, lists[4])]
            count = 0
            for row in range(top, bottom):
                for column in range(left, right):
                    x = pixel * (column + 0.5 - 0.5 * size[1])
                    _aim(eye, x, pixel * (0.5 * size[0] - row - 0.5), rays, count)
                    count += 1
            _trace(
                eye, pixel, rays[:count], scene, near, solids, met[:count], reach[:count],
                colours[:count], lists,
            )  # fmt: skip
            for i in range(count):
                row, column = top + i // (right - left), left + i % (right - left)
                kinds[row, column] = met[i, 0]
                for k in range(3):
                    image[row, column, k] = colours[i, k]


@njit(cache=True, nogil=True, error_model='numpy')
def _is_edge(row: int, column: int, image: Light, kinds: Ints) -> bool:
    height, width = kinds.shape
    for d_row, d_column in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        r, c = row + d_row, column + d_column
        if 0 <= r < height and 0 <= c < width:
            if (kinds[r, c] > FLOOR) != (kinds[row, column] > FLOOR):
                return True
            if kinds[r, c] <= FLOOR:
                continue  # the floor's lines and shadows are smooth of themselves
            step = 0.0
            for k in range(3):
                step += abs(image[r, c, k] - image[row, column, k])
            if kinds[r, c] != kinds[row, column] or step > EDGE_CONTRAST:
                return True
    return False


@njit(cache=True, nogil=True, error_model='numpy')
def _find_edges(
    tile: tuple[int, int, int, int], image: Light, kinds: Ints, edges: Ints
) -> int:
    """Write row and column of a tile's pixels on edges; return how many."""
    count = 0
    for row in range(tile[0], tile[1]):
        for column in range(tile[2], tile[3]):
            if _is_edge(row, column, image, kinds):
                edges[count, 0], edges[count, 1] = row, column
                count += 1
    return count


@njit(cache=True, nogil=True, error_model='numpy')
def _aim_finely(
    eye: Vec3s, pixel: float, samples: int, edges: Ints, size: tuple[int, int], rays: Vec3s
) -> None:
    """Write samples x samples rays through each pixel on an edge."""
    count = 0
    for i in range(len(edges)):
        for sub in range(samples * samples):
            column = edges[i, 1] + (sub % samples + 0.5) / samples
            row = edges[i, 0] + (sub // samples + 0.5) / samples
            x, y = pixel * (column - 0.5 * size[1]), pixel * (0.5 * size[0] - row)
            _aim(eye, x, y, rays, count)
            count += 1


@njit(cache=True, nogil=True, error_model='numpy')
def _average(image: Light, edges: Ints, samples: int, colours: Vec3s, picture: Picture,
             tones: Picture) -> None:  # fmt: skip
    """Write the mean of each edge pixel's rays as a screen value."""
    n = samples * samples
    for i in range(len(edges)):
        for k in range(3):
            light = 0.0
            for sub in range(n):
                # bright spots are cut before averaging, or their edges stay jagged
                light += min(colours[i * n + sub, k], 1.0)
            picture[edges[i, 0], edges[i, 1], k] = _tone(light / n, tones)


@njit(cache=True, nogil=True, error_model='numpy')
def _tone(light: float, tones: Picture) -> int:
    return tones[int(math.sqrt(min(max(light, 0.0), 1.0)) * TONES + 0.5)]


@njit(cache=True, nogil=True, error_model='numpy')
def finish_rows(
    eye: Vec3s, pixel: float, rows: tuple[int, int], scene: SceneArrays, image: Light, kinds: Ints,
    samples: int, tones: Picture, picture: Picture,
) -> None:
    """
    Write rows of a picture as screen values, the pixels on edges traced anew and finer.

    Parameters
    ----------
    eye, pixel, rows, scene, image, kinds
        Those of `draw_rows`, the last two as it filled them.
    samples : int
        Rays along each side of a pixel on an edge; with 1 edges stay as they are.
    tones : ndarray, shape (TONES + 1,)
        Screen value of each root of linear light.
    picture : ndarray, shape (height, width, 3)
        Out: red, green, blue in 0 .. 255.

    """
    size, n = kinds.shape, TILE_PX * TILE_PX * samples * samples
    rays, colours, reach, axis = np.empty((n, 3)), np.empty((n, 3)), np.empty(n), np.empty(3)
    met, edges = np.empty((n, 2), dtype=np.int64), np.empty((TILE_PX ** 2, 2), dtype=np.int64)
    lists = np.empty((5, max(len(scene.balls), len(scene.solid_balls), 1)), dtype=np.int64)
    for top in range(rows[0], rows[1], TILE_PX):
        bottom = min(top + TILE_PX, rows[1])
        for left in range(0, size[1], TILE_PX):
            right = min(left + TILE_PX, size[1])
            for row in range(top, bottom):
                for column in range(left, right):
                    for k in range(3):
                        picture[row, column, k] = _tone(image[row, column, k], tones)
            tile = (top, bottom, left, right)
            found = _find_edges(tile, image, kinds, edges) if samples > 1 else 0
            if found == 0:
                continue
            slope = _cone(eye, pixel, tile, size, axis)
            near = lists[3, :cone_meets(eye[3], axis, slope, scene.balls, lists[3])]
            solids = lists[4, :cone_meets(eye[3], axis, slope, scene.solid_balls, lists[4])]
            count = found * samples * samples
            _aim_finely(eye, pixel, samples, edges[:found], size, rays)
            _trace(
                eye, pixel, rays[:count], scene, near, solids, met[:count], reach[:count],
                colours[:count], lists,
            )  # fmt: skip
            _average(image, edges[:found], samples, colours, picture, tones)
