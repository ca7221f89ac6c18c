# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A swinging foot goes round the other leg instead of being thrown out of it (kernel).

Legs of a character that stand closer, or are thicker, than the performer's are in the way of
the swing: the foot would be inside for a few frames, and taking it out in these alone is a
kick. Its way relative to the other leg is straight for so short a time, so that its deepest
place is known before it is there: it makes room from then on, and comes back as long after.

"""

import math

from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.body_shape_kernels import ShapeArrays
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate, rotate_inverse
from puppet_core.work_array import work_array

PASSING_S = 0.06  # before and after its deepest place a foot is out of its way
SLOW_M_S, FAST_M_S = 0.5, 1.5  # of a foot against the leg: none of it, all of it
_SAME_M = 1e-9  # nearer than this, lines have no direction from one to the other


@kernel
def line_approach(
    a: Vec3, b: Vec3, p: Vec3, velocity: Vec3, span: float, out: Vec3
) -> float:
    """
    Return when a moving point is nearest to the line from a to b, within a span of time [s].

    Parameters
    ----------
    a, b, p : ndarray, shape (3,)
        Ends of the line, and the point now [m].
    velocity : ndarray, shape (3,)
        Of the point [m/s].
    span : float
        Time looked at, ahead and back [s].
    out : ndarray, shape (3,)
        Out: from the line's nearest point to the moving one's [m].

    """
    aa, av, vv, ap, vp = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        d, r = b[k] - a[k], p[k] - a[k]
        aa += d * d
        av += d * velocity[k]
        vv += velocity[k] * velocity[k]
        ap += d * r
        vp += velocity[k] * r
    # least of |r + v t - d s|, 0 <= s <= 1, |t| <= span: alternate from the free solution
    determinant = aa * vv - av * av
    t = 0.0
    if determinant > 1e-12 * aa * vv:
        t = min(max((av * ap - aa * vp) / determinant, -span), span)
    s = min(max((ap + av * t) / aa, 0.0), 1.0) if aa > 0.0 else 0.0
    if vv > 0.0:
        t = min(max((av * s - vp) / vv, -span), span)
        s = min(max((ap + av * t) / aa, 0.0), 1.0) if aa > 0.0 else 0.0
    for k in range(3):
        out[k] = p[k] + t * velocity[k] - a[k] - s * (b[k] - a[k])
    return t


@kernel
def make_room(
    shape: ShapeArrays, segment: int, velocity: Vec3, allowed: float, point: Vec3
) -> float:
    """
    Move a passing point aside by what it will be, or was, inside a segment, in place.

    Parameters
    ----------
    shape : ShapeArrays
        The puppet's shape.
    segment : int
        The segment that is passed.
    velocity : ndarray, shape (3,)
        Of the point in the segment's frame [m/s].
    allowed : float
        Depth that may stay [m].
    point : ndarray, shape (3,)
        In the segment's frame [m].

    Returns
    -------
    way : float
        How far it moved [m].

    """
    apart, total = work_array(3), 0.0
    for j in range(shape.first[segment], shape.first[segment + 1]):
        t = line_approach(
            shape.starts[j], shape.ends[j], point, velocity, PASSING_S, apart
        )
        distance = math.sqrt(apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2)
        depth = shape.radii[j] - allowed - distance
        if depth <= 0.0 or distance < _SAME_M:
            continue
        near = 1.0 - (t / PASSING_S) ** 2
        way = depth * near * near * near
        for k in range(3):
            point[k] += way * apart[k] / distance
        total += way
    return total


@kernel
def pass_leg(
    shape: ShapeArrays, first: int, q_world: Quats, p_world: Vec3s, allowed: float,
    scale: float, dt: float, before: Vec3s, point: Vec3,
) -> float:  # fmt: skip
    """
    Move a sole aside that passes the other leg, in place.

    Parameters
    ----------
    shape : ShapeArrays
        The puppet's shape.
    first : int
        The other leg's upper segment.
    q_world, p_world : ndarray, shapes (16, 4), (16, 3)
        The puppet's segments in world [m].
    allowed : float
        Depth that may stay [m].
    scale : float
        Size of the puppet's world over the performer's.
    dt : float
        Time since the frame before [s]; infinity starts anew.
    before : ndarray, shape (3, 3)
        In and out: the sole in the frames of the other leg's segments [m].
    point : ndarray, shape (3,)
        The sole in world [m].

    Returns
    -------
    way : float
        How far it moved [m].

    """
    velocity, local, moved, total = work_array(3), work_array(3), work_array(3), 0.0
    now = work_array(3)
    copy(point, now)
    for i in range(3):
        segment, speed = first + i, 0.0
        for k in range(3):
            moved[k] = point[k] - p_world[segment, k]
            local[k] = now[k] - p_world[segment, k]
        rotate_inverse(q_world[segment], local, local)
        rotate_inverse(q_world[segment], moved, moved)
        for k in range(3):
            velocity[k] = (local[k] - before[i, k]) / dt
            speed += velocity[k] * velocity[k]
        copy(local, before[i])
        speed = math.sqrt(speed)
        pace = (speed / scale - SLOW_M_S) / (FAST_M_S - SLOW_M_S)
        pace = min(max(pace, 0.0), 1.0)
        if pace == 0.0 or shape.bounds[segment] <= 0.0:
            continue
        way = make_room(shape, segment, velocity, allowed, moved)
        if way > 0.0:
            rotate(q_world[segment], moved, moved)
            for k in range(3):
                moved[k] += p_world[segment, k]
                point[k] += pace * (moved[k] - point[k])
            total += way * pace
    return total
