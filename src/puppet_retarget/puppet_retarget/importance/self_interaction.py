# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Self-interaction: which of the body's own segments are near a hand, foot, elbow or knee.

Shin2002 4.2; the range balls made from it are in `solvers.thesis.ranges`. The result is one row
for each of the eight general end-effectors: its importance and distance, then the sample
points that it is near with its displacement from each: all that a solver needs
to give a puppet of another shape the same contact (eqs. 5.6-5.9). `SelfInteractionEstimator` is
the class around the kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    Capsule,
    carried_places,
    CONSIDERED,
    default_capsules,
    LIMB_SEGMENTS,
    N_RINGS,
    N_ROUND,
    N_SEGMENTS,
    nearest_capsule_within,
    PARENTS,
    Posture,
    SEGMENT_INDEX,
    shape_arrays,
    ShapeArrays,
    Skeleton,
    surface_samples,
)
from puppet_core.io import setting
from puppet_core.math import (
    add,
    copy,
    dot,
    Floats,
    frozen,
    kernel,
    multiply,
    norm,
    pack_arrays,
    Quats,
    read_only,
    rotate,
    rotate_inverse,
    sub,
    Vec3s,
    work_array,
)
from puppet_core.math.values import Vec3, Vec3Like
from puppet_retarget.importance.estimator import importance, smooth_pairs, step_time

MIN_SPACING_M = 0.04  # the shapes of two hands differ by as much as their points lie apart
CAPSULE_BLOCK = 512  # packed shapes are filled up to a multiple, or each number compiles anew

IMPORTANCE, DISTANCE, RATE = 0, 1, 2
PAIR_COLUMNS = 3
MAX_APPROACH_M_S = 4.0  # the prediction goes no farther
_PARENTS = tuple(int(p) for p in PARENTS)

MAX_CONTACTS = 32  # of a general end-effector
# a row: importance, signed distance [m], then contacts
SELF_IMPORTANCE, SELF_DISTANCE, FIRST_CONTACT = range(3)
# a contact: number of the sample point, weight, displacement in the segment's frame [m]
SAMPLE, WEIGHT, DISPLACEMENT = 0, 1, 2
CONTACT_WIDTH = 5
SELF_ROW = FIRST_CONTACT + MAX_CONTACTS * CONTACT_WIDTH
N_SAMPLES = 40
_CONTACT_SHARE = 0.03  # lack of importance at which a touched segment's weight saturates [-]


# The shape of a body.


class BodyArrays(NamedTuple):
    """Sample points and solid shape of one body."""

    samples: Floats  # (16, 3, 40) in the segments' frames [m]
    spacings: Floats  # (16,) how far apart a segment's points lie [m]
    shape: ShapeArrays


def body_arrays(
    skeleton: Skeleton, capsules: Sequence[Capsule] = (), samples: Floats | None = None
) -> BodyArrays:
    """Return the arrays of a body: by default a person's capsules, and samples cast from them."""
    capsules = tuple(capsules) or default_capsules(skeleton)
    if samples is None:
        samples = surface_samples(skeleton, capsules)
    return BodyArrays(
        np.ascontiguousarray(samples.transpose(0, 2, 1)),
        sample_spacings(samples),
        _filled_up(shape_arrays(capsules)),
    )


def _filled_up(shape: ShapeArrays) -> ShapeArrays:
    """Return a shape with capsules that belong to no segment behind its own."""
    missing = -len(shape.radii) % CAPSULE_BLOCK or (0 if len(shape.radii) else CAPSULE_BLOCK)
    return shape._replace(
        starts=np.concatenate((shape.starts, np.zeros((missing, 3)))),
        ends=np.concatenate((shape.ends, np.zeros((missing, 3)))),
        radii=np.concatenate((shape.radii, np.zeros(missing))),
    )


def sample_spacings(samples: Floats) -> Floats:
    """Return the mean distance of neighbours round and along each segment's rings, (16,) [m]."""
    rings = samples.reshape(len(samples), N_RINGS, N_ROUND, 3)
    around = np.linalg.norm(rings - np.roll(rings, 1, axis=2), axis=-1).mean(axis=(1, 2))
    along = np.linalg.norm(np.diff(rings, axis=1), axis=-1).mean(axis=(1, 2))
    return np.maximum(np.maximum(around, along), MIN_SPACING_M)


def _relevant() -> np.ndarray:
    """Return which segments count for which end-effector, shape (8, 16)."""
    table = np.array(CONSIDERED)
    # what an arm does on a leg is the arm's interaction: solvers pose the legs first
    for leg in (2, 3, 6, 7):
        table[leg, LIMB_SEGMENTS[:2].ravel()] = False
    return read_only(table, np.bool_)


RELEVANT = _relevant()


class MovingPosture(NamedTuple):
    """What of a posture counts."""

    rotations: Quats  # of joints, (16, 4)
    segments: Vec3s  # joints in world, (16, 3) [m]
    points: Vec3s  # general end-effectors, (8, 3) [m]
    velocities: Vec3s  # of these [m/s]


# Importance of every pair of general end-effector and segment (Shin2002 4.2).
#
# The thesis takes the distance to the nearest of forty points of a segment. Between the points of
# a chest a touching palm is 8 cm from the nearest, so here the distance is that to the
# surface, and the points only locate it.


@kernel
def world_orientations(rotations: Quats, q_world: Quats) -> None:
    """Fill the orientation of every segment in world from the joint rotations, (16, 4) each."""
    copy(rotations[0], q_world[0])
    for segment in range(1, len(rotations)):
        copy(multiply(q_world[_PARENTS[segment]], rotations[segment]), q_world[segment])


@kernel
def _relative_velocity(
    point: Vec3Like,
    velocity: Vec3Like,
    local: Vec3Like,
    q_before: Floats,
    p_before: Vec3Like,
    dt: float,
) -> Vec3:
    """Return how a point moves beside a segment, in world [m/s]."""
    if dt <= 0.0 or dt == math.inf:
        return 0.0, 0.0, 0.0
    # from where the segment carried this place one step ago
    x, y, z = sub(sub(point, rotate(q_before, local)), p_before)
    return velocity[0] - x / dt, velocity[1] - y / dt, velocity[2] - z / dt


@kernel
def estimate_self_pairs(arrays: 'SelfArrays', moving: MovingPosture, dt: float) -> None:
    """
    Fill `arrays.pairs`: importance, signed distance [m], rate [m/s] of end-effectors and segments.

    Pairs too far apart to matter get a bound of the distance, and no rate. `dt` [s] is infinite if
    there is no posture before, whose frames are in `q_before` and `p_before` and are overwritten.
    """
    rotations, p_world, points, velocities = moving
    prediction = arrays.times.prediction_s
    shape, q_world, margins = arrays.body.shape, arrays.q_world, arrays.margins
    world_orientations(rotations, q_world)
    for segment in range(16):
        q, origin = q_world[segment], p_world[segment]
        centre = add(rotate(q, shape.centres[segment]), origin)
        for j in range(8):
            pair, influence = arrays.pairs[j, segment], arrays.influences[j, segment]
            pair[IMPORTANCE], pair[RATE] = 0.0, 0.0
            if not RELEVANT[j, segment]:
                pair[DISTANCE] = math.inf
                continue
            near = influence + margins[j]
            pair[DISTANCE] = norm(sub(points[j], centre)) - shape.bounds[segment]
            if pair[DISTANCE] >= near + prediction * MAX_APPROACH_M_S:
                continue
            local = rotate_inverse(q, sub(points[j], origin))
            q_before, p_before = arrays.q_before[segment], arrays.p_before[segment]
            motion = _relative_velocity(points[j], velocities[j], local, q_before, p_before, dt)
            # nothing approaches faster than it moves
            approach = min(norm(motion), MAX_APPROACH_M_S)
            if pair[DISTANCE] >= near + prediction * approach:
                continue
            distance, _, normal = nearest_capsule_within(shape, segment, local, math.inf)
            pair[DISTANCE] = distance
            pair[RATE] = max(dot(rotate(q, normal), motion), -MAX_APPROACH_M_S)
            gap = max(distance - margins[j], 0.0)
            # what leaves has been touching until it is away: only an approach is predicted
            approach = min(pair[RATE], 0.0)
            pair[IMPORTANCE] = importance(gap, approach, prediction, influence)
    for segment in range(16):
        copy(q_world[segment], arrays.q_before[segment])
        copy(p_world[segment], arrays.p_before[segment])


# Where on the body a general end-effector's contacts are (Shin2002 5.3.1).
#
# The weights of eq. 5.7 are those of the importance function of how much farther than the nearest
# a point is, 0 as far off as a segment's points lie apart; the printed three nearest points would
# jump when the third nearest changes. A touched segment outweighs one of importance 1/2 a
# thousandfold, but one of 0.99 by less than twofold: between parts of the body that are all but
# touched the weights must not turn over within a frame.


@kernel
def _insert(row: Floats, count: int, sample: int, weight: float) -> int:
    """Add a contact, in place of the lightest one if the row is full; return its place or -1."""
    weight = float(np.float32(weight))
    place = count
    if count == MAX_CONTACTS:
        place = 0
        for i in range(1, MAX_CONTACTS):
            light = row[FIRST_CONTACT + place * CONTACT_WIDTH + WEIGHT]
            if row[FIRST_CONTACT + i * CONTACT_WIDTH + WEIGHT] < light:
                place = i
        if row[FIRST_CONTACT + place * CONTACT_WIDTH + WEIGHT] >= weight:
            return -1
    start = FIRST_CONTACT + place * CONTACT_WIDTH
    row[start + SAMPLE], row[start + WEIGHT] = sample, weight
    return place


@kernel
def _add_segment(
    body: BodyArrays, segment: int, local: Vec3Like, weight: float, count: int, row: Floats
) -> int:
    """
    Add the points of a segment near a place in its frame to a row; return the new count.

    The nearest has the weight given, those as far off as the points lie apart none. Contacts are
    of single precision, as in messages.
    """
    samples, spacing = body.samples[segment], body.spacings[segment]
    squares = work_array(N_SAMPLES)
    nearest = math.inf
    for k in range(N_SAMPLES):
        way = sub(samples[:, k], local)
        squares[k] = dot(way, way)
        nearest = min(nearest, squares[k])
    for k in range(N_SAMPLES):
        # how much farther along the surface, however far from it
        farther = (squares[k] - nearest) / (spacing * spacing)
        if farther < 1.0:
            closeness = importance(farther, 0.0, 0.0, 1.0)
            place = _insert(row, count, N_SAMPLES * segment + k, weight * closeness)
            if place >= 0:
                start = FIRST_CONTACT + place * CONTACT_WIDTH
                for i in range(3):
                    row[start + DISPLACEMENT + i] = np.float32(local[i] - samples[i, k])
                count = max(count, place + 1)
    return count


@kernel
def _clear_row(row: Floats) -> None:
    """Take the contacts out of a row that is empty or was filled before."""
    for i in range(FIRST_CONTACT):
        row[i] = 0.0
    row[SELF_DISTANCE] = math.inf
    for i in range(MAX_CONTACTS):
        start = FIRST_CONTACT + i * CONTACT_WIDTH
        if row[start + SAMPLE] >= 0.0:
            row[start + SAMPLE] = -1.0
            for k in range(1, CONTACT_WIDTH):
                row[start + k] = 0.0


@kernel
def list_contacts(arrays: 'SelfArrays', p_world: Vec3s, points: Vec3s) -> None:
    """
    Fill `arrays.rows`, one of every general end-effector, from the smoothed pairs.

    What is not filled now but was before is set to zero: rows are zeros at first, then kept.
    """
    body, pairs = arrays.body, arrays.pairs
    for j in range(8):
        row = arrays.rows[j]
        _clear_row(row)
        count = 0
        for segment in range(16):
            pair = pairs[j, segment]
            w, distance = pair[IMPORTANCE], pair[DISTANCE]
            if not RELEVANT[j, segment]:
                continue
            row[SELF_IMPORTANCE] = max(row[SELF_IMPORTANCE], w)
            row[SELF_DISTANCE] = min(row[SELF_DISTANCE], distance)
            if w <= 0.0:
                continue
            nearness = w / (1.0 - w + _CONTACT_SHARE)
            local = rotate_inverse(arrays.q_world[segment], sub(points[j], p_world[segment]))
            count = _add_segment(body, segment, local, nearness * nearness, count, row)


# The estimator.


@dataclass(frozen=True, slots=True)
class SelfInteractionConfig:
    """Tuning of the self-interaction; see the parameter table for ranges."""

    prediction_s: float = setting(
        0.06, 's', 0.0, 1.0, "lambda for distances from the performer's own body, eq. 4.2."
    )
    hand_influence_m: float = setting(
        0.06,
        'm',
        0.0,
        1.0,
        "D of palms for the performer's torso and legs, eq. 4.3.",
        low_open=True,
    )
    gesture_influence_m: float = setting(
        0.15,
        'm',
        0.0,
        1.0,
        "D of palms for the performer's head and other arm, eq. 4.3.",
        low_open=True,
    )
    elbow_influence_m: float = setting(
        0.05, 'm', 0.0, 1.0, "D of elbows for the performer's body, eq. 4.3.", low_open=True
    )
    foot_influence_m: float = setting(
        0.01,
        'm',
        0.0,
        1.0,
        "D of soles and knees for the performer's body, eq. 4.3.",
        low_open=True,
    )
    hand_margin_m: float = setting(
        0.02, 'm', 0.0, 0.5, 'Distance from palms to the body that counts as contact.'
    )
    elbow_margin_m: float = setting(
        0.045, 'm', 0.0, 0.5, 'Distance from elbows to the body that counts as contact.'
    )
    foot_margin_m: float = setting(
        0.0, 'm', 0.0, 0.5, 'Distance from soles and knees to the body that counts as contact.'
    )
    smoothing_s: float = setting(
        0.08, 's', 0.0, 1.0, 'Time constant of the smoothing of self-interaction; 0: none.'
    )

    @property
    def influences_m(self) -> Floats:
        """D of each general end-effector from each segment, shape (8, 16) [m]."""
        hand, elbow, foot = self.hand_influence_m, self.elbow_influence_m, self.foot_influence_m
        own = np.array([hand, hand, foot, foot, elbow, elbow, foot, foot])
        table = np.repeat(own[:, np.newaxis], N_SEGMENTS, axis=1)
        table[:2, [SEGMENT_INDEX['head'], *LIMB_SEGMENTS[:2].ravel()]] = self.gesture_influence_m
        return table

    @property
    def margins_m(self) -> Floats:
        """Contact margins of the eight general end-effectors, shape (8,) [m]."""
        hand, elbow, foot = self.hand_margin_m, self.elbow_margin_m, self.foot_margin_m
        return np.array([hand, hand, foot, foot, elbow, elbow, foot, foot])


class Times(NamedTuple):
    """Times of `SelfInteractionConfig`."""

    prediction_s: float = 0.0
    smoothing_s: float = 0.0


class SelfArrays(NamedTuple):
    """What the estimator keeps from frame to frame, packed into one argument."""

    body: BodyArrays
    influences: Floats = frozen(np.zeros((8, 16)))  # [m]
    margins: Floats = frozen(np.zeros(8))  # [m]
    times: Times = Times()
    pairs: Floats = frozen(np.zeros((8, 16, PAIR_COLUMNS)))
    followers: Floats = frozen(np.zeros((8, 16, 2)))
    q_world: Quats = frozen(np.zeros((16, 4)))
    q_before: Quats = frozen(np.zeros((16, 4)))
    p_before: Vec3s = frozen(np.zeros((16, 3)))
    rows: Floats = frozen(np.zeros((8, SELF_ROW)))


class SelfInteractionEstimator:
    """Self-interaction of one performer."""

    def __init__(self, body: BodyArrays, config: SelfInteractionConfig) -> None:
        self.packed, self._arrays = pack_arrays(SelfArrays(body))
        """SelfArrays, for kernels that step many frames."""
        self._stamp_ns: int | None = None
        self.retune(config)

    def retune(self, config: SelfInteractionConfig) -> None:
        """Take new tuning without a jump in the smoothed importance."""
        times = config.prediction_s, config.smoothing_s
        self.packed['times'] = np.array(times, self.packed['times'].dtype)
        self._arrays.influences[:] = config.influences_m
        self._arrays.margins[:] = config.margins_m

    def reset(self) -> None:
        """Forget the past: the next step is not smoothed."""
        self._stamp_ns = None

    def step(self, stamp_ns: int, posture: Posture, segments: Vec3s) -> Floats:
        """
        Return the rows (8, SELF_ROW) of the next posture, overwritten by the next step.

        Segments are the joints in world [m]. A gap over MAX_STEP_S or a step back restarts
        smoothing.
        """
        dt = step_time(stamp_ns, self._stamp_ns)
        self._stamp_ns = stamp_ns
        points, velocities = posture.end_effectors, posture.end_effector_velocities
        moving = MovingPosture(posture.rotations, segments, points, velocities)
        step_packed(self.packed, moving, dt)
        return self._arrays.rows


@kernel
def step_packed(packed: np.ndarray, moving: MovingPosture, dt: float) -> None:
    """Advance by one posture in place; `packed` holds SelfArrays."""
    arrays = packed[0]
    estimate_self_pairs(arrays, moving, dt)
    smooth_pairs(arrays.pairs, arrays.followers, arrays.times.smoothing_s, dt)
    list_contacts(arrays, moving.segments, moving.points)


def skeleton_of(rotations: Quats, segments: Vec3s, points: Vec3s) -> Skeleton:
    """
    Return the skeleton of a posture: joints and end-effectors in world [m].

    A ConfigError if a limb has no length.
    """
    carried = carried_places(rotations, segments, points[:4])
    return Skeleton(np.vstack((np.zeros(3), carried[:-4])), carried[-4:])


def estimator_of(
    skeleton: Skeleton, config: SelfInteractionConfig, samples: Floats | None = None
) -> SelfInteractionEstimator:
    """Return the estimator of a person of a skeleton, with measured samples if there are any."""
    return SelfInteractionEstimator(body_arrays(skeleton, samples=samples), config)
