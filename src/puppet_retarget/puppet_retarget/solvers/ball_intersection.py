# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point nearest to a given one inside some balls and outside others (Shin2002 app. A).

The root's position is `closest_in_balls` (its balls are made in `solvers.root`), an elbow on its
circle or sphere `closest_on_sphere`.
Constraints that contradict each other are relaxed together by the least amount that helps, so
the answer moves continuously as balls drift apart. Each section explains its method.
"""

import math

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import (
    copy,
    Floats,
    kernel,
    solve_in_place,
    Vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math.values import Vec3Like

Members = tuple[int, int, int, int]  # balls that decide, the last -1 if they are three

MEET_TOL_M = 1e-11  # how far the deciding spheres may miss their common point
PROOF_TOL = 1e-11  # gap between the bounds at which the growth counts as known
SIGN_TOL = 1e-9  # how negative a multiplier may be [-]
NEWTON_STEPS = 20

Bools = NDArray[np.bool_]  # shape (n,)

MAX_BALLS = 8  # of a problem; on a sphere what is more is ignored
FEASIBLE_TOL_M = 1e-10  # ten times finer than errata 4 asks
NO_DISTANCE_M = 1e-15  # between centres that count as equal

GROWTH_TOL = 1e-12  # width of the bracket at which halving ends
MAX_HALVINGS = 48

TIE_TOL_M = 1e-12  # of constraints missed equally: the point nearer to the given one is taken
PARALLEL = 1e-10  # sine below which two planes count as parallel
TOUCH = 1e-9  # how far a line may miss the unit sphere, squared


# The least growth that gives balls a common point (fills a gap of Shin2002 app. A).
#
# Ball i grows by slack i per unit of growth t; sought are the least t for which all balls meet
# and the one point in which they then do, that is, the minimum over x of the largest (|x - c_i| -
# r_i) / s_i. By Helly's theorem two, three or four of the balls decide it. Two meet on the line
# of their centres; three in the plane of their centres, and four, by Newton steps. Multipliers
# prove that a meeting cannot be had for less; halving is left for the case that no proof
# succeeds.
#
# Balls to stay outside of have radii below zero, as for `sign_radii`. They shrink by their
# slack; they do not help to decide the growth here, but count in how much of it a point needs.


@kernel
def largest_growth(x: Vec3, centres: Vec3s, radii: Floats, slacks: Floats) -> float:
    """Return the growth that makes x feasible; -inf if no radius is finite."""
    worst = -math.inf
    for i in range(len(radii)):
        if radii[i] < math.inf:
            dx, dy, dz = x[0] - centres[i, 0], x[1] - centres[i, 1], x[2] - centres[i, 2]
            excess = math.sqrt(dx * dx + dy * dy + dz * dz) - abs(radii[i])
            worst = max(worst, (excess if radii[i] >= 0.0 else -excess) / slacks[i])
    return worst


@kernel
def _holds_in(radius: float) -> bool:
    """Return whether a signed radius is that of a ball to stay inside of."""
    return 0.0 <= radius < math.inf


@kernel
def _pair(centres: Vec3s, radii: Floats, slacks: Floats, i: int, j: int, out: Vec3) -> float:
    """Write where two growing balls first touch; return the growth."""
    square = 0.0
    for k in range(3):
        square += (centres[j, k] - centres[i, k]) ** 2
    distance = math.sqrt(square)
    growth = (distance - radii[i] - radii[j]) / (slacks[i] + slacks[j])
    share = (radii[i] + growth * slacks[i]) / distance if distance > 0.0 else 0.0
    for k in range(3):
        out[k] = centres[i, k] + share * (centres[j, k] - centres[i, k])
    return growth


@kernel
def _linearise(
    members: Members,
    centres: Vec3s,
    radii: Floats,
    slacks: Floats,
    x: Vec3,
    growth: float,
    rows: Floats,
) -> float:
    """
    Fill the linear system of a Newton step, (4, 5); return how far the spheres miss x.

    A third ball makes do with three rows; the fourth keeps x in the plane of the centres.
    """
    miss = 0.0
    for row in range(4):
        i = members[row]
        if i < 0:
            a, b, c = centres[members[0]], centres[members[1]], centres[members[2]]
            rows[row, 0] = (b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])
            rows[row, 1] = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2])
            rows[row, 2] = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            norm = math.sqrt(rows[row, 0] ** 2 + rows[row, 1] ** 2 + rows[row, 2] ** 2)
            rows[row, 3], rows[row, 4] = 0.0, 0.0
            for k in range(3):
                rows[row, k] = rows[row, k] / norm if norm > 0.0 else 0.0
                rows[row, 4] += rows[row, k] * (a[k] - x[k])
            continue
        square = 0.0
        for k in range(3):
            rows[row, k] = x[k] - centres[i, k]
            square += rows[row, k] ** 2
        distance = math.sqrt(square)
        for k in range(3):
            rows[row, k] = rows[row, k] / distance if distance > 0.0 else 0.0
        rows[row, 3] = -slacks[i]
        rows[row, 4] = radii[i] + growth * slacks[i] - distance
        miss = max(miss, abs(rows[row, 4]))
    return miss


@kernel
def _meeting(
    members: Members, centres: Vec3s, radii: Floats, slacks: Floats, growth: float, x: Vec3
) -> float:
    """Move x to where three or four growing balls meet; return the growth, NaN without proof."""
    rows, turned = work_table(4, 5), work_table(4, 5)
    for _ in range(NEWTON_STEPS):
        miss = _linearise(members, centres, radii, slacks, x, growth, rows)
        for row in range(4):
            for k in range(4):
                turned[k, row] = rows[row, k]
            turned[row, 4] = 0.0 if row < 3 else -1.0
        if not solve_in_place(rows):
            return math.nan
        for k in range(3):
            x[k] += rows[k, 4]
        growth += rows[3, 4]
        if miss < MEET_TOL_M:
            # multipliers: sum of lambda u is zero, sum of lambda s is one, none negative
            if not solve_in_place(turned):
                return math.nan
            for row in range(4):
                if members[row] >= 0 and turned[row, 4] * slacks[members[row]] < -SIGN_TOL:
                    return math.nan
            return growth
    return math.nan


@kernel
def _try_meeting(
    members: Members,
    centres: Vec3s,
    radii: Floats,
    slacks: Floats,
    start: Vec3,
    bounds: Floats,
    x: Vec3,
    out: Vec3,
) -> None:
    """Take a meeting of three or four balls if it proves a larger growth than is known."""
    for i in members:
        if i >= 0 and not _holds_in(radii[i]):
            return
    copy(start, x)
    growth = _meeting(members, centres, radii, slacks, bounds[0], x)
    if growth > bounds[0]:
        bounds[0] = growth
        bounds[1] = largest_growth(x, centres, radii, slacks)
        copy(x, out)


@kernel
def least_growth(centres: Vec3s, radii: Floats, slacks: Floats, bounds: Floats, out: Vec3) -> bool:
    """
    Write the first common point of growing balls; return whether it is proven to be that.

    Radii are signed, infinite ones are left out [m]; slacks > 0 are each one's growth per unit.
    The growth lies between the two bounds; negative if more than a point is common. `out` is any
    point at first, then the common one, or one that needs no more than the upper bound [m].
    """
    n = len(radii)
    x, start = work_array(3), work_array(3)
    bounds[0], bounds[1] = -math.inf, largest_growth(out, centres, radii, slacks)
    for i in range(n):
        for j in range(i):
            if _holds_in(radii[i]) and _holds_in(radii[j]):
                growth = _pair(centres, radii, slacks, i, j, x)
                if growth > bounds[0]:
                    bounds[0] = growth
                    bounds[1] = largest_growth(x, centres, radii, slacks)
                    copy(x, out)
    copy(out, start)
    for i in range(2, n):
        for j in range(1, i):
            for k in range(j):
                if bounds[1] - bounds[0] > PROOF_TOL:
                    _try_meeting((i, j, k, -1), centres, radii, slacks, start, bounds, x, out)
    copy(out, start)
    for i in range(3, n):
        for j in range(2, i):
            for k in range(1, j):
                for m in range(k):
                    if bounds[1] - bounds[0] > PROOF_TOL:
                        _try_meeting((i, j, k, m), centres, radii, slacks, start, bounds, x, out)
    return bounds[1] - bounds[0] <= PROOF_TOL


# Where spheres meet, and which point of that is nearest to a given one.
#
# Radii carry a sign: a constraint of radius r >= 0 keeps a point inside the ball, one of -r keeps
# it outside, and an infinite one is none. The spheres' equations see squares only, so everything
# here serves both kinds (errata 4, 7; Shin2002 app. A). No case list for tangent, nested or
# equal balls: what does not exist is not a candidate, and what exists is tried.


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
    """Fill centre and unit normal of the circle of two spheres; return its radius or NaN."""
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


# The nearest point in balls.
#
# The nearest point is the given point itself, or lies on one sphere, on the circle of two or on a
# vertex of three; all of these are tried and the nearest feasible one is the answer (errata 4,
# 7). Where it is not unique, as from a point in the centre or on an axis, a whole sphere or
# circle is equally near: one point of it is tried, and if that is not feasible, what bounds the
# feasible part of it is. When nothing is feasible, all constraints give way together by the least
# amount that helps: the answer then moves continuously as balls drift apart, which discarding
# balls would not.


@kernel
def _nearest_feasible(p: Vec3, centres: Vec3s, signed: Floats, out: Vec3) -> bool:
    """Write the nearest feasible point; return False if there is none."""
    x, centre, normal = work_array(3), work_array(3), work_array(3)
    n = len(signed)
    if keep_if_nearer(p, p, centres, signed, math.inf, out) == 0.0:
        return True
    for i in range(n):
        # what is nearest in one constraint and keeps all others is the answer
        if not is_allowed(p, centres, signed, i):
            onto_sphere(p, centres[i], signed[i], x)
            if keep_if_nearer(p, x, centres, signed, math.inf, out) < math.inf:
                return True
    pair, best = work_table(2, 3), math.inf
    for i in range(n):
        for j in range(i):
            if signed[i] == math.inf or signed[j] == math.inf:
                continue
            radius = circle_of(centres[i], signed[i], centres[j], signed[j], centre, normal)
            if math.isnan(radius):
                continue
            on_circle(p, centre, normal, radius, x)
            best = keep_if_nearer(p, x, centres, signed, best, out)
            for m in range(j):
                if signed[m] < math.inf:
                    if vertices_of(centre, normal, radius, centres[m], signed[m], pair):
                        best = keep_if_nearer(p, pair[0], centres, signed, best, out)
                        best = keep_if_nearer(p, pair[1], centres, signed, best, out)
    return best < math.inf


@kernel
def closest_in_balls(p: Vec3, centres: Vec3s, radii: Floats, slacks: Floats, out: Vec3) -> float:
    """
    Write the point nearest to p in the intersection of balls, relaxed if that is empty.

    A radius of infinity is no constraint (errata 3), -r keeps outside of a ball of radius r; at
    most MAX_BALLS [m]. Slacks > 0 are how much each constraint gives way per unit of relaxation:
    large for balls that matter little. `out` may be p itself. The relaxation is returned: 0 if
    something is feasible, else the least t for which radii r + t slack (r - t slack of balls to
    stay outside of) leave something.

    With balls to stay inside of only, continuous in all arguments, also where the intersection
    vanishes: the relaxed balls meet in one point, to which the intersection shrank.

    With balls to stay outside of, what is feasible may have several parts. The answer is the
    nearest point of all of them, so it jumps where two parts are equally near, or the nearest one
    vanishes while another is left; it is continuous where the last one shrinks to a point and
    vanishes, and from then on as long as that point is the only one. The relaxation is then found
    by halving: to 1e-12 of the least, which leaves the point uncertain by the square root of
    FEASIBLE_TOL_M, and at some ten times the cost.
    """
    start = work_array(3)
    copy(p, start)
    if _nearest_feasible(start, centres, radii, out):
        return 0.0
    bounds = work_array(2)
    copy(start, out)
    if not least_growth(centres, radii, slacks, bounds, out):
        _halve(start, centres, radii, slacks, bounds, out)
    return max(bounds[1], 0.0)


@kernel
def _halve(
    start: Vec3, centres: Vec3s, signed: Floats, slacks: Floats, bounds: Floats, out: Vec3
) -> None:
    """Narrow the bounds of the growth by trying, where Newton steps cannot settle it."""
    x, work = work_array(3), work_array(MAX_BALLS)[: len(signed)]
    bounds[0] = max(bounds[0], 0.0)
    for _ in range(MAX_HALVINGS):
        if bounds[1] - bounds[0] < GROWTH_TOL:
            break
        middle = 0.5 * (bounds[0] + bounds[1])
        for i in range(len(signed)):
            work[i] = relax_radius(signed[i], middle * slacks[i])
        if _nearest_feasible(start, centres, work, x):
            bounds[1] = middle
            copy(x, out)
        else:
            bounds[0] = middle


# The least relaxation that leaves something of a sphere (fills a gap of Shin2002).
#
# For a point centre + radius x of the sphere, |x| = 1, being inside a ball of radius r about
# centre + n is a half-space, n.x >= b with b = (radius^2 + |n|^2 - r^2) / (2 radius); outside
# turns both signs. Relaxed by t it is n.x >= b - t s with the slack s, so what is sought is the
# minimum over the sphere of the largest of (b_i - n_i.x) / s_i. In the minimum one, two or three
# of these are the largest: one is least at x = n / |n|; where two are, they are equal, and x is
# in the plane of both n; three are equal in two points at most. All of these are tried; those of
# three only if no one or two prove that it cannot be had for less.


@kernel
def relax_on_sphere(
    radius: float, signed: Floats, slacks: Floats, relaxation: float, out: Floats
) -> None:
    """Write the signed radii of balls relaxed on a sphere; `out` may be `signed`."""
    for i in range(len(signed)):
        growth = 2.0 * radius * relaxation * slacks[i]
        square = relax_radius(math.copysign(signed[i] * signed[i], signed[i]), growth)
        out[i] = math.copysign(math.sqrt(abs(square)), square)


@kernel
def _fill_rows(
    centre: Vec3, radius: float, ball_centres: Vec3s, signed: Floats, slacks: Floats, rows: Floats
) -> int:
    """Fill n_i / s_i and b_i / s_i of the constraints there are; return their number."""
    count = 0
    for i in range(len(signed)):
        if signed[i] == math.inf:
            continue
        square = 0.0
        for k in range(3):
            rows[count, k] = ball_centres[i, k] - centre[k]
            square += rows[count, k] * rows[count, k]
        dist, r = math.sqrt(square), abs(signed[i])
        # of (radius - r) and not of squares, for the rounding of balls that just touch
        rows[count, 3] = ((radius - r) * (radius + r) + dist * dist) / (2.0 * radius)
        scale = (1.0 if signed[i] >= 0.0 else -1.0) / slacks[i]
        for k in range(4):
            rows[count, k] *= scale
        if dist < NO_DISTANCE_M:
            rows[count, 0], rows[count, 1], rows[count, 2] = 0.0, 0.0, 0.0
        count += 1
    return count


@kernel
def _keep_if_less(
    points: Vec3s, which: int, rows: Floats, count: int, towards: Vec3, best: Floats, out: Vec3
) -> None:
    """
    Copy one of the directions to `out` if it needs less relaxation than the best, or is nearer.

    `best` is the relaxation, the squared distance, and the difference that counts as a tie.
    """
    x, y, z = points[which, 0], points[which, 1], points[which, 2]
    worst, limit = -math.inf, best[0] + best[2]
    for i in range(count):
        worst = max(worst, rows[i, 3] - rows[i, 0] * x - rows[i, 1] * y - rows[i, 2] * z)
        if worst > limit:
            return
    away = (x - towards[0]) ** 2 + (y - towards[1]) ** 2 + (z - towards[2]) ** 2
    if worst < best[0] - best[2] or away < best[1]:
        best[0], best[1] = min(worst, best[0]), away
        out[0], out[1], out[2] = x, y, z


@kernel
def _where_planes_cut(planes: Floats, points: Vec3s) -> bool:
    """
    Write the two unit x with a.x = k for both rows (a, k) of the planes, if there are.

    Parallel planes have none.
    """
    a0, a1, a2, a3 = planes[0, 0], planes[0, 1], planes[0, 2], planes[0, 3]
    b0, b1, b2, b3 = planes[1, 0], planes[1, 1], planes[1, 2], planes[1, 3]
    aa, bb = a0 * a0 + a1 * a1 + a2 * a2, b0 * b0 + b1 * b1 + b2 * b2
    ab = a0 * b0 + a1 * b1 + a2 * b2
    w0, w1, w2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    ww = w0 * w0 + w1 * w1 + w2 * w2
    if ww <= PARALLEL * PARALLEL * aa * bb:
        return False
    share = 1.0 / ww
    alpha, beta = (a3 * bb - b3 * ab) * share, (b3 * aa - a3 * ab) * share
    x, y, z = alpha * a0 + beta * b0, alpha * a1 + beta * b1, alpha * a2 + beta * b2
    square = x * x + y * y + z * z
    if square > 1.0:
        if square > 1.0 + TOUCH:
            return False
        norm = math.sqrt(square)
        x, y, z, square = x / norm, y / norm, z / norm, 1.0
    along = math.sqrt((1.0 - square) * share)
    points[0, 0], points[0, 1], points[0, 2] = x + along * w0, y + along * w1, z + along * w2
    points[1, 0], points[1, 1], points[1, 2] = x - along * w0, y - along * w1, z - along * w2
    return True


@kernel
def _need(rows: Floats, i: int, points: Vec3s, which: int) -> float:
    """Return the relaxation that one constraint needs in a direction."""
    x, y, z = points[which, 0], points[which, 1], points[which, 2]
    return rows[i, 3] - rows[i, 0] * x - rows[i, 1] * y - rows[i, 2] * z


@kernel
def _try_pair(
    rows: Floats,
    count: int,
    i: int,
    j: int,
    towards: Vec3,
    planes: Floats,
    points: Vec3s,
    best: Floats,
    out: Vec3,
) -> float:
    """
    Try the points in which two constraints need the same; return the least that both need.

    Rows 2 + i of the points are where each constraint alone needs least.
    """
    for k in range(4):
        planes[0, k] = rows[i, k] - rows[j, k]
    # the plane of both normals
    planes[1, 0] = rows[i, 1] * rows[j, 2] - rows[i, 2] * rows[j, 1]
    planes[1, 1] = rows[i, 2] * rows[j, 0] - rows[i, 0] * rows[j, 2]
    planes[1, 2] = rows[i, 0] * rows[j, 1] - rows[i, 1] * rows[j, 0]
    planes[1, 3] = 0.0
    # either is enough for both where it needs least: then no point of both is of use
    for a, b in ((i, j), (j, i)):
        alone = _need(rows, a, points, 2 + a)
        if _need(rows, b, points, 2 + a) <= alone:
            return alone
    if _where_planes_cut(planes, points):
        _keep_if_less(points, 0, rows, count, towards, best, out)
        _keep_if_less(points, 1, rows, count, towards, best, out)
        return min(_need(rows, i, points, 0), _need(rows, i, points, 1))
    if _on_cut(planes, towards, points):
        _keep_if_less(points, 0, rows, count, towards, best, out)
        return _need(rows, i, points, 0)
    return -math.inf


@kernel
def _try_triples(
    rows: Floats, count: int, towards: Vec3, planes: Floats, points: Vec3s, best: Floats, out: Vec3
) -> None:
    """Try the points in which three constraints need the same."""
    for i in range(2, count):
        for j in range(1, i):
            for k in range(4):
                planes[0, k] = rows[i, k] - rows[j, k]
            for m in range(j):
                for k in range(4):
                    planes[1, k] = rows[i, k] - rows[m, k]
                if _where_planes_cut(planes, points):
                    _keep_if_less(points, 0, rows, count, towards, best, out)
                    _keep_if_less(points, 1, rows, count, towards, best, out)


@kernel
def _on_cut(planes: Floats, towards: Vec3, points: Vec3s) -> bool:
    """Write a point of the circle in which the first plane cuts the unit sphere, if it does."""
    middle, normal = work_array(3), work_array(3)
    norm = math.sqrt(planes[0, 0] ** 2 + planes[0, 1] ** 2 + planes[0, 2] ** 2)
    if abs(planes[0, 3]) >= norm:
        return False
    offset = planes[0, 3] / norm
    for k in range(3):
        normal[k] = planes[0, k] / norm
        middle[k] = offset * normal[k]
    on_circle(towards, middle, normal, math.sqrt(1.0 - offset * offset), points[0])
    return True


@kernel
def least_relaxation(
    p: Vec3,
    centre: Vec3,
    radius: float,
    ball_centres: Vec3s,
    signed: Floats,
    slacks: Floats,
    out: Vec3,
) -> float:
    """
    Write the point of a sphere that is left when balls are relaxed by the least amount.

    Radii are signed [m], slacks > 0. Of several points left, one near to p, on the sphere, is
    taken. The least t >= 0 is returned [m]; -t if a ball about the sphere's very centre decides
    it, which leaves more than a point.
    """
    towards, direction = work_array(3), work_array(3)
    rows, planes = work_table(MAX_BALLS, 4), work_table(2, 4)
    points, best = work_table(10, 3), work_array(3)  # MAX_BALLS after two of a pair
    for k in range(3):
        towards[k] = (p[k] - centre[k]) / radius
    largest = 0.0
    for slack in slacks:
        largest = max(largest, slack)
    count = _fill_rows(centre, radius, ball_centres, signed, slacks, rows)
    best[0], best[1], best[2] = math.inf, math.inf, TIE_TOL_M / largest
    least, constant = 0.0, -math.inf
    for i in range(count):
        norm = math.sqrt(rows[i, 0] ** 2 + rows[i, 1] ** 2 + rows[i, 2] ** 2)
        if norm == 0.0:
            constant = max(constant, rows[i, 3])
        for k in range(3):
            points[2 + i, k] = rows[i, k] / norm if norm > 0.0 else towards[k]
        _keep_if_less(points, 2 + i, rows, count, towards, best, direction)
        least = max(least, _need(rows, i, points, 2 + i))
        for j in range(i):
            both = _try_pair(rows, count, i, j, towards, planes, points, best, direction)
            least = max(least, both)
    if best[0] > least + best[2]:
        _try_triples(rows, count, towards, planes, points, best, direction)
    for k in range(3):
        out[k] = centre[k] + radius * direction[k]
    least = max(best[0], 0.0)
    return -constant if 0.0 < constant >= least - best[2] else least


# The nearest point of a sphere.
#
# An elbow moves on a sphere about its shoulder (Shin2002 section 5.3.3), and so does a hand about
# its elbow. This is the problem of `closest_in_balls` with the sphere as one more constraint,
# which always holds with equality: the nearest point is the given one cast on the sphere, or lies
# on the circle in which a ball cuts the sphere, or where two such circles cross (errata 4, 7).
# A shell without thickness, which is a ball to stay inside of and the same one to stay outside
# of, leaves its circle.


@kernel
def _nearest_feasible_on_sphere(
    p: Vec3, centre: Vec3, radius: float, ball_centres: Vec3s, signed: Floats, out: Vec3
) -> bool:
    """Write the feasible point nearest to p, itself on the sphere; return if there is one."""
    n = len(signed)
    if keep_if_nearer(p, p, ball_centres, signed, math.inf, out) < math.inf:
        return True
    x, middle, normal = work_array(3), work_array(3), work_array(3)
    for i in range(n):
        # what is nearest in one constraint and keeps all others is the answer
        if not is_allowed(p, ball_centres, signed, i):
            cut = circle_of(centre, radius, ball_centres[i], signed[i], middle, normal)
            if math.isnan(cut):
                return False  # the ball leaves nothing of the sphere
            on_circle(p, middle, normal, cut, x)
            if keep_if_nearer(p, x, ball_centres, signed, math.inf, out) < math.inf:
                return True
    pair, best = work_table(2, 3), math.inf
    for i in range(1, n):
        if signed[i] == math.inf:
            continue
        cut = circle_of(centre, radius, ball_centres[i], signed[i], middle, normal)
        if math.isnan(cut):
            continue
        for j in range(i):
            if signed[j] < math.inf:
                if vertices_of(middle, normal, cut, ball_centres[j], signed[j], pair):
                    best = keep_if_nearer(p, pair[0], ball_centres, signed, best, out)
                    best = keep_if_nearer(p, pair[1], ball_centres, signed, best, out)
    return best < math.inf


@kernel
def closest_on_sphere(
    p: Vec3Like,
    centre: Vec3,
    radius: float,
    ball_centres: Vec3s,
    ball_radii: Floats,
    outside: Bools,
    slacks: Floats,
    fallback: Vec3Like,
    out: Vec3,
) -> float:
    """
    Write the point of a sphere nearest to p that is inside some balls and outside others [m].

    At most MAX_BALLS; a ball to stay outside of without radius is no constraint, nor is an
    infinite one to stay inside of. Slacks > 0 are how much each constraint gives way per unit of
    relaxation: large for balls that matter little. If p is the sphere's centre, the point stays
    near to that in the direction of `fallback`, of any length > 0. `out` may be p itself. The
    relaxation is returned: 0 if something is feasible, else the least t for which balls with their
    squared radii r^2 + 2 radius t slack (less that, to stay outside of) leave something [m].

    What is feasible on a sphere may have several parts. The answer is the nearest point of all of
    them, so it jumps where two parts are equally near, or the nearest one vanishes while another
    is left. It is continuous where the last part shrinks to a point and vanishes, and from then on
    as long as that point is the only one that the least relaxation leaves: not for a ball whose
    centre passes the sphere's while its surface does not touch it.
    """
    signed, start = work_array(MAX_BALLS)[: len(ball_radii)], work_array(3)
    sign_radii(ball_radii, outside, signed)
    if p[0] == centre[0] and p[1] == centre[1] and p[2] == centre[2]:
        for k in range(3):
            start[k] = centre[k] + fallback[k]
    else:
        copy(p, start)
    onto_sphere(start, centre, radius, start)
    least = 0.0
    if not _nearest_feasible_on_sphere(start, centre, radius, ball_centres, signed, out):
        least = least_relaxation(start, centre, radius, ball_centres, signed, slacks, out)
        if least < 0.0:  # a ball about the very centre leaves more than a point
            relax_on_sphere(radius, signed, slacks, -least, signed)
            _nearest_feasible_on_sphere(start, centre, radius, ball_centres, signed, out)
    onto_sphere(out, centre, radius, out)  # of circles that just touch it, some 1e-10 m away
    return abs(least)
