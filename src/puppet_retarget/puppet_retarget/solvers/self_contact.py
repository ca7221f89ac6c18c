# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Range balls that keep a puppet's contacts with itself (kernel, Shin2002 5.3.1).

The performer's displacement from each sample point, put on the same point of the puppet, says
where the puppet's hand should be; the weighted mean over the points is the ball's centre. Of an
elbow or knee only the distance from the surface is kept, not the place on it: a long upper arm
hanging at the performer's side would otherwise be lifted until its elbow is at waist height. The
place of a hand counts the more the nearer it is to touching: one that swings past the hip keeps
its swing. An arm that hangs straight beside pelvis and thigh keeps its palm's distance from these,
not the height at which it has it.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import N_ROUND
from puppet_core.math import (
    add,
    copy,
    dot,
    Floats,
    kernel,
    norm,
    Quats,
    rotate,
    scale,
    sub,
    Vec3s,
    work_table,
)
from puppet_core.math.values import clamp, ease, lerp, QuatLike, Vec3, Vec3Like
from puppet_retarget.importance import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    SAMPLE,
    SELF_IMPORTANCE,
    WEIGHT,
)
from puppet_retarget.solvers.limbs import STARTS

PELVIS = 0
HUNG_BY = (PELVIS, STARTS[2], STARTS[3])  # with the thighs, along which arms hang
DOWN = (0.0, 0.0, -1.0)  # of these, in the segments' frames
SLANTED, HANGING = 0.65, 0.92  # share of an arm's length along these: begins to hang, hangs [-]
EVEN = 1e-6  # two limbs that are both held meet half-way, too [-]


class SelfBalls(NamedTuple):
    """The range balls of the eight general end-effectors."""

    centres: Vec3s  # (8, 3) in world [m]
    radii: Floats  # (8,) [m]
    importances: Floats  # (8,); 0: no ball


def empty_self_balls() -> SelfBalls:
    """Return no balls."""
    return SelfBalls(np.zeros((8, 3)), np.zeros(8), np.zeros(8))


@kernel
def _add_contact(
    contact: Floats,
    samples: Floats,
    world_scale: float,
    q: QuatLike,
    from_point: Vec3Like,
    of_segment: Floats,
) -> float:
    """Add what a sample point wants to what its segment does; return how far off it is [m]."""
    k = int(contact[SAMPLE]) % N_SAMPLES
    ring, weight = k - k % N_ROUND, contact[WEIGHT]
    x, y, z = 0.0, 0.0, 0.0
    for i in range(ring, ring + N_ROUND):
        x, y, z = x + samples[0, i], y + samples[1, i], z + samples[2, i]
    gap = scale(contact[DISPLACEMENT : DISPLACEMENT + 3], world_scale)
    wanted = add(gap, samples[:, k])
    outward = sub(wanted, scale((x, y, z), 1.0 / N_ROUND))
    way = scale(add(rotate(q, wanted), from_point), weight)
    copy(add(of_segment, way), of_segment[:3])
    copy(add(of_segment[3:6], scale(outward, weight)), of_segment[3:6])
    of_segment[6] += weight
    return norm(gap)


@kernel
def _segment_shift(q: QuatLike, of_segment: Floats, sideways: float) -> Vec3:
    """Return a segment's sum of ways, with what of it is sideways scaled."""
    outward = rotate(q, of_segment[3:6])
    square, along = dot(outward, outward), dot(outward, of_segment)
    straight = scale(outward, along / square if square > 0.0 else 0.0)
    return lerp(straight, of_segment, sideways)


@kernel
def stretch_of(p_world: Vec3s, arm: int) -> Vec3:
    """Return what leads from an arm's shoulder to its wrist, as a share of the arm's length."""
    shoulder, elbow, wrist = (
        p_world[STARTS[arm]],
        p_world[STARTS[arm] + 1],
        p_world[STARTS[arm] + 2],
    )
    length = norm(sub(elbow, shoulder)) + norm(sub(wrist, elbow))
    return scale(sub(wrist, shoulder), 1.0 / length)


class PosedBody(NamedTuple):
    """A puppet's body with captured angles."""

    samples: Floats  # (16, 3, 40) in the segments' frames [m]
    world_scale: float
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3) [m]
    points: Vec3s  # (8, 3) general end-effectors [m]
    stretches: Vec3s  # (2, 3) `stretch_of` the arms as captured


@kernel
def _way_across(way: Vec3Like, weight: float, j: int, segment: int, body: PosedBody) -> Vec3:
    """
    Return the weighted way of palm j to its place on pelvis or thigh, as an arm that hangs needs.

    The more the arm hangs, the less of the way along the segment is left: at what height the palm
    touches then tells only how long the arm is, and a longer one would bend to be there. A palm
    below the knee comes up to it.
    """
    origin, down = body.p_world[segment], rotate(body.q_world[segment], DOWN)
    hangs = ease(clamp((dot(down, body.stretches[j]) - SLANTED) / (HANGING - SLANTED), 0.0, 1.0))
    below = 0.0
    if segment != PELVIS:
        knee = norm(sub(body.p_world[segment + 1], origin))
        below = max(dot(sub(body.points[j], origin), down) - knee, 0.0)
    return sub(way, scale(down, hangs * (dot(way, down) + weight * below)))


@kernel
def self_ball(
    j: int, row: Floats, sideways: float, share: float, body: PosedBody, centre: Floats
) -> float:
    """
    Write the centre of the range ball of general end-effector j; return its distance kept [m].

    `sideways` is the fraction of the way along the surface that is kept, 0 for the distance
    alone; `share` that of the way to the limb across, which comes to meet this one. Infinity:
    there is nothing to keep, all weights are zero (errata 6).
    """
    point, across = body.points[j], 4 + 3 * ((j % 4) ^ 1)
    sums, shift = work_table(16, 7), (0.0, 0.0, 0.0)
    sums[:] = 0.0
    total, nearest = 0.0, math.inf
    for i in range(MAX_CONTACTS):
        contact = row[FIRST_CONTACT + i * CONTACT_WIDTH : FIRST_CONTACT + (i + 1) * CONTACT_WIDTH]
        if contact[SAMPLE] < 0.0 or contact[WEIGHT] <= 0.0:
            continue
        segment = int(contact[SAMPLE]) // N_SAMPLES
        q, from_point = body.q_world[segment], sub(body.p_world[segment], point)
        own, sums_of = body.samples[segment], sums[segment]
        gap = _add_contact(contact, own, body.world_scale, q, from_point, sums_of)
        nearest = min(nearest, gap)
        total += contact[WEIGHT]
    for segment in range(16):
        if sums[segment, 6] > 0.0:
            way = _segment_shift(body.q_world[segment], sums[segment], sideways)
            if j < 2 and segment in HUNG_BY:
                way = _way_across(way, sums[segment, 6], j, segment, body)
            # Shin2002 eq. 5.9: v' = share (v + p_k - p_e)
            shift = add(shift, scale(way, share if across <= segment < across + 3 else 1.0))
    copy(add(point, scale(shift, 1.0 / total if total > 0.0 else 0.0)), centre)
    return nearest


@kernel
def fill_self_ball(j: int, held: Floats, rows: Floats, body: PosedBody, balls: SelfBalls) -> None:
    """
    Fill the ball of general end-effector j from its row; see `self_ball`.

    `held` are the importances of the environment for hands and feet. Two limbs that meet each go
    half the way, one that is held the less. Legs pass each other closely at every step; a foot
    that is held has that much less to do with the other leg.
    """
    w, limb = rows[j, SELF_IMPORTANCE], j % 4
    # the importance comes and goes smoothly, the place as fast as the hand
    sideways = w**4 if j < 4 else 0.0
    free, across_free = 1.0 - held[limb], 1.0 - held[limb ^ 1]
    share = (free + EVEN) / (free + across_free + 2.0 * EVEN)
    if limb >= 2:
        w *= free**4
    balls.importances[j] = 0.0
    if w > 0.0:
        nearest = self_ball(j, rows[j], sideways, share, body, balls.centres[j])
        if nearest < math.inf:
            # Shin2002 eq. 5.6 as it must be read (errata 5)
            balls.radii[j], balls.importances[j] = (1.0 - w) * nearest, w
