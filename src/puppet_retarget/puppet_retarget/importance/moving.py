# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects that move: with a tracker sensor, a segment, or both hands while these hold them.

`MovingObjects` says where the performer's are; the importance has them, the puppet's solver gets
them from there. `Counterparts` puts the puppet's where they are while nobody holds them: what
stands on another object stands on that one's counterpart, whatever the sizes; far from all others
it is where the performer's is. What two hands hold goes with the puppet's hands from there, and
what is fixed to a segment with the puppet's segment: `solvers.whole_body.carried`, `mounts`.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import is_posture, N_SEGMENTS, NO_PROPS, Posture, Props
from puppet_core.math import (
    add,
    Floats,
    kernel,
    pack_arrays,
    quaternions,
    Quats,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3s,
)
from puppet_core.math import values as v
from puppet_retarget.importance.environment import (
    Environment,
    filled_up,
    ObjectArrays,
    SceneObject,
    UNSEEN,
)
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
from puppet_retarget.importance.self_interaction import world_orientations

GRASP_M = 0.015  # from both palms to the surface, at most, where hands take a thing
LET_GO_M = 0.02  # over the least distance of the palms since then, where they leave it
SUPPORT_M = 0.3  # gap to another object from which on it no longer carries this one
ROUND = 0.1  # cosine of the tilt over an edge within which an extent is rounded off [-]
UNSEEN_Z = float(UNSEEN[2])
_NO_SEGMENTS = np.zeros((0, 3))
Pose = tuple[Floats, Floats]


class Grasp(NamedTuple):
    """How hands hold a thing."""

    line: Vec3  # from the left palm to the right one in the last frame, shape (3,) [m]
    middle: Vec3  # of them then, shape (3,) [m]
    width: float  # least distance of the palms since they took it [m]


class MovingObjects:
    """Where an environment's moving objects are; knows where they were before."""

    def __init__(self, environment: Environment) -> None:
        self._items = [(j, o) for j, o in enumerate(environment.objects) if o.moves]
        n = len(self._items)
        self._props = Props(
            tuple(o.name for _, o in self._items),
            np.array([o.start for _, o in self._items]).reshape(n, 3),
            np.array([o.real.orientation for _, o in self._items]).reshape(n, 4),
        )
        self._start = self._props
        self._was_known = np.zeros(n, dtype=bool)  # in the last frame
        self.unseen = [o.name for _, o in self._items if o.follows]
        """Names of those whose sensor was in no frame yet."""
        self._q_world = np.zeros((N_SEGMENTS, 4))
        self._stamp_ns: int | None = None
        self.reset()

    def go_on(self, before: 'MovingObjects') -> None:
        """Go on from those of another environment: what has the same name is where it was."""
        places, turns = self._start.positions.copy(), self._start.orientations.copy()
        known = {o.name: (row, o) for row, (_, o) in enumerate(before._items)}
        for i, (_, item) in enumerate(self._items):
            row, other = known.get(item.name, (-1, None))
            if other is None or _holder(other) != _holder(item):
                continue
            places[i], turns[i] = before._props.positions[row], before._props.orientations[row]
            self._grasps[i], self._was_known[i] = before._grasps[row], before._was_known[row]
            if item.name in self.unseen and item.name not in before.unseen:
                self.unseen.remove(item.name)
        self._props = Props(self._start.names, places, turns)
        self._stamp_ns = before._stamp_ns

    def reset(self) -> None:
        """Put all where they were at first, in nobody's hands."""
        self._props = self._start
        self._grasps: list[Grasp | None] = [None] * len(self._items)
        self._was_known[:] = False

    def step(
        self,
        stamp_ns: int,
        posture: Posture,
        objects: ObjectArrays,
        segments: Vec3s = _NO_SEGMENTS,
    ) -> Props:
        """
        Return where they are, and write their velocities into the environment's objects.

        Segments are the joints in world (16, 3) [m]. One whose sensor is not known goes with the
        hands if they hold it, else stays where it is.
        """
        if self._stamp_ns is not None and stamp_ns < self._stamp_ns:
            self.reset()
        dt, self._stamp_ns = step_time(stamp_ns, self._stamp_ns), stamp_ns
        if not self._items:
            return NO_PROPS
        if dt == math.inf:
            self._grasps = [None] * len(self._items)
        world_orientations(posture.rotations, self._q_world)
        before = self._props
        places, turns = before.positions.copy(), before.orientations.copy()
        self._props = Props(before.names, places, turns)
        for i, (j, item) in enumerate(self._items):
            objects.velocities[j] = 0.0
            found = _known(followed(item, posture.props, self._q_world, segments))
            if found is not None:
                self._grasps[i] = None
            elif (found := _known(self._held(i, item, posture))) is None:
                self._was_known[i] = False
                continue
            places[i], turns[i] = found
            was_known, self._was_known[i] = self._was_known[i], True
            if item.name in self.unseen:
                self.unseen.remove(item.name)
            if 0.0 < dt < math.inf and was_known:
                back = quaternions.conjugate(before.orientations[i])
                objects.velocities[j, :3] = (places[i] - before.positions[i]) / dt
                turned = quaternions.log(quaternions.multiply(turns[i], back))
                objects.velocities[j, 3:] = turned / dt
        return self._props

    def _held(self, i: int, item: SceneObject, posture: Posture) -> Pose | None:
        """Return where hands have taken a thing, None if it stays."""
        palms, grasp = posture.end_effectors[:2], self._grasps[i]
        line, middle = palms[1] - palms[0], 0.5 * (palms[0] + palms[1])
        width = float(np.linalg.norm(line))
        place, turn = self._props.positions[i], self._props.orientations[i]
        if grasp is None:
            local = [to_object(turn, place, palm) for palm in palms]
            found = [signed_distance(item.shape, item.real.size, p) for p in local]
            faces = v.dot(found[0][1], found[1][1]) < 0.0
            if not faces or max(abs(distance) for distance, _ in found) > GRASP_M:
                return None
            grasp = Grasp(line, middle, width)
        if width > grasp.width + LET_GO_M:
            self._grasps[i] = None
            return None
        self._grasps[i] = Grasp(line, middle, min(width, grasp.width))
        # the least turn from frame to frame: one from the start on has no axis after half a turn
        turned = np.array(v.between(v.normalized(vec3(grasp.line)), v.normalized(vec3(line))))
        place = middle + quaternions.rotate(turned, place - grasp.middle)
        return place, quaternions.multiply(turned, turn)


def _holder(item: SceneObject) -> tuple[str, bool, int]:
    """Return what an object moves with."""
    return item.follows, item.held, item.segment


def _known(pose: Pose | None) -> Pose | None:
    """Return a pose if it is one."""
    if pose is None or not is_posture(pose[0], _NO_SEGMENTS, pose[1][None]):
        return None
    return pose


def followed(item: SceneObject, props: Props, q_world: Quats, p_world: Vec3s) -> Pose | None:
    """
    Return where the performer's object is on what it follows, (..., 3) [m], (..., 4), or None.

    Segments have orientations (..., 16, 4) and joints (..., 16, 3) [m] in world.
    """
    if item.segment >= 0:
        row, turns, places = item.segment, q_world, p_world
    elif item.follows and item.follows in props.names:
        row, turns, places = props.names.index(item.follows), props.orientations, props.positions
    else:
        return None
    turn, mount = turns[..., row, :], item.real
    there = places[..., row, :] + quaternions.rotate(turn, mount.position)
    return there, quaternions.multiply(turn, mount.orientation)


class Counterparts:
    """The puppet's counterparts of the objects that move."""

    def __init__(self, environment: Environment) -> None:
        self.indices = [j for j, o in enumerate(environment.objects) if o.moves]
        """Which of the environment's objects move."""
        self.names = tuple(environment.objects[j].name for j in self.indices)
        self._packed, self._own = pack_arrays(filled_up(environment.arrays(1.0, 0.0)))
        for j in self.indices[:1]:
            rest(self._packed, j)  # compiled now, not in a frame

    def place(self, moving: Props, objects: ObjectArrays, world_scale: float = 1.0) -> None:
        """Bring those among the objects, and their counterparts in the puppet's scaled world."""
        own = self._own
        for j, name in zip(self.indices, self.names):
            if name in moving.names:
                row = moving.names.index(name)
                place, turn = moving.positions[row], moving.orientations[row]
                if is_posture(place, _NO_SEGMENTS, turn[None]):
                    own.positions[j] = place
                    own.orientations[j] = own.puppet_orientations[j] = turn
            support, own.puppet_positions[j] = 0.0, UNSEEN
            if own.segments[j] >= 0:
                support, own.puppet_positions[j] = 1.0, own.positions[j]
            elif own.positions[j, 2] > UNSEEN[2]:
                support, own.puppet_positions[j] = rest(self._packed, j)
            own.looseness[j] = objects.looseness[j] = 1.0 - support
            objects.positions[j], objects.orientations[j] = own.positions[j], own.orientations[j]
            objects.puppet_positions[j] = world_scale * own.puppet_positions[j]
            objects.puppet_orientations[j] = own.puppet_orientations[j]


@kernel
def rest(packed: np.ndarray, j: int) -> tuple[float, v.Vec3]:
    """
    Return how much others carry an object, in [0, 1], and where its counterpart is for that [m].

    `packed` holds ObjectArrays at world scale 1. What stands still can carry it, and of what moves
    an object before it. Its gap to one of them is kept above the counterpart, and closed where
    noise makes it negative.
    """
    objects = packed[0]
    support, total, place = 0.0, 0.0, (0.0, 0.0, 0.0)
    for s in range(objects.n_objects):
        if s == j or objects.moves[s] and s > j or objects.positions[s, 2] <= UNSEEN_Z:
            continue
        if objects.segments[s] >= 0:  # the puppet's body is not posed yet
            continue
        gap, surface, normal, along = _gap_above(objects, j, s)
        shape, size, other = objects.shapes[s], objects.sizes[s], objects.puppet_sizes[s]
        # in the frame of the counterpart of s
        below = counterpart_point(shape, size, other, surface, 0.0, normal)
        above = half_extent(objects.shapes[j], objects.puppet_sizes[j], along) + gap
        goal = add(below, scale(normal, above))
        goal = from_object(objects.puppet_orientations[s], objects.puppet_positions[s], goal)
        w = importance(gap, 0.0, 0.0, SUPPORT_M)
        weight = blend_weight(w, gap / SUPPORT_M)
        place = add(place, scale(goal, weight))
        total += weight
        support = max(support, w)
    origin = vec3(objects.positions[j])
    return support, scale(place, 1.0 / total) if total > 0.0 else origin


@kernel
def support_by(objects: ObjectArrays, j: int, s: int) -> float:
    """Return how much the performer's object s carries j, in [0, 1]."""
    return importance(_gap_above(objects, j, s)[0], 0.0, 0.0, SUPPORT_M)


@kernel
def _gap_above(objects: ObjectArrays, j: int, s: int) -> tuple[float, v.Vec3, v.Vec3, v.Vec3]:
    """
    Return the gap of the performer's object j to s [m], at least 0, and where and how that is.

    The surface's nearest point to the middle of j and its normal are in the frame of s, the normal
    in that of j.
    """
    local = to_object(objects.orientations[s], objects.positions[s], objects.positions[j])
    distance, normal = signed_distance(objects.shapes[s], objects.sizes[s], local)
    along = rotate_inverse(objects.orientations[j], rotate(objects.orientations[s], normal))
    gap = max(distance - half_extent(objects.shapes[j], objects.sizes[j], along), 0.0)
    return gap, sub(local, scale(normal, distance)), normal, along


@kernel
def half_extent(shape: int, size: v.Vec3Like, along: v.Vec3Like) -> float:
    """
    Return how far a solid extends from its centre in a direction of its frame, a unit [m].

    Exact along the axes. Over an edge the extent would change with a kink, and with it where a
    carried box is; so each |x| is rounded off near 0.
    """
    x, y, z = _rounded(along[0]), _rounded(along[1]), _rounded(along[2])
    if shape == BOX:
        return 0.5 * (size[0] * x + size[1] * y + size[2] * z)
    if shape == CYLINDER:
        return size[0] * math.hypot(along[0], along[1]) + 0.5 * size[2] * z
    return size[0] + (0.5 * size[2] * z if shape == CAPSULE else 0.0)


@kernel
def _rounded(x: float) -> float:
    """Return about |x|, without its kink; 0 and 1 as they are."""
    return (math.hypot(x, ROUND) - ROUND) / (math.hypot(1.0, ROUND) - ROUND)
