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
    solve_in_place,
    sub,
    vec3,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math.values import Vec3, Vec3Like

Circle = tuple[Vec3, Vec3, float]  # centre, unit normal and radius, NaN for none [m]
Members = tuple[int, int, int, int]  # balls that decide, the last -1 if they are three

MEET_TOL_M = 1e-11  # how far the deciding spheres may miss their common point
PROOF_TOL = 1e-11  # gap between the bounds at which the growth counts as known
SIGN_TOL = 1e-9  # how negative a multiplier may be [-]
NEWTON_STEPS = 20

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
# Balls to stay outside of have radii below zero. They shrink by their
# slack; they do not help to decide the growth here, but count in how much of it a point needs.


@kernel
def largest_growth(x: Vec3Like, centres: Vec3s, radii: Floats, slacks: Floats) -> float:
    """Return the growth that makes x feasible; -inf if no radius is finite."""
    worst = -math.inf
    for i in range(len(radii)):
        if radii[i] < math.inf:
            excess = norm(sub(x, centres[i])) - abs(radii[i])
            worst = max(worst, (excess if radii[i] >= 0.0 else -excess) / slacks[i])
    return worst


@kernel
def _holds_in(radius: float) -> bool:
    """Return whether a signed radius is that of a ball to stay inside of."""
    return 0.0 <= radius < math.inf


@kernel
def _pair(centres: Vec3s, radii: Floats, slacks: Floats, i: int, j: int) -> tuple[float, Vec3]:
    """Return the growth by which two balls touch, and where."""
    way = sub(centres[j], centres[i])
    distance = norm(way)
    growth = (distance - radii[i] - radii[j]) / (slacks[i] + slacks[j])
    share = (radii[i] + growth * slacks[i]) / distance if distance > 0.0 else 0.0
    return growth, add(centres[i], scale(way, share))


@kernel
def _direction(v: Vec3Like) -> Vec3:
    """Return a vector of unit length, zero if it has none."""
    return normalized(v) if norm(v) > 0.0 else (0.0, 0.0, 0.0)


@kernel
def _linearise(
    members: Members,
    centres: Vec3s,
    radii: Floats,
    slacks: Floats,
    x: Vec3Like,
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
            normal = _direction(cross(sub(b, a), sub(c, a)))
            rows[row, 3], rows[row, 4] = 0.0, dot(normal, sub(a, x))
        else:
            way = sub(x, centres[i])
            normal = _direction(way)
            rows[row, 3] = -slacks[i]
            rows[row, 4] = radii[i] + growth * slacks[i] - norm(way)
            miss = max(miss, abs(rows[row, 4]))
        rows[row, 0], rows[row, 1], rows[row, 2] = normal
    return miss


@kernel
def _meeting(
    members: Members, centres: Vec3s, radii: Floats, slacks: Floats, growth: float, x: Floats
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
    out: Floats,
) -> None:
    """Take a meeting of three or four balls if it proves a larger growth than is known."""
    for i in members:
        if i >= 0 and not _holds_in(radii[i]):
            return
    x = work_array(3)
    copy(start, x)
    growth = _meeting(members, centres, radii, slacks, bounds[0], x)
    if growth > bounds[0]:
        bounds[0] = growth
        bounds[1] = largest_growth(x, centres, radii, slacks)
        copy(x, out)


@kernel
def least_growth(
    centres: Vec3s, radii: Floats, slacks: Floats, bounds: Floats, out: Floats
) -> bool:
    """
    Write the first common point of growing balls; return whether it is proven to be that.

    Radii are signed, infinite ones are left out [m]; slacks > 0 are each one's growth per unit.
    The growth lies between the two bounds; negative if more than a point is common. `out` is any
    point at first, then the common one, or one that needs no more than the upper bound [m].
    """
    n = len(radii)
    bounds[0], bounds[1] = -math.inf, largest_growth(out, centres, radii, slacks)
    for i in range(n):
        for j in range(i):
            if _holds_in(radii[i]) and _holds_in(radii[j]):
                growth, x = _pair(centres, radii, slacks, i, j)
                if growth > bounds[0]:
                    bounds[0] = growth
                    bounds[1] = largest_growth(x, centres, radii, slacks)
                    copy(x, out)
    start = vec3(out)
    for i in range(2, n):
        for j in range(1, i):
            for k in range(j):
                if bounds[1] - bounds[0] > PROOF_TOL:
                    _try_meeting((i, j, k, -1), centres, radii, slacks, start, bounds, out)
    start = vec3(out)
    for i in range(3, n):
        for j in range(2, i):
            for k in range(1, j):
                for m in range(k):
                    if bounds[1] - bounds[0] > PROOF_TOL:
                        _try_meeting((i, j, k, m), centres, radii, slacks, start, bounds, out)
    return bounds[1] - bounds[0] <= PROOF_TOL


# Where spheres meet, and which point of that is nearest to a given one.
#
# Radii carry a sign: a constraint of radius r >= 0 keeps a point inside the ball, one of -r keeps
# it outside, and an infinite one is none. The spheres' equations see squares only, so everything
# here serves both kinds (errata 4, 7; Shin2002 app. A). No case list for tangent, nested or
# equal balls: what does not exist is not a candidate, and what exists is tried.


@kernel
def outside_of(radius: float) -> float:
    """Return the signed radius of a ball to stay outside of; one without radius is none."""
    return -radius if radius > 0.0 else math.inf


@kernel
def relax_radius(signed: float, growth: float) -> float:
    """Return a signed radius that lets more through; nothing is left of a ball shrunk away."""
    relaxed = signed + growth
    return math.inf if signed < 0.0 and relaxed >= 0.0 else relaxed


@kernel
def is_allowed(x: Vec3Like, centres: Vec3s, signed: Floats, i: int) -> bool:
    """Return whether x keeps constraint i, to FEASIBLE_TOL_M."""
    way = sub(x, centres[i])
    square, limit = dot(way, way), signed[i] + FEASIBLE_TOL_M
    if signed[i] >= 0.0:
        return square <= limit * limit
    return limit >= 0.0 or square >= limit * limit


@kernel
def onto_sphere(p: Vec3Like, centre: Vec3Like, radius: float) -> Vec3:
    """Return the point of a sphere nearest to p; any if p is its centre."""
    way = sub(p, centre)
    length = norm(way)
    if length == 0.0:
        way, length = (1.0, 0.0, 0.0), 1.0
    return add(centre, scale(way, abs(radius) / length))


@kernel
def circle_of(a: Vec3Like, ra: float, b: Vec3Like, rb: float) -> Circle:
    """Return the circle in which two spheres cut each other; its radius is NaN if they do not."""
    a, b = vec3(a), vec3(b)
    if abs(ra) > abs(rb):  # seen from the smaller sphere, so that rounding is in proportion
        a, ra, b, rb = b, rb, a, ra
    way = sub(b, a)
    dist = norm(way)
    if dist < NO_DISTANCE_M:
        return a, way, math.nan
    # Shin2002 eqs. A.3-A.6; the squares that are nearly equal are subtracted by their roots
    ra, rb = abs(ra), abs(rb)
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
    p: Vec3, x: Vec3, centres: Vec3s, signed: Floats, best: float, out: Floats
) -> float:
    """Copy x to `out` if it is feasible and nearer to p than `best`; return the nearest."""
    way = sub(x, p)
    square = dot(way, way)
    if square >= best:
        return best
    for i in range(len(signed)):
        if not is_allowed(x, centres, signed, i):
            return best
    copy(x, out)
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
def _nearest_feasible(p: Vec3, centres: Vec3s, signed: Floats, out: Floats) -> bool:
    """Write the nearest feasible point; return False if there is none."""
    n = len(signed)
    if keep_if_nearer(p, p, centres, signed, math.inf, out) == 0.0:
        return True
    for i in range(n):
        # what is nearest in one constraint and keeps all others is the answer
        if not is_allowed(p, centres, signed, i):
            x = onto_sphere(p, centres[i], signed[i])
            if keep_if_nearer(p, x, centres, signed, math.inf, out) < math.inf:
                return True
    best = math.inf
    for i in range(n):
        for j in range(i):
            if signed[i] == math.inf or signed[j] == math.inf:
                continue
            circle = circle_of(centres[i], signed[i], centres[j], signed[j])
            if math.isnan(circle[2]):
                continue
            best = keep_if_nearer(p, on_circle(p, circle), centres, signed, best, out)
            for m in range(j):
                if signed[m] < math.inf:
                    meet, one, other = vertices_of(circle, centres[m], signed[m])
                    if meet:
                        best = keep_if_nearer(p, one, centres, signed, best, out)
                        best = keep_if_nearer(p, other, centres, signed, best, out)
    return best < math.inf


@kernel
def closest_in_balls(
    p: Vec3Like, centres: Vec3s, radii: Floats, slacks: Floats
) -> tuple[float, Vec3]:
    """
    Return relaxation and nearest point to p in the intersection of balls, relaxed if empty.

    A radius of infinity is no constraint (errata 3), -r keeps outside of a ball of radius r; at
    most MAX_BALLS [m]. Slacks > 0 are how much each constraint gives way per unit of relaxation:
    large for balls that matter little. The relaxation is 0 if something is feasible, else the
    least t for which radii r + t slack (r - t slack of balls to stay outside of) leave something.

    With balls to stay inside of only, continuous in all arguments, also where the intersection
    vanishes: the relaxed balls meet in one point, to which the intersection shrank.

    With balls to stay outside of, what is feasible may have several parts. The answer is the
    nearest point of all of them, so it jumps where two parts are equally near, or the nearest one
    vanishes while another is left; it is continuous where the last one shrinks to a point and
    vanishes, and from then on as long as that point is the only one. The relaxation is then found
    by halving: to 1e-12 of the least, which leaves the point uncertain by the square root of
    FEASIBLE_TOL_M, and at some ten times the cost.
    """
    start, out, bounds = vec3(p), work_array(3), work_array(2)
    # of one layout, so that what is called is compiled once
    centres, radii, slacks = centres[:], radii[:], slacks[:]
    if _nearest_feasible(start, centres, radii, out):
        return 0.0, vec3(out)
    copy(start, out)
    if not least_growth(centres, radii, slacks, bounds, out):
        _halve(start, centres, radii, slacks, bounds, out)
    return max(bounds[1], 0.0), vec3(out)


@kernel
def _halve(
    start: Vec3, centres: Vec3s, signed: Floats, slacks: Floats, bounds: Floats, out: Floats
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
    """Write the signed radii of balls relaxed on a sphere."""
    for i in range(len(signed)):
        growth = 2.0 * radius * relaxation * slacks[i]
        square = relax_radius(math.copysign(signed[i] * signed[i], signed[i]), growth)
        out[i] = math.copysign(math.sqrt(abs(square)), square)


@kernel
def _fill_rows(
    centre: Vec3Like,
    radius: float,
    ball_centres: Vec3s,
    signed: Floats,
    slacks: Floats,
    rows: Floats,
) -> int:
    """Fill n_i / s_i and b_i / s_i of the constraints there are; return their number."""
    count = 0
    for i in range(len(signed)):
        if signed[i] == math.inf:
            continue
        way = sub(ball_centres[i], centre)
        dist, r = norm(way), abs(signed[i])
        factor = (1.0 if signed[i] >= 0.0 else -1.0) / slacks[i]
        copy(scale(way, factor if dist >= NO_DISTANCE_M else 0.0), rows[count, :3])
        # of (radius - r) and not of squares, for the rounding of balls that just touch
        b = ((radius - r) * (radius + r) + dist * dist) / (2.0 * radius)
        rows[count, 3] = b * factor
        count += 1
    return count


@kernel
def _need(row: Floats, x: Vec3Like) -> float:
    """Return the relaxation that one constraint needs in a direction."""
    return row[3] - row[0] * x[0] - row[1] * x[1] - row[2] * x[2]


@kernel
def _keep_if_less(
    x: Vec3, rows: Floats, count: int, towards: Vec3, best: Floats, out: Floats
) -> None:
    """
    Copy a direction to `out` if it needs less relaxation than the best, or is nearer.

    `best` is the relaxation, the squared distance, and the difference that counts as a tie.
    """
    worst, limit = -math.inf, best[0] + best[2]
    for i in range(count):
        worst = max(worst, _need(rows[i], x))
        if worst > limit:
            return
    way = sub(x, towards)
    away = dot(way, way)
    if worst < best[0] - best[2] or away < best[1]:
        best[0], best[1] = min(worst, best[0]), away
        copy(x, out)


@kernel
def _where_planes_cut(
    a: Vec3, a_offset: float, b: Vec3, b_offset: float
) -> tuple[bool, Vec3, Vec3]:
    """
    Return whether there are unit x with a.x and b.x of given values, and the two.

    Parallel planes have none.
    """
    aa, bb, ab = dot(a, a), dot(b, b), dot(a, b)
    w = cross(a, b)
    ww = dot(w, w)
    if ww <= PARALLEL * PARALLEL * aa * bb:
        return False, a, b
    share = 1.0 / ww
    alpha = (a_offset * bb - b_offset * ab) * share
    beta = (b_offset * aa - a_offset * ab) * share
    x = add(scale(a, alpha), scale(b, beta))
    square = dot(x, x)
    if square > 1.0:
        if square > 1.0 + TOUCH:
            return False, a, b
        x, square = normalized(x), 1.0
    side = scale(w, math.sqrt((1.0 - square) * share))
    return True, add(x, side), sub(x, side)


@kernel
def _try_pair(
    rows: Floats,
    count: int,
    i: int,
    j: int,
    towards: Vec3,
    alone: Floats,
    best: Floats,
    out: Floats,
) -> float:
    """
    Try the points in which two constraints need the same; return the least that both need.

    Row i of `alone` is where a constraint alone needs least.
    """
    # either is enough for both where it needs least: then no point of both is of use
    for a, b in ((i, j), (j, i)):
        least = _need(rows[a], alone[a])
        if _need(rows[b], alone[a]) <= least:
            return least
    plane, offset = sub(rows[i], rows[j]), rows[i, 3] - rows[j, 3]
    # with the plane of both normals
    cut, one, other = _where_planes_cut(plane, offset, cross(rows[i], rows[j]), 0.0)
    if cut:
        _keep_if_less(one, rows, count, towards, best, out)
        _keep_if_less(other, rows, count, towards, best, out)
        return min(_need(rows[i], one), _need(rows[i], other))
    length = norm(plane)
    if abs(offset) >= length:
        return -math.inf
    # any point of the circle in which the plane cuts the unit sphere
    normal, height = normalized(plane), offset / length
    one = on_circle(towards, (scale(normal, height), normal, math.sqrt(1.0 - height * height)))
    _keep_if_less(one, rows, count, towards, best, out)
    return _need(rows[i], one)


@kernel
def _try_triples(rows: Floats, count: int, towards: Vec3, best: Floats, out: Floats) -> None:
    """Try the points in which three constraints need the same."""
    for i in range(2, count):
        for j in range(1, i):
            a, a_offset = sub(rows[i], rows[j]), rows[i, 3] - rows[j, 3]
            for m in range(j):
                b, b_offset = sub(rows[i], rows[m]), rows[i, 3] - rows[m, 3]
                cut, one, other = _where_planes_cut(a, a_offset, b, b_offset)
                if cut:
                    _keep_if_less(one, rows, count, towards, best, out)
                    _keep_if_less(other, rows, count, towards, best, out)


@kernel
def least_relaxation(
    p: Vec3,
    centre: Vec3Like,
    radius: float,
    ball_centres: Vec3s,
    signed: Floats,
    slacks: Floats,
    out: Floats,
) -> float:
    """
    Write the point of a sphere that is left when balls are relaxed by the least amount.

    Radii are signed [m], slacks > 0. Of several points left, one near to p, on the sphere, is
    taken. The least t >= 0 is returned [m]; -t if a ball about the sphere's very centre decides
    it, which leaves more than a point.
    """
    rows, alone = work_table(MAX_BALLS, 4), work_table(MAX_BALLS, 3)
    best, direction = work_array(3), work_array(3)
    x, y, z = sub(p, centre)
    towards = x / radius, y / radius, z / radius
    largest = 0.0
    for slack in slacks:
        largest = max(largest, slack)
    count = _fill_rows(centre, radius, ball_centres, signed, slacks, rows)
    best[0], best[1], best[2] = math.inf, math.inf, TIE_TOL_M / largest
    least, constant = 0.0, -math.inf
    for i in range(count):
        is_constant = norm(rows[i]) == 0.0
        if is_constant:
            constant = max(constant, rows[i, 3])
        nearest = towards if is_constant else normalized(rows[i])
        copy(nearest, alone[i])
        _keep_if_less(nearest, rows, count, towards, best, direction)
        least = max(least, _need(rows[i], nearest))
        for j in range(i):
            both = _try_pair(rows, count, i, j, towards, alone, best, direction)
            least = max(least, both)
    if best[0] > least + best[2]:
        _try_triples(rows, count, towards, best, direction)
    copy(add(centre, scale(direction, radius)), out)
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
    p: Vec3, centre: Vec3Like, radius: float, ball_centres: Vec3s, signed: Floats, out: Floats
) -> bool:
    """Write the feasible point nearest to p, itself on the sphere; return if there is one."""
    n = len(signed)
    if keep_if_nearer(p, p, ball_centres, signed, math.inf, out) < math.inf:
        return True
    for i in range(n):
        # what is nearest in one constraint and keeps all others is the answer
        if not is_allowed(p, ball_centres, signed, i):
            circle = circle_of(centre, radius, ball_centres[i], signed[i])
            if math.isnan(circle[2]):
                return False  # the ball leaves nothing of the sphere
            x = on_circle(p, circle)
            if keep_if_nearer(p, x, ball_centres, signed, math.inf, out) < math.inf:
                return True
    best = math.inf
    for i in range(1, n):
        if signed[i] == math.inf:
            continue
        circle = circle_of(centre, radius, ball_centres[i], signed[i])
        if math.isnan(circle[2]):
            continue
        for j in range(i):
            if signed[j] < math.inf:
                meet, one, other = vertices_of(circle, ball_centres[j], signed[j])
                if meet:
                    best = keep_if_nearer(p, one, ball_centres, signed, best, out)
                    best = keep_if_nearer(p, other, ball_centres, signed, best, out)
    return best < math.inf


@kernel
def closest_on_sphere(
    p: Vec3Like,
    centre: Vec3Like,
    radius: float,
    ball_centres: Vec3s,
    signed: Floats,
    slacks: Floats,
    fallback: Vec3Like,
) -> tuple[float, Vec3]:
    """
    Return relaxation and nearest point to p on a sphere, inside some balls, outside others [m].

    At most MAX_BALLS, with signed radii; an infinite one is no constraint. Slacks > 0 are how much
    each constraint gives way per unit of relaxation: large for balls that matter little. If p is
    the sphere's centre, the point stays near to that in the direction of `fallback`, of any
    length > 0. The relaxation is 0 if something is feasible, else the least t for which balls with
    their squared radii r^2 + 2 radius t slack (less that, to stay outside of) leave something [m].

    What is feasible on a sphere may have several parts. The answer is the nearest point of all of
    them, so it jumps where two parts are equally near, or the nearest one vanishes while another
    is left. It is continuous where the last part shrinks to a point and vanishes, and from then on
    as long as that point is the only one that the least relaxation leaves: not for a ball whose
    centre passes the sphere's while its surface does not touch it.
    """
    out, relaxed = work_array(3), work_array(MAX_BALLS)[: len(signed)]
    at_centre = p[0] == centre[0] and p[1] == centre[1] and p[2] == centre[2]
    start = onto_sphere(add(centre, fallback) if at_centre else vec3(p), centre, radius)
    least = 0.0
    if not _nearest_feasible_on_sphere(start, centre, radius, ball_centres, signed, out):
        least = least_relaxation(start, centre, radius, ball_centres, signed, slacks, out)
        if least < 0.0:  # a ball about the very centre leaves more than a point
            relax_on_sphere(radius, signed, slacks, -least, relaxed)
            _nearest_feasible_on_sphere(start, centre, radius, ball_centres, relaxed, out)
    # of circles that just touch it, some 1e-10 m away
    return abs(least), onto_sphere(out, centre, radius)
