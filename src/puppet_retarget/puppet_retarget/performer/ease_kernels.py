# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Values that do not jump when what they come from changes (kernel layer).

Every value has a slot that remembers its source. When the source changes, the difference
between what was given out and what the new source says is kept, and decays.

A sensor may come and go many times within one easing, so a change begins nothing anew. What was
given out goes on moving for that one frame as its source moves, else every change would leave
the value behind by a frame's motion. And the difference goes on shrinking at the speed at
which it shrank before, so that frames in which a sensor is seen add up.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints, Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import align_sign, conjugate, exp, log, multiply
from puppet_core.work_array import work_array
from puppet_retarget.performer.limb_goal_kernels import approach

# Sources; 0 and more is the segment whose sensor carries the value
INFERRED = -1  # from the neighbouring segments
NOTHING = -2  # held as it was
FRESH = -3  # nothing was given out yet: the first value is taken as it comes
CHANGED = -4  # whatever comes next differs from it
BY_NEIGHBOUR = -5  # from the other segment of the limb and where its end is
BY_END = -6  # from hand or foot alone


# What a change was, for `ease_rotation` and `ease_point`
SAME = 0  # none
SWITCHED = 1  # to a source that did not tell of late
KNOWN_SOURCE = 2  # back to the source before the last one
JUMPED = 3  # the source is the same and began anew

# How fast a step may change between two sources' words: a body accelerates no faster
MAX_TURN_RATE_RAD_S2 = 1000.0
MAX_RATE_M_S2 = 100.0
MEMORY_S = 0.3  # after a loss so long the speed of the easing before it counts no more
MAX_HEAD_START = 4.5 / 0.625  # speed over difference and 1/time three quarters through an ease


class Ease(NamedTuple):
    """Decaying differences: one slot for each of r rotations, then for each of p points."""

    sources: Ints  # (r + p,) what each value came from last
    befores: Ints  # (r + p,) what it came from before that
    ages: Floats  # (r + p,) since its last change, infinite before the first [s]
    sinces: Floats  # (r + p,) since the source before told [s]
    aheads: Floats  # (r + p,) by how much the ease is further than its age [s]
    wholes: Floats  # (r + p,) what the decay began with at the last change
    speeds: Floats  # (r + p,) at which the difference shrank last [rad/s], [m/s]
    turns: Quats  # (r, 4) from the new source's rotation to the value then given out
    targets: Quats  # (r, 4) what the source said last
    earlier: Quats  # (r, 4) what the source before said last
    steps: Quats  # (r, 4) how far the source's rotation went in the last frame
    shifts: Vec3s  # (p, 3) as turns, for points [m]
    places: Vec3s  # (p, 3) as targets [m]
    earlier_places: Vec3s  # (p, 3) [m]
    moves: Vec3s  # (p, 3) as steps [m]


class EaseTimes(NamedTuple):
    """How fast differences decay."""

    hold: float  # a rotation of which nothing tells any more is kept as it was [s]
    fade: float  # then it goes over to that of a body at rest [s]
    back: float  # a measurement that is there again, or others that tell, take over [s]


def fresh_ease(n_rotations: int, n_points: int) -> Ease:
    """Return slots out of which nothing was given yet."""
    slots = n_rotations + n_points
    sources, befores = np.full((2, slots), FRESH)
    ages, sinces, aheads, speeds = np.zeros((4, slots))
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (4, n_rotations, 1))
    points = np.zeros((4, n_points, 3))
    return Ease(
        sources, befores, ages, sinces, aheads, np.ones(slots), speeds, *rotations, *points
    )


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
    ease.sinces[slot] += dt
    if last == FRESH:
        ease.ages[slot] = np.inf
        ease.befores[slot] = FRESH
        ease.speeds[slot] = 0.0
        return SAME
    if source == last and not restarted:
        ease.ages[slot] += dt
        return SAME
    if last == CHANGED:
        ease.speeds[slot] = 0.0
    elif last == INFERRED or last == NOTHING:
        ease.speeds[slot] *= max(1.0 - ease.ages[slot] / MEMORY_S, 0.0)
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
    turn, source = ease.turns[slot], ease.sources[slot]
    rotvec, eased = work_array(3), work_array(4)
    _follow_rotation(target, slot, change, dt, ease)
    if change:
        multiply(ease.steps[slot], out, eased)
        conjugate(target, turn)
        multiply(turn, eased, turn)
        log(turn, rotvec)
        _carry_on(slot, source, _length(rotvec), dt, ease, times)
    left = _left(slot, source, ease, times)
    if left == 0.0:
        ease.speeds[slot] = 0.0
        align_sign(out, target, out)
        return
    log(turn, rotvec)
    _set_speed(slot, source, _length(rotvec), dt, ease, times)
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
    row = slot - ease.turns.shape[0]
    shift = ease.shifts[row]
    _follow_point(target, slot, row, change, dt, ease)
    if change:
        for k in range(3):
            shift[k] = out[k] + ease.moves[row, k] - target[k]
        _carry_on(slot, 0, _length(shift), dt, ease, times)
    left = _left(slot, 0, ease, times)
    if left == 0.0:
        ease.speeds[slot] = 0.0
    else:
        _set_speed(slot, 0, _length(shift), dt, ease, times)
    for k in range(3):
        out[k] = target[k] + left * shift[k]


@kernel
def _follow_rotation(target: Quat, slot: int, change: int, dt: float, ease: Ease) -> None:
    """Find how far the source turned in this frame, and remember what it says."""
    step, last, earlier = ease.steps[slot], ease.targets[slot], ease.earlier[slot]
    since = ease.sinces[slot]
    if dt == 0.0 or ease.sources[slot] == NOTHING:
        step[0], step[1], step[2], step[3] = 1.0, 0.0, 0.0, 0.0
    elif change == SAME:
        conjugate(last, step)
        multiply(target, step, step)
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
        ease.sinces[slot] = dt
    copy(target, last)


@kernel
def _follow_point(
    target: Vec3, slot: int, row: int, change: int, dt: float, ease: Ease
) -> None:
    """Find how far the source went in this frame, and remember what it says."""
    move, last, earlier = ease.moves[row], ease.places[row], ease.earlier_places[row]
    since = ease.sinces[slot]
    if dt == 0.0 or ease.sources[slot] == NOTHING:
        move[0] = move[1] = move[2] = 0.0
    elif change == SAME:
        for k in range(3):
            move[k] = target[k] - last[k]
    elif change == KNOWN_SOURCE:
        more = work_array(3)
        for k in range(3):
            more[k] = (target[k] - earlier[k]) * dt / since - move[k]
        limit = MAX_RATE_M_S2 * dt * since
        share = min(1.0, limit / max(_length(more), limit))
        for k in range(3):
            move[k] += share * more[k]
    if change == SWITCHED or change == KNOWN_SOURCE:
        copy(last, earlier)
        ease.sinces[slot] = dt
    copy(target, last)


@kernel
def _carry_on(
    slot: int, source: int, size: float, dt: float, ease: Ease, times: EaseTimes
) -> None:
    """Begin the decay of a difference where it shrinks as fast as the last one did."""
    ease.aheads[slot], ease.wholes[slot] = 0.0, 1.0
    speed = ease.speeds[slot] * times.back
    if source == INFERRED or source == NOTHING or speed <= 0.0 or size == 0.0:
        return
    # 6 s / ((1 - s) (1 + 2 s)), speed over what is left of a smoothstep, is to be `head`
    head = min(speed / size, MAX_HEAD_START)
    share = (head - 6.0 + math.sqrt((head - 6.0) ** 2 + 8.0 * head * head)) / (4.0 * head)
    ease.wholes[slot] = decay(share * times.back, source, times)
    ease.aheads[slot] = share * times.back + dt


@kernel
def _left(slot: int, source: int, ease: Ease, times: EaseTimes) -> float:
    """Return what is left of the difference at the last change, 1 to 0."""
    return decay(ease.ages[slot] + ease.aheads[slot], source, times) / ease.wholes[slot]


@kernel
def _set_speed(
    slot: int, source: int, size: float, dt: float, ease: Ease, times: EaseTimes
) -> None:
    """Remember how fast a difference shrinks by now; one that is held counts as before."""
    if source == INFERRED or source == NOTHING:
        return
    age = ease.ages[slot] + ease.aheads[slot]
    share = min(max(age, dt) / times.back, 1.0)
    ease.speeds[slot] = size * 6.0 * share * (1.0 - share) / (ease.wholes[slot] * times.back)


@kernel
def _length(v: Vec3) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel
def detour_share(age: float, times: EaseTimes) -> float:
    """Return 1 until measurements have taken over, then falling to 0 in the same time."""
    if age < times.back:
        return 1.0
    return decay(age - times.back, 0, times)
