# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The point of a sphere nearest to a given one, inside some balls and outside others (kernel).

An elbow moves on a sphere about its shoulder (Shin2002 section 5.3.3), and so does a hand
about its elbow. This is the problem of `ball_intersection` with the sphere as one more
constraint, which always holds with equality: the nearest point is the given one cast on the
sphere, or lies on the circle in which a ball cuts the sphere, or where two such circles cross
(SPEC 5.4, 5.7). A shell without thickness, which is a ball to stay inside of and the same one
to stay outside of, leaves its circle.

"""

import math

from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.work_array import work_array, work_table
from puppet_retarget.solvers.sphere_geometry import (
    Bools,
    circle_of,
    is_allowed,
    keep_if_nearer,
    MAX_BALLS,
    on_circle,
    onto_sphere,
    sign_radii,
    vertices_of,
)
from puppet_retarget.solvers.sphere_relaxation import least_relaxation, relax_on_sphere


@kernel
def _nearest_feasible(
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
    p: Vec3, centre: Vec3, radius: float, ball_centres: Vec3s, ball_radii: Floats,
    outside: Bools, slacks: Floats, fallback: Vec3, out: Vec3,
) -> float:  # fmt: skip
    """
    Write the point of a sphere nearest to p that is inside some balls and outside others.

    Parameters
    ----------
    p : ndarray, shape (3,)
        The point to stay near to; needs not be on the sphere [m].
    centre, radius : ndarray, shape (3,), and float
        The sphere; a radius > 0 [m].
    ball_centres, ball_radii : ndarray, shapes (n, 3), (n,)
        The balls, at most MAX_BALLS [m].
    outside : ndarray of bool, shape (n,)
        Which to stay outside of. Such a ball without radius is no constraint, nor is an
        infinite one to stay inside of.
    slacks : ndarray, shape (n,)
        How much each constraint gives way per unit of relaxation, > 0: large for balls that
        matter little.
    fallback : ndarray, shape (3,)
        Direction of the point to stay near to if p is the sphere's centre, of any length > 0.
    out : ndarray, shape (3,)
        The answer; may be p itself.

    Returns
    -------
    relaxation : float
        0 if something is feasible, else the least t for which balls with their squared radii
        r^2 + 2 radius t slack (less that, to stay outside of) leave something [m].

    Notes
    -----
    What is feasible on a sphere may have several parts. The answer is the nearest point of all
    of them, so it jumps where two parts are equally near, or the nearest one vanishes while
    another is left. It is continuous where the last part shrinks to a point and vanishes, and
    from then on as long as that point is the only one that the least relaxation leaves: not
    for a ball whose centre passes the sphere's while its surface does not touch it.

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
    if not _nearest_feasible(start, centre, radius, ball_centres, signed, out):
        least = least_relaxation(start, centre, radius, ball_centres, signed, slacks, out)
        if least < 0.0:  # a ball about the very centre leaves more than a point
            relax_on_sphere(radius, signed, slacks, -least, signed)
            _nearest_feasible(start, centre, radius, ball_centres, signed, out)
    onto_sphere(out, centre, radius, out)  # of circles that just touch it, some 1e-10 m away
    return abs(least)
