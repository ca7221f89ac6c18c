# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the thing that both hands carry, throw and catch (kernels).

The thing is an end of its own. Where it rests on something it stands as `Counterparts` has it, and
as far as it is loose it is displaced by three unknowns from the path of the performer's thing,
which is scaled along the ground and not upwards. Three things move it:

- the palms, whose goals are places on it: they and it go to each other, as far as hands grip it;
- the gesture, softly: while hands hold it, it is drawn to between the palms as captured, so the
  root is not drawn to where the performer's thing is;
- its own past: it goes on along the path. So what nobody grips falls as fast as the performer's
  thing does, from where the puppet lets it go to where it catches it, as long as that one flies.
"""

import math

from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import add, lerp, scale, sub, Vec3, vec3
from puppet_retarget.importance import GOAL, importance, OBJECT, RADIUS, RATE, support_by, UNSEEN_Z
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.mounts import gap_of_goal, share_of_goal
from puppet_retarget.solvers.whole_body.problem import add_diagonal

GRIP_M = 0.1  # from a palm to a thing, where it no longer holds it
FORESEEN_S = 0.06  # over which a palm that opens has let go
RETURN_S = 10.0  # in which a thing that nothing holds comes to where the performer's is


@kernel
def fill_thing(frame: Frame, rows: Floats) -> None:
    """Fill what both hands carry; the puppet is posed as captured at the reference root."""
    objects, thing, memory = frame.objects, frame.wishes.thing, frame.memory
    thing.number, thing.grip = -1, 0.0
    thing.goals[:] = 0.0
    thing.shares[:] = 0.0
    for j in range(objects.n_objects):
        copy(objects.puppet_positions[j], thing.resting[j])
        if not _is_loose(frame, j):
            continue
        grip = _grip(frame, rows, 0, j) * _grip(frame, rows, 1, j)
        if grip > thing.grip or thing.number < 0 and j == memory.thing:
            thing.number, thing.grip = j, grip
    j = thing.number
    if j < 0:
        return
    thing.loose = objects.looseness[j]
    for i in range(len(rows)):
        share, _ = share_of_goal(frame, rows, i, j)
        if share > 0.0:
            gap, _ = gap_of_goal(frame, j, vec3(rows[i, GOAL : GOAL + 3]))
            thing.goals[i] = share * importance(gap, 0.0, 0.0, rows[i, RADIUS])
    thing.shares[j] = 1.0
    for k in range(j + 1, objects.n_objects):
        if objects.moves[k] and objects.segments[k] < 0:
            thing.shares[k] = support_by(objects, k, j)
    n, ends, goals = frame.tree.n, frame.pose.ends, frame.wishes.goals
    root = vec3(memory.last[n - 3 : n]) if frame.wishes.dt < math.inf else (0.0, 0.0, 0.0)
    x, y, z = objects.positions[j]
    path = frame.world_scale * x, frame.world_scale * y, z
    copy(sub(thing.resting[j], path), thing.rest)
    palms, between = add(ends[0], ends[1]), add(goals[0], goals[1])
    copy(add(add(thing.rest, root), scale(sub(palms, between), 0.5)), thing.gesture)


@kernel
def _is_loose(frame: Frame, j: int) -> bool:
    objects = frame.objects
    is_there = objects.positions[j, 2] > UNSEEN_Z
    return is_there and objects.segments[j] < 0 and objects.looseness[j] > 0.0


@kernel
def _grip(frame: Frame, rows: Floats, hand: int, j: int) -> float:
    """Return how much a palm holds an object, in [0, 1]."""
    if frame.objects.influence_distances[j, hand] == 0.0:
        return 0.0
    gap, _ = gap_of_goal(frame, j, vec3(rows[hand, GOAL : GOAL + 3]))
    opens = max(rows[hand, RATE], 0.0) if rows[hand, OBJECT] == j else 0.0
    return importance(gap, opens, FORESEEN_S, GRIP_M)


@kernel
def displacement(frame: Frame) -> Vec3:
    """Return how far the thing is from where it would be with nobody holding it [m]."""
    thing, n = frame.wishes.thing, frame.tree.n
    offset = lerp(frame.expected[n : n + 3], frame.x[n : n + 3], thing.grip)
    return scale(sub(offset, thing.rest), thing.loose)


@kernel
def place_things(frame: Frame) -> None:
    """Put the thing, what stands on it and what was carried before to where they are."""
    objects, thing, memory = frame.objects, frame.wishes.thing, frame.memory
    way = displacement(frame)
    for j in range(objects.n_objects):
        if objects.moves[j] and objects.segments[j] < 0:
            own = scale(way, thing.shares[j])
            if j != thing.number:
                own = add(own, scale(memory.displaced[j], objects.looseness[j]))
            copy(add(thing.resting[j], own), objects.puppet_positions[j])


@kernel
def add_thing(frame: Frame, share: float, direction: Vec3) -> None:
    """Add to a row a place that goes with the thing, which a point is to go to or away from."""
    thing, n = frame.wishes.thing, frame.tree.n
    if share != 0.0:
        for k in range(3):
            frame.problem.row[n + k] -= share * thing.loose * thing.grip * direction[k]


@kernel
def add_carried(frame: Frame) -> None:
    """Add the rows of the thing by itself."""
    thing, weights, problem = frame.wishes.thing, frame.weights, frame.problem
    n, dt, firm = frame.tree.n, frame.wishes.dt, weights.root
    later = firm
    if dt < math.inf:
        later = firm * weights.fade_root_s / (dt * (1.0 - math.exp(-dt / weights.fade_s)))
    for k in range(3):
        x = frame.x[n + k]
        add_diagonal(problem, n + k, firm * thing.grip, thing.gesture[k] - x)
        add_diagonal(problem, n + k, later, frame.expected[n + k] - x)


@kernel
def expect_thing(frame: Frame) -> None:
    """Fill where the thing would be by itself, and begin there."""
    thing, memory, dt, n = frame.wishes.thing, frame.memory, frame.wishes.dt, frame.tree.n
    if not dt < math.inf:
        memory.displaced[:] = 0.0
        memory.thing = -1
    j, offset = thing.number, (0.0, 0.0, 0.0)
    if j >= 0 and j == memory.thing:
        left = math.exp(-thing.grip * dt / frame.weights.fade_s)
        onward = scale(sub(memory.offsets[0], memory.offsets[1]), left)
        returned = 1.0 - math.exp(-(1.0 - thing.grip) * dt / RETURN_S)
        copy(lerp(memory.offsets[0], thing.rest, returned), memory.offsets[0])
        offset = add(memory.offsets[0], onward)
    elif j >= 0:
        offset = add(thing.rest, memory.displaced[j])
        copy(offset, memory.offsets[0])
    copy(offset, frame.expected[n : n + 3])
    copy(offset, frame.x[n : n + 3])


@kernel
def remember_thing(frame: Frame) -> None:
    """Keep where the thing is for the next frames; what was carried before goes back."""
    thing, memory, dt, n = frame.wishes.thing, frame.memory, frame.wishes.dt, frame.tree.n
    left = math.exp(-dt / frame.weights.fade_root_s) if dt < math.inf else 0.0
    for j in range(frame.objects.n_objects):
        own = left if _is_loose(frame, j) else 0.0
        copy(scale(memory.displaced[j], own), memory.displaced[j])
    if thing.number >= 0:
        offset = lerp(frame.expected[n : n + 3], frame.x[n : n + 3], thing.grip)
        copy(sub(offset, thing.rest), memory.displaced[thing.number])
        copy(vec3(memory.offsets[0]) if dt < math.inf else offset, memory.offsets[1])
        copy(offset, memory.offsets[0])
    memory.thing = thing.number
