# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How near a body is to itself, and how well a retargeted motion keeps that of the palms.

Distances are signed ones of general end-effectors from capsules of the segments that count
(`puppet_core.body.skeleton`); pelvis, spine and chest are one body. An error is the difference
between the puppet's distance and the performer's in the puppet's world, both zero inside.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import (
    Capsule,
    CONSIDERED,
    default_capsules,
    Motion,
    nearest_capsule_within,
    segment_distance,
    SEGMENT_INDEX,
    shape_arrays,
    ShapeArrays,
    Skeleton,
    surface_samples,
)
from puppet_core.math import (
    add,
    Floats,
    kernel,
    Quats,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    Vec3s,
)
from puppet_core.math.values import Vec3 as Vec3Value
from puppet_retarget.offline.quality import HANDS, IMPORTANT
from puppet_retarget.offline.whole_motion import RetargetJob, RetargetResult
from puppet_retarget.solvers import circle_of, on_circle

PALM_M = 0.02  # off from where it touches, by which a palm is seen to be

_TORSO = [SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest')]


class MovingBody(NamedTuple):
    skeleton: Skeleton  # Its interaction points show how deep they are in hands and feet
    capsules: tuple[Capsule, ...]  # Its shape
    q_world: Quats  # Segments' orientations, shape (n, 16, 4)
    p_world: Vec3s  # Segments' joints, shape (n, 16, 3) [m]
    end_effectors: Vec3s  # General end-effectors in world, shape (n, 8, 3) [m]


def performer_body(motion: Motion) -> MovingBody:
    """Return the captured body with a human shape of its own proportions."""
    q_world, p_world = motion.world_segments()
    shape = default_capsules(motion.skeleton)
    return MovingBody(motion.skeleton, shape, q_world, p_world, motion.end_effectors)


def puppet_body(job: RetargetJob, result: RetargetResult) -> MovingBody:
    """Return the puppet of a run with its own shape."""
    character = job.character
    return MovingBody(
        character.skeleton,
        character.capsules,
        result.q_world,
        result.p_world,
        result.puppet.end_effectors,
    )


def self_distances_m(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, end_effectors: Vec3s
) -> Floats:
    """
    Return signed distances of general end-effectors (n, 8, 3) from segments, shape (n, 8, 16) [m].

    Negative inside; infinite for pairs that do not count. Orientations and joints of the segments
    are in world, shapes (n, 16, 4) and (n, 16, 3).
    """
    # copies: read-only arrays would be another layout to compile for
    arrays = [np.array(a, dtype=np.float64, order='C') for a in (q_world, p_world, end_effectors)]
    out = np.full((len(arrays[0]), *CONSIDERED.shape), np.inf)
    _fill_distances(shape, arrays[0], arrays[1], arrays[2], out)
    return out


def body_distances_m(body: MovingBody) -> Floats:
    """Return signed distances of a body's general end-effectors from its segments, (n, 8, 16)."""
    return self_distances_m(
        shape_arrays(body.capsules), body.q_world, body.p_world, body.end_effectors
    )


def self_penetrations_m(distances: Floats, captured: Floats, world_scale: float) -> Floats:
    """
    Return how much deeper a body's general end-effectors are in it than the performer's, (n, 8).

    From the `body_distances_m` of both; the performer's depths count in the puppet's world [m].
    """
    own, allowed = (np.maximum(-gaps.min(axis=2), 0.0) for gaps in (distances, captured))
    return np.maximum(own - world_scale * allowed, 0.0)


def palm_errors_m(
    performer: MovingBody,
    puppet: MovingBody,
    world_scale: float,
    self_importances: Floats,
    leaping: NDArray[np.bool_],
) -> tuple[Floats, float]:
    """
    Return how much farther or nearer palms are to what they touch than the performer's, (k,) [m].

    Of the palms of self-importance (n, 8) of at least 0.99, in frames to which the performer does
    not leap (n,); they touch the segment that the performer's palm is nearest to. Those that are
    off by more than PALM_M and cannot be there are left out; their share comes second.
    """
    wanted = self_importances[:, HANDS] >= IMPORTANT
    frames = wanted.any(axis=1) & ~leaping
    if not frames.any():
        return np.empty(0), 0.0
    captured, own = (
        body._replace(
            q_world=body.q_world[frames],
            p_world=body.p_world[frames],
            end_effectors=body.end_effectors[frames],
        )
        for body in (performer, puppet)
    )
    nearest, gaps, errors = compared(captured, own, world_scale)
    counts = wanted[frames] & np.isfinite(errors[:, HANDS])
    touching = counts.copy()
    # flesh gives way as the performer's does
    room = PALM_M + world_scale * np.maximum(-_distances_of_bodies(captured).min(axis=2), 0.0)
    shape, samples = shape_arrays(own.capsules), surface_samples(own.skeleton, own.capsules)
    for i, hand in np.argwhere(counts & (errors[:, HANDS] > PALM_M)):
        posed = own.q_world[i].copy(), own.p_world[i].copy()
        palm, lengths = own.skeleton.interaction_points[hand], own.skeleton.limb_lengths[hand]
        arm = _Arm(int(hand), palm.copy(), lengths.copy(), room[i, [hand, hand + 4]])
        gap, touched = world_scale * max(gaps[i, hand], 0.0), int(nearest[i, hand])
        counts[i, hand] = any(
            _can_touch(shape, posed, arm, samples[k], k, gap)
            for k in (_TORSO if touched in _TORSO else [touched])
        )
    out_of_reach = float(np.mean(~counts[touching])) if touching.any() else 0.0
    return errors[:, HANDS][counts], out_of_reach


class _Arm(NamedTuple):
    """What a palm is to be brought to a place by."""

    hand: int
    palm: Vec3  # in the hand's frame [m]
    lengths: Floats  # of both segments, (2,) [m]
    room: Floats  # how deep palm and elbow may be in the body, (2,) [m]


@kernel
def _can_touch(
    shape: ShapeArrays,
    posed: tuple[Quats, Vec3s],
    arm: _Arm,
    samples: Vec3s,
    segment: int,
    gap: float,
) -> bool:
    """
    Return whether a palm can be this far [m] from a segment, nothing else of the body moving.

    The hand keeps its orientation. Places tried are beside the segment's sample points, elbows
    those of the circle that the palm leaves them; neither may be deep in the body.
    """
    q_world, p_world = posed
    start = 4 + 3 * arm.hand
    to_palm = rotate(q_world[start + 2], arm.palm)
    for k in range(len(samples)):
        distance, _, normal = nearest_capsule_within(shape, segment, samples[k], math.inf)
        local = add(samples[k], scale(normal, gap - distance))
        place = add(rotate(q_world[segment], local), p_world[segment])
        circle = circle_of(p_world[start], arm.lengths[0], sub(place, to_palm), arm.lengths[1])
        if math.isnan(circle[2]) or _depth(shape, posed, arm.hand, place) > arm.room[0]:
            continue
        for i in range(27):
            way = i // 9 - 1.0, i // 3 % 3 - 1.0, i % 3 - 1.0
            elbow = on_circle(add(circle[0], way), circle)
            if _depth(shape, posed, arm.hand + 4, elbow) <= arm.room[1]:
                return True
    return False


@kernel
def _depth(
    shape: ShapeArrays, posed: tuple[Quats, Vec3s], general: int, point: Vec3Value
) -> float:
    """Return how deep a general end-effector would be in its body at a point [m]."""
    (q_world, p_world), depth = posed, -math.inf
    for s in range(CONSIDERED.shape[1]):
        if CONSIDERED[general, s]:
            local = rotate_inverse(q_world[s], sub(point, p_world[s]))
            depth = max(depth, -segment_distance(shape, s, local))
    return depth


def compared(
    performer: MovingBody, puppet: MovingBody, world_scale: float
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """
    Return the segments nearest to the performer's general end-effectors, and how near they are.

    And the difference of the puppet's distance from them, all (n, 8); endless if it has no
    capsules there.
    """
    own, others = _distances_of_bodies(performer), _distances_of_bodies(puppet)
    nearest = own.argmin(axis=2)
    gap, reached = (
        np.take_along_axis(distances, nearest[..., np.newaxis], axis=2)[..., 0]
        for distances in (own, others)
    )
    wanted = world_scale * np.maximum(gap, 0.0)
    return nearest, gap, np.abs(np.maximum(reached, 0.0) - wanted)


@kernel
def _fill_distances(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, points: Vec3s, out: Floats
) -> None:
    """Fill the entries (n, 8, 16) of pairs that count."""
    for i in range(len(out)):
        for general in range(CONSIDERED.shape[0]):
            for s in range(CONSIDERED.shape[1]):
                if CONSIDERED[general, s]:
                    local = rotate_inverse(q_world[i, s], sub(points[i, general], p_world[i, s]))
                    out[i, general, s] = segment_distance(shape, s, local)


def _distances_of_bodies(body: MovingBody) -> Floats:
    """Return distances (n, 8, 16) with those of the torso's segments made one [m]."""
    distances = body_distances_m(body)
    distances[..., _TORSO] = distances[..., _TORSO].min(axis=2, keepdims=True)
    return distances
