# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point nearest to a given one in the intersection of balls (kernel, Shin2002 app. A).

The nearest point of an intersection of balls is the given point itself, or lies on one
sphere, on the circle of two or on a vertex of three; all of these are tried and the nearest
feasible one is the answer, which needs no case list for tangent, nested or equal balls
(SPEC 5.4). When the balls have no common point, all radii grow together by the least amount
that gives them one: the answer then moves continuously as the balls drift apart, which
discarding balls would not.

"""

import math

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.ball_relaxation import least_growth

FEASIBLE_TOL_M = 1e-10  # ten times finer than SPEC 5.4 asks
GROWTH_TOL = 1e-12  # width of the bracket at which halving ends
MAX_HALVINGS = 48


@njit(cache=True)
def _worst_excess(x: Vec3, centres: Vec3s, radii: Floats) -> float:
    """Return how far x is outside the ball it is farthest outside of; <= 0 inside all [m]."""
    worst = -math.inf
    for i in range(len(radii)):
        if radii[i] < math.inf:
            dx, dy, dz = x[0] - centres[i, 0], x[1] - centres[i, 1], x[2] - centres[i, 2]
            worst = max(worst, math.sqrt(dx * dx + dy * dy + dz * dz) - radii[i])
    return worst


@njit(cache=True)
def _onto_ball(p: Vec3, centre: Vec3, radius: float, out: Vec3) -> bool:
    """Write the point of a ball nearest to a p outside of it; return False if p is inside."""
    dx, dy, dz = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    norm = math.sqrt(dx * dx + dy * dy + dz * dz)
    if norm <= radius:
        return False
    scale = radius / norm
    out[0] = centre[0] + scale * dx
    out[1] = centre[1] + scale * dy
    out[2] = centre[2] + scale * dz
    return True


@njit(cache=True)
def _circle(a: Vec3, ra: float, b: Vec3, rb: float, centre: Vec3, normal: Vec3) -> float:
    """Fill centre and unit normal of the circle two spheres share; return its radius or NaN."""
    dist = 0.0
    for k in range(3):
        normal[k] = b[k] - a[k]
        dist += normal[k] * normal[k]
    dist = math.sqrt(dist)
    if dist < 1e-15:
        return math.nan
    # Shin2002 eqs. A.3-A.6
    x = (ra * ra - rb * rb + dist * dist) / (2.0 * dist)
    square = (ra - x) * (ra + x)
    for k in range(3):
        normal[k] /= dist
        centre[k] = a[k] + x * normal[k]
    if square < -FEASIBLE_TOL_M * max(ra, 1e-6):
        return math.nan
    return math.sqrt(max(square, 0.0))


@njit(cache=True)
def _on_circle(p: Vec3, centre: Vec3, normal: Vec3, radius: float, out: Vec3) -> None:
    """Write the point of a circle nearest to p (Shin2002 eq. A.7); on its axis, any."""
    h = 0.0
    for k in range(3):
        h += normal[k] * (p[k] - centre[k])
    norm = 0.0
    for k in range(3):
        out[k] = p[k] - h * normal[k] - centre[k]
        norm += out[k] * out[k]
    norm = math.sqrt(norm)
    if norm < 1e-12:
        # any direction square to the normal
        s = 0 if abs(normal[0]) < 0.6 else 1
        for k in range(3):
            out[k] = (1.0 if k == s else 0.0) - normal[s] * normal[k]
        norm = math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    for k in range(3):
        out[k] = centre[k] + radius * out[k] / norm


@njit(cache=True)
def _vertex(
    centre: Vec3, normal: Vec3, radius: float, ball: Vec3, ball_radius: float,
    side: float, out: Vec3,
) -> bool:  # fmt: skip
    """Write a point where a circle meets a sphere, one for each side; return if there is."""
    # Shin2002 eqs. A.8-A.11: the sphere cuts the circle's plane in a second circle
    h = 0.0
    for k in range(3):
        h += normal[k] * (ball[k] - centre[k])
    d0 = ball[0] - h * normal[0] - centre[0]
    d1 = ball[1] - h * normal[1] - centre[1]
    d2 = ball[2] - h * normal[2] - centre[2]
    dist = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if dist < 1e-15:
        return False
    d0, d1, d2 = d0 / dist, d1 / dist, d2 / dist
    x = (radius * radius - (ball_radius - h) * (ball_radius + h) + dist * dist) / (2.0 * dist)
    square = (radius - x) * (radius + x)
    if square < -FEASIBLE_TOL_M * max(radius, 1e-6):
        return False
    y = side * math.sqrt(max(square, 0.0))
    out[0] = centre[0] + x * d0 + y * (normal[1] * d2 - normal[2] * d1)
    out[1] = centre[1] + x * d1 + y * (normal[2] * d0 - normal[0] * d2)
    out[2] = centre[2] + x * d2 + y * (normal[0] * d1 - normal[1] * d0)
    return True


@njit(cache=True)
def _keep_if_nearer(
    p: Vec3, x: Vec3, centres: Vec3s, radii: Floats, best: float, out: Vec3
) -> float:
    """Copy x to `out` if it is feasible and nearer to p than `best`; return the nearest."""
    dx, dy, dz = x[0] - p[0], x[1] - p[1], x[2] - p[2]
    square = dx * dx + dy * dy + dz * dz
    if square < best and _worst_excess(x, centres, radii) <= FEASIBLE_TOL_M:
        out[0], out[1], out[2] = x[0], x[1], x[2]
        return square
    return best


@njit(cache=True)
def _nearest_feasible(p: Vec3, centres: Vec3s, radii: Floats, out: Vec3) -> bool:
    """Write the nearest point of a non-empty intersection; return False if it is empty."""
    x, centre, normal = np.empty(3), np.empty(3), np.empty(3)
    n = len(radii)
    best = _keep_if_nearer(p, p, centres, radii, math.inf, out)
    if best == 0.0:
        return True
    for i in range(n):
        if radii[i] < math.inf and _onto_ball(p, centres[i], radii[i], x):
            best = _keep_if_nearer(p, x, centres, radii, best, out)
    # p projected on one ball and in all others is the answer: the ball alone admits no nearer
    if best < math.inf:
        return True
    for i in range(n):
        for j in range(i):
            if radii[i] == math.inf or radii[j] == math.inf:
                continue
            radius = _circle(centres[i], radii[i], centres[j], radii[j], centre, normal)
            if math.isnan(radius):
                continue
            _on_circle(p, centre, normal, radius, x)
            best = _keep_if_nearer(p, x, centres, radii, best, out)
            for m in range(j):
                if radii[m] < math.inf:
                    for side in (-1.0, 1.0):
                        if _vertex(centre, normal, radius, centres[m], radii[m], side, x):
                            best = _keep_if_nearer(p, x, centres, radii, best, out)
    return best < math.inf


@njit(cache=True)
def closest_in_balls(
    p: Vec3, centres: Vec3s, radii: Floats, slacks: Floats, work: Floats, out: Vec3
) -> float:
    """
    Write the point nearest to p in the intersection of balls, relaxed if that is empty.

    Parameters
    ----------
    p : ndarray, shape (3,)
        The point to stay near to [m].
    centres : ndarray, shape (n, 3)
        Centres of the balls [m].
    radii : ndarray, shape (n,)
        Radii [m]; infinity is no constraint (SPEC 5.3).
    slacks : ndarray, shape (n,)
        How much each radius grows per unit of relaxation, > 0: large for balls that matter
        little.
    work : ndarray, shape (n,)
        Working space.
    out : ndarray, shape (3,)
        The answer; may be p itself.

    Returns
    -------
    relaxation : float
        0 if the balls intersect, else the least t for which balls of radius r + t slack do.

    Notes
    -----
    Continuous in all arguments, also where the intersection vanishes: the relaxed balls meet
    in one point, to which the intersection shrank.

    """
    start = np.array([p[0], p[1], p[2]])
    if _nearest_feasible(start, centres, radii, out):
        return 0.0
    bounds = np.empty(2)
    if not least_growth(centres, radii, slacks, bounds, out):
        _halve(start, centres, radii, slacks, bounds, work, out)
    return max(bounds[1], 0.0)


@njit(cache=True)
def _halve(
    start: Vec3, centres: Vec3s, radii: Floats, slacks: Floats, bounds: Floats, work: Floats,
    out: Vec3,
) -> None:  # fmt: skip
    """Narrow the bounds of the growth by trying, for balls that Newton steps cannot settle."""
    x = np.empty(3)
    bounds[0] = max(bounds[0], 0.0)
    for _ in range(MAX_HALVINGS):
        if bounds[1] - bounds[0] < GROWTH_TOL:
            break
        middle = 0.5 * (bounds[0] + bounds[1])
        for i in range(len(radii)):
            work[i] = radii[i] + middle * slacks[i]
        if _nearest_feasible(start, centres, work, x):
            bounds[1] = middle
            out[:] = x
        else:
            bounds[0] = middle
