# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The least relaxation that leaves something of a sphere (kernel, fills a gap of Shin2002).

For a point centre + radius x of the sphere, |x| = 1, being inside a ball of radius r about
centre + n is a half-space, n.x >= b with b = (radius^2 + |n|^2 - r^2) / (2 radius); outside
turns both signs. Relaxed by t it is n.x >= b - t s with the slack s, so what is sought is the
minimum over the sphere of the largest of (b_i - n_i.x) / s_i. In the minimum one, two or three
of these are the largest: one is least at x = n / |n|; where two are, they are equal, and x is
in the plane of both n; three are equal in two points at most. All of these are tried; those of
three only if no one or two prove that it cannot be had for less.

"""

import math

from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.work_array import work_array, work_table
from puppet_retarget.solvers.sphere_geometry import (
    MAX_BALLS,
    NO_DISTANCE_M,
    on_circle,
    relax_radius,
)

TIE_TOL_M = 1e-12  # of constraints missed equally: the point nearer to the given one is taken
PARALLEL = 1e-10  # sine below which two planes count as parallel
TOUCH = 1e-9  # how far a line may miss the unit sphere, squared


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
    centre: Vec3, radius: float, ball_centres: Vec3s, signed: Floats, slacks: Floats,
    rows: Floats,
) -> int:  # fmt: skip
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
    rows: Floats, count: int, i: int, j: int, towards: Vec3, planes: Floats, points: Vec3s,
    best: Floats, out: Vec3,
) -> float:  # fmt: skip
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
    rows: Floats, count: int, towards: Vec3, planes: Floats, points: Vec3s, best: Floats,
    out: Vec3,
) -> None:  # fmt: skip
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
    p: Vec3, centre: Vec3, radius: float, ball_centres: Vec3s, signed: Floats, slacks: Floats,
    out: Vec3,
) -> float:  # fmt: skip
    """
    Write the point of a sphere that is left when balls are relaxed by the least amount.

    Parameters
    ----------
    p : ndarray, shape (3,)
        Point of the sphere; of several points left, one near to it is taken [m].
    centre, radius : ndarray, shape (3,), and float
        The sphere [m].
    ball_centres, signed, slacks : ndarray, shapes (n, 3), (n,), (n,)
        The balls, with signed radii [m]; slacks > 0.
    out : ndarray, shape (3,)
        The point [m].

    Returns
    -------
    relaxation : float
        The least t >= 0 [m]; -t if a ball about the sphere's very centre decides it, which
        leaves more than a point.

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
