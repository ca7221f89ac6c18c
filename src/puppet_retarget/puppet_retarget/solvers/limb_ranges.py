# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A limb with self-interaction: five ranges for the elbow, two for the hand (kernel, Shin2002 5.3).

The hand has a range ball from the environment (Shin2002 eq. 5.10) and one from the body itself
(Shin2002 eq. 5.6), each of which is a shell for the elbow: inside one sphere and outside another
(fig. 5.6, errata 7). The elbow has a ball of its own. A range draws by its importance, so that
ranges come and go without a jump. The hand is settled first, the environment's ball having the
last word; both shells then hold the sphere about the wrist, on which the elbow turns to its ball.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import (
    copy,
    Floats,
    kernel,
    multiply,
    Quat,
    Quats,
    rotate,
    Vec3,
    Vec3s,
    work_array,
)
from puppet_retarget.solvers.ball_intersection import closest_on_sphere
from puppet_retarget.solvers.limbs import (
    bend_hint,
    into_range_ball,
    into_reach,
    place_elbow,
    turn_limb,
)

_PUSH_SLACK = 1e-3  # of what an elbow has to leave, beside a hand's 1 less its weight [-]
# which of the balls to stay outside of
_PUSH_OUTSIDE = np.array([True, False, True])
_SIDE_SHARE = 0.4  # how far ahead of the captured side an elbow turns unhindered [-]
_FIRM = 1e-9  # slack of a fully important range beside 1 of an unimportant one [-]


class LimbRanges(NamedTuple):
    """What one limb should keep; rows are environment, hand itself, elbow itself."""

    centres: Vec3s  # (3, 3): of the wrist, of the wrist, of the elbow, in world [m]
    radii: Floats  # (3,) [m]
    importances: Floats  # (3,)
    ball_centres: Vec3s  # (3, 3) working space of the elbow's balls
    ball_radii: Floats  # (3,)
    slacks: Floats  # (3,)


def empty_ranges() -> LimbRanges:
    """Return ranges of zeros."""
    return LimbRanges(
        np.zeros((3, 3)), np.zeros(3), np.zeros(3), np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    )


@kernel
def ease(w: float) -> float:
    """Return 3 w^2 - 2 w^3."""
    return w * w * (3.0 - 2.0 * w)


@kernel
def _draw(
    point: Vec3, centre: Vec3, radius: float, slack: float, share: float, work: Vec3
) -> None:
    """Move a point by a fraction of the way into a ball, in place."""
    into_range_ball(point, centre, radius, slack, work)
    for k in range(3):
        point[k] += share * (work[k] - point[k])


@kernel
def _distance(a: Vec3, b: Vec3) -> float:
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@kernel
def _place_on_sphere(point: Vec3, centre: Vec3, radius: float, fallback: Vec3) -> None:
    """Move a point along its ray from the centre of a sphere onto it, in place."""
    way = _distance(point, centre)
    for k in range(3):
        direction = (point[k] - centre[k]) / way if way > 1e-9 else fallback[k]
        point[k] = centre[k] + radius * direction


@kernel
def _lean(way: Vec3, reference: Vec3, length: float) -> None:
    """
    Bring a vector to a length, in place, but not past square to a reference (unit).

    A direction is lost where its vector shrinks to nothing. Kept ahead of the reference it is
    not; within about 65 degrees from it a vector of the length itself is left as it is.

    """
    ahead, square = 0.0, 0.0
    for k in range(3):
        ahead += way[k] * reference[k]
    near = _SIDE_SHARE * length
    kept = ahead
    if ahead < near:
        kept = 0.5 * near + (0.5 * ahead * ahead / near if ahead > 0.0 else 0.0)
    for k in range(3):
        way[k] += (kept - ahead) * reference[k]
        square += way[k] * way[k]
    for k in range(3):
        way[k] *= length / math.sqrt(square)


@kernel
def _circle_point(shoulder: Vec3, elbow: Vec3, wrist: Vec3, wanted: Vec3, out: Vec3) -> None:
    """Write the place near `wanted` that the elbow can turn to while the wrist stays."""
    axis, side = work_array(3), work_array(3)
    reach, along, aside, square = _distance(shoulder, wrist), 0.0, 0.0, 0.0
    for k in range(3):
        axis[k] = (wrist[k] - shoulder[k]) / reach if reach > 1e-9 else 0.0
        along += axis[k] * (elbow[k] - shoulder[k])
        aside += axis[k] * (wanted[k] - shoulder[k])
    for k in range(3):
        side[k] = elbow[k] - shoulder[k] - along * axis[k]
        square += side[k] * side[k]
    radius = math.sqrt(square)
    copy(elbow, out)
    if reach <= 1e-9 or radius <= 1e-9:
        return
    for k in range(3):
        side[k] /= radius
        out[k] = wanted[k] - shoulder[k] - aside * axis[k]
    _lean(out, side, radius)
    for k in range(3):
        out[k] += shoulder[k] + along * axis[k]


@kernel
def _settle(
    shoulder: Vec3,
    elbow: Vec3,
    wrist: Vec3,
    upper: float,
    lower: float,
    ranges: LimbRanges,
    end: float,
    firmness: float,
    share: float,
) -> None:
    """
    Move the elbow into its ball and the wrist after it, in place.

    The wrist is in both of the hand's balls already, so that the sphere about it lies in both
    shells. An important hand leaves the elbow a circle, on which it turns towards its ball;
    one that does not matter goes with the elbow; between them the elbow does.

    """
    swung, circled, way = work_array(3), work_array(3), work_array(3)
    into_range_ball(elbow, ranges.centres[2], ranges.radii[2], 1.0, swung)
    for k in range(3):
        swung[k] = elbow[k] + share * (swung[k] - elbow[k])
    _circle_point(shoulder, elbow, wrist, swung, circled)
    # a hand that only comes near does not take the elbow out of what it touches
    square, end = 0.0, end * (1.0 - firmness * (1.0 - end**4))
    for k in range(3):
        way[k] = elbow[k] + end * (circled[k] - elbow[k]) - shoulder[k]
        square += way[k] * way[k]
        elbow[k] = swung[k] + end * (circled[k] - swung[k]) - shoulder[k]
    for k in range(3):
        way[k] /= math.sqrt(square)
    _lean(elbow, way, upper)
    for k in range(3):
        elbow[k] += shoulder[k]
        way[k] = (wrist[k] - circled[k]) / lower
        wrist[k] -= elbow[k]
    _lean(wrist, way, lower)
    for k in range(3):
        wrist[k] += elbow[k]


@kernel
def solve_limb_in_ranges(
    limb: int,
    q_parent: Quat,
    shoulder: Vec3,
    captured: Quats,
    q_end: Quat,
    offsets: Vec3s,
    upper: float,
    lower: float,
    reach: float,
    eased: bool,
    ranges: LimbRanges,
    out: Quats,
) -> None:
    """
    Write the three joint rotations of a limb that has self-interaction.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    q_parent : ndarray, shape (4,)
        Chest or pelvis in world.
    shoulder : ndarray, shape (3,)
        Shoulder or hip in world [m].
    captured : ndarray, shape (3, 4)
        Captured rotations of shoulder, elbow and wrist, each relative to its parent.
    q_end : ndarray, shape (4,)
        Orientation of the hand in world to keep.
    offsets : ndarray, shape (2, 3)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    upper, lower : float
        Lengths of `offsets` [m].
    reach : float
        Distance of the wrist from the shoulder that goals should not pass [m].
    eased : bool
        Whether ranges count by the smooth step of their importance instead of itself.
    ranges : LimbRanges
        Centres, radii and importances are read; not all importances are zero.
    out : ndarray, shape (3, 4)
        The rotations; may be `captured` itself.

    """
    q_upper, q_lower = work_array(4), work_array(4)
    hint, target, work, firmness = work_array(3), work_array(3), work_array(3), work_array(3)
    elbow, wrist = work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    rotate(q_upper, offsets[0], elbow)
    multiply(q_upper, captured[1], q_lower)
    rotate(q_lower, offsets[1], wrist)
    for k in range(3):
        elbow[k] += shoulder[k]
        wrist[k] += elbow[k]
        target[k] = wrist[k]
        w = ranges.importances[k]
        firmness[k] = ease(w) if eased else w
    end = max(firmness[0], firmness[1])
    largest = max(end, firmness[2])
    # what is least important is drawn least, and blended most
    for i in (1, 0):
        slack = 1.0 - ranges.importances[i] if eased else 1.0
        _draw(target, ranges.centres[i], ranges.radii[i], slack, firmness[i] / largest, work)
    if end > 0.0:
        slack = 1.0 - max(ranges.importances[0], ranges.importances[1])
        into_reach(shoulder, wrist, reach, slack, target)
    bend_hint(limb, q_upper, hint)
    place_elbow(shoulder, elbow, wrist, upper, lower, target, 0.0, hint)
    if ranges.importances[2] > 0.0:
        share = firmness[2] / largest
        _settle(shoulder, elbow, wrist, upper, lower, ranges, end, firmness[2], share)
    turn_limb(q_parent, shoulder, captured, q_end, offsets, elbow, wrist, largest, end, out)


@kernel
def swing_elbow(
    q_parent: Quat,
    shoulder: Vec3,
    captured: Quats,
    q_end: Quat,
    offsets: Vec3s,
    upper: float,
    lower: float,
    target: Vec3,
    ball: Vec3,
    radius: float,
    firmness: float,
    ranges: LimbRanges,
    out: Quats,
) -> None:
    """
    Write the joint rotations of a limb whose elbow has to get out of something.

    Parameters
    ----------
    q_parent, shoulder, captured, q_end, offsets, upper, lower, out
        As for `solve_limb_in_ranges`.
    target : ndarray, shape (3,)
        Nearest free place [m].
    ball, radius : ndarray, shape (3,), and float
        What the elbow has to get out of [m].
    firmness : float
        1 keeps the wrist where it is, 0 lets it go with the elbow.
    ranges : LimbRanges
        Working space.

    """
    elbow, wrist, q_lower = work_array(3), work_array(3), work_array(4)
    captured_way = work_array(3)
    multiply(q_parent, captured[0], q_lower)
    rotate(q_lower, offsets[0], elbow)
    multiply(q_lower, captured[1], q_lower)
    rotate(q_lower, offsets[1], wrist)
    for k in range(3):
        captured_way[k] = elbow[k]
        elbow[k] += shoulder[k]
        wrist[k] += elbow[k]
    for k in range(3):
        ranges.ball_centres[0, k] = ball[k]
        ranges.ball_centres[1, k], ranges.ball_centres[2, k] = wrist[k], wrist[k]
    freedom = 2.0 * (upper + lower) * (1.0 - firmness)
    ranges.ball_radii[0], ranges.slacks[0] = radius, _PUSH_SLACK
    ranges.ball_radii[1], ranges.ball_radii[2] = lower + freedom, lower - freedom
    ranges.slacks[1] = ranges.slacks[2] = max(1.0 - firmness, _FIRM)
    closest_on_sphere(
        target,
        shoulder,
        upper,
        ranges.ball_centres,
        ranges.ball_radii,
        _PUSH_OUTSIDE,
        ranges.slacks,
        captured_way,
        elbow,
    )
    # the wrist as near to where it was as the forearm lets it
    _place_on_sphere(wrist, elbow, lower, captured_way)
    turn_limb(q_parent, shoulder, captured, q_end, offsets, elbow, wrist, 1.0, 1.0, out)
