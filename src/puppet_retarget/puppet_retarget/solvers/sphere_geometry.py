# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where spheres meet, and which point of that is nearest to a given one (kernels).

Radii carry a sign: a constraint of radius r >= 0 keeps a point inside the ball, one of -r
keeps it outside, and an infinite one is none. The spheres' equations see squares only, so
everything here serves both kinds (SPEC 5.4, 5.7; Shin2002 app. A). No case list for tangent,
nested or equal balls: what does not exist is not a candidate, and what exists is tried.

"""

import math

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import kernel

Bools = NDArray[np.bool_]  # shape (n,)

MAX_BALLS = 8  # of a problem; on a sphere what is more is not looked at
FEASIBLE_TOL_M = 1e-10  # ten times finer than SPEC 5.4 asks
NO_DISTANCE_M = 1e-15  # between centres that count as equal


@kernel
def sign_radii(radii: Floats, outside: Bools, signed: Floats) -> None:
    """Fill signed radii, shape (n,); outside of a ball without radius is no constraint."""
    for i in range(len(radii)):
        if not outside[i]:
            signed[i] = max(radii[i], 0.0)
        else:
            signed[i] = -radii[i] if radii[i] > 0.0 else math.inf


@kernel
def relax_radius(signed: float, growth: float) -> float:
    """Return a signed radius that lets more through; nothing is left of a ball shrunk away."""
    relaxed = signed + growth
    return math.inf if signed < 0.0 and relaxed >= 0.0 else relaxed


@kernel
def is_allowed(x: Vec3, centres: Vec3s, signed: Floats, i: int) -> bool:
    """Return whether x keeps constraint i, to FEASIBLE_TOL_M."""
    dx, dy, dz = x[0] - centres[i, 0], x[1] - centres[i, 1], x[2] - centres[i, 2]
    square = dx * dx + dy * dy + dz * dz
    limit = signed[i] + FEASIBLE_TOL_M
    if signed[i] >= 0.0:
        return square <= limit * limit
    return limit >= 0.0 or square >= limit * limit


@kernel
def onto_sphere(p: Vec3, centre: Vec3, radius: float, out: Vec3) -> None:
    """Write the point of a sphere nearest to p; any if p is its centre."""
    dx, dy, dz = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    norm = math.sqrt(dx * dx + dy * dy + dz * dz)
    if norm == 0.0:
        dx, norm = 1.0, 1.0
    scale = abs(radius) / norm
    out[0] = centre[0] + scale * dx
    out[1] = centre[1] + scale * dy
    out[2] = centre[2] + scale * dz


@kernel
def circle_of(a: Vec3, ra: float, b: Vec3, rb: float, centre: Vec3, normal: Vec3) -> float:
    """Fill centre and unit normal of the circle two spheres share; return its radius or NaN."""
    if abs(ra) > abs(rb):  # seen from the smaller sphere, so that rounding is in proportion
        a, ra, b, rb = b, rb, a, ra
    dist = 0.0
    for k in range(3):
        normal[k] = b[k] - a[k]
        dist += normal[k] * normal[k]
    dist = math.sqrt(dist)
    if dist < NO_DISTANCE_M:
        return math.nan
    # Shin2002 eqs. A.3-A.6; the squares that are nearly equal are subtracted by their roots
    ra, rb = abs(ra), abs(rb)
    if dist < ra:
        x = (dist * dist + (ra - rb) * (ra + rb)) / (2.0 * dist)
    else:
        x = (ra * ra + (dist - rb) * (dist + rb)) / (2.0 * dist)
    square = (ra - x) * (ra + x)
    if square < -FEASIBLE_TOL_M * max(ra, FEASIBLE_TOL_M):
        return math.nan
    x = min(max(x, -ra), ra)
    for k in range(3):
        normal[k] /= dist
        centre[k] = a[k] + x * normal[k]
    return math.sqrt(max(square, 0.0))


@kernel
def _square_to(normal: Vec3, point: Vec3, origin: Vec3, out: Vec3) -> float:
    """Write what of a point's offset is square to a normal; return its length."""
    for k in range(3):
        out[k] = point[k] - origin[k]
    for _ in range(2):  # once more for what rounding leaves of an offset along the normal
        h = out[0] * normal[0] + out[1] * normal[1] + out[2] * normal[2]
        for k in range(3):
            out[k] -= h * normal[k]
    return math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])


@kernel
def on_circle(p: Vec3, centre: Vec3, normal: Vec3, radius: float, out: Vec3) -> None:
    """Write the point of a circle nearest to p (Shin2002 eq. A.7); on its axis, any."""
    norm = _square_to(normal, p, centre, out)
    if norm < NO_DISTANCE_M:
        s = 0 if abs(normal[0]) < 0.6 else 1
        for k in range(3):
            out[k] = (1.0 if k == s else 0.0) - normal[s] * normal[k]
        norm = math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    for k in range(3):
        out[k] = centre[k] + radius * out[k] / norm


@kernel
def vertices_of(
    centre: Vec3, normal: Vec3, radius: float, ball: Vec3, ball_radius: float, out: Vec3s
) -> bool:
    """Write the two points, (2, 3), where a circle meets a sphere; return if there are."""
    # Shin2002 eqs. A.8-A.11: the sphere cuts the circle's plane in a second circle
    n0, n1, n2 = normal[0], normal[1], normal[2]
    d0, d1, d2 = ball[0] - centre[0], ball[1] - centre[1], ball[2] - centre[2]
    h = d0 * n0 + d1 * n1 + d2 * n2
    other = (ball_radius - h) * (ball_radius + h)
    d0, d1, d2 = d0 - h * n0, d1 - h * n1, d2 - h * n2
    rest = d0 * n0 + d1 * n1 + d2 * n2  # what rounding leaves, as in _square_to
    d0, d1, d2 = d0 - rest * n0, d1 - rest * n1, d2 - rest * n2
    dist = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if dist < NO_DISTANCE_M:
        return False
    share = 1.0 / dist
    if 0.0 <= other < radius * radius:  # seen from the smaller circle
        scale = math.sqrt(other)
        back = 0.5 * share * (other + (dist - radius) * (dist + radius))
        x, square = dist - back, (scale - back) * (scale + back)
    else:
        scale = radius
        x = 0.5 * share * (radius * radius - other + dist * dist)
        square = (radius - x) * (radius + x)
    if square < -FEASIBLE_TOL_M * max(scale, FEASIBLE_TOL_M):
        return False
    y = math.sqrt(max(square, 0.0)) * share
    x *= share
    x0, x1, x2 = centre[0] + x * d0, centre[1] + x * d1, centre[2] + x * d2
    y0, y1, y2 = y * (n1 * d2 - n2 * d1), y * (n2 * d0 - n0 * d2), y * (n0 * d1 - n1 * d0)
    out[0, 0], out[0, 1], out[0, 2] = x0 + y0, x1 + y1, x2 + y2
    out[1, 0], out[1, 1], out[1, 2] = x0 - y0, x1 - y1, x2 - y2
    return True


@kernel
def keep_if_nearer(
    p: Vec3, x: Vec3, centres: Vec3s, signed: Floats, best: float, out: Vec3
) -> float:
    """Copy x to `out` if it is feasible and nearer to p than `best`; return the nearest."""
    dx, dy, dz = x[0] - p[0], x[1] - p[1], x[2] - p[2]
    square = dx * dx + dy * dy + dz * dz
    if square >= best:
        return best
    for i in range(len(signed)):
        if not is_allowed(x, centres, signed, i):
            return best
    out[0], out[1], out[2] = x[0], x[1], x[2]
    return square
