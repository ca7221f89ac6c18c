# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point nearest to a given one in the intersection of balls (kernels, Shin2002 app. A).

It is the given point itself, or lies on one sphere, on the circle of two or on a vertex of three.
Balls place the root. An elbow or a hand is on a sphere besides, and the elbow of a hand in a
shell (fig. 5.6, errata 7), so that all of these are shells: a ball has no inner sphere, a sphere
has its inner one where the outer one is, and never gives way.

No case list for tangent, nested or equal balls (errata 4): what does not exist is no candidate,
and what exists is tried. As printed the first kind of candidate wins that has a point in all
balls, and balls that have nothing in common are discarded; corrected, all candidates count, and
the balls grow together by the least amount that helps, so that the answer moves continuously as
they drift apart.
"""

import math
from typing import NamedTuple

from puppet_core.math import kernel
from puppet_core.math.values import (
    add,
    cross,
    dot,
    norm,
    normalized,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)

FEASIBLE_TOL_M = 1e-10  # ten times finer than errata 4 asks
NO_DISTANCE_M = 1e-15  # between centres that count as equal
FIRST_GROWTH, GROWTH_TOL = 1e-3, 1e-13  # tried first, and the bracket at which halving ends
LEAST_IMPORTANCE = 1e-2  # below which a range gives way no more readily [-]

Circle = tuple[Vec3, Vec3, float]  # centre, unit normal and radius, NaN for none [m]


class Shell(NamedTuple):
    """Points between two distances from a centre."""

    centre: Vec3  # [m]
    inner: float  # [m]; not above 0: a ball
    outer: float  # [m]; infinite: no constraint (errata 3)
    importance: float  # what is important gives way less, and not at all if this is infinite


Shells = tuple[Shell, Shell, Shell, Shell]
NO_SHELL = Shell((0.0, 0.0, 0.0), 0.0, math.inf, 0.0)


@kernel
def ball(centre: Vec3, radius: float, importance: float) -> Shell:
    """Return a ball of an importance."""
    return Shell(centre, 0.0, radius, importance)


@kernel
def sphere(centre: Vec3, radius: float) -> Shell:
    """Return a sphere that never gives way."""
    return Shell(centre, radius, radius, math.inf)


# Where spheres meet, and which point of that is nearest to a given one.


@kernel
def onto_sphere(p: Vec3, centre: Vec3, radius: float) -> Vec3:
    """Return the point of a sphere nearest to p; any if p is its centre."""
    way = sub(p, centre)
    length = norm(way)
    return add(centre, scale(way, radius / length) if length > 0.0 else (radius, 0.0, 0.0))


@kernel
def circle_of(a: Vec3Like, ra: float, b: Vec3Like, rb: float) -> Circle:
    """Return the circle in which two spheres cut each other; its radius is NaN if they do not."""
    a, b = vec3(a), vec3(b)
    if ra > rb:  # seen from the smaller sphere, so that rounding is in proportion
        a, ra, b, rb = b, rb, a, ra
    way = sub(b, a)
    dist = norm(way)
    if dist < NO_DISTANCE_M:
        return a, way, math.nan
    # Shin2002 eqs. A.3-A.6; the squares that are nearly equal are subtracted by their roots
    if dist < ra:
        x = (dist * dist + (ra - rb) * (ra + rb)) / (2.0 * dist)
    else:
        x = (ra * ra + (dist - rb) * (dist + rb)) / (2.0 * dist)
    square = (ra - x) * (ra + x)
    if square < -FEASIBLE_TOL_M * max(ra, FEASIBLE_TOL_M):
        return a, way, math.nan
    x, normal = min(max(x, -ra), ra), normalized(way)
    return add(a, scale(normal, x)), normal, math.sqrt(max(square, 0.0))


@kernel
def _square_to(normal: Vec3, way: Vec3) -> Vec3:
    """Return what of a way is square to a unit normal."""
    for _ in range(2):  # once more for what rounding leaves of a way along the normal
        way = sub(way, scale(normal, dot(way, normal)))
    return way


@kernel
def on_circle(p: Vec3Like, circle: Circle) -> Vec3:
    """Return the point of a circle nearest to p (Shin2002 eq. A.7); on its axis, any."""
    centre, normal, radius = circle
    way = _square_to(normal, sub(p, centre))
    length = norm(way)
    if length < NO_DISTANCE_M:
        way = _square_to(normal, (1.0, 0.0, 0.0) if abs(normal[0]) < 0.6 else (0.0, 1.0, 0.0))
        length = norm(way)
    x, y, z = scale(way, radius)
    return add(centre, (x / length, y / length, z / length))


@kernel
def vertices_of(circle: Circle, centre: Vec3, radius: float) -> tuple[bool, Vec3, Vec3]:
    """Return whether a circle meets a sphere, and the two points where it does."""
    # Shin2002 eqs. A.8-A.11: the sphere cuts the circle's plane in a second circle
    middle, normal, own = circle
    way = sub(centre, middle)
    h = dot(way, normal)
    other = (radius - h) * (radius + h)
    way = _square_to(normal, way)
    dist = norm(way)
    if dist < NO_DISTANCE_M:
        return False, middle, middle
    if 0.0 <= other < own * own:  # seen from the smaller circle
        size = math.sqrt(other)
        back = (other + (dist - own) * (dist + own)) / (2.0 * dist)
        x, square = dist - back, (size - back) * (size + back)
    else:
        size = own
        x = (own * own - other + dist * dist) / (2.0 * dist)
        square = (own - x) * (own + x)
    if square < -FEASIBLE_TOL_M * max(size, FEASIBLE_TOL_M):
        return False, middle, middle
    middle = add(middle, scale(way, x / dist))
    side = scale(cross(normal, way), math.sqrt(max(square, 0.0)) / dist)
    return True, add(middle, side), sub(middle, side)


# The nearest point of all.


@kernel
def closest_in_shells(
    p: Vec3, shells: Shells, all_candidates: bool, growing: bool
) -> tuple[float, Vec3]:
    """
    Return growth and nearest point to p in the intersection of shells, corrected or as printed.

    Both flags are of the errata; a sphere comes first of all shells. Growth is 0 where there is
    such a point. Where there is none all shells grow by t over the square of their importance,
    and t is the least that leaves something: in the minimum they meet in one point, to which
    their intersection shrank, so that the answer is continuous.
    """
    left = shells
    for _ in range(4):
        found, x = _nearest(p, left, all_candidates)
        if found:
            return 0.0, x
        first, last = _extremes(left)
        if growing or first == last:
            break  # errata 4: a sphere that misses the last range takes its point nearest to it
        left = _without(left, first, last)
    return _least_growth(p, left, all_candidates)


@kernel
def _bound(shells: Shells, i: int) -> tuple[Vec3, float]:
    """Return sphere i of 8, an inner and an outer one of each shell; of radius 0 if not there."""
    shell = shells[i // 2]
    if i % 2 == 1:
        return shell.centre, shell.outer if shell.outer < math.inf else 0.0
    return shell.centre, shell.inner if shell.inner < shell.outer else 0.0


@kernel
def _nearer(p: Vec3, x: Vec3, best: tuple[float, Vec3], shells: Shells) -> tuple[float, Vec3]:
    """Return squared distance and point of x if it is nearer than the best, and in all shells."""
    way = sub(x, p)
    square = dot(way, way)
    if square >= best[0]:
        return best
    for shell in shells:
        distance = norm(sub(x, shell.centre))
        if not shell.inner - FEASIBLE_TOL_M <= distance <= shell.outer + FEASIBLE_TOL_M:
            return best
    return square, x


@kernel
def _nearest(p: Vec3, shells: Shells, all_candidates: bool) -> tuple[bool, Vec3]:
    """Return whether shells have something in common, and the nearest point of that."""
    best = _nearer(p, p, (math.inf, p), shells)
    # nothing counts that is not on a sphere that comes first
    n_first = 2 if shells[0].importance == math.inf else 8
    for kind in range(1, 4):
        if best[0] == 0.0 or best[0] < math.inf and not all_candidates:
            break
        for i in range(n_first):
            a, ra = _bound(shells, i)
            if ra <= 0.0:
                continue
            if kind == 1:
                best = _nearer(p, onto_sphere(p, a, ra), best, shells)
                continue
            for j in range(i + 1, 8):
                b, rb = _bound(shells, j)
                circle = circle_of(a, ra, b, rb)
                if rb <= 0.0 or math.isnan(circle[2]):
                    continue
                if kind == 2:
                    best = _nearer(p, on_circle(p, circle), best, shells)
                    continue
                for k in range(j + 1, 8):
                    c, rc = _bound(shells, k)
                    meet, one, other = vertices_of(circle, c, rc)
                    if rc > 0.0 and meet:
                        best = _nearer(p, one, best, shells)
                        best = _nearer(p, other, best, shells)
    return best[0] < math.inf, best[1]


@kernel
def _gap(a: Shell, b: Shell) -> float:
    """Return how far two shells are from touching each other, below 0 if they meet [m]."""
    away = norm(sub(a.centre, b.centre))
    return max(away - a.outer - b.outer, a.inner - away - b.outer, b.inner - away - a.outer)


@kernel
def _slack_of(shell: Shell) -> float:
    """Return how much a shell gives way per unit of growth: little if it is important."""
    w = max(shell.importance, LEAST_IMPORTANCE)
    return 1.0 / (w * w)


@kernel
def _grown(shell: Shell, growth: float) -> Shell:
    more = growth * _slack_of(shell)
    return Shell(shell.centre, shell.inner - more, shell.outer + more, shell.importance)


@kernel
def _nearest_grown(
    p: Vec3, shells: Shells, growth: float, all_candidates: bool
) -> tuple[bool, Vec3]:
    first, second = _grown(shells[0], growth), _grown(shells[1], growth)
    third, fourth = _grown(shells[2], growth), _grown(shells[3], growth)
    return _nearest(p, (first, second, third, fourth), all_candidates)


@kernel
def _least_growth(p: Vec3, shells: Shells, all_candidates: bool) -> tuple[float, Vec3]:
    """Return the least growth that gives shells something in common, and the nearest of that."""
    low = 0.0
    for i in range(4):
        for j in range(i):
            both = _slack_of(shells[i]) + _slack_of(shells[j])
            low = max(low, _gap(shells[i], shells[j]) / both)
    high = low  # where two of them decide
    found, x = _nearest_grown(p, shells, high, all_candidates)
    while not found:
        low, high = high, 2.0 * high + FIRST_GROWTH
        found, x = _nearest_grown(p, shells, high, all_candidates)
    while high - low > GROWTH_TOL * max(high, 1.0):
        middle = 0.5 * (low + high)
        found, nearer = _nearest_grown(p, shells, middle, all_candidates)
        if found:
            high, x = middle, nearer
        else:
            low = middle
    return high, x


# As printed (Shin2002 5.1): without balls that do not meet.


@kernel
def _extremes(shells: Shells) -> tuple[int, int]:
    """Return the most and the least important of the shells that give way, -1 without any."""
    first, last = -1, -1
    for i in range(4):
        if shells[i].outer < math.inf and shells[i].importance < math.inf:
            if first < 0 or shells[i].importance > shells[first].importance:
                first = i
            if last < 0 or shells[i].importance <= shells[last].importance:
                last = i
    return first, last


@kernel
def _without(shells: Shells, first: int, last: int) -> Shells:
    """
    Return shells without those that do not meet the most important one.

    Where all do, and still have nothing in common, the rule as printed would go on for ever: the
    least important one goes (errata 4).
    """
    dropped = last
    for i in range(4):
        if shells[i].importance < math.inf and _gap(shells[first], shells[i]) > FEASIBLE_TOL_M:
            dropped = -1
    return (
        _kept(shells[0], shells[first], dropped == 0),
        _kept(shells[1], shells[first], dropped == 1),
        _kept(shells[2], shells[first], dropped == 2),
        _kept(shells[3], shells[first], dropped == 3),
    )


@kernel
def _kept(shell: Shell, first: Shell, is_dropped: bool) -> Shell:
    is_apart = shell.importance < math.inf and _gap(first, shell) > FEASIBLE_TOL_M
    return NO_SHELL if is_dropped or is_apart else shell
