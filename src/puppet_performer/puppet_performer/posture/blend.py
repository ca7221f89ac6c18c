# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Values that do not jump when what they come from changes (kernels).

Every value has a slot that remembers its source. When the source changes, the difference
between the last output and the value of the new source is kept, and decays.

A sensor may come and go many times within one blend, so a change does not restart it. The output
goes on moving for that one frame as its source moves, else every change would leave the value
behind by a frame's motion; the accelerations of a body bound how far it may go on so.
And the difference goes on shrinking at the speed at which it shrank before, so that frames in
which a sensor is seen add up.
"""

import math

import numpy as np
from puppet_core.math import kernel, vec3
from puppet_core.math.values import (
    add,
    align_sign,
    conjugate,
    exp,
    log,
    multiply,
    norm,
    Quat,
    quat,
    scale,
    sub,
    Vec3,
)
from puppet_performer.posture.state import (
    CHANGED,
    FRESH,
    identity,
    INFERRED,
    NOTHING,
    origin,
    Record,
)

# What a change was, for `blend_rotation` and `blend_point`
SAME = 0  # none
SWITCHED = 1  # to a source that was not used recently
KNOWN_SOURCE = 2  # back to the source before the last one
JUMPED = 3  # the source is the same and began anew

# How fast a step may change: a body accelerates no faster
MAX_TURN_RATE_RAD_S2 = 1000.0
MAX_RATE_M_S2 = 100.0
MEMORY_S = 0.3  # after a loss so long the speed of the blend before it counts no more
MAX_HEAD_START = 4.5 / 0.625  # speed over difference and 1/time three quarters through a blend
NO_SPEED = 1e-9  # of a difference in the time of its decay: rounding, not motion [-]


@kernel
def decay(age: float, source: int, times: Record) -> float:
    """Return what is left of a difference: 1 at a change of source, 0 once it is over."""
    is_lost = source == INFERRED or source == NOTHING
    hold = times.hold if is_lost else 0.0
    span = times.fade if is_lost else times.back
    if age >= hold + span:
        return 0.0
    fraction = max(age - hold, 0.0) / span
    return 1.0 - fraction * fraction * (3.0 - 2.0 * fraction)


@kernel
def detour_weight(age: float, times: Record) -> float:
    """Return 1 until measurements have taken over, then falling to 0 in the same time."""
    if age < times.back:
        return 1.0
    return decay(age - times.back, 0, times)


@kernel
def approach(last: Quat, q: Quat, limit: float) -> Quat:
    """Return a rotation as near to q as it may have gone from the last one, by `limit` [rad]."""
    step = multiply(q, conjugate(last))
    # the usual case, without an arc tangent
    if limit >= math.pi or abs(step[0]) >= math.cos(0.5 * limit):
        return q
    rotvec = log(step)
    angle = norm(rotvec)
    if angle <= limit:  # by rounding, as with a limit of zero
        return q
    return multiply(exp(scale(rotvec, limit / angle)), last)


@kernel
def advance(source: int, restarted: bool, slot: Record, dt: float) -> int:
    """Age a slot; return what changed, so that the difference begins anew."""
    last = slot.source
    slot.source = source
    slot.since += dt
    if last == FRESH:
        slot.age = np.inf
        slot.before = FRESH
        slot.speed = 0.0
        return SAME
    if source == last and not restarted:
        slot.age += dt
        return SAME
    if last == CHANGED:
        slot.speed = 0.0
    elif last == INFERRED or last == NOTHING:
        slot.speed *= max(1.0 - slot.age / MEMORY_S, 0.0)
    slot.age = 0.0
    change = JUMPED
    if source != last:
        change = KNOWN_SOURCE if source == slot.before else SWITCHED
        slot.before = last
    return change


@kernel
def blend_rotation(
    target: Quat, last: Quat, source: int, restarted: bool, index: int, state: Record
) -> Quat:
    """
    Return a rotation that goes over to its source's target from the one published last.

    `restarted` is whether the source began anew; `index` is that of the slot.
    """
    slot, dt, times = state.slots[index], state.dt, state.times
    change = advance(source, restarted, slot, dt)
    _follow_rotation(target, change, slot, dt)
    if change == SAME and slot.age == np.inf:
        return align_sign(last, target)
    if change != SAME:
        turn = multiply(conjugate(target), multiply(quat(slot.step), last))
        slot.difference[:] = turn
        _carry_on(source, norm(log(turn)), slot, dt, times)
    left = _left(source, slot, times)
    if left == 0.0:
        slot.speed = 0.0
        return align_sign(last, target)
    rotvec = log(quat(slot.difference))
    _set_speed(source, norm(rotvec), slot, dt, times)
    return align_sign(last, multiply(target, exp(scale(rotvec, left))))


@kernel
def blend_point(target: Vec3, last: Vec3, change: int, index: int, state: Record) -> Vec3:
    """Return a point that goes over to the target from where it was; `change` by `advance`."""
    slot, dt, times = state.slots[index], state.dt, state.times
    _follow_point(target, change, slot, dt)
    if slot.source == NOTHING:  # held; the speed counts when its source is back
        return last
    if change != SAME:
        shift = sub(add(last, vec3(slot.step)), target)
        slot.difference[:3] = shift
        _carry_on(0, norm(shift), slot, dt, times)
    left = _left(0, slot, times)
    slot.speed = 0.0
    shift = vec3(slot.difference)
    if left > 0.0:
        _set_speed(0, norm(shift), slot, dt, times)
    return add(target, scale(shift, left))


@kernel
def _follow_rotation(target: Quat, change: int, slot: Record, dt: float) -> None:
    """Find how far the source turned in this frame, and remember its value."""
    last, since = quat(slot.target), slot.since
    if dt == 0.0 or slot.source == NOTHING:
        slot.step[:] = identity()
    elif change == SAME:
        wanted = multiply(target, conjugate(last))
        slot.step[:] = approach(quat(slot.step), wanted, MAX_TURN_RATE_RAD_S2 * dt * dt)
    elif change == KNOWN_SOURCE:
        rotvec = log(multiply(target, conjugate(quat(slot.earlier))))
        wanted = exp(scale(rotvec, dt / since))
        slot.step[:] = approach(quat(slot.step), wanted, MAX_TURN_RATE_RAD_S2 * dt * since)
    if change == SWITCHED or change == KNOWN_SOURCE:
        slot.earlier[:] = last
        slot.since = dt
    slot.target[:] = target


@kernel
def _follow_point(target: Vec3, change: int, slot: Record, dt: float) -> None:
    """Find how far the source went in this frame, and remember its value."""
    last, move, since = vec3(slot.target), vec3(slot.step), slot.since
    if dt == 0.0 or slot.source == NOTHING:
        slot.step[:3] = origin()
    elif change == SAME or change == KNOWN_SOURCE:
        base = last if change == SAME else vec3(slot.earlier)
        span = dt if change == SAME else since
        more = sub(scale(sub(target, base), dt / span), move)
        limit = MAX_RATE_M_S2 * dt * span
        slot.step[:3] = add(move, scale(more, min(1.0, limit / max(norm(more), limit))))
    if change == SWITCHED or change == KNOWN_SOURCE:
        slot.earlier[:3] = last
        slot.since = dt
    slot.target[:3] = target


@kernel
def _carry_on(source: int, size: float, slot: Record, dt: float, times: Record) -> None:
    """Begin the decay of a difference where it shrinks as fast as the last one did."""
    slot.ahead, slot.whole = 0.0, 1.0
    speed = slot.speed * times.back
    if source == INFERRED or source == NOTHING or size == 0.0 or speed <= NO_SPEED * size:
        return
    # 6 s / ((1 - s) (1 + 2 s)), speed over what is left of a smoothstep, is to be `head`
    head = min(speed / size, MAX_HEAD_START)
    fraction = (head - 6.0 + math.sqrt((head - 6.0) ** 2 + 8.0 * head * head)) / (4.0 * head)
    slot.whole = decay(fraction * times.back, source, times)
    slot.ahead = fraction * times.back + dt


@kernel
def _left(source: int, slot: Record, times: Record) -> float:
    """Return what is left of the difference at the last change, 1 to 0."""
    return decay(slot.age + slot.ahead, source, times) / slot.whole


@kernel
def _set_speed(source: int, size: float, slot: Record, dt: float, times: Record) -> None:
    """Remember how fast a difference shrinks by now; one that is held counts as before."""
    if source == INFERRED or source == NOTHING:
        return
    fraction = min(max(slot.age + slot.ahead, dt) / times.back, 1.0)
    slot.speed = size * 6.0 * fraction * (1.0 - fraction) / (slot.whole * times.back)
