# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A body as a tree of turning axes, and how its points move with the unknowns (kernels).

The unknowns are how every joint is turned from where the captured posture has it, and the
displacement of the root. A puppet's ball joint has three axes through one point, a segment of a
robot up to three hinges, each where it is. Unknowns are numbered from the ends of the limbs to the
trunk, the root's displacement last: a limb has to do with itself and the trunk only, so the
equations are almost as sparse as the body is (`problem`).
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, N_SEGMENTS, PARENTS, Robot
from puppet_core.math import copy, Floats, frozen, Ints, kernel, Quats, Vec3s
from puppet_core.math.values import (
    add,
    conjugate,
    dot,
    exp,
    log,
    multiply,
    quat,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)

MAX_UNKNOWNS = 51
SMALL_RAD = 1e-2  # below it series err by less than rounding
_PARENTS = tuple(int(p) for p in PARENTS)
ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])
MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])
# about which forearms and shanks bend in the T-pose: forward, and backward
BENDS = ((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))
STARTS = tuple(int(s) for s in LIMB_SEGMENTS[:, 0])


class Tree(NamedTuple):
    """The joints of a body. Of its n unknowns the last three displace the root."""

    n: int
    is_robot: bool
    first: Ints  # (16,) first unknown of each segment's joint
    counts: Ints  # (16,) how many it has
    offsets: Vec3s  # (16, 3) joints in their parents' frames [m]
    points: Vec3s  # (4, 3) palms and soles in the frames of hands and feet [m]
    # a robot's, at its zero pose
    axes: Vec3s  # (51, 3) unit
    origins: Vec3s  # (51, 3) a point on each axis [m]
    lower: Floats  # (51,) least angles [rad]
    upper: Floats  # (51,) greatest [rad]
    speeds: Floats  # (51,) at most [rad/s]
    centres: Vec3s  # (16, 3) joint centres [m]
    rest: Quats  # (16, 4) from zero pose to T-pose


class Pose(NamedTuple):
    """A posture of the tree in world, and its axes."""

    rotations: Quats = frozen(np.zeros((16, 4)))  # of joints, row 0 the pelvis in world
    q: Quats = frozen(np.zeros((16, 4)))  # of segments in world
    p: Vec3s = frozen(np.zeros((16, 3)))  # their joints [m]
    ends: Vec3s = frozen(np.zeros((8, 3)))  # general end-effectors [m]
    # about which each unknown turns: of a ball the columns of its right Jacobian, in world
    axes: Vec3s = frozen(np.zeros((MAX_UNKNOWNS, 3)))
    origins: Vec3s = frozen(np.zeros((MAX_UNKNOWNS, 3)))  # a point on each [m]


def tree_of(character: Character) -> Tree:
    """Return the tree of a puppet or robot."""
    robot, skeleton = character.robot, character.skeleton
    counts = np.full(N_SEGMENTS, 3, dtype=np.int64)
    if robot is not None:
        counts[1:] = [len(robot.joints_of(s)) for s in range(1, N_SEGMENTS)]
    first = np.cumsum(counts[::-1])[::-1] - counts
    axes, origins = np.zeros((MAX_UNKNOWNS, 3)), np.zeros((MAX_UNKNOWNS, 3))
    lower, upper = np.full(MAX_UNKNOWNS, -np.inf), np.full(MAX_UNKNOWNS, np.inf)
    speeds = np.full(MAX_UNKNOWNS, np.inf)
    centres, rest = np.zeros((N_SEGMENTS, 3)), np.zeros((N_SEGMENTS, 4))
    if robot is not None:
        own = hinge_unknowns(robot)
        axes[own], origins[own] = robot.axes, robot.origins
        lower[own], upper[own], speeds[own] = robot.lower, robot.upper, robot.speeds
        for s, bend in zip(MIDDLES, BENDS):
            _stop_at_straight(robot, s, bend, lower[first[s] :], upper[first[s] :])
        centres, rest = robot.centres(skeleton), robot.rest
    n = int(counts.sum()) + 3
    places = skeleton.offsets.copy(), skeleton.interaction_points.copy()
    hinges = axes, origins, lower, upper, speeds
    return Tree(n, robot is not None, first, counts, *places, *hinges, centres, rest.copy())


def _stop_at_straight(
    robot: Robot, segment: int, bend: Vec3, lower: Floats, upper: Floats
) -> None:
    """Let an elbow or knee of one hinge bend to the side to which it bends, not the other."""
    if len(joints := robot.joints_of(segment)) == 1:
        # the T-pose, in which limbs are straight, is a turn by this angle from the zero pose
        turned = multiply(conjugate(robot.rest[PARENTS[segment]]), quat(robot.rest[segment]))
        axis = vec3(robot.axes[joints[0]])
        straight = min(max(dot(log(turned), axis), lower[0]), upper[0])
        if dot(rotate(quat(robot.rest[segment]), axis), bend) > 0.0:
            lower[0] = straight
        else:
            upper[0] = straight


def hinge_unknowns(robot: Robot) -> Ints:
    """Return which unknown each joint of a robot is, shape (n,)."""
    counts = np.bincount(robot.segments, minlength=N_SEGMENTS)
    counts[0] = 3
    first = np.cumsum(counts[::-1])[::-1] - counts
    within = np.arange(len(robot.names)) - np.searchsorted(robot.segments, robot.segments)
    return first[robot.segments] + within


@kernel
def pose_tree(
    tree: Tree, captured: Quats, angles: Floats, root: Vec3, x: Floats, pose: Pose
) -> None:
    """
    Fill the pose for unknowns x, joint rotations and hinge angles as captured, and a root [m].

    A ball joint is turned by exp(x) after its captured rotation, (16, 4); a hinge by x beyond its
    angle, (51,) [rad].
    """
    n = tree.n
    copy(add(root, vec3(x[n - 3 : n])), pose.p[0])
    for s in range(16):
        if s == 0 or not tree.is_robot:
            _turn_ball(tree, s, captured, x, pose)
        else:
            _turn_hinges(tree, s, angles, x, pose)
    for limb in range(4):
        copy(place(pose, ENDS[limb], tree.points[limb]), pose.ends[limb])
        copy(pose.p[MIDDLES[limb]], pose.ends[4 + limb])


@kernel
def _turn_ball(tree: Tree, s: int, captured: Quats, x: Floats, pose: Pose) -> None:
    k = tree.first[s]
    own = multiply(captured[s], exp(vec3(x[k : k + 3])))
    q = own
    if s > 0:
        above = _PARENTS[s]
        q = multiply(pose.q[above], own)
        copy(place(pose, above, tree.offsets[s]), pose.p[s])
    copy(own, pose.rotations[s])
    copy(q, pose.q[s])
    first, second, third = _turning_axes(vec3(x[k : k + 3]))
    copy(rotate(q, first), pose.axes[k])
    copy(rotate(q, second), pose.axes[k + 1])
    copy(rotate(q, third), pose.axes[k + 2])
    for i in range(k, k + 3):
        copy(pose.p[s], pose.origins[i])


@kernel
def _turning_axes(x: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """
    Return about which vectors, in the turned frame, exp(x) turns as each number of x grows.

    The columns of the right Jacobian of SO(3) (Sola2018 eq. 143): I - a [x] + b [x]^2.
    """
    square = dot(x, x)
    if square < SMALL_RAD**2:
        a, b = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    else:
        angle = math.sqrt(square)
        a, b = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    u, v, w = x
    c = 1.0 - b * square
    return (
        (c + b * u * u, b * u * v - a * w, b * u * w + a * v),
        (b * u * v + a * w, c + b * v * v, b * v * w - a * u),
        (b * u * w - a * v, b * v * w + a * u, c + b * w * w),
    )


@kernel
def _turn_hinges(tree: Tree, s: int, angles: Floats, x: Floats, pose: Pose) -> None:
    above = _PARENTS[s]
    # the body above, that of the zero pose moved: v -> q v + p
    q = multiply(pose.q[above], tree.rest[above])
    p = sub(pose.p[above], rotate(q, tree.centres[above]))
    for i in range(tree.first[s], tree.first[s] + tree.counts[s]):
        axis, origin = tree.axes[i], vec3(tree.origins[i])
        place_of_axis = add(p, rotate(q, origin))
        copy(rotate(q, axis), pose.axes[i])
        copy(place_of_axis, pose.origins[i])
        q = multiply(q, exp(scale(axis, angles[i] + x[i])))
        p = sub(place_of_axis, rotate(q, origin))
    copy(multiply(q, conjugate(tree.rest[s])), pose.q[s])
    copy(add(p, rotate(q, tree.centres[s])), pose.p[s])
    copy(multiply(conjugate(pose.q[above]), quat(pose.q[s])), pose.rotations[s])


@kernel
def above(segment: int) -> int:
    """Return the segment that carries another, -1 for the pelvis."""
    return _PARENTS[segment]


@kernel
def place(pose: Pose, segment: int, point: Vec3Like) -> Vec3:
    """Return where a point in a segment's frame is in world [m]."""
    return add(pose.p[segment], rotate(pose.q[segment], point))
