# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Room that a swinging foot makes for the leg it passes (kernel).

The legs of a character that stand closer together or are thicker than the performer's are in
the way of the swing: the foot would be inside for a few frames, and to be taken out in those
alone is a kick. Over so short a time its way relative to the other leg is nearly straight, so
that the deepest place is known before it is there. The foot is out of the way by then, and
takes as long to come back.

"""

import math

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.body_shape_kernels import ShapeArrays
from puppet_core.follower import follow
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate, rotate_inverse
from puppet_core.work_array import work_array

PASSING_S = 0.06  # before and after its deepest place a foot is aside
SLOW_M_S, FAST_M_S = 0.5, 1.5  # past the leg, in the performer's size: no room yet, all of it
ROOM_S = 0.01  # time constant of the room, against noise of the speed
NOW_PREFERRED = 0.05  # share of a way's square that keeps its time near now [-]
_SAME_M = 1e-9  # nearer than this, there is no direction from one place to another


@kernel
def approach(a: Vec3, b: Vec3, p: Vec3, velocity: Vec3, span: float, out: Vec3) -> float:
    """
    Return when a moving point is nearest to the line from a to b [s], 0 being now.

    The time t in [-span, span] and the place on the line are those of the least
    distance**2 + NOW_PREFERRED * (speed * t)**2. Without the second term the time could be any
    for a point that moves along the line; with it, it is unique and continuous.

    Parameters
    ----------
    a, b, p : ndarray, shape (3,)
        Ends of the line, and the point now [m].
    velocity : ndarray, shape (3,)
        Of the point [m/s].
    span : float
        Time looked at, ahead and back [s].
    out : ndarray, shape (3,)
        Out: from the place on the line to the point at that time [m].

    """
    dd, dv, vv, dp, vp = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        d, r = b[k] - a[k], p[k] - a[k]
        dd += d * d
        dv += d * velocity[k]
        vv += velocity[k] * velocity[k]
        dp += d * r
        vp += velocity[k] * r
    vv *= 1.0 + NOW_PREFERRED
    # a convex quadratic in a box of two: the free time, then place, time and place in turn
    determinant, t = dd * vv - dv * dv, 0.0
    if determinant > 0.0:
        t = min(max((dv * dp - dd * vp) / determinant, -span), span)
    s = min(max((dp + dv * t) / dd, 0.0), 1.0) if dd > 0.0 else 0.0
    if vv > 0.0:
        t = min(max((dv * s - vp) / vv, -span), span)
        s = min(max((dp + dv * t) / dd, 0.0), 1.0) if dd > 0.0 else 0.0
    for k in range(3):
        out[k] = p[k] + t * velocity[k] - a[k] - s * (b[k] - a[k])
    return t


@kernel
def step_aside(
    shape: ShapeArrays, segment: int, velocity: Vec3, allowed: float, point: Vec3
) -> None:
    """
    Move a passing point aside, in place, by what it will be or was inside a segment.

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

    """
    apart = work_array(3)
    for j in range(shape.first[segment], shape.first[segment + 1]):
        t = approach(shape.starts[j], shape.ends[j], point, velocity, PASSING_S, apart)
        distance = math.sqrt(apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2)
        depth = shape.radii[j] - allowed - distance
        if depth <= 0.0 or distance < _SAME_M:
            continue
        near = 1.0 - (t / PASSING_S) ** 2
        for k in range(3):
            point[k] += depth * near * near * near * apart[k] / distance


@kernel
def room_for_leg(
    shape: ShapeArrays, first: int, q_world: Quats, p_world: Vec3s, sole: Vec3, allowed: float,
    scale: float, dt: float, before: Vec3s, room: Floats, out: Vec3,
) -> None:  # fmt: skip
    """
    Write the way by which a sole makes room for the other leg.

    Parameters
    ----------
    shape : ShapeArrays
        The puppet's shape.
    first : int
        The other leg's upper segment.
    q_world, p_world : ndarray, shapes (16, 4), (16, 3)
        The puppet's segments in world [m].
    sole : ndarray, shape (3,)
        In world [m].
    allowed : float
        Depth that may stay [m].
    scale : float
        Size of the puppet's world over the performer's.
    dt : float
        Time since the frame before [s]; infinity starts anew.
    before : ndarray, shape (3, 3)
        In and out: the sole in the frames of the other leg's segments [m].
    room : ndarray, shape (3, 2)
        In and out: smoothing of the way.
    out : ndarray, shape (3,)
        Out: in world [m].

    """
    velocity, local, aside = work_array(3), work_array(3), work_array(3)
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for i in range(3):
        segment, square = first + i, 0.0
        for k in range(3):
            local[k] = sole[k] - p_world[segment, k]
            aside[k] = local[k] + out[k]
        rotate_inverse(q_world[segment], local, local)
        for k in range(3):
            velocity[k] = (local[k] - before[i, k]) / dt if dt > 0.0 else 0.0
            square += velocity[k] * velocity[k]
        copy(local, before[i])
        pace = (math.sqrt(square) / scale - SLOW_M_S) / (FAST_M_S - SLOW_M_S)
        pace = min(max(pace, 0.0), 1.0)
        if pace == 0.0:
            continue
        rotate_inverse(q_world[segment], aside, aside)
        copy(aside, local)
        step_aside(shape, segment, velocity, allowed, aside)
        for k in range(3):
            aside[k] -= local[k]
        rotate(q_world[segment], aside, aside)
        for k in range(3):
            out[k] += pace * aside[k]
    for k in range(3):
        if dt < math.inf:
            out[k] = follow(room[k], out[k], ROOM_S, dt)
        else:
            room[k, 0], room[k, 1], out[k] = 0.0, 0.0, 0.0
