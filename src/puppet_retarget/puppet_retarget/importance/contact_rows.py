# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where on the body a general end-effector's contacts are (kernel, Shin2002 5.3.1).

The weights of eq. 5.7 are those of the importance function of how much farther than the nearest
a point is, 0 as far off as a segment's points lie apart; the printed three nearest points would
jump when the third nearest changes. A touched segment outweighs one of importance 1/2 a
thousandfold, but one of 0.99 by less than twofold: between parts of the body that are all but
touched the weights must not turn over within a frame.

"""

import math

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import rotate_inverse
from puppet_core.work_array import work_array
from puppet_retarget.importance.body_arrays import BodyArrays
from puppet_retarget.importance.importance_function import importance
from puppet_retarget.importance.self_distance import IMPORTANCE, PLACE_REACH, RELEVANT

MAX_CONTACTS = 32
# a row: importance, distance, rate, depth, importance of the very place, then contacts
SELF_IMPORTANCE, SELF_DISTANCE, SELF_RATE, SELF_DEPTH, SELF_PLACE, FIRST_CONTACT = range(6)
# a contact: number of the sample point, weight, displacement in the segment's frame, share
SAMPLE, WEIGHT, DISPLACEMENT, SHARE = 0, 1, 2, 5
CONTACT_WIDTH = 6
SELF_ROW = FIRST_CONTACT + MAX_CONTACTS * CONTACT_WIDTH
N_SAMPLES = 40
_CONTACT_SHARE = 0.03  # lack of importance at which a touched segment's weight saturates [-]


@kernel
def _limb_of(segment: int) -> int:
    """Return the limb that a segment belongs to; -1 for the torso and head."""
    return (segment - 4) // 3 if segment >= 4 else -1


@kernel
def _yields(pairs: Floats, limb: int, other: int, rows: Floats) -> float:
    """Return in [0, 1] how far a limb will move for what it has with another limb."""
    strongest = 0.0
    for j in (limb, limb + 4):
        for segment in range(4 + 3 * other, 7 + 3 * other):
            strongest = max(strongest, pairs[j, segment, IMPORTANCE])
    eased = strongest * strongest * (3.0 - 2.0 * strongest)
    return eased * (1.0 - rows[limb, IMPORTANCE])


@kernel
def moved_share(pairs: Floats, j: int, segment: int, rows: Floats) -> float:
    """
    Return the share of the way that an end-effector goes to meet a segment.

    All of it to a segment that stays; half of it to a limb that comes to meet it (eq. 5.9). A
    limb that is held by the environment, or has nothing to do with this one, does not come.

    """
    limb, other = j % 4, _limb_of(segment)
    if other < 0 or (limb < 2) != (other < 2):
        return 1.0
    mine, theirs = _yields(pairs, limb, other, rows), _yields(pairs, other, limb, rows)
    return (mine + 1e-6) / (mine + theirs + 1e-6)


@kernel
def _insert(row: Floats, count: int, sample: int, weight: float) -> int:
    """Add a contact, in place of the lightest one if the row is full; return its place or -1."""
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
    samples: Floats, spacing: float, segment: int, local: Vec3, weight: float, share: float,
    count: int, row: Floats,
) -> int:  # fmt: skip
    """Add the points of a segment near a place in its frame to a row; return the new count."""
    squares = work_array(N_SAMPLES)
    nearest = math.inf
    for k in range(N_SAMPLES):
        dx, dy, dz = samples[0, k] - local[0], samples[1, k] - local[1], samples[2, k] - local[2]
        squares[k] = dx * dx + dy * dy + dz * dz
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
                    row[start + DISPLACEMENT + i] = local[i] - samples[i, k]
                row[start + SHARE] = share
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
def list_contacts(
    body: BodyArrays, q_world: Quats, p_world: Vec3s, points: Vec3s, rows: Floats,
    influences: Floats, margins: Floats, pairs: Floats, out: Floats,
) -> None:  # fmt: skip
    """
    Fill the row of every general end-effector from its pairs.

    Parameters
    ----------
    body : BodyArrays
        The performer's shape.
    q_world, p_world : ndarray, shapes (16, 4), (16, 3)
        Its segments in world [m].
    points : ndarray, shape (8, 3)
        Its general end-effectors in world [m].
    rows : ndarray, shape (4, 8)
        Importance rows of the environment.
    influences, margins : ndarray, shapes (8, 16), (8,)
        D of each pair and contact margin of each end-effector [m].
    pairs : ndarray, shape (8, 16, 3)
        Smoothed importance, distance and rate of all pairs.
    out : ndarray, shape (8, SELF_ROW)
        Out; zeros at first, and what was filled before from then on.

    """
    local = work_array(3)
    for j in range(8):
        row = out[j]
        _clear_row(row)
        count = 0
        for segment in range(16):
            w, distance = pairs[j, segment, 0], pairs[j, segment, 1]
            if not RELEVANT[j, segment]:
                continue
            row[SELF_IMPORTANCE] = max(row[SELF_IMPORTANCE], w)
            row[SELF_DEPTH] = max(row[SELF_DEPTH], -distance)
            if distance < row[SELF_DISTANCE]:
                row[SELF_DISTANCE], row[SELF_RATE] = distance, pairs[j, segment, 2]
            if w <= 0.0:
                continue
            for k in range(3):
                local[k] = points[j, k] - p_world[segment, k]
            rotate_inverse(q_world[segment], local, local)
            nearness = w / (1.0 - w + _CONTACT_SHARE)
            count = _add_segment(
                body.samples[segment], body.spacings[segment], segment, local,
                nearness * nearness, moved_share(pairs, j, segment, rows), count, row,
            )  # fmt: skip
        # what only will be near, or swings past, keeps its distance; what touches its place too
        if j >= 4:
            continue  # of elbows and knees only the distance is kept
        for segment in range(16):
            gap = max(pairs[j, segment, 1] - margins[j], 0.0)
            reach = PLACE_REACH * influences[j, segment]
            if gap < reach:
                place = importance(gap, 0.0, 0.0, reach)
                row[SELF_PLACE] = max(row[SELF_PLACE], place)
