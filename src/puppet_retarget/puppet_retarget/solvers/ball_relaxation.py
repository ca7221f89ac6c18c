# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The least growth that gives balls a common point (kernel, fills a gap of Shin2002 app. A).

Ball i grows by slack i per unit of growth t; sought are the least t for which all balls meet
and the one point in which they then do, that is, the minimum over x of the largest
(|x - c_i| - r_i) / s_i. By Helly's theorem two, three or four of the balls decide it. Two meet
on the line of their centres; three in the plane of their centres, and four, by Newton steps.
Multipliers prove that a meeting cannot be had for less; halving is left for the case that no
proof succeeds.

Balls to stay outside of have radii below zero, as in sphere_geometry. They shrink by their
slack; they do not help to decide the growth here, but count in how much of it a point needs.

"""

import math

from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.work_array import work_array, work_table
from puppet_retarget.solvers.linear_system import solve_in_place

Members = tuple[int, int, int, int]  # balls that decide, the last -1 if they are three

MEET_TOL_M = 1e-11  # how far the deciding spheres may miss their common point
PROOF_TOL = 1e-11  # gap between the bounds at which the growth counts as known
SIGN_TOL = 1e-9  # how negative a multiplier may be [-]
NEWTON_STEPS = 20


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
def _pair(
    centres: Vec3s, radii: Floats, slacks: Floats, i: int, j: int, out: Vec3
) -> float:
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
    members: Members, centres: Vec3s, radii: Floats, slacks: Floats, x: Vec3, growth: float,
    rows: Floats,
) -> float:  # fmt: skip
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
    members: Members, centres: Vec3s, radii: Floats, slacks: Floats, growth: float,
    x: Vec3,
) -> float:  # fmt: skip
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
    members: Members, centres: Vec3s, radii: Floats, slacks: Floats, start: Vec3, bounds: Floats,
    x: Vec3, out: Vec3,
) -> None:  # fmt: skip
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
def least_growth(
    centres: Vec3s, radii: Floats, slacks: Floats, bounds: Floats, out: Vec3
) -> bool:
    """
    Write the first common point of growing balls; return whether it is proven to be that.

    Parameters
    ----------
    centres : ndarray, shape (n, 3)
        Centres [m].
    radii : ndarray, shape (n,)
        Signed radii; infinite ones are left out [m].
    slacks : ndarray, shape (n,)
        Growth of each radius per unit, > 0.
    bounds : ndarray, shape (2,)
        Out: the growth lies between these; negative if more than a point is common.
    out : ndarray, shape (3,)
        In: any point; out: the common one, or one that needs no more than the upper bound [m].

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
