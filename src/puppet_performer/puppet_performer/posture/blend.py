# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Values that do not jump when what they come from changes (kernel layer).

Every value has a slot that remembers its source. When the source changes, the difference
between the last output and the value of the new source is kept, and decays.

A sensor may come and go many times within one blend, so a change does not restart it. The output
goes on moving for that one frame as its source moves, else every change would leave the value
behind by a frame's motion; the accelerations of a body bound how far it may go on so.
And the difference goes on shrinking at the speed at which it shrank before, so that frames in
which a sensor is seen add up.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import (
    align_sign,
    conjugate,
    copy,
    exp,
    Floats,
    Ints,
    kernel,
    log,
    multiply,
    Quat,
    Vec3,
    work_array,
)
from puppet_performer.posture.limb_goal import approach

# Sources; 0 and more is the segment whose sensor carries the value
INFERRED = -1  # from the neighbouring segments
NOTHING = -2  # held as it was
FRESH = -3  # nothing was given out yet: the first value is taken as it comes
CHANGED = -4  # whatever comes next differs from it
BY_NEIGHBOUR = -5  # from the other segment of the limb and where its end is
BY_END = -6  # from hand or foot alone


# What a change was, for `ease_rotation` and `ease_point`
SAME = 0  # none
SWITCHED = 1  # to a source that was not used recently
KNOWN_SOURCE = 2  # back to the source before the last one
JUMPED = 3  # the source is the same and began anew

# How fast a step may change: a body accelerates no faster
MAX_TURN_RATE_RAD_S2 = 1000.0
MAX_RATE_M_S2 = 100.0
MEMORY_S = 0.3  # after a loss so long the speed of the blend before it counts no more
MAX_HEAD_START = 4.5 / 0.625  # speed over difference and 1/time three quarters through a blend


class Ease(NamedTuple):
    """Decaying differences: one slot for each of r rotations, then for each of p points."""

    sources: Ints  # (r + p,) what each value came from last
    befores: Ints  # (r + p,) what it came from before that
    ages: Floats  # (r + p,) since its last change, infinite before the first [s]
    numbers: Floats  # (r + p, 4) SINCE, AHEAD, WHOLE, SPEED
    rotations: Floats  # (r, 4, 4) DIFFERENCE, TARGET, EARLIER, STEP
    points: Floats  # (p, 4, 3) the same for points [m]


# Of `numbers`
SINCE = 0  # time since the previous source was last used [s]
AHEAD = 1  # by how much the blend is further than its age [s]
WHOLE = 2  # what the decay began with at the last change
SPEED = 3  # at which the difference shrank last [rad/s], [m/s]
# Of `rotations` and `points`
DIFFERENCE = 0  # from the new source's value to the one then given out
TARGET = 1  # the last value of the source
EARLIER = 2  # the last value of the previous source
STEP = 3  # how far the source's value went in the last frame


class EaseTimes(NamedTuple):
    """How fast differences decay."""

    hold: float  # a rotation of which nothing is known any more is kept as it was [s]
    fade: float  # then it goes over to that of a body at rest [s]
    back: float  # a measurement that is there again, or other sources, take over [s]


def fresh_ease(n_rotations: int, n_points: int) -> Ease:
    """Return slots out of which nothing was given yet."""
    slots = n_rotations + n_points
    sources, befores = np.full((2, slots), FRESH)
    numbers = np.zeros((slots, 4))
    numbers[:, WHOLE] = 1.0
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (n_rotations, 4, 1))
    points = np.zeros((n_points, 4, 3))
    return Ease(sources, befores, np.zeros(slots), numbers, rotations, points)


@kernel
def decay(age: float, source: int, times: EaseTimes) -> float:
    """Return what is left of a difference: 1 at a change of source, 0 once it is over."""
    is_lost = source == INFERRED or source == NOTHING
    hold = times.hold if is_lost else 0.0
    span = times.fade if is_lost else times.back
    if age >= hold + span:
        return 0.0
    share = max(age - hold, 0.0) / span
    return 1.0 - share * share * (3.0 - 2.0 * share)


@kernel
def advance(slot: int, source: int, restarted: bool, dt: float, ease: Ease) -> int:
    """Age a slot; return what changed, so that the difference is taken anew."""
    last = ease.sources[slot]
    ease.sources[slot] = source
    ease.numbers[slot, SINCE] += dt
    if last == FRESH:
        ease.ages[slot] = np.inf
        ease.befores[slot] = FRESH
        ease.numbers[slot, SPEED] = 0.0
        return SAME
    if source == last and not restarted:
        ease.ages[slot] += dt
        return SAME
    if last == CHANGED:
        ease.numbers[slot, SPEED] = 0.0
    elif last == INFERRED or last == NOTHING:
        ease.numbers[slot, SPEED] *= max(1.0 - ease.ages[slot] / MEMORY_S, 0.0)
    ease.ages[slot] = 0.0
    change = JUMPED
    if source != last:
        change = KNOWN_SOURCE if source == ease.befores[slot] else SWITCHED
        ease.befores[slot] = last
    return change


@kernel
def ease_rotation(
    target: Quat, slot: int, change: int, dt: float, ease: Ease, times: EaseTimes, out: Quat
) -> None:
    """Move `out`, the rotation given out last, to the target turned by what is left."""
    source, numbers, own = ease.sources[slot], ease.numbers[slot], ease.rotations[slot]
    _follow_rotation(target, source, change, dt, numbers, own)
    if change == SAME and ease.ages[slot] == np.inf:
        align_sign(out, target, out)
        return
    turn = own[DIFFERENCE]
    rotvec, eased = work_array(3), work_array(4)
    if change != SAME:
        multiply(own[STEP], out, eased)
        conjugate(target, turn)
        multiply(turn, eased, turn)
        log(turn, rotvec)
        _carry_on(source, _length(rotvec), dt, numbers, times)
    left = _left(ease.ages[slot], source, numbers, times)
    if left == 0.0:
        numbers[SPEED] = 0.0
        align_sign(out, target, out)
        return
    log(turn, rotvec)
    _set_speed(ease.ages[slot], source, _length(rotvec), dt, numbers, times)
    for k in range(3):
        rotvec[k] *= left
    exp(rotvec, eased)
    multiply(target, eased, eased)
    align_sign(out, eased, out)


@kernel
def ease_point(
    target: Vec3, slot: int, change: int, dt: float, ease: Ease, times: EaseTimes, out: Vec3
) -> None:
    """Move `out`, the point given out last, to the target moved by what is left."""
    numbers, own = ease.numbers[slot], ease.points[slot - ease.rotations.shape[0]]
    source, shift = ease.sources[slot], own[DIFFERENCE]
    _follow_point(target, source, change, dt, numbers, own)
    if source == NOTHING:  # held; the speed counts when its source is back
        return
    if change != SAME:
        for k in range(3):
            shift[k] = out[k] + own[STEP, k] - target[k]
        _carry_on(0, _length(shift), dt, numbers, times)
    left = _left(ease.ages[slot], 0, numbers, times)
    numbers[SPEED] = 0.0
    if left > 0.0:
        _set_speed(ease.ages[slot], 0, _length(shift), dt, numbers, times)
    for k in range(3):
        out[k] = target[k] + left * shift[k]


@kernel
def _follow_rotation(
    target: Quat, source: int, change: int, dt: float, numbers: Floats, own: Floats
) -> None:
    """Find how far the source turned in this frame, and remember its value."""
    step, last, earlier = own[STEP], own[TARGET], own[EARLIER]
    since = numbers[SINCE]
    if dt == 0.0 or source == NOTHING:
        step[0], step[1], step[2], step[3] = 1.0, 0.0, 0.0, 0.0
    elif change == SAME:
        wanted = work_array(4)
        conjugate(last, wanted)
        multiply(target, wanted, wanted)
        approach(step, wanted, MAX_TURN_RATE_RAD_S2 * dt * dt)
        copy(wanted, step)
    elif change == KNOWN_SOURCE:
        rotvec, wanted = work_array(3), work_array(4)
        conjugate(earlier, wanted)
        multiply(target, wanted, wanted)
        log(wanted, rotvec)
        for k in range(3):
            rotvec[k] *= dt / since
        exp(rotvec, wanted)
        approach(step, wanted, MAX_TURN_RATE_RAD_S2 * dt * since)
        copy(wanted, step)
    if change == SWITCHED or change == KNOWN_SOURCE:
        copy(last, earlier)
        numbers[SINCE] = dt
    copy(target, last)


@kernel
def _follow_point(
    target: Vec3, source: int, change: int, dt: float, numbers: Floats, own: Floats
) -> None:
    """Find how far the source went in this frame, and remember its value."""
    move, last, earlier = own[STEP], own[TARGET], own[EARLIER]
    since = numbers[SINCE]
    if dt == 0.0 or source == NOTHING:
        move[0] = move[1] = move[2] = 0.0
    elif change == SAME or change == KNOWN_SOURCE:
        base = last if change == SAME else earlier
        span = dt if change == SAME else since
        more = work_array(3)
        for k in range(3):
            more[k] = (target[k] - base[k]) * dt / span - move[k]
        limit = MAX_RATE_M_S2 * dt * span
        share = min(1.0, limit / max(_length(more), limit))
        for k in range(3):
            move[k] += share * more[k]
    if change == SWITCHED or change == KNOWN_SOURCE:
        copy(last, earlier)
        numbers[SINCE] = dt
    copy(target, last)


@kernel
def _carry_on(source: int, size: float, dt: float, numbers: Floats, times: EaseTimes) -> None:
    """Begin the decay of a difference where it shrinks as fast as the last one did."""
    numbers[AHEAD], numbers[WHOLE] = 0.0, 1.0
    speed = numbers[SPEED] * times.back
    if source == INFERRED or source == NOTHING or speed <= 0.0 or size == 0.0:
        return
    # 6 s / ((1 - s) (1 + 2 s)), speed over what is left of a smoothstep, is to be `head`
    head = min(speed / size, MAX_HEAD_START)
    share = (head - 6.0 + math.sqrt((head - 6.0) ** 2 + 8.0 * head * head)) / (4.0 * head)
    numbers[WHOLE] = decay(share * times.back, source, times)
    numbers[AHEAD] = share * times.back + dt


@kernel
def _left(age: float, source: int, numbers: Floats, times: EaseTimes) -> float:
    """Return what is left of the difference at the last change, 1 to 0."""
    return decay(age + numbers[AHEAD], source, times) / numbers[WHOLE]


@kernel
def _set_speed(
    age: float, source: int, size: float, dt: float, numbers: Floats, times: EaseTimes
) -> None:
    """Remember how fast a difference shrinks by now; one that is held counts as before."""
    if source == INFERRED or source == NOTHING:
        return
    share = min(max(age + numbers[AHEAD], dt) / times.back, 1.0)
    numbers[SPEED] = size * 6.0 * share * (1.0 - share) / (numbers[WHOLE] * times.back)


@kernel
def _length(v: Vec3) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel
def detour_share(age: float, times: EaseTimes) -> float:
    """Return 1 until measurements have taken over, then falling to 0 in the same time."""
    if age < times.back:
        return 1.0
    return decay(age - times.back, 0, times)
