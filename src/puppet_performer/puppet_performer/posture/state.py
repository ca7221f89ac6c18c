# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
All that one performer's posture is made from, and the posture, as one record for the kernels.

Kernels take `state`, an element of an array of STATE, and read and write its fields.
"""

from typing import Any

import numpy as np
from puppet_core.body import N_SEGMENTS, PARENTS, Skeleton
from puppet_core.math import kernel, vec3
from puppet_core.math.values import add, IDENTITY, Quat, quat, rotate, Vec3

Record = Any  # an element of a structured array, in kernels

PELVIS, SPINE, CHEST, HEAD = 0, 1, 2, 3
ROOT = N_SEGMENTS  # index of the root's slot; those of the eight end-effectors follow
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
        ('quality', 'i8'),  # ABSENT, MEASURED, .. of `posture.sensors`
        ('q_sensor_segment', *_QUATERNION),
        ('p_segment_sensor', *_VECTOR),  # [m]
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
    state.p_world[segment] = add(step, vec3(state.p_world[parent]))


@kernel
def identity() -> Quat:
    """Return no rotation."""
    return 1.0, 0.0, 0.0, 0.0


@kernel
def origin() -> Vec3:
    """Return the zero vector."""
    return 0.0, 0.0, 0.0
