# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The floor's grids (kernel layer): wide lines and fine ones, smooth at any distance."""

import math

from numba import njit

GRID_STEP_M = 0.5
GRID_WIDTH_M = 0.010
GRID_DARKNESS = 0.30
FINE_STEP_M = 0.1  # of the fine grid between, against which a sliding foot is seen
FINE_WIDTH_M = 0.004
FINE_DARKNESS = 0.14


@njit(cache=True, nogil=True, error_model='numpy')
def _grid_cover(coordinate: float, width: float, step: float, line: float) -> float:
    """Return how much of a footprint of this width [m] is covered by grid lines."""
    steps = coordinate / step
    apart = abs(steps - math.floor(steps + 0.5)) * step
    if width > step:
        return line / step
    low, high = max(apart - 0.5 * width, -0.5 * line), min(apart + 0.5 * width, 0.5 * line)
    return max(high - low, 0.0) / width


@njit(cache=True, nogil=True, error_model='numpy')
def floor_shade(
    x: float, y: float, ray_x: float, ray_y: float, width: float, slope: float
) -> float:
    """
    Return the floor's brightness with its grids at (x, y) [m], averaged over a pixel's footprint.

    `ray_x`, `ray_y` are the level part of the ray, `width` is the pixel's size there [m] and
    `slope` how much longer its footprint is than wide.

    """
    # the footprint, `width` across, is longer along the ray's own direction over the floor
    level = 1.0 / (math.sqrt(ray_x * ray_x + ray_y * ray_y) + 1e-9)
    width_x = width * (1.0 + abs(ray_x) * level * (slope - 1.0))
    width_y = width * (1.0 + abs(ray_y) * level * (slope - 1.0))
    open_x = 1.0 - _grid_cover(x, width_x, GRID_STEP_M, GRID_WIDTH_M)
    open_y = 1.0 - _grid_cover(y, width_y, GRID_STEP_M, GRID_WIDTH_M)
    fine_x = 1.0 - _grid_cover(x, width_x, FINE_STEP_M, FINE_WIDTH_M)
    fine_y = 1.0 - _grid_cover(y, width_y, FINE_STEP_M, FINE_WIDTH_M)
    dark = 1.0 - GRID_DARKNESS * (1.0 - open_x * open_y)
    return dark * (1.0 - FINE_DARKNESS * (1.0 - fine_x * fine_y))
