# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Limbs, third step of a frame: the hand into its range, the elbow, the rotations (Shin2002 5.3).

`solve_limb` keeps the captured side of the elbow: range ball (Shin2002 eq. 5.10), rotations
(Shin2002 eqs. 5.11-5.13), and `part_of_way`, the blend with the captured limb. `blend_joint` is
that of eq. 5.14, for `solve_limb_on_circle`, which solves by swivel angle (ShinSlides 3.3).
`solve_limb_in_ranges` is for limbs that touch the own body, `unlock` for knees that bend
backward. Limbs inside objects are in `solvers.penetration`. (Kernels.)
"""

import math
from typing import NamedTuple

from puppet_core.body import polar_limit, soft_distance
from puppet_core.math import Floats, kernel, Quats, Vec3s
from puppet_core.math.values import (
    add,
    between,
    clamp,
    conjugate,
    cross,
    dot,
    ease,
    exp,
    lerp,
    log,
    multiply,
    norm,
    normalized,
    Quat,
    quat,
    QuatLike,
    rotate,
    scale,
    slerp,
    smooth_ramp,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)

STARTS = (4, 7, 10, 13)  # upper segment of each limb
ATTACHED_TO = (2, 2, 0, 0)  # segment that carries the limb

Joints = tuple[Quat, Quat, Quat]  # rotations of shoulder, elbow and wrist

# A limb's line, shoulder to wrist or hip to ankle, as seen from chest or pelvis, is mid-way
# between the places it can reach along these; opposite to them it cannot go.
_MIDWAY = ((0.88, 0.37, -0.25), (0.88, -0.37, -0.25), (0.3, 0.0, -0.95), (0.3, 0.0, -0.95))

STRAIGHT = 0.2  # sine of the upper segment's angle below which a limb counts as straight [-]
HINT_SHARE = 0.3  # weight of the hint for a perfectly straight limb [-]
EXACT_SHARE = 0.998  # of the limb's length, as the default stretch_limit [-]
REACH_ROOM = 0.5  # fraction of the reach within which a goal of no importance is slowed [-]
HINT_CHANGE_RAD = 0.05  # correction at which half of that weight is there

# where a straight limb bends to, in its upper segment's frame: knees forward, elbows back
_KNEE_HINT, _ELBOW_HINT = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)

NO_SWIVEL = 1e-12  # amplitude below which all swivel angles are equally good [-]
MIN_DISTANCE_M = 1e-9  # shorter lines have no direction

LOCKED = 0.35  # sine of an angle by which captured knees may bend backward [-]
_SOFT_LOCK = 0.05
_TIE = 0.01  # lack of importance within which hand and elbow are equal [-]
_SIDE_SHARE = 0.4  # how far ahead of the captured side an elbow turns unhindered [-]


class Limb(NamedTuple):
    """A limb as captured, in world."""

    number: int  # index into LIMBS
    q_parent: Quat  # chest or pelvis
    shoulder: Vec3  # or hip [m]
    to_elbow: Vec3  # in the upper segment's frame [m]
    to_wrist: Vec3  # in the lower segment's frame [m]
    upper: float  # lengths of these [m]
    lower: float
    captured: Joints  # each relative to its parent
    q_end: Quat  # orientation of hand or foot to keep
    q_upper: Quat
    elbow: Vec3  # or knee [m]
    wrist: Vec3  # or ankle [m]


class Bones(NamedTuple):
    """A limb's two segments."""

    offsets: Vec3s  # (2, 3) to elbow and wrist, in the frames of the segments before [m]
    upper: float  # their lengths [m]
    lower: float


@kernel
def limb_of(
    number: int, q_parent: Floats, shoulder: Floats, captured: Quats, q_end: Floats, bones: Bones
) -> Limb:
    """Return a limb as captured by its joint rotations (3, 4)."""
    joints = quat(captured[0]), quat(captured[1]), quat(captured[2])
    to_elbow, to_wrist = vec3(bones.offsets[0]), vec3(bones.offsets[1])
    q_upper = multiply(quat(q_parent), joints[0])
    elbow = add(rotate(q_upper, to_elbow), vec3(shoulder))
    wrist = add(rotate(multiply(q_upper, joints[1]), to_wrist), elbow)
    return Limb(
        number,
        quat(q_parent),
        vec3(shoulder),
        to_elbow,
        to_wrist,
        bones.upper,
        bones.lower,
        joints,
        quat(q_end),
        q_upper,
        elbow,
        wrist,
    )


# Where a limb's end goes, and the elbow that lets it.
#
# The hand must come into a range ball about its goal (eq. 5.10). The elbow then lies on the
# circle about the line from shoulder to hand that the two segment lengths leave it, and of that
# circle the point on the captured side is taken. Limbs that touch the body have
# more ranges, below.


@kernel
def soft_reach(distance: float, current: float, upper: float, lower: float) -> float:
    """
    Return the distance [m] at which the wrist ends when it should go to `distance`.

    A knee's angle changes infinitely fast where the leg becomes straight; that is the pop of a
    foot whose goal leaves reach. Goals up to EXACT_SHARE of the length, or up to the current
    distance of the wrist if that is more (0 for none), are reached; beyond, half of what is left
    is approached but never passed. The same holds for folding.
    """
    kept_back = (1.0 - EXACT_SHARE) * (upper + lower)
    return soft_distance(distance, current, upper, lower, kept_back)


@kernel
def midway(limb: int, q_parent: QuatLike) -> Vec3:
    """Return a limb's direction in world from which all that it can take are far from opposite."""
    return normalized(rotate(q_parent, _MIDWAY[limb]))


@kernel
def turn_line(centre: Vec3Like, start: Vec3Like, end: Vec3Like) -> Quat:
    """
    Return the rotation that takes one direction of a limb (unit) to another.

    By way of the limb's `midway` direction, from which both are a least rotation away. The least
    rotation between them would have no axis where they are opposite, and a limb that turns on
    past there would spin about itself; this one has no axis only opposite to the middle.
    """
    return multiply(between(centre, end), conjugate(between(centre, start)))


@kernel
def part_of_turn(centre: Vec3Like, start: Vec3Like, end: Vec3Like, share: float) -> Vec3:
    """Return the direction between two of a limb (unit), straight on the map about its middle."""
    here, there = log(between(centre, start)), log(between(centre, end))
    return rotate(exp(lerp(here, there, share)), centre)


@kernel
def _bend_direction(
    elbow: Vec3Like, axis: Vec3Like, upper: float, wanted: float, hint: Vec3Like
) -> Vec3:
    """Return to which side of the captured line the elbow, as seen from the shoulder, stands."""
    along, side = dot(elbow, axis), dot(hint, axis)
    out = sub(elbow, scale(axis, along))
    bend = norm(out)
    # a nearly straight limb shows no side: there the hint does, if the bend is to change
    change = abs(wanted - math.atan2(bend, along))
    doubt = max(1.0 - bend / (STRAIGHT * upper), 0.0)
    share = HINT_SHARE * upper * doubt * doubt * change / (change + HINT_CHANGE_RAD)
    return add(out, scale(sub(hint, scale(axis, side)), share))


@kernel
def bend_hint(limb: int, q_upper: QuatLike) -> Vec3:
    """Return the world direction to which a straight elbow or knee moves when it bends."""
    return rotate(q_upper, _ELBOW_HINT if limb < 2 else _KNEE_HINT)


@kernel
def bend_limb(limb: Limb, goal: Vec3Like, current: float) -> tuple[Vec3, Vec3]:
    """
    Return elbow and wrist when the wrist reaches its goal, on the captured side of the limb.

    Of the circle that the two lengths leave, the point nearest to the captured elbow would
    let a knee pass through the straight leg and bend backwards; so the captured direction
    of the bend is kept instead, carried over by `turn_line` from the captured line
    shoulder-wrist to the new one; a limb that is captured straight bends to its `bend_hint`. A
    goal out of reach is pointed at. `current` is a distance of the wrist that is reached exactly
    whatever it is (`soft_reach`).
    """
    shoulder, upper, lower = limb.shoulder, limb.upper, limb.lower
    line, captured_line = sub(goal, shoulder), sub(limb.wrist, shoulder)
    distance = norm(line)
    if distance < MIN_DISTANCE_M or norm(captured_line) < MIN_DISTANCE_M:
        return limb.elbow, limb.wrist
    axis, captured_axis = normalized(line), normalized(captured_line)
    distance = soft_reach(distance, current, upper, lower)
    wanted = polar_limit(upper, distance, lower)
    hint = bend_hint(limb.number, limb.q_upper)
    bend = _bend_direction(sub(limb.elbow, shoulder), captured_axis, upper, wanted, hint)
    bend = rotate(turn_line(midway(limb.number, limb.q_parent), captured_axis, axis), bend)
    length = norm(bend)
    along = upper * math.cos(wanted)
    aside = upper * math.sin(wanted) / length if length > 1e-12 else 0.0
    return (
        add(add(shoulder, scale(axis, along)), scale(bend, aside)),
        add(shoulder, scale(axis, distance)),
    )


@kernel
def into_range_ball(captured: Vec3Like, goal: Vec3Like, radius: float, slack: float) -> Vec3:
    """
    Return a point of the range ball about a goal, towards the captured position.

    The nearest point of the ball would move with a kink whenever the captured position
    crosses the ball's surface, and that kink is the larger part of a foot's added jerk.
    goal + v / sqrt(1 + |v|^2 / r^2), v from goal to captured, is always inside, smooth, the
    goal itself for r = 0 and the captured position for a large r. But a ball of metres that
    shrinks to a point drags a foot, which is some centimetres away, in the very last of it.
    With slack s the point is that of the ball r / s, as it is at no importance, with s^2 times
    its distance to the goal: within the ball r, and there with importance s = 1 - w smoothly.
    The radius is that of Shin2002 eq. 5.10, a slack of 1 is the ball alone.
    """
    way = sub(captured, goal)
    share = 0.0
    if radius > 0.0:
        square = dot(way, way)
        share = slack * slack * radius / math.sqrt(radius * radius + slack * slack * square)
    return add(goal, scale(way, share))


@kernel
def into_reach(
    shoulder: Vec3Like, captured: Vec3Like, reach: float, slack: float, goal: Vec3Like
) -> Vec3:
    """
    Return a goal that is not wholly important, drawn to the shoulder before it leaves reach.

    `soft_reach` has a thousandth of the limb's length to stop a foot that heads for a goal out
    of reach, which is a blow. A goal that need not be met exactly gives it more room: slack,
    1 - w, times the reach, if the captured limb is not longer than that itself. The reach is
    passed by a thousandth of it at most.
    """
    way = sub(goal, shoulder)
    distance, current = norm(way), norm(sub(captured, shoulder))
    far = max((1.0 - REACH_ROOM * slack) * reach, current)
    if distance <= far:
        return vec3(goal)
    # at full importance some is left, or the last of the slack would go with a jump
    room = max(reach - far, 0.0) + 0.5 * (1.0 - EXACT_SHARE) * reach
    share = (far + room * (1.0 - math.exp((far - distance) / room))) / distance
    return add(shoulder, scale(way, share))


# Joint rotations of one limb from its goal, and their blend.
#
# Shoulder and elbow turn by the least rotation that takes the captured segment direction to the
# solved one (eqs. 5.11-5.13); the wrist keeps the captured orientation of the hand in world;
# every joint is then blended with its captured rotation by importance (Shin2002 eq. 5.14).


@kernel
def unlock(limb: int, to_elbow: Vec3Like, to_wrist: Vec3Like) -> Quat:
    """
    Return the turn of an elbow or knee that keeps it from bending backward.

    Both offsets are in the upper segment's frame. Markers and skeletons that err by a few degrees
    let knees bend backward by as much; a limb that is then solved for another goal would bend
    there all the way. Up to LOCKED it is straightened, softly; what bends backward by twice that
    is another skeleton's way to bend and stays.
    """
    upper, lower = normalized(to_elbow), normalized(to_wrist)
    axis = normalized(cross(_ELBOW_HINT if limb < 2 else _KNEE_HINT, upper))
    sine = dot(cross(upper, lower), axis)
    fade = clamp((2.0 * LOCKED + sine) / LOCKED, 0.0, 1.0)
    return exp(scale(axis, smooth_ramp(-sine, _SOFT_LOCK) * ease(fade)))


@kernel
def solve_limb(limb: Limb, goal: Vec3Like, current: float, weight: float) -> Joints:
    """
    Return the three joint rotations of a captured limb for the goal of its wrist in world [m].

    A `current` distance [m] is reached exactly, see `soft_reach`; weight 0 gives the captured
    ones.
    """
    elbow, wrist = part_of_way(limb, goal, current, weight)
    return turn_limb(limb, elbow, wrist, weight)


@kernel
def _bend_of(distance: float, upper: float, lower: float) -> float:
    """Return the angle that an elbow is bent by from straight [rad]."""
    cosine = (distance * distance - upper * upper - lower * lower) / (2.0 * upper * lower)
    return math.acos(clamp(cosine, -1.0, 1.0))


@kernel
def part_of_way(limb: Limb, goal: Vec3Like, current: float, weight: float) -> tuple[Vec3, Vec3]:
    """
    Return elbow and wrist between captured and solved ones (in place of Shin2002 eq. 5.14).

    Blended are the direction of the line from shoulder to wrist and the angle of the elbow:
    between rotations that are half a turn apart there is no middle.
    """
    line, captured = sub(goal, limb.shoulder), sub(limb.wrist, limb.shoulder)
    distance, length = norm(line), norm(captured)
    if distance < MIN_DISTANCE_M or length < MIN_DISTANCE_M:
        return limb.elbow, limb.wrist
    centre = midway(limb.number, limb.q_parent)
    start = scale(captured, 1.0 / length)
    way = part_of_turn(centre, start, scale(line, 1.0 / distance), weight)
    distance = soft_reach(distance, current, limb.upper, limb.lower)
    start_bend = _bend_of(length, limb.upper, limb.lower)
    bend = start_bend + weight * (_bend_of(distance, limb.upper, limb.lower) - start_bend)
    square = limb.upper**2 + limb.lower**2 + 2.0 * limb.upper * limb.lower * math.cos(bend)
    distance = math.sqrt(max(square, 0.0))
    return bend_limb(limb, add(limb.shoulder, scale(way, distance)), distance)


@kernel
def _turn_onto(q: QuatLike, offset: Vec3Like, start: Vec3Like, end: Vec3Like) -> Quat:
    """Return a segment turned by the least rotation that points it from start to end."""
    return multiply(between(rotate(q, offset), sub(end, start)), q)


@kernel
def turn_limb(limb: Limb, elbow: Vec3Like, wrist: Vec3Like, weight: float) -> Joints:
    """
    Return the joint rotations of a limb whose elbow and wrist should be at given places.

    The places are the segments' lengths apart. The limb turns with its line (`turn_line`), then
    each segment by the least rotation. By the weight the hand keeps its captured orientation in
    world.
    """
    q_upper, q_lower = limb.q_upper, multiply(limb.q_upper, limb.captured[1])
    line, captured = sub(wrist, limb.shoulder), sub(limb.wrist, limb.shoulder)
    if norm(line) > MIN_DISTANCE_M and norm(captured) > MIN_DISTANCE_M:
        centre = midway(limb.number, limb.q_parent)
        q_upper = multiply(turn_line(centre, normalized(captured), normalized(line)), q_upper)
    # Shin2002 eqs. 5.11 and 5.12, then 5.13
    q_upper = _turn_onto(q_upper, limb.to_elbow, limb.shoulder, elbow)
    q_lower = _turn_onto(multiply(q_upper, limb.captured[1]), limb.to_wrist, elbow, wrist)
    shoulder = multiply(conjugate(limb.q_parent), q_upper)
    hand = multiply(conjugate(q_lower), limb.q_end)
    return (shoulder, multiply(conjugate(q_upper), q_lower), slerp(limb.captured[2], hand, weight))


@kernel
def blend_joint(q_parent: QuatLike, q_child: QuatLike, captured: QuatLike, weight: float) -> Quat:
    """Return the joint rotation between captured and solved one (Shin2002 eq. 5.14)."""
    return slerp(captured, multiply(conjugate(q_parent), q_child), weight)


# Joint rotations of one limb by its swivel angle (ShinSlides 3.3).
#
# A wrist at its goal leaves the elbow a circle about the line from shoulder to wrist. The limb is
# bent in its own plane until the wrist is as far from the shoulder as the goal, turned onto the
# goal's line, and swivelled about that line to where the upper segment is oriented most like the
# captured one. The joint between the segments only bends, about the axis about which it was
# captured bent. `solve_limb` does not swivel: the elbow stays on the side it was turned to.


@kernel
def swivel_angle(q_start: QuatLike, axis: Vec3Like, q_captured: QuatLike) -> float:
    """
    Return the turn about an axis that brings one orientation nearest to another [rad].

    Maximises |q* . q(theta)| with q(theta) = e^(theta k / 2) q0. Of the rotation t from q* to q0
    only the scalar part and the component along k count, so that the product is t_w cos(theta / 2)
    - (k . t) sin(theta / 2) = A sin(theta / 2 + alpha), which is +-A where the tangent of theta /
    2 is -(k . t) / t_w. Where A = 0 every angle is as good, and it is 0.
    """
    a, b = q_start, q_captured
    scalar = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    # vector part of q0 q*^-1
    x = -a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = -a[0] * b[2] + a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = -a[0] * b[3] + a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    along = axis[0] * x + axis[1] * y + axis[2] * z
    if scalar * scalar + along * along < NO_SWIVEL * NO_SWIVEL:
        return 0.0
    if scalar < 0.0:
        scalar, along = -scalar, -along
    return -2.0 * math.atan2(along, scalar)


@kernel
def solve_limb_on_circle(limb: Limb, goal: Vec3Like, current: float, weight: float) -> Joints:
    """
    Return the three joint rotations of a limb; see `solve_limb` for all of them.

    The best of all swivel angles gives the least rotation that takes the wrist's direction,
    as the bent limb had it with its upper segment as captured, to the goal's direction. It is
    smooth in everything but where these directions are opposite: there A = 0, and no choice
    could be continuous, for no field of rotations over a sphere is.
    """
    q_upper, q_lower = limb.q_upper, multiply(limb.q_upper, limb.captured[1])
    to_goal, to_wrist = sub(goal, limb.shoulder), sub(limb.wrist, limb.shoulder)
    distance = norm(to_goal)
    if distance >= MIN_DISTANCE_M and norm(to_wrist) >= MIN_DISTANCE_M:
        axis, line = normalized(to_goal), normalized(to_wrist)
        # bent in its plane to the goal's distance, the wrist staying on its line: both turns are
        # about the plane's normal, so that the joint bends and does not twist
        elbow, wrist = bend_limb(limb, add(limb.shoulder, scale(line, distance)), current)
        q_upper = _turn_onto(q_upper, limb.to_elbow, limb.shoulder, elbow)
        q_lower = _turn_onto(q_lower, limb.to_wrist, elbow, wrist)
        turn = between(line, axis)
        q_upper, q_lower = multiply(turn, q_upper), multiply(turn, q_lower)
        half = 0.5 * swivel_angle(q_upper, axis, limb.q_upper)
        sine = math.sin(half)
        turn = (math.cos(half), sine * axis[0], sine * axis[1], sine * axis[2])
        q_upper, q_lower = multiply(turn, q_upper), multiply(turn, q_lower)
    elbow_turn = blend_joint(q_upper, q_lower, limb.captured[1], weight)
    shoulder_turn = blend_joint(limb.q_parent, q_upper, limb.captured[0], weight)
    # the blended forearm's, not the solved one's: the hand keeps its orientation all the way
    q_lower = multiply(multiply(limb.q_parent, shoulder_turn), elbow_turn)
    return shoulder_turn, elbow_turn, blend_joint(q_lower, limb.q_end, limb.captured[2], weight)


# A limb with self-interaction (Shin2002 5.3).
#
# The body gives the hand a ball (eq. 5.6) and the elbow another. The thesis looks for an elbow in
# the common part of the shells that the hand's balls leave it (fig. 5.6, errata 7); here the hand
# is settled first, as far as the environment leaves it free, and the elbow then on the circle
# that the hand leaves it. Ranges draw by an ease of their importance, so that they come and go
# without a jump.


class Range(NamedTuple):
    """A ball that a wrist or elbow should be in."""

    centre: Vec3  # in world [m]
    radius: float  # [m]
    importance: float


@kernel
def _lean(way: Vec3Like, reference: Vec3Like, length: float) -> Vec3:
    """
    Return a vector of a length, but not past square to a reference (unit).

    A direction is lost where its vector shrinks to nothing. Kept ahead of the reference it is
    not; within about 65 degrees from it a vector of the length itself is left as it is.
    """
    ahead, near = dot(way, reference), _SIDE_SHARE * length
    kept = ahead
    if ahead < near:
        kept = 0.5 * near + (0.5 * ahead * ahead / near if ahead > 0.0 else 0.0)
    way = add(way, scale(reference, kept - ahead))
    return scale(way, length / norm(way))


@kernel
def circle_point(shoulder: Vec3Like, elbow: Vec3Like, wrist: Vec3Like, wanted: Vec3Like) -> Vec3:
    """
    Return the place near `wanted` that the elbow can turn to while the wrist stays.

    It turns by less than a right angle: a place behind it has no near side.
    """
    line = sub(wrist, shoulder)
    if norm(line) <= MIN_DISTANCE_M:
        return vec3(elbow)
    axis, out = normalized(line), sub(elbow, shoulder)
    along = dot(axis, out)
    side = sub(out, scale(axis, along))
    radius = norm(side)
    if radius <= MIN_DISTANCE_M:
        return vec3(elbow)
    out = sub(wanted, shoulder)
    out = _lean(sub(out, scale(axis, dot(axis, out))), normalized(side), radius)
    return add(out, add(shoulder, scale(axis, along)))


@kernel
def share_of_end(end: float, elbow: float, tie: float) -> float:
    """
    Return how much of its place a hand or foot keeps beside its elbow or knee, in [0, 1].

    They share by what their importances leave free; both keep theirs where these differ by less
    than about the tie.
    """
    free, own_free = 1.0 - end + tie, 1.0 - elbow + tie
    return min(2.0 * own_free / (free + own_free), 1.0)


@kernel
def settle(
    limb: Limb, elbow: Vec3Like, wrist: Vec3Like, own: Range, end: float, share: float
) -> tuple[Vec3, Vec3]:
    """
    Return the elbow, moved into its ball, and the wrist after it.

    The wrist is where it should be already. An important hand leaves the elbow a circle, on which
    it turns towards its ball; one that does not matter goes with the elbow; between them the
    elbow does.
    """
    shoulder, lower = limb.shoulder, limb.lower
    swung = lerp(elbow, into_range_ball(elbow, own.centre, own.radius, 1.0), share)
    circled = circle_point(shoulder, elbow, wrist, swung)
    way = normalized(sub(lerp(elbow, circled, end), shoulder))
    elbow = add(_lean(sub(lerp(swung, circled, end), shoulder), way, limb.upper), shoulder)
    way = sub(wrist, circled)
    way = (way[0] / lower, way[1] / lower, way[2] / lower)
    return elbow, add(_lean(sub(wrist, elbow), way, lower), elbow)


@kernel
def solve_limb_in_ranges(limb: Limb, reach: float, held: float, end: Range, own: Range) -> Joints:
    """
    Return the three joint rotations of a limb that has self-interaction.

    Ranges are of the wrist and of the elbow; `held` is the weight with which the environment
    keeps the wrist where it is. Goals should not pass the reach [m].
    """
    moved = end.importance * (1.0 - held)
    elbow, wrist = limb.elbow, limb.wrist
    if moved > 0.0:
        target = into_range_ball(wrist, end.centre, end.radius, 1.0 - end.importance)
        target = into_reach(limb.shoulder, wrist, reach, 1.0 - end.importance, target)
        elbow, wrist = part_of_way(limb, target, 0.0, moved)
    weight = ease(own.importance)
    if weight > 0.0:
        share = share_of_end(end.importance, own.importance, _TIE)
        kept = max(held, ease(end.importance) * share)
        elbow, wrist = settle(limb, elbow, wrist, own, kept, weight)
    return turn_limb(limb, elbow, wrist, 1.0)
