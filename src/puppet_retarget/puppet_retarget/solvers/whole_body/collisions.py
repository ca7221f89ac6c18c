# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of a robot's segments that are in each other (kernels).

Segments that a joint connects always are in each other, and others are as deep as at the zero
pose, where a robot is in one piece. Palms meet where they should by rows of their own
(`own_body`).
"""

import math

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import add, clamp, dot, IDENTITY, norm, scale, sub, Vec3
from puppet_retarget.solvers.whole_body.frame import add_point, Frame
from puppet_retarget.solvers.whole_body.problem import close_row
from puppet_retarget.solvers.whole_body.tree import place, pose_tree, Tree

NEAR_M = 0.02  # from one to the other, where they are looked at
THIN_M = 0.004  # edges of soles and corners, which are for floors, are thinner
CROSSING_M = 1e-6  # core lines so near to each other cross


def overlaps_of(packed: np.ndarray, tree: Tree) -> Floats:
    """
    Return how deep segments may be in each other, (16, 16) [m]; infinite for neighbours.

    `packed` holds a Frame, whose pose is used.
    """
    overlaps = np.full((N_SEGMENTS, N_SEGMENTS), np.inf)
    if not tree.is_robot:
        return overlaps
    body, above = np.arange(N_SEGMENTS), np.zeros(N_SEGMENTS, dtype=np.int64)
    for s in range(1, N_SEGMENTS):
        body[s] = s if tree.counts[s] else body[PARENTS[s]]
        above[s] = body[PARENTS[s]] if tree.counts[s] else above[PARENTS[s]]
    for s in range(1, N_SEGMENTS):
        for t in range(s):
            is_palms = s in LIMB_SEGMENTS[:2, 2] and t in LIMB_SEGMENTS[:2, 2]
            if not is_palms and body[s] != body[t] and above[s] != body[t] and above[t] != body[s]:
                overlaps[s, t] = 0.0
    _measure_packed(packed, overlaps)
    return overlaps


@kernel
def _measure_packed(packed: np.ndarray, overlaps: Floats) -> None:
    frame = packed[0]
    tree, wishes = frame.tree, frame.wishes
    copy(IDENTITY, wishes.rotations[0])
    for i in range(tree.n - 6):
        wishes.angles[i] = clamp(0.0, tree.lower[i], tree.upper[i])
    pose_tree(tree, wishes.rotations[:], wishes.angles[:], (0.0, 0.0, 0.0), frame.x[:], frame.pose)
    for s in range(16):
        for t in range(s):
            if overlaps[s, t] < math.inf:
                overlaps[s, t] = max(depth_between(frame, s, t)[0], 0.0)


@kernel
def add_collisions(frame: Frame) -> None:
    """Add one-sided rows for a robot's segments that are in each other."""
    if not frame.tree.is_robot:
        return
    for s in range(1, 16):
        for t in range(s):
            allowed = frame.overlaps[s, t]
            if not allowed < math.inf or _balls_apart(frame, s, t):
                continue
            depth, point, out = depth_between(frame, s, t)
            depth -= allowed
            if depth <= -NEAR_M:
                continue
            soft = math.hypot(depth, 2.0 * frame.weights.inside_m)
            inside = 0.5 * (depth + soft)
            slope = 1.5 * math.sqrt(inside) * inside / soft
            add_point(frame, s, point, scale(out, slope))
            add_point(frame, t, point, scale(out, -slope))
            close_row(frame.problem, frame.weights.inside, inside * math.sqrt(inside))


@kernel
def _balls_apart(frame: Frame, s: int, t: int) -> bool:
    pose, shape = frame.pose, frame.shape
    between = sub(place(pose, s, shape.centres[s]), place(pose, t, shape.centres[t]))
    return norm(between) > shape.bounds[s] + shape.bounds[t] + NEAR_M


@kernel
def depth_between(frame: Frame, s: int, t: int) -> tuple[float, Vec3, Vec3]:
    """
    Return how deep two segments are in each other [m], where, and the way out for the first.

    These are means over all pairs of capsules, deep ones most: which is deepest changes at once.
    """
    pose, shape = frame.pose, frame.shape
    depth, point, out, total = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    middle, ball = place(pose, t, shape.centres[t]), shape.bounds[t]
    for m in range(shape.first[s], shape.first[s + 1]):
        if shape.radii[m] < THIN_M:
            continue
        start, end = place(pose, s, shape.starts[m]), place(pose, s, shape.ends[m])
        nearest = _nearest_on(start, sub(end, start), middle)
        if norm(sub(nearest, middle)) > ball + shape.radii[m] + NEAR_M:
            continue
        for k in range(shape.first[t], shape.first[t + 1]):
            if shape.radii[k] < THIN_M:
                continue
            other_start, other_end = place(pose, t, shape.starts[k]), place(pose, t, shape.ends[k])
            here, there = _nearest_of(start, end, other_start, other_end)
            between = sub(here, there)
            distance = norm(between)
            own = shape.radii[m] + shape.radii[k] - distance
            if own > -NEAR_M and distance > CROSSING_M:
                way, share = scale(between, 1.0 / distance), (own + NEAR_M) ** 2
                total += share
                depth += share * own
                out = add(out, scale(way, share))
                point = add(point, scale(sub(here, scale(way, shape.radii[m])), share))
    if total == 0.0:
        return -math.inf, point, out
    return depth / total, scale(point, 1.0 / total), scale(out, 1.0 / total)


@kernel
def _nearest_on(start: Vec3, line: Vec3, point: Vec3) -> Vec3:
    """Return the point of a line segment that is nearest to a point."""
    share = dot(sub(point, start), line) / max(dot(line, line), 1e-12)
    return add(start, scale(line, clamp(share, 0.0, 1.0)))


@kernel
def _nearest_of(start: Vec3, end: Vec3, other: Vec3, other_end: Vec3) -> tuple[Vec3, Vec3]:
    """Return the points of two line segments that are nearest to each other."""
    u, v, w = sub(end, start), sub(other_end, other), sub(start, other)
    a, b, c, d, e = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    square = a * c - b * b
    share = clamp((b * e - c * d) / square, 0.0, 1.0) if square > 1e-9 * a * c else 0.5
    there = _nearest_on(other, v, add(start, scale(u, share)))
    return _nearest_on(start, u, there), there
