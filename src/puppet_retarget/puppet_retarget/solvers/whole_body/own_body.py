# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the own body: palms that touch it, ends that may not be in it (kernels, Shin2002 5.3.1).

A palm is kept as far from a surface as the performer's is, and at the same place on it, relative
to the segments that it touches: all of the body gives way, not the arm alone (eqs. 5.6 to 5.9 with
a Jacobian in place of a ball). Nothing is asked along an arm that is straight: how far down it
touches a thigh tells how long it is, not what its owner wants. Elbows and knees have no place to
keep, only a surface not to pass: a goal for them bends arms that touch nothing.
"""

import math

from puppet_core.body import N_ROUND, nearest_capsule_within
from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import (
    add,
    clamp,
    cross,
    dot,
    ease,
    norm,
    normalized,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
)
from puppet_retarget.importance import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    RELEVANT,
    SAMPLE,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    WEIGHT,
)
from puppet_retarget.solvers.whole_body.frame import add_point, Frame
from puppet_retarget.solvers.whole_body.problem import close_row, firmness
from puppet_retarget.solvers.whole_body.tree import ENDS, MIDDLES, place

_RELEVANT = tuple(tuple(bool(r) for r in row) for row in RELEVANT)
NEAR_M = 0.02  # from an end to a surface, where it is looked at
NO_DIRECTION_M = 1e-9
BENT, STRAIGHT = 0.8, 0.96  # share of its length: of an arm bent by 74 degrees and by 33 [-]
ALLOWED_M = 0.001  # that an end may be in the own body, beyond the performer's own depth


@kernel
def fill_touches(frame: Frame, self_rows: Floats) -> None:
    """Fill the frame's touches from the performer's self-interaction, (8, SELF_ROW)."""
    touches = frame.wishes.touches
    for j in range(8):
        touches.allowed[j] = ALLOWED_M + frame.world_scale * max(-self_rows[j, SELF_DISTANCE], 0.0)
    for j in range(4):
        row, shares, total = self_rows[j], touches.shares[j], 0.0
        places, outward = touches.places[j], touches.outward[j]
        shares[:] = 0.0
        places[:] = 0.0
        outward[:] = 0.0
        for i in range(MAX_CONTACTS):
            start = FIRST_CONTACT + i * CONTACT_WIDTH
            weight = row[start + WEIGHT]
            if row[start + SAMPLE] < 0.0 or weight <= 0.0:
                continue
            s, k = divmod(int(row[start + SAMPLE]), N_SAMPLES)
            points, first = frame.samples[s], k - k % N_ROUND
            gap = scale(row[start + DISPLACEMENT : start + DISPLACEMENT + 3], frame.world_scale)
            wanted = add(gap, points[:, k])  # Shin2002 eq. 5.9
            axis = (0.0, 0.0, 0.0)
            for around in range(first, first + N_ROUND):
                axis = add(axis, points[:, around])
            out = sub(wanted, scale(axis, 1.0 / N_ROUND))
            total += weight
            shares[s] += weight
            copy(add(places[s], scale(wanted, weight)), places[s])
            copy(add(outward[s], scale(out, weight)), outward[s])
        w = row[SELF_IMPORTANCE] if total > 0.0 else 0.0
        if j >= 2:  # legs pass each other closely at every step
            w *= (1.0 - frame.wishes.importances[j]) ** 4
        touches.importances[j] = w
        for s in range(16):
            if shares[s] > 0.0:
                copy(scale(places[s], 1.0 / shares[s]), places[s])
                shares[s] /= total


@kernel
def add_touches(frame: Frame) -> None:
    """Add the rows of palms and soles that touch the own body."""
    pose, touches, weights = frame.pose, frame.wishes.touches, frame.weights
    for j in range(4):
        firm = firmness(touches.importances[j], weights.touch_slack)
        if firm <= 0.0:
            continue
        goal, out = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for s in range(16):
            share = touches.shares[j, s]
            if share > 0.0:
                goal = add(goal, scale(place(pose, s, touches.places[j, s]), share))
                out = add(out, rotate(pose.q[s], touches.outward[j, s]))
        if norm(out) < NO_DIRECTION_M:
            continue
        stretch = vec3(frame.wishes.stretches[j])
        arm, straight = normalized(stretch), (norm(stretch) - BENT) / (STRAIGHT - BENT)
        straight = ease(clamp(straight, 0.0, 1.0))
        # a surface that is all but along the arm is taken to be along it
        out = normalized(out)
        tilt = dot(out, arm)
        out = normalized(sub(out, scale(arm, straight * tilt * (1.0 - tilt * tilt))))
        along = _square_to(out, arm)
        missing = sub(goal, pose.ends[j])
        _add_relative(frame, j, out, weights.touch * firm, missing)
        _add_relative(frame, j, along, weights.along * firm * (1.0 - straight), missing)
        _add_relative(frame, j, cross(out, along), weights.along * firm, missing)


@kernel
def _square_to(out: Vec3, way: Vec3) -> Vec3:
    """Return a unit vector square to another, towards a direction if that is not along it."""
    left = sub(way, scale(out, dot(way, out)))
    if norm(left) < 0.1:
        other = (1.0, 0.0, 0.0) if abs(out[0]) < 0.7 else (0.0, 1.0, 0.0)
        left = sub(other, scale(out, dot(other, out)))
    return normalized(left)


@kernel
def _add_relative(frame: Frame, j: int, direction: Vec3, weight: float, missing: Vec3) -> None:
    """Add a row along a direction for an end and the places that ride on segments."""
    if weight <= 0.0:
        return
    pose, touches = frame.pose, frame.wishes.touches
    add_point(frame, ENDS[j], pose.ends[j], direction)
    for s in range(16):
        share = touches.shares[j, s]
        if share > 0.0:
            there = place(pose, s, touches.places[j, s])
            add_point(frame, s, there, scale(direction, -share))
    close_row(frame.problem, weight, dot(direction, missing))


@kernel
def add_own_body(frame: Frame) -> None:
    """Add one-sided rows for ends, elbows and knees in the own body, deeper than allowed."""
    pose, shape, weights = frame.pose, frame.shape, frame.weights
    for j in range(8):
        own = ENDS[j] if j < 4 else MIDDLES[j - 4]
        allowed = frame.wishes.touches.allowed[j]
        for s in range(16):
            if not _RELEVANT[j][s]:
                continue
            local = rotate_inverse(pose.q[s], sub(pose.ends[j], pose.p[s]))
            if norm(sub(local, shape.centres[s])) > shape.bounds[s] + NEAR_M:
                continue
            distance, _, normal = nearest_capsule_within(shape, s, local, math.inf)
            depth = -distance - allowed
            if depth <= -NEAR_M:
                continue
            # smooth at the surface; a residual of depth^1.5 asks the more the deeper
            soft = math.hypot(depth, 2.0 * weights.inside_m)
            inside = 0.5 * (depth + soft)
            slope = 1.5 * math.sqrt(inside) * inside / soft
            out = scale(rotate(pose.q[s], normal), slope)
            add_point(frame, own, pose.ends[j], out)
            add_point(frame, s, pose.ends[j], scale(out, -1.0))
            close_row(frame.problem, weights.inside, inside * math.sqrt(inside))


@kernel
def depth_of(frame: Frame, j: int) -> float:
    """Return how deep a general end-effector is in the own body, 0 outside [m]."""
    pose, depth = frame.pose, 0.0
    for s in range(16):
        if _RELEVANT[j][s]:
            local = rotate_inverse(pose.q[s], sub(pose.ends[j], pose.p[s]))
            depth = max(depth, -nearest_capsule_within(frame.shape, s, local, 0.0)[0])
    return depth
