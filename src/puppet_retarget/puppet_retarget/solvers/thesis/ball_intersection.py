# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point nearest to a given one in the intersection of balls (Shin2002 app. A).

`closest_in_balls` places the root, `closest_in_shells` an elbow or a hand on a sphere. Both are as
the errata say: as printed the first kind of candidate wins that has a point in all balls, and
balls that have nothing in common are discarded; corrected, all candidates count, and the balls
grow together by the least amount that helps, so that the answer moves continuously as they drift
apart (errata 4).
"""

import math
from typing import NamedTuple

from puppet_core.math import (
    add,
    copy,
    cross,
    dot,
    Floats,
    kernel,
    norm,
    normalized,
    scale,
    sub,
    vec3,
    Vec3s,
    work_array,
)
from puppet_core.math.values import Vec3, Vec3Like

Circle = tuple[Vec3, Vec3, float]  # centre, unit normal and radius, NaN for none [m]

MAX_BALLS = 8  # of a problem
FEASIBLE_TOL_M = 1e-10  # ten times finer than errata 4 asks
NO_DISTANCE_M = 1e-15  # between centres that count as equal

GROWTH_TOL = 1e-12  # width of the bracket at which halving ends
SHELL_TOL_M, SHELL_GROWTH_TOL = 1e-9, 1e-14  # likewise for shells on a sphere
LEAST_IMPORTANCE = 1e-2  # below which a ball gives way no more readily [-]


# Where spheres meet, and which point of that is nearest to a given one.
#
# An infinite radius is no constraint (errata 3). No case list for tangent, nested or equal balls
# (errata 4): what does not exist is not a candidate, and what exists is tried.


@kernel
def is_allowed(x: Vec3Like, centre: Vec3Like, radius: float) -> bool:
    """Return whether x is in a ball, to FEASIBLE_TOL_M."""
    way, limit = sub(x, centre), radius + FEASIBLE_TOL_M
    return dot(way, way) <= limit * limit


@kernel
def onto_sphere(p: Vec3Like, centre: Vec3Like, radius: float) -> Vec3:
    """Return the point of a sphere nearest to p; any if p is its centre."""
    way = sub(p, centre)
    length = norm(way)
    if length == 0.0:
        way, length = (1.0, 0.0, 0.0), 1.0
    return add(centre, scale(way, radius / length))


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
        axis = (1.0, 0.0, 0.0) if abs(normal[0]) < 0.6 else (0.0, 1.0, 0.0)
        way = sub(axis, scale(normal, dot(normal, axis)))
        length = norm(way)
    x, y, z = scale(way, radius)
    return add(centre, (x / length, y / length, z / length))


@kernel
def vertices_of(circle: Circle, ball: Vec3Like, ball_radius: float) -> tuple[bool, Vec3, Vec3]:
    """Return whether a circle meets a sphere, and the two points where it does."""
    # Shin2002 eqs. A.8-A.11: the sphere cuts the circle's plane in a second circle
    centre, normal, radius = circle
    way = sub(ball, centre)
    h = dot(way, normal)
    other = (ball_radius - h) * (ball_radius + h)
    way = _square_to(normal, way)
    dist = norm(way)
    if dist < NO_DISTANCE_M:
        return False, centre, centre
    share = 1.0 / dist
    if 0.0 <= other < radius * radius:  # seen from the smaller circle
        size = math.sqrt(other)
        back = 0.5 * share * (other + (dist - radius) * (dist + radius))
        x, square = dist - back, (size - back) * (size + back)
    else:
        size = radius
        x = 0.5 * share * (radius * radius - other + dist * dist)
        square = (radius - x) * (radius + x)
    if square < -FEASIBLE_TOL_M * max(size, FEASIBLE_TOL_M):
        return False, centre, centre
    middle = add(centre, scale(way, x * share))
    side = scale(cross(normal, way), math.sqrt(max(square, 0.0)) * share)
    return True, add(middle, side), sub(middle, side)


@kernel
def keep_if_nearer(
    p: Vec3, x: Vec3, centres: Vec3s, radii: Floats, best: float, out: Floats
) -> float:
    """Copy x to `out` if it is feasible and nearer to p than `best`; return the nearest."""
    way = sub(x, p)
    square = dot(way, way)
    if square >= best:
        return best
    for i in range(len(radii)):
        if not is_allowed(x, centres[i], radii[i]):
            return best
    copy(x, out)
    return square


# The nearest point in balls.
#
# The nearest point is the given point itself, or lies on one sphere, on the circle of two or on a
# vertex of three; all of these are tried and the nearest feasible one is the answer (errata 4).
# Where it is not unique, as from a point in the centre or on an axis, a whole sphere or
# circle is equally near: one point of it is tried, and if that is not feasible, what bounds the
# feasible part of it is. When nothing is feasible, all constraints give way together by the least
# amount that helps: the answer then moves continuously as balls drift apart, which discarding
# balls would not.


@kernel
def _nearest_feasible(p: Vec3, centres: Vec3s, radii: Floats, out: Floats) -> bool:
    """Write the nearest feasible point; return False if there is none."""
    n = len(radii)
    if keep_if_nearer(p, p, centres, radii, math.inf, out) == 0.0:
        return True
    for i in range(n):
        # what is nearest in one constraint and keeps all others is the answer
        if not is_allowed(p, centres[i], radii[i]):
            x = onto_sphere(p, centres[i], radii[i])
            if keep_if_nearer(p, x, centres, radii, math.inf, out) < math.inf:
                return True
    best = math.inf
    for i in range(n):
        for j in range(i):
            if radii[i] == math.inf or radii[j] == math.inf:
                continue
            circle = circle_of(centres[i], radii[i], centres[j], radii[j])
            if math.isnan(circle[2]):
                continue
            best = keep_if_nearer(p, on_circle(p, circle), centres, radii, best, out)
            for m in range(j):
                if radii[m] < math.inf:
                    meet, one, other = vertices_of(circle, centres[m], radii[m])
                    if meet:
                        best = keep_if_nearer(p, one, centres, radii, best, out)
                        best = keep_if_nearer(p, other, centres, radii, best, out)
    return best < math.inf


@kernel
def closest_in_balls(
    p: Vec3Like, centres: Vec3s, radii: Floats, slacks: Floats
) -> tuple[float, Vec3]:
    """
    Return relaxation and nearest point to p in the intersection of balls, relaxed if empty.

    A radius of infinity is no constraint (errata 3); at most MAX_BALLS [m]. Slacks > 0 are how
    much each ball gives way per unit of relaxation: large for balls that matter little. The
    relaxation is 0 if something is feasible, else the least t for which radii r + t slack leave
    something. Continuous in all arguments, also where the intersection vanishes: the relaxed
    balls meet in one point, to which the intersection shrank.
    """
    start, out = vec3(p), work_array(3)
    # of one layout, so that what is called is compiled once
    centres, radii, slacks = centres[:], radii[:], slacks[:]
    if _nearest_feasible(start, centres, radii, out):
        return 0.0, vec3(out)
    growth = least_growth(start, centres, radii, slacks, out)
    return growth, vec3(out)


# The least growth that gives balls a common point (fills a gap of Shin2002 app. A).
#
# Ball i grows by slack i per unit of growth t; sought is the least t for which all balls meet,
# that is, the minimum over x of the largest (|x - c_i| - r_i) / s_i. By Helly's theorem two,
# three or four of the balls decide it. Two meet on the line of their centres; what more decide is
# found by halving.


@kernel
def largest_growth(x: Vec3Like, centres: Vec3s, radii: Floats, slacks: Floats) -> float:
    """Return the growth that makes x feasible; -inf if no radius is finite."""
    worst = -math.inf
    for i in range(len(radii)):
        if radii[i] < math.inf:
            worst = max(worst, (norm(sub(x, centres[i])) - radii[i]) / slacks[i])
    return worst


@kernel
def least_growth(p: Vec3, centres: Vec3s, radii: Floats, slacks: Floats, out: Floats) -> float:
    """
    Return the least growth of balls that have nothing in common, write the point they then share.

    That is the one nearest to p where growth is known to GROWTH_TOL only.
    """
    n, low = len(radii), 0.0
    copy(p, out)
    for i in range(n):
        for j in range(i):
            if radii[i] == math.inf or radii[j] == math.inf:
                continue
            way = sub(centres[i], centres[j])
            distance = norm(way)
            growth = (distance - radii[i] - radii[j]) / (slacks[i] + slacks[j])
            if growth > low:
                low = growth
                share = (radii[j] + growth * slacks[j]) / distance
                copy(add(centres[j], scale(way, share)), out)
    high, x = largest_growth(out, centres, radii, slacks), work_array(3)
    grown = work_array(MAX_BALLS)[:n]
    while high - low > GROWTH_TOL * max(high, 1.0):
        middle = 0.5 * (low + high)
        for i in range(n):
            grown[i] = radii[i] + middle * slacks[i]
        if _nearest_feasible(p, centres, grown, x):
            high = middle
            copy(x, out)
        else:
            low = middle
    return high


# As printed (Shin2002 5.1): by kinds of candidates, and without balls that do not meet.


@kernel
def closest_by_errata(
    p: Vec3Like,
    centres: Vec3s,
    radii: Floats,
    importances: Floats,
    all_candidates: bool,
    growing: bool,
) -> Vec3:
    """
    Return the nearest point to p in the intersection of balls, corrected or as printed [m].

    Both flags are of the errata; a radius of infinity is no constraint (errata 3).
    """
    start, out, n = vec3(p), work_array(3), len(radii)
    left, slacks = work_array(MAX_BALLS)[:n], work_array(MAX_BALLS)[:n]
    for i in range(n):
        left[i], slacks[i] = radii[i], slack_of(importances[i])
    for _ in range(n):
        if all_candidates:
            found = _nearest_feasible(start, centres[:], left, out)
        else:
            found = _first_feasible(start, centres[:], left, out)
        if found:
            break
        if growing:
            least_growth(start, centres[:], left, slacks, out)
            break
        _discard(centres, left, importances)
    return vec3(out)


@kernel
def slack_of(importance: float) -> float:
    """Return how much a ball gives way per unit of growth: little if it is important."""
    w = max(importance, LEAST_IMPORTANCE)
    return 1.0 / (w * w)


@kernel
def _first_feasible(p: Vec3, centres: Vec3s, radii: Floats, out: Floats) -> bool:
    """Write the nearest of the first kind of candidates that are feasible; False if none is."""
    n = len(radii)
    if keep_if_nearer(p, p, centres, radii, math.inf, out) == 0.0:
        return True
    for kind in range(1, 4):
        best = math.inf
        for i in range(n):
            if radii[i] == math.inf:
                continue
            if kind == 1:
                x = onto_sphere(p, centres[i], radii[i])
                best = keep_if_nearer(p, x, centres, radii, best, out)
                continue
            for j in range(i):
                if radii[j] == math.inf:
                    continue
                circle = circle_of(centres[i], radii[i], centres[j], radii[j])
                if math.isnan(circle[2]):
                    continue
                if kind == 2:
                    best = keep_if_nearer(p, on_circle(p, circle), centres, radii, best, out)
                for m in range(j if kind == 3 else 0):
                    meet, one, other = vertices_of(circle, centres[m], radii[m])
                    if meet and radii[m] < math.inf:
                        best = keep_if_nearer(p, one, centres, radii, best, out)
                        best = keep_if_nearer(p, other, centres, radii, best, out)
        if best < math.inf:
            return True
    return False


@kernel
def _discard(centres: Vec3s, radii: Floats, importances: Floats) -> None:
    """
    Make infinite the radii of balls that do not meet the most important one.

    Where all do, and still have nothing in common, the rule as printed would go on for ever: the
    least important one goes (errata 4).
    """
    first, last, dropped = -1, -1, 0
    for i in range(len(radii)):
        if radii[i] == math.inf:
            continue
        if first < 0 or importances[i] > importances[first]:
            first = i
        if last < 0 or importances[i] <= importances[last]:
            last = i
    for i in range(len(radii)):
        apart = norm(sub(centres[i], centres[first])) > radii[i] + radii[first] + FEASIBLE_TOL_M
        if radii[i] < math.inf and apart:
            radii[i] = math.inf
            dropped += 1
    if dropped == 0:
        radii[last] = math.inf


# On a sphere (Shin2002 5.3.3): the elbow about its shoulder, the hand about its elbow.
#
# A range is a shell about a centre: not farther than its outer radius, and for an elbow that holds
# a hand not nearer than its inner one (fig. 5.6, errata 7). Its two spheres cut the given one
# in circles; what is nearest lies on none, one or two of them.


class Shell(NamedTuple):
    """Points between two distances from a centre; with an infinite radius no constraint."""

    centre: Vec3
    inner: float  # [m]; not above 0: a ball
    outer: float  # [m]
    importance: float


Shells = tuple[Shell, Shell, Shell]
NO_SHELL = Shell((0.0, 0.0, 0.0), 0.0, math.inf, 0.0)


class Sphere(NamedTuple):
    """Where an elbow or a hand can be."""

    centre: Vec3
    radius: float  # [m]


@kernel
def closest_in_shells(
    start: Vec3, sphere: Sphere, shells: Shells, all_candidates: bool, growing: bool
) -> Vec3:
    """
    Return the nearest point to `start` on a sphere that is in shells, corrected or as printed [m].

    Both flags are of the errata. What is out of reach of the whole sphere gets the point of the
    sphere that is nearest to it.
    """
    found, point = _on_sphere(start, sphere, shells, 0.0, all_candidates)
    if found:
        return point
    if growing:
        return _grown(start, sphere, shells, all_candidates)
    return _discarded(start, sphere, shells, all_candidates)


@kernel
def grown(shell: Shell, growth: float) -> tuple[float, float]:
    """Return inner and outer radius of a shell that gives way [m]."""
    more = growth * slack_of(shell.importance)
    return shell.inner - more, shell.outer + more


@kernel
def is_in_shells(x: Vec3, shells: Shells, growth: float) -> bool:
    """Return whether a point is in all shells that have grown, to SHELL_TOL_M."""
    for i in range(3):
        if shells[i].outer < math.inf:
            inner, outer = grown(shells[i], growth)
            distance = norm(sub(x, shells[i].centre))
            if distance > outer + SHELL_TOL_M or distance < inner - SHELL_TOL_M:
                return False
    return True


@kernel
def _nearer(
    start: Vec3, x: Vec3, best: tuple[float, Vec3], shells: Shells, growth: float
) -> tuple[float, Vec3]:
    """Return squared distance and point of x if that is nearer than the best, and in shells."""
    way = sub(x, start)
    square = dot(way, way)
    if square < best[0] and is_in_shells(x, shells, growth):
        return square, x
    return best


@kernel
def _on_sphere(
    start: Vec3, sphere: Sphere, shells: Shells, growth: float, all_candidates: bool
) -> tuple[bool, Vec3]:
    """Return whether there is a point of a sphere in grown shells, and the nearest."""
    best = (math.inf, start)
    best = _nearer(start, onto_sphere(start, sphere.centre, sphere.radius), best, shells, growth)
    for kind in range(1, 3):
        if best[0] < math.inf and (kind == 1 or not all_candidates):
            break  # the start itself cannot be beaten, and as printed the first kind wins
        for i in range(6):
            circle = _cut(sphere, shells, i, growth)
            if math.isnan(circle[2]):
                continue
            if kind == 1:
                best = _nearer(start, on_circle(start, circle), best, shells, growth)
                continue
            for j in range(2 * (i // 2)):
                radius = _bound(shells, j, growth)
                if not 0.0 < radius < math.inf:
                    continue
                meet, one, other = vertices_of(circle, shells[j // 2].centre, radius)
                if meet:
                    best = _nearer(start, one, best, shells, growth)
                    best = _nearer(start, other, best, shells, growth)
    return best[0] < math.inf, best[1]


@kernel
def _bound(shells: Shells, i: int, growth: float) -> float:
    """Return the radius of sphere i of 6, an inner and an outer one of each shell [m]."""
    inner, outer = grown(shells[i // 2], growth)
    return inner if i % 2 == 0 else outer


@kernel
def _cut(sphere: Sphere, shells: Shells, i: int, growth: float) -> Circle:
    """Return the circle in which sphere i of the shells cuts a sphere, its radius NaN if none."""
    radius = _bound(shells, i, growth)
    if not 0.0 < radius < math.inf:
        return sphere.centre, sphere.centre, math.nan
    return circle_of(sphere.centre, sphere.radius, shells[i // 2].centre, radius)


@kernel
def _grown(start: Vec3, sphere: Sphere, shells: Shells, all_candidates: bool) -> Vec3:
    """Return the point that shells first have in common with a sphere when they grow together."""
    low, high = 0.0, 0.0
    x = onto_sphere(start, sphere.centre, sphere.radius)
    for i in range(3):
        shell = shells[i]
        if shell.outer == math.inf:
            continue
        slack, away = slack_of(shell.importance), norm(sub(shell.centre, sphere.centre))
        nearest, farthest = abs(away - sphere.radius), away + sphere.radius
        low = max(low, (nearest - shell.outer) / slack, (shell.inner - farthest) / slack)
        here = norm(sub(x, shell.centre))
        high = max(high, (here - shell.outer) / slack, (shell.inner - here) / slack)
    found, point = _on_sphere(start, sphere, shells, low, all_candidates)
    if found:
        return point
    while high - low > SHELL_GROWTH_TOL * max(high, 1.0):
        middle = 0.5 * (low + high)
        found, point = _on_sphere(start, sphere, shells, middle, all_candidates)
        if found:
            high, x = middle, point
        else:
            low = middle
    return x


@kernel
def _discarded(start: Vec3, sphere: Sphere, shells: Shells, all_candidates: bool) -> Vec3:
    """Return the nearest point on a sphere after shells were discarded as balls are."""
    left = shells
    for _ in range(3):
        first, last = -1, -1
        for i in range(3):
            if left[i].outer == math.inf:
                continue
            if first < 0 or left[i].importance > left[first].importance:
                first = i
            if last < 0 or left[i].importance <= left[last].importance:
                last = i
        if first == last:
            # errata 4: no point of the sphere is in the last shell; the one nearest to it
            centre, radius = left[first].centre, sphere.radius
            beside = onto_sphere(centre, sphere.centre, radius)
            if norm(sub(beside, centre)) < left[first].inner:
                return sub(scale(sphere.centre, 2.0), beside)  # the farthest from the centre
            return beside
        drops = (
            not _meet(left[first], left[0]),
            not _meet(left[first], left[1]),
            not _meet(left[first], left[2]),
        )
        if not (drops[0] or drops[1] or drops[2]):
            drops = (last == 0, last == 1, last == 2)
        left = (
            NO_SHELL if drops[0] else left[0],
            NO_SHELL if drops[1] else left[1],
            NO_SHELL if drops[2] else left[2],
        )
        found, point = _on_sphere(start, sphere, left, 0.0, all_candidates)
        if found:
            return point
    return start


@kernel
def _meet(a: Shell, b: Shell) -> bool:
    """Return whether two shells have common points, wherever."""
    away = norm(sub(a.centre, b.centre))
    if a.outer == math.inf or b.outer == math.inf:
        return True
    is_near = away <= a.outer + b.outer + SHELL_TOL_M
    return is_near and away + b.outer >= a.inner and away + a.outer >= b.inner
