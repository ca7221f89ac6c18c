# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""All that a performer's posture is made from, and the posture, as one record for kernels."""

import math
from typing import Any

import numpy as np
from puppet_core.body import MAX_COORDINATE_M, N_SEGMENTS, PARENTS, Skeleton
from puppet_core.math import copy, kernel
from puppet_core.math.values import (
    add,
    align_sign,
    conjugate,
    cross,
    ease,
    exp,
    IDENTITY,
    log,
    multiply,
    norm,
    normalize,
    Quat,
    quat,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
)
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)

Record = Any  # an element of a structured array, in kernels
ORIGIN: Vec3 = (0.0, 0.0, 0.0)

# ROOT is the index of the root's slot; those of the eight end-effectors follow. numba compiles
# what is called with a plain constant for each of its values, with one of numpy only once.
PELVIS, SPINE, CHEST, HEAD, ROOT = np.array([0, 1, 2, 3, N_SEGMENTS])
N_SLOTS = N_SEGMENTS + 9
PARENT_OF = tuple(int(p) for p in PARENTS)

# Sources of a value; 0 and more is the segment whose sensor carries it.
INFERRED = -1  # from the neighbouring segments
NOTHING = -2  # held as it was
FRESH = -3  # no value yet: the first one is used as it comes
CHANGED = -4  # whatever comes next differs from it
BY_NEIGHBOUR = -5  # from the other segment of the limb and where its end is
BY_END = -6  # from hand or foot alone

_VECTOR, _QUATERNION = ('f8', (3,)), ('f8', (4,))

SENSOR = np.dtype(
    [
        ('row', 'i8'),  # in the filtered frame, -1 for none
        ('quality', 'i8'),  # ABSENT, MEASURED, ..
        ('q_sensor_segment', *_QUATERNION),
        ('p_segment_sensor', *_VECTOR),  # [m]
        # the correction by `posture.enhancement`, in the segment's frame
        ('turn', *_VECTOR),  # [rad]
        ('shift', *_VECTOR),  # [m]
        # of this frame in world; old where the sensor is absent
        ('position', *_VECTOR),  # of the sensor [m]
        ('orientation', *_QUATERNION),  # of the segment
        ('linear', *_VECTOR),  # velocity of the sensor [m/s]
        ('angular', *_VECTOR),  # [rad/s]
    ],
    align=True,
)

# What blending remembers of a value; of a point the first three numbers count.
SLOT = np.dtype(
    [
        ('source', 'i8'),  # what the value came from last
        ('before', 'i8'),  # what it came from before that
        ('age', 'f8'),  # since its last change, infinite before the first [s]
        ('since', 'f8'),  # since the previous source was last used [s]
        ('ahead', 'f8'),  # by how much the blend is further than its age [s]
        ('whole', 'f8'),  # what the decay began with at the last change
        ('speed', 'f8'),  # at which the difference shrank last [rad/s], [m/s]
        ('difference', *_QUATERNION),  # from the new source's value to the one published then
        ('target', *_QUATERNION),  # the last value of the source
        ('earlier', *_QUATERNION),  # the last value of the previous source
        ('step', *_QUATERNION),  # how far the source's value went in the last frame
    ],
    align=True,
)

TIMES = np.dtype(
    [
        ('hold', 'f8'),  # a rotation whose sensor is lost is kept as it was [s]
        ('fade', 'f8'),  # then it goes over to that of a body at rest [s]
        ('back', 'f8'),  # a measurement that is there again, or other sources, take over [s]
    ]
)

STATE = np.dtype(
    [
        ('dt', 'f8'),  # since the last frame [s]
        ('times', TIMES),
        ('enhance_weight', 'f8'),  # w1 of `posture.enhancement`, 0 for none [-]
        ('offsets', 'f8', (N_SEGMENTS, 3)),  # of the skeleton [m]
        ('interaction_points', 'f8', (4, 3)),  # [m]
        ('q_world_tracker', *_QUATERNION),
        ('p_world_tracker', *_VECTOR),  # [m]
        ('sensors', SENSOR, (N_SEGMENTS,)),
        ('slots', SLOT, (N_SLOTS,)),  # rotations of the segments, root, end-effectors
        # the posture; before a frame the last one
        ('rotations', 'f8', (N_SEGMENTS, 4)),  # row 0 in world, others relative to the parent
        ('root', *_VECTOR),  # [m]
        ('q_world', 'f8', (N_SEGMENTS, 4)),
        ('p_world', 'f8', (N_SEGMENTS, 3)),  # [m]
        ('points', 'f8', (8, 3)),  # general end-effectors [m]
        ('velocities', 'f8', (8, 3)),  # [m/s]
        ('status', 'u1', (N_SEGMENTS,)),  # STATUS_* of `posture.estimator`
        # on the way to it
        ('torso', *_QUATERNION),  # chest in the pelvis' frame
        ('carrying', *_QUATERNION),  # that as it was when the chest began to carry the pelvis
        ('aims', 'f8', (N_SEGMENTS, 4)),  # orientations in world to which the limbs are blended
        ('blended', 'f8', (N_SEGMENTS, 4)),  # rotations of limbs before their ends are placed
        ('turns', 'f8', (N_SEGMENTS, 4)),  # that place the ends, in world
    ],
    align=True,
)


def fresh_state(skeleton: Skeleton) -> np.ndarray:
    """Return the state of a body of which nothing was measured yet, shape (1,)."""
    state = np.zeros(1, dtype=STATE)
    state['offsets'], state['interaction_points'] = skeleton.offsets, skeleton.interaction_points
    for name in ('rotations', 'q_world', 'torso', 'carrying', 'blended', 'turns'):
        state[name] = IDENTITY
    state['q_world_tracker'] = IDENTITY
    sensors, slots = state['sensors'], state['slots']
    sensors['row'] = -1
    sensors['q_sensor_segment'] = sensors['orientation'] = IDENTITY
    slots['source'] = slots['before'] = FRESH
    slots['whole'] = 1.0
    for name in ('difference', 'target', 'earlier', 'step'):
        slots[name][:, :N_SEGMENTS] = IDENTITY
    return state


@kernel
def place_joint(segment: int, parent: int, state: Record) -> None:
    """Put a segment's joint to where its parent's position and orientation have it."""
    step = rotate(quat(state.q_world[parent]), vec3(state.offsets[segment]))
    copy(add(step, vec3(state.p_world[parent])), state.p_world[segment])


# Quality of a segment's sensor in a frame
ABSENT, MEASURED, PREDICTED, RESTARTED = 0, 1, 2, 3

MAX_SPEED = 1e4  # [m/s] and [rad/s]
UNIT_TOL = 0.1  # of a quaternion's squared length [-]


@kernel
def read_sensors(
    positions: np.ndarray,
    rotations: np.ndarray,
    linear: np.ndarray,
    angular: np.ndarray,
    status: np.ndarray,
    state: Record,
) -> None:
    """
    Fill the sensors of the state from a filtered frame in the tracker's axes.

    A sensor that is lost, not finite, out of range or no rotation is ABSENT. Poses (n, 3) [m] and
    (n, 4), velocities (n, 3) [m/s] and [rad/s], status FILTER_*.
    """
    q_tracker, p_tracker = quat(state.q_world_tracker), vec3(state.p_world_tracker)
    for segment in range(N_SEGMENTS):
        sensor = state.sensors[segment]
        row = sensor.row
        sensor.quality = ABSENT
        if row < 0 or status[row] >= FILTER_LOST:
            continue
        p, q = vec3(positions[row]), quat(rotations[row])
        v, w = vec3(linear[row]), vec3(angular[row])
        if not _is_usable(p, q, v, w):
            continue
        sensor.quality = _quality(status[row])
        turn = multiply(multiply(q_tracker, q), quat(sensor.q_sensor_segment))
        copy(normalize(turn), sensor.orientation[:])
        copy(add(rotate(q_tracker, p), p_tracker), sensor.position[:])
        copy(rotate(q_tracker, v), sensor.linear[:])
        copy(rotate(q_tracker, w), sensor.angular[:])


@kernel
def _is_usable(position: Vec3, rotation: Quat, linear: Vec3, angular: Vec3) -> bool:
    """Return whether the numbers of a row are in range and the quaternion is about unit."""
    square = 0.0
    # every comparison is false for NaN
    for k in range(3):
        if not abs(position[k]) <= MAX_COORDINATE_M:
            return False
        if not (abs(linear[k]) <= MAX_SPEED and abs(angular[k]) <= MAX_SPEED):
            return False
    for k in range(4):
        square += rotation[k] * rotation[k]
    return abs(square - 1.0) <= UNIT_TOL


@kernel
def _quality(status: int) -> int:
    if status == FILTER_REINITIALISED:
        return RESTARTED
    if status == FILTER_PREDICTED or status == FILTER_REJECTED:
        return PREDICTED
    return MEASURED


@kernel
def joint_of_sensor(segment: int, state: Record) -> Vec3:
    """Return the world position of a segment's joint as its own sensor has it [m]."""
    sensor = state.sensors[segment]
    offset = rotate(quat(sensor.orientation), vec3(sensor.p_segment_sensor))
    return sub(vec3(sensor.position), offset)


@kernel
def shift_in_world(segment: int, state: Record) -> Vec3:
    """Return how far a segment's sensor was shifted, or would be where it is absent [m]."""
    sensor = state.sensors[segment]
    return rotate(quat(sensor.orientation), vec3(sensor.shift))


@kernel
def is_absent(segment: int, state: Record) -> bool:
    return state.sensors[segment].quality == ABSENT


@kernel
def has_restarted(source: int, state: Record) -> bool:
    """Return whether a source is a sensor that began anew in this frame."""
    return source >= 0 and state.sensors[source].quality == RESTARTED


@kernel
def nearest_carrier(segment: int, state: Record) -> int:
    """Return the nearest measured segment from this one towards the root, -1 if none is."""
    while segment >= 0 and is_absent(segment, state):
        segment = PARENT_OF[segment]
    return segment


@kernel
def carried_velocity(point: Vec3, carrier: int, state: Record) -> Vec3:
    """Return the velocity of a point that moves rigidly with a segment's sensor [m/s]."""
    sensor = state.sensors[carrier]
    arm = sub(point, vec3(sensor.position))
    return add(vec3(sensor.linear), cross(vec3(sensor.angular), arm))


# Values that do not jump when what they come from changes.
#
# Every value has a slot that remembers its source. When the source changes, the difference
# between the last output and the value of the new source is kept, and decays.
#
# A sensor may come and go many times within one blend, so a change does not restart it. The output
# goes on moving for that one frame as its source moves, else every change would leave the value
# behind by a frame's motion; the accelerations of a body bound how far it may go on so.
# And the difference goes on shrinking at the speed at which it shrank before, so that frames in
# which a sensor is seen add up.

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
    return 1.0 - ease(max(age - hold, 0.0) / span)


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
        copy(turn, slot.difference[:])
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
        copy(shift, slot.difference[:3])
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
        copy(IDENTITY, slot.step[:])
    elif change == SAME:
        wanted = multiply(target, conjugate(last))
        copy(approach(quat(slot.step), wanted, MAX_TURN_RATE_RAD_S2 * dt * dt), slot.step[:])
    elif change == KNOWN_SOURCE:
        rotvec = log(multiply(target, conjugate(quat(slot.earlier))))
        wanted = exp(scale(rotvec, dt / since))
        copy(approach(quat(slot.step), wanted, MAX_TURN_RATE_RAD_S2 * dt * since), slot.step[:])
    if change == SWITCHED or change == KNOWN_SOURCE:
        copy(last, slot.earlier[:])
        slot.since = dt
    copy(target, slot.target[:])


@kernel
def _follow_point(target: Vec3, change: int, slot: Record, dt: float) -> None:
    """Find how far the source went in this frame, and remember its value."""
    last, move, since = vec3(slot.target), vec3(slot.step), slot.since
    if dt == 0.0 or slot.source == NOTHING:
        copy(ORIGIN, slot.step[:3])
    elif change == SAME or change == KNOWN_SOURCE:
        base = last if change == SAME else vec3(slot.earlier)
        span = dt if change == SAME else since
        more = sub(scale(sub(target, base), dt / span), move)
        limit = MAX_RATE_M_S2 * dt * span
        copy(add(move, scale(more, min(1.0, limit / max(norm(more), limit)))), slot.step[:3])
    if change == SWITCHED or change == KNOWN_SOURCE:
        copy(last, slot.earlier[:3])
        slot.since = dt
    copy(target, slot.target[:3])


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
