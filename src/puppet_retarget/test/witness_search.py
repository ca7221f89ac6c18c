# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for feasible points that are nearer than an answer, sharing nothing with the kernels.

A sphere is sampled, and so are the circles in which balls cut it, by angles; along a circle
the ends of what is feasible are bisected to the last bit. Every point found is feasible
without tolerance, so that one that is nearer disproves an answer. The surfaces of balls are
taken GRAZE_M within what is feasible, so that rounding does not rule them out.

"""

import math

from numba import njit
import numpy as np
from puppet_core.math.arrays import Vec3s

GRAZE_M = 1e-12
ANGLES = 48
BISECTIONS = 45
SEED_POINTS = 60


@njit
def excess(x, centres, radii, outside, ignored):
    """Return by how much x misses the worst of its constraints; <= 0 if it is feasible."""
    worst = -math.inf
    for i in range(len(radii)):
        if ignored[i]:
            continue
        dx, dy, dz = x[0] - centres[i, 0], x[1] - centres[i, 1], x[2] - centres[i, 2]
        miss = math.sqrt(dx * dx + dy * dy + dz * dz) - radii[i]
        worst = max(worst, -miss if outside[i] else miss)
    return worst


@njit
def _no_constraints(radii, outside, ignored):
    """Mark the balls that constrain nothing."""
    for i in range(len(radii)):
        ignored[i] = radii[i] == math.inf or (outside[i] and radii[i] <= 0.0)


@njit
def _keep_to(own, centres, radii, outside, ignored, mine):
    """
    Return the radius of a surface within what is feasible; mark what holds on it by itself.

    A ball to stay inside of and outside of leaves just its surface, which is not grazed then.

    """
    graze = GRAZE_M if outside[own] else -GRAZE_M
    for i in range(len(radii)):
        same = radii[i] == radii[own]
        for k in range(3):
            same = same and centres[i, k] == centres[own, k]
        mine[i] = ignored[i] or same
        if same and outside[i] != outside[own]:
            graze = 0.0
    return radii[own] + graze


@njit
def _place(s, radius, axes, cos, sin, angle, x):
    """Write the point of a circle on a sphere at an angle."""
    a, b = sin * math.cos(angle), sin * math.sin(angle)
    for k in range(3):
        x[k] = s[k] + radius * (cos * axes[0, k] + a * axes[1, k] + b * axes[2, k])


@njit
def _distance(a, b):
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit
def _axes(direction, axes):
    """Fill an orthonormal frame whose first axis is given."""
    x, y, z = direction[0], direction[1], direction[2]
    axes[0, 0], axes[0, 1], axes[0, 2] = x, y, z
    if abs(x) < 0.7:
        norm = math.sqrt(y * y + z * z)
        axes[1, 0], axes[1, 1], axes[1, 2] = 0.0, z / norm, -y / norm
    else:
        norm = math.sqrt(x * x + y * y)
        axes[1, 0], axes[1, 1], axes[1, 2] = -y / norm, x / norm, 0.0
    u, v, w = axes[1, 0], axes[1, 1], axes[1, 2]
    axes[2, 0], axes[2, 1], axes[2, 2] = y * w - z * v, z * u - x * w, x * v - y * u


@njit
def _search_circle(p, s, radius, axes, cos, sin, centres, radii, outside, ignored):
    """Return the least distance from p of a feasible point of a circle; infinity if none."""
    x, best, best_angle = np.empty(3), math.inf, 0.0
    step = 2.0 * math.pi / ANGLES
    last = False
    for n in range(ANGLES + 1):
        _place(s, radius, axes, cos, sin, n * step, x)
        good = excess(x, centres, radii, outside, ignored) <= 0.0
        if good and _distance(p, x) < best:
            best, best_angle = _distance(p, x), n * step
        if n > 0 and good != last:
            low, high = (n - 1) * step, n * step
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                _place(s, radius, axes, cos, sin, middle, x)
                if (excess(x, centres, radii, outside, ignored) <= 0.0) == last:
                    low = middle
                else:
                    high = middle
            _place(s, radius, axes, cos, sin, low if last else high, x)
            if _distance(p, x) < best:
                best, best_angle = _distance(p, x), low if last else high
        last = good
    while best < math.inf and step > 1e-10:
        step *= 0.5
        for sign in (-1.0, 1.0):
            _place(s, radius, axes, cos, sin, best_angle + sign * step, x)
            nearer = _distance(p, x) < best
            if nearer and excess(x, centres, radii, outside, ignored) <= 0.0:
                best, best_angle = _distance(p, x), best_angle + sign * step
                break
    return best


@njit
def _search_sphere(p, s, radius, centres, radii, outside, ignored, seeds):
    """Return the least distance from p of a feasible point of a sphere that was found."""
    x, axes, best = np.empty(3), np.empty((3, 3)), math.inf
    mine, direction = np.empty(len(radii), np.bool_), np.empty(3)
    for n in range(len(seeds) + 1):
        away = _distance(p, s)
        for k in range(3):
            if n < len(seeds):
                x[k] = s[k] + radius * seeds[n, k]
            elif away > 0.0:
                x[k] = s[k] + radius * ((p[k] - s[k]) / away)
        if excess(x, centres, radii, outside, ignored) <= 0.0:
            best = min(best, _distance(p, x))
    for i in range(len(radii)):
        away = _distance(centres[i], s)
        if ignored[i] or away == 0.0:
            continue
        r = _keep_to(i, centres, radii, outside, ignored, mine)
        cos = (radius * radius + away * away - r * r) / (2.0 * radius * away)
        if abs(cos) > 1.0 or r < 0.0:
            continue
        for k in range(3):
            direction[k] = (centres[i, k] - s[k]) / away
        _axes(direction, axes)
        sin = math.sqrt(1.0 - cos * cos)
        found = _search_circle(p, s, radius, axes, cos, sin, centres, radii, outside, mine)
        best = min(best, found)
    return best


@njit
def search_spheres(p, s, radius, centres, radii, outside, seeds, found):
    """Fill the least distances for many problems on spheres."""
    ignored = np.empty(radii.shape[1], np.bool_)
    for n in range(len(p)):
        _no_constraints(radii[n], outside[n], ignored)
        found[n] = _search_sphere(
            p[n], s[n], radius[n], centres[n], radii[n], outside[n], ignored, seeds
        )


@njit
def search_space(p, centres, radii, outside, seeds, found):
    """Fill the least distances for many problems in space: on each ball's surface in turn."""
    ignored, mine = np.empty(radii.shape[1], np.bool_), np.empty(radii.shape[1], np.bool_)
    for n in range(len(p)):
        found[n] = math.inf
        _no_constraints(radii[n], outside[n], ignored)
        if excess(p[n], centres[n], radii[n], outside[n], ignored) <= 0.0:
            found[n] = 0.0
            continue
        for i in range(radii.shape[1]):
            if ignored[i]:
                continue
            surface = _keep_to(i, centres[n], radii[n], outside[n], ignored, mine)
            if surface > 0.0:
                nearest = _search_sphere(
                    p[n], centres[n, i], surface, centres[n], radii[n], outside[n], mine, seeds
                )
                found[n] = min(found[n], nearest)


def sphere_seeds(count: int = SEED_POINTS) -> Vec3s:
    """Return points that cover the unit sphere evenly, on a Fibonacci spiral."""
    heights = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angles = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - heights**2)
    return np.stack((across * np.cos(angles), across * np.sin(angles), heights), axis=1)
