# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What sources of rows read: the puppet, its weights, the frame's wishes, and the posture so far.

A source is a kernel `add_...(frame)` that adds rows to `frame.problem` and writes nothing else: it
opens a row by adding how points and segments move (`add_point`, `add_turn`), and closes it with a
weight and a residual (`problem.close_row`).
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import ShapeArrays
from puppet_core.math import Floats, frozen, kernel, Quats, Vec3s
from puppet_core.math.values import cross, dot, sub, Vec3Like
from puppet_retarget.importance import no_rests, ObjectArrays
from puppet_retarget.solvers.joint_limits import LimitArrays
from puppet_retarget.solvers.whole_body.problem import N, Problem
from puppet_retarget.solvers.whole_body.tree import above, MAX_UNKNOWNS, Pose, Tree
from puppet_retarget.solvers.whole_body.weights import Weights


def zeros(*shape: int) -> Floats:
    """Return zeros that refuse writes: defaults are copied when a frame is packed."""
    return frozen(np.zeros(shape))


class Touches(NamedTuple):
    """Where on the puppet palms and soles should be, by the segments that they touch."""

    importances: Floats = zeros(4)
    shares: Floats = zeros(4, 16)  # of each segment, in all 1
    places: Vec3s = zeros(4, 16, 3)  # in the segment's frame [m]
    outward: Vec3s = zeros(4, 16, 3)  # away from its axis, there
    allowed: Floats = zeros(8)  # depth of the performer's ends in his own body, scaled [m]


class Mounts(NamedTuple):
    """How far the goals of ends go with things that are fixed to segments of the puppet."""

    shares: Floats = zeros(8, 16)  # with each segment, in all at most 1
    places: Vec3s = zeros(8, 16, 3)  # where the goal is in that segment's frame [m]


class Thing(NamedTuple):
    """What both hands carry, throw or catch, and what stands on it; of all objects (n, ...)."""

    number: int = -1  # of the object, -1 for none
    grip: float = 0.0  # how much both hands hold it
    loose: float = 0.0  # how little it rests on anything
    # from the performer's thing, scaled along the ground only [m]
    rest: Vec3s = zeros(3)  # where it would be with nobody holding it
    gesture: Vec3s = zeros(3)  # between the palms as captured
    goals: Floats = zeros(8)  # how far the goal of each end goes with it
    shares: Floats = zeros(16)  # how far each object goes with it
    resting: Vec3s = zeros(16, 3)  # where each object is while nobody holds it [m]


class Gaze(NamedTuple):
    """What the head looks at."""

    importance: float = 0.0
    shares: Floats = zeros(16)  # of the objects, in all 1
    places: Vec3s = zeros(16, 3)  # that are looked at, in the frames of the objects [m]


class Wishes(NamedTuple):
    """What one frame asks for, in the puppet's world."""

    dt: float = 0.0  # since the frame before; infinite for the first [s]
    root: Vec3s = zeros(3)  # reference, where the captured posture is put [m]
    path: Vec3s = zeros(3)  # of the root, as smooth as the performer's [m]
    rotations: Quats = zeros(16, 4)  # as captured
    segments: Quats = zeros(16, 4)  # likewise, in world
    # of a robot's hinges: what comes nearest to these, and what the frame allows [rad]
    angles: Floats = zeros(MAX_UNKNOWNS)
    low: Floats = zeros(MAX_UNKNOWNS)
    high: Floats = zeros(MAX_UNKNOWNS)
    goals: Vec3s = zeros(8, 3)  # of the general end-effectors [m]
    importances: Floats = zeros(8)
    orientations: Quats = zeros(4, 4)  # of hands and feet in world
    stretches: Vec3s = zeros(4, 3)  # from shoulder to wrist or hip to ankle, over a limb's length
    touches: Touches = Touches()
    rests: Floats = no_rests()
    mounts: Mounts = Mounts()
    thing: Thing = Thing()
    gaze: Gaze = Gaze()


class Memory(NamedTuple):
    """What lives from frame to frame: the corrections of the last two."""

    last: Floats = zeros(N)
    before: Floats = zeros(N)
    root: Vec3s = zeros(2, 3)  # displacement from its path, likewise [m]
    thing: int = -1
    offsets: Vec3s = zeros(2, 3)  # of the thing from its path, likewise [m]
    displaced: Vec3s = zeros(16, 3)  # objects, from where they are while nobody holds them [m]
    # of a robot's hinges
    known: Floats = zeros(1)  # 0 until there is anything below
    angles: Floats = zeros(2, MAX_UNKNOWNS)  # nearest to the captured posture, likewise [rad]
    ahead: Floats = zeros(MAX_UNKNOWNS)  # where these would be by themselves [rad]
    joints: Floats = zeros(MAX_UNKNOWNS)  # where they are [rad]
    rates: Floats = zeros(MAX_UNKNOWNS)  # [rad/s]
    # of a robot's soles
    soles: Vec3s = zeros(2, 3)  # where they were asked to be [m]
    aside: Vec3s = zeros(2, 3)  # how far they are from there [m]


class Frame(NamedTuple):
    """All of a solver, packed into one argument."""

    tree: Tree
    weights: Weights
    limits: LimitArrays
    shape: ShapeArrays
    samples: Floats  # (16, 3, 40) on the surface, in the segments' frames [m]
    hip_centre: Vec3s  # (3,) mean of the hip joints in the pelvis' frame
    eyes: Vec3s  # (2, 3) between the eyes of performer and puppet, in the head's frame [m]
    objects: ObjectArrays
    world_scale: float
    root_ratio: float
    raised: float  # how much higher than the scaled performer's the root is, standing [m]
    stiffness: Floats  # (54,) of the posture
    allowed: Floats  # (objects, 16) how deep segments may be in solids, as the performer's [m]
    overlaps: Floats = zeros(16, 16)  # how deep a robot's segments may be in each other [m]
    stance: float = 0.0  # of a robot: how far apart its soles are at least [m]
    wishes: Wishes = Wishes()
    pose: Pose = Pose()
    x: Floats = zeros(N)  # the unknowns
    kept: Floats = zeros(N)  # before the last step
    expected: Floats = zeros(N)  # where they would be by themselves
    memory: Memory = Memory()
    problem: Problem = Problem()


@kernel
def add_point(frame: Frame, segment: int, point: Vec3Like, direction: Vec3Like) -> None:
    """Add to the row how a point in world, fixed in a segment, moves along a direction."""
    add_motion(frame, segment, direction, cross(point, direction))


@kernel
def add_motion(frame: Frame, segment: int, way: Vec3Like, turn: Vec3Like) -> None:
    """
    Add to the row what changes by `way` v + `turn` w as a segment moves.

    Its motion is v + w x r at each place r in world.
    """
    tree, pose, row = frame.tree, frame.pose, frame.problem.row
    for k in range(3):
        row[tree.n - 3 + k] += way[k]
    s = segment
    while s >= 0:
        for i in range(tree.first[s], tree.first[s] + tree.counts[s]):
            row[i] += dot(pose.axes[i], sub(turn, cross(pose.origins[i], way)))
        s = above(s)


@kernel
def add_turn(frame: Frame, segment: int, axis: Vec3Like) -> None:
    """Add to the row how a segment turns about an axis in world."""
    tree, pose, row = frame.tree, frame.pose, frame.problem.row
    s = segment
    while s >= 0:
        for i in range(tree.first[s], tree.first[s] + tree.counts[s]):
            row[i] += dot(pose.axes[i], axis)
        s = above(s)
