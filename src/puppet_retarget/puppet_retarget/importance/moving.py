# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects that move with tracker sensors, and where their counterparts are while nobody holds them.

What stands on another object stands on that one's counterpart, whatever the sizes; far from all
others it is where the performer's is. What two hands hold goes with the puppet's hands from there:
`solvers.carry`.
"""

import math

import numpy as np
from puppet_core.body import is_posture, NO_PROPS, Props
from puppet_core.math import (
    add,
    Floats,
    kernel,
    pack_arrays,
    quat,
    quaternions,
    rotate,
    rotate_inverse,
    scale,
    sub,
    vec3,
)
from puppet_core.math.values import Vec3, Vec3Like
from puppet_retarget.importance.environment import Environment, filled_up, ObjectArrays, UNSEEN
from puppet_retarget.importance.estimator import blend_weight, importance, step_time
from puppet_retarget.importance.objects import (
    BOX,
    CAPSULE,
    counterpart_point,
    CYLINDER,
    from_object,
    signed_distance,
    to_object,
)

_NO_SEGMENTS = np.zeros((0, 3))
SUPPORT_M = 0.3  # gap to another object from which on it no longer carries this one


class MovingObjects:
    """The objects of an environment that follow sensors; knows where they were before."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._followers = [(j, o) for j, o in enumerate(environment.objects) if o.follows]
        arrays = filled_up(environment.arrays(1.0, 0.0))
        self._packed, self._own = pack_arrays(arrays)
        self._stamp_ns: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(o.name for _, o in self._followers)

    @property
    def indices(self) -> list[int]:
        """Return which of the environment's objects they are."""
        return [j for j, _ in self._followers]

    def step(
        self,
        props: Props,
        objects: ObjectArrays,
        world_scale: float = 1.0,
        stamp_ns: int | None = None,
    ) -> None:
        """
        Bring the followers among the objects, and their counterparts, to where sensors are.

        One whose sensor is not known stays where it is, without velocity; nothing has one without
        a stamp. The counterparts are scaled to the puppet's world.
        """
        dt = math.inf if stamp_ns is None else step_time(stamp_ns, self._stamp_ns)
        self._stamp_ns = stamp_ns
        if not self._followers:
            return
        own, seen = self._own, follow_sensors(self._environment, props)
        for j, follower in self._followers:
            own.velocities[j] = 0.0
            if follower.name in seen.names:
                row = seen.names.index(follower.name)
                place, turn = seen.positions[row], seen.orientations[row]
                if is_posture(place, _NO_SEGMENTS, turn[None]):
                    self._move(j, place, turn, dt)
            support, place = rest(self._packed, j)
            own.looseness[j], own.puppet_positions[j] = 1.0 - support, place
            own.puppet_orientations[j] = own.orientations[j]
            for name in ('positions', 'orientations', 'velocities', 'puppet_orientations'):
                getattr(objects, name)[j] = getattr(own, name)[j]
            objects.looseness[j] = own.looseness[j]
            objects.puppet_positions[j] = world_scale * own.puppet_positions[j]

    def _move(self, j: int, place: Floats, turn: Floats, dt: float) -> None:
        own = self._own
        if 0.0 < dt < math.inf and own.positions[j, 2] > UNSEEN[2]:
            turned = quaternions.multiply(turn, quaternions.conjugate(own.orientations[j]))
            own.velocities[j, :3] = (place - own.positions[j]) / dt
            own.velocities[j, 3:] = quaternions.log(turned) / dt
        own.positions[j], own.orientations[j] = place, turn


def follow_sensors(environment: Environment, props: Props) -> Props:
    """Return the performer's objects that follow sensors, at one instant or over time."""
    names, positions, orientations = [], [], []
    for follower in environment.objects:
        if follower.follows not in props.names:
            continue
        row, mount = props.names.index(follower.follows), follower.real
        turn = props.orientations[..., row, :]
        names.append(follower.name)
        place = quaternions.rotate(turn, mount.position)
        positions.append(props.positions[..., row, :] + place)
        orientations.append(quaternions.multiply(turn, mount.orientation))
    if not names:
        return NO_PROPS
    return Props(tuple(names), np.stack(positions, axis=-2), np.stack(orientations, axis=-2))


@kernel
def rest(packed: np.ndarray, j: int) -> tuple[float, Vec3]:
    """
    Return how much others carry an object, in [0, 1], and where its counterpart is for that [m].

    `packed` holds ObjectArrays at world scale 1. Only objects before it can carry it. Its gap to
    one of them is kept above the counterpart, and closed where noise makes it negative.
    """
    objects = packed[0]
    support, total, place = 0.0, 0.0, (0.0, 0.0, 0.0)
    origin, q = vec3(objects.positions[j]), quat(objects.orientations[j])
    for s in range(j):
        shape, size, other = objects.shapes[s], objects.sizes[s], objects.puppet_sizes[s]
        local = to_object(objects.orientations[s], objects.positions[s], origin)
        distance, normal = signed_distance(shape, size, local)
        along = rotate_inverse(q, rotate(objects.orientations[s], normal))
        gap = distance - half_extent(objects.shapes[j], objects.sizes[j], along)
        gap = max(gap, 0.0)
        above = half_extent(objects.shapes[j], objects.puppet_sizes[j], along) + gap
        below = sub(local, scale(normal, distance))
        below = counterpart_point(shape, size, other, below, 0.0, normal)
        w = importance(gap, 0.0, 0.0, SUPPORT_M)
        weight = blend_weight(w, gap / SUPPORT_M)
        goal = add(below, scale(normal, above))
        goal = from_object(objects.puppet_orientations[s], objects.puppet_positions[s], goal)
        place = add(place, scale(goal, weight))
        total += weight
        support = max(support, w)
    return support, scale(place, 1.0 / total) if total > 0.0 else origin


@kernel
def half_extent(shape: int, size: Vec3Like, along: Vec3Like) -> float:
    """Return how far a solid extends from its centre in a direction of its frame, a unit [m]."""
    x, y, z = abs(along[0]), abs(along[1]), abs(along[2])
    if shape == BOX:
        return 0.5 * (size[0] * x + size[1] * y + size[2] * z)
    if shape == CYLINDER:
        return size[0] * math.sqrt(x * x + y * y) + 0.5 * size[2] * z
    return size[0] + (0.5 * size[2] * z if shape == CAPSULE else 0.0)
