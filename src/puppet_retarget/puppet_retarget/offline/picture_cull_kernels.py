# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What can matter for a small piece of a picture (kernel layer): so that rays try few solids.

A piece is a cone of rays from the eye, or a ball around the points that the rays met. What a
function leaves out cannot be met, cannot shade and cannot hide any sky there.

"""

from numba import njit
from puppet_core.arrays import Floats, Ints, Vec3


@njit(cache=True, nogil=True, error_model='numpy')
def cone_meets(point: Vec3, axis: Vec3, slope: float, balls: Floats, out: Ints) -> int:
    """
    Write which balls a cone can meet; return how many.

    Parameters
    ----------
    point, axis : ndarray, shape (3,)
        The cone's tip [m] and unit direction.
    slope : float
        Tangent of half its opening.
    balls : ndarray, shape (n, 4)
        Centres and radii [m].
    out : ndarray, shape (n,)
        Out: their indices.

    """
    return _met(point, axis, slope, 0.0, balls, out)


@njit(cache=True, nogil=True, error_model='numpy')
def shades(region: Floats, light: Vec3, spread: float, balls: Floats, out: Ints) -> int:
    """
    Write which balls can be between a region and the light; return how many.

    Parameters
    ----------
    region : ndarray, shape (4,)
        Centre and radius of a ball around the region [m].
    light : ndarray, shape (3,)
        Unit, towards the light.
    spread : float
        Tangent of half the light's apparent size.
    balls : ndarray, shape (n, 4)
        Centres and radii [m].
    out : ndarray, shape (n,)
        Out: their indices.

    """
    return _met(region, light, spread, region[3], balls, out)


@njit(cache=True, nogil=True, error_model='numpy')
def is_within(region: Floats, balls: Floats, i: int, reach: float) -> bool:
    """Return whether ball i comes within `reach` [m] of a region, shape (4,)."""
    x, y, z = balls[i, 0] - region[0], balls[i, 1] - region[1], balls[i, 2] - region[2]
    return x * x + y * y + z * z <= (balls[i, 3] + region[3] + reach) ** 2


@njit(cache=True, nogil=True, error_model='numpy')
def _met(
    point: Floats, axis: Vec3, slope: float, thick: float, balls: Floats, out: Ints
) -> int:
    count = 0
    for i in range(len(balls)):
        x, y, z = balls[i, 0] - point[0], balls[i, 1] - point[1], balls[i, 2] - point[2]
        ahead = x * axis[0] + y * axis[1] + z * axis[2]
        radius = balls[i, 3] + thick
        reach = radius + slope * max(ahead + radius, 0.0)
        if ahead >= -radius and x * x + y * y + z * z - ahead * ahead <= reach * reach:
            out[count] = i
            count += 1
    return count
