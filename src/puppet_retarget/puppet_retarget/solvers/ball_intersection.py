# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point nearest to a given one inside some balls and outside others (Shin2002 app. A).

The nearest point is the given point itself, or lies on one sphere, on the circle of two or on
a vertex of three; all of these are tried and the nearest feasible one is the answer
(SPEC 5.4, 5.7). Where it is not unique, as from a point in the centre or on an axis, a whole
sphere or circle is equally near: one point of it is tried, and if that is not feasible, what
bounds the feasible part of it is. When nothing is feasible, all constraints give way together
by the least amount that helps: the answer then moves continuously as balls drift apart, which
discarding balls would not.

"""

import math

from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.work_array import work_array, work_table
from puppet_retarget.solvers.ball_relaxation import least_growth
from puppet_retarget.solvers.sphere_geometry import (
    Bools,
    circle_of,
    is_allowed,
    keep_if_nearer,
    MAX_BALLS,
    on_circle,
    onto_sphere,
    relax_radius,
    sign_radii,
    vertices_of,
)

GROWTH_TOL = 1e-12  # width of the bracket at which halving ends
MAX_HALVINGS = 48


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
        Radii [m]; infinity is no constraint (SPEC 5.3), -r keeps outside of a ball of radius
        r (`closest_in_range` takes such constraints by a flag).
    slacks : ndarray, shape (n,)
        How much each constraint gives way per unit of relaxation, > 0: large for balls that
        matter little.
    work : ndarray, shape (n,)
        Working space.
    out : ndarray, shape (3,)
        The answer; may be p itself.

    Returns
    -------
    relaxation : float
        0 if something is feasible, else the least t for which radii r + t slack (r - t slack
        of balls to stay outside of) leave something.

    Notes
    -----
    With balls to stay inside of only, continuous in all arguments, also where the intersection
    vanishes: the relaxed balls meet in one point, to which the intersection shrank.

    With balls to stay outside of, what is feasible may have several parts. The answer is the
    nearest point of all of them, so it jumps where two parts are equally near, or the nearest
    one vanishes while another is left; it is continuous where the last one shrinks to a point
    and vanishes, and from then on as long as that point is the only one. The relaxation is
    then found by halving: to 1e-12 of the least, which leaves the point uncertain by the
    square root of FEASIBLE_TOL_M, and at some ten times the cost.

    """
    start = work_array(3)
    copy(p, start)
    if _nearest_feasible(start, centres, radii, out):
        return 0.0
    bounds = work_array(2)
    copy(start, out)
    if not least_growth(centres, radii, slacks, bounds, out):
        _halve(start, centres, radii, slacks, bounds, work, out)
    return max(bounds[1], 0.0)


@kernel
def closest_in_range(
    p: Vec3, centres: Vec3s, radii: Floats, outside: Bools, slacks: Floats, work: Floats,
    out: Vec3,
) -> float:  # fmt: skip
    """
    Write the point nearest to p inside some balls and outside others (SPEC 5.7).

    As `closest_in_balls` but for `outside`, shape (n,), which tells the balls to stay outside
    of; such a one without radius is no constraint. At most MAX_BALLS constraints.

    """
    signed = work_array(MAX_BALLS)[: len(radii)]
    sign_radii(radii, outside, signed)
    return closest_in_balls(p, centres, signed, slacks, work, out)


@kernel
def _halve(
    start: Vec3, centres: Vec3s, signed: Floats, slacks: Floats, bounds: Floats, work: Floats,
    out: Vec3,
) -> None:  # fmt: skip
    """Narrow the bounds of the growth by trying, where Newton steps cannot settle it."""
    x = work_array(3)
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
