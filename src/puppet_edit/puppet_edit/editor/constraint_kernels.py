# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The inverse kinematics of one frame as numbers: postures, constraints, joint limits (kernels).

Unknowns are those of LeeShin1999 eq. 5: the root's displacement, then three of each joint, a turn
in the segment's own frame. Of a limb in closed form only the first of its shoulder's counts: the
swivel angle. Residuals (eq. 6) are lengths [m]: angles are multiplied by that of a lever. Joint
limits are inequality constraints: how far the joint has gone beyond.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import (
    add,
    angle_between,
    clamp,
    cross,
    dot,
    Floats,
    kernel,
    norm,
    normalized,
    quat,
    scale,
    sub,
    values,
    vec3,
    Vec3s,
    work_array,
)
from puppet_retarget.solvers import sight, split_swing_twist

Vec3: TypeAlias = values.Vec3
Quat: TypeAlias = values.Quat

N_UNKNOWNS = 3 + 3 * N_SEGMENTS
PARENT_OF = tuple(int(p) for p in PARENTS)
UPPER, LOWER, END = (tuple(int(s) for s in LIMB_SEGMENTS[:, i]) for i in range(3))
LIMB_OF = (-1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)  # of each segment

POINT, PLANE, ORIENTATION, LOOK, VECTOR, DISTANCE = range(6)  # kinds of constraints

KEPT_INSIDE = 0.99  # fraction of a limit at which the penalty begins, so that it is kept
LEVER_M = 0.1  # at which an angle counts as a length: a hand's
NO_DIRECTION_M = 1e-9
_ZERO = (0.0, 0.0, 0.0)
UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

# a posture with its forward kinematics
POSE = np.dtype(
    [
        ('root', 'f8', 3),
        ('rotations', 'f8', (N_SEGMENTS, 4)),
        ('q_world', 'f8', (N_SEGMENTS, 4)),
        ('p_world', 'f8', (N_SEGMENTS, 3)),
    ],
    align=True,
)
# one point or segment of one constraint in one frame
ITEM = np.dtype(
    [
        ('frame', 'i8'),
        ('kind', 'i8'),
        ('segment', 'i8'),
        ('other', 'i8'),  # the second point's segment, for VECTOR and DISTANCE
        ('offset', 'f8', 3),  # the point in its segment [m]
        ('second', 'f8', 3),  # the second point in its segment [m], or an axis to look along
        ('goal', 'f8', 4),  # a place, a vector [m], an orientation, or a plane's normal and level
        ('scalar', 'f8'),  # a distance [m], or the sign of the free side of a plane
        ('mask', 'f8', 3),  # 1 for each coordinate of a place that counts
        ('weight', 'f8'),
    ],
    align=True,
)
# the limits of one joint
LIMIT = np.dtype(
    [
        ('has', 'i8'),
        ('axis', 'f8', 3),  # of the twist
        ('first', 'f8', 3),  # axes of the swing
        ('second', 'f8', 3),
        ('centre', 'f8', 4),  # inverse of the rotation that is mid-cone
        ('swing', 'f8', 2),  # half angles [rad]
        ('twist', 'f8', 2),  # least and greatest [rad]
    ],
    align=True,
)


class PoseTask(NamedTuple):
    """One frame's problem; a pose is a record of POSE throughout."""

    offsets: Vec3s  # (16, 3) of the skeleton [m]
    start: Any  # the pose before the solution
    items: np.ndarray  # ITEM (m,) constraints
    limbs: np.ndarray  # LIMB (4,) how each limb is solved; filled by `prepare_limbs`
    rigidity: Floats  # (17,) of the root's position [1/m^2] and each joint [1/rad^2]
    limits: np.ndarray  # LIMIT (16,) of the joints


@kernel
def place_segment(offsets: Vec3s, pose: Any, segment: int) -> None:
    parent = PARENT_OF[segment]
    if parent < 0:
        pose.q_world[0] = quat(pose.rotations[0])
        pose.p_world[0] = vec3(pose.root)
        return
    q_parent = quat(pose.q_world[parent])
    pose.q_world[segment] = values.multiply(q_parent, quat(pose.rotations[segment]))
    pose.p_world[segment] = add(
        values.rotate(q_parent, vec3(offsets[segment])), vec3(pose.p_world[parent])
    )


@kernel
def place_poses(offsets: Vec3s, poses: np.ndarray) -> None:
    """Fill the forward kinematics of postures (n,) of bodies (n, 16, 3) [m]."""
    for frame in range(len(poses)):
        for segment in range(N_SEGMENTS):
            place_segment(offsets[frame], poses[frame], segment)


@kernel
def displace(displacements: Floats, poses: np.ndarray) -> None:
    """Displace postures by (n, 51) roots [m] and rotation vectors in place (LeeShin1999 eq. 1)."""
    for frame in range(len(poses)):
        poses[frame].root[:] = add(poses[frame].root, vec3(displacements[frame, :3]))
        for segment in range(N_SEGMENTS):
            vector = vec3(displacements[frame, 3 + 3 * segment : 6 + 3 * segment])
            if vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0:
                rotation = poses[frame].rotations[segment]
                turned = values.multiply(quat(rotation), values.exp(vector))
                rotation[:] = values.normalize(turned)


@kernel
def world_point(pose: Any, segment: int, offset: Vec3) -> Vec3:
    """Return a point of a segment in world [m]."""
    return add(values.rotate(quat(pose.q_world[segment]), offset), vec3(pose.p_world[segment]))


@kernel
def residual(item: Any, pose: Any) -> Vec3:
    """Return the rows of one constraint [m]; those that it does not have are zero."""
    point = world_point(pose, item.segment, vec3(item.offset))
    goal, q = vec3(item.goal), quat(pose.q_world[item.segment])
    if item.kind == POINT:
        apart = sub(point, goal)
        return item.mask[0] * apart[0], item.mask[1] * apart[1], item.mask[2] * apart[2]
    if item.kind == PLANE:
        level = dot(goal, point) - item.goal[3]
        return (0.0 if item.scalar * level > 0.0 else level), 0.0, 0.0
    if item.kind == ORIENTATION:
        turn = values.multiply(values.conjugate(quat(item.goal)), q)
        return scale(values.log(turn), LEVER_M)
    if item.kind == LOOK:
        line, distance = sight(point, goal)
        if distance == 0.0:
            return 0.0, 0.0, 0.0
        return scale(sub(values.rotate(q, vec3(item.second)), line), LEVER_M)
    line = sub(world_point(pose, item.other, vec3(item.second)), point)
    if item.kind == VECTOR:
        return sub(line, goal)
    return norm(line) - item.scalar, 0.0, 0.0


@kernel
def row_forces(item: Any, pose: Any, row: int) -> tuple[Vec3, Vec3, Vec3]:
    """Return a row's force and torque on the segment (of first order), and force on the other."""
    unit, q = UNITS[row], quat(pose.q_world[item.segment])
    if item.kind == POINT:
        return scale(unit, item.mask[row]), _ZERO, _ZERO
    if item.kind == PLANE:
        return (vec3(item.goal) if residual(item, pose)[0] != 0.0 else _ZERO), _ZERO, _ZERO
    if item.kind == ORIENTATION:
        return _ZERO, scale(values.rotate(q, unit), LEVER_M), _ZERO
    point = world_point(pose, item.segment, vec3(item.offset))
    if item.kind == LOOK:
        line, distance = sight(point, vec3(item.goal))
        if distance == 0.0:
            return _ZERO, _ZERO, _ZERO
        force = scale(sub(unit, scale(line, line[row])), LEVER_M / distance)
        return force, scale(cross(values.rotate(q, vec3(item.second)), unit), LEVER_M), _ZERO
    if item.kind == VECTOR:
        return scale(unit, -1.0), _ZERO, unit
    line = sub(world_point(pose, item.other, vec3(item.second)), point)
    # two points on each other part along any line
    way = normalized(line) if norm(line) > NO_DIRECTION_M else UNITS[0]
    return scale(way, -1.0), _ZERO, way


@kernel
def pull_back(
    pose: Any, segment: int, point: Vec3, force: Vec3, torque: Vec3, out: Floats
) -> None:
    """
    Add what a force and a torque on a segment do to all unknowns, shape (51,).

    A turn of a joint by delta in its segment's frame moves a point below it by
    (R delta) x (point - joint).
    """
    for k in range(3):
        out[k] += force[k]
    while segment >= 0:
        moment = add(cross(sub(point, vec3(pose.p_world[segment])), force), torque)
        local = values.rotate_inverse(quat(pose.q_world[segment]), moment)
        for k in range(3):
            out[3 + 3 * segment + k] += local[k]
        segment = PARENT_OF[segment]


@kernel
def pull_row_back(item: Any, pose: Any, row: int, out: Floats) -> None:
    """Write the derivative of one row by all unknowns, shape (51,)."""
    out[:] = 0.0
    force, torque, counter = row_forces(item, pose, row)
    point = world_point(pose, item.segment, vec3(item.offset))
    pull_back(pose, item.segment, point, force, torque, out)
    if item.kind >= VECTOR:
        other = world_point(pose, item.other, vec3(item.second))
        pull_back(pose, item.other, other, counter, _ZERO, out)


@kernel
def _split(limit: Any, q: Quat) -> tuple[Vec3, float, float, float]:
    """Return swing, its fraction of the cone, twist, and that from its range's middle [rad]."""
    swing_out = work_array(3)
    local: Any = values.multiply(quat(limit.centre), q)
    axis: Any = vec3(limit.axis)
    twist = split_swing_twist(local, axis, swing_out)
    swing = vec3(swing_out)
    x, y = dot(swing, vec3(limit.first)), dot(swing, vec3(limit.second))
    cone = math.sqrt((x / limit.swing[0]) ** 2 + (y / limit.swing[1]) ** 2)
    offset = twist - 0.5 * (limit.twist[0] + limit.twist[1])
    return swing, cone, twist, offset - 2.0 * math.pi * math.floor(offset / (2.0 * math.pi) + 0.5)


@kernel
def beyond_limits(limit: Any, q: Quat) -> tuple[float, float]:
    """Return by how much a joint is beyond its cone and its range of twist, 0 inside [rad]."""
    if limit.has == 0:
        return 0.0, 0.0
    _, cone, _, offset = _split(limit, q)
    size = KEPT_INSIDE * math.sqrt(limit.swing[0] * limit.swing[1])
    half = 0.5 * KEPT_INSIDE * (limit.twist[1] - limit.twist[0])
    return size * max(cone / KEPT_INSIDE - 1.0, 0.0), max(abs(offset) - half, 0.0)


@kernel
def limit_slopes(limit: Any, q: Quat) -> tuple[Vec3, Vec3]:
    """
    Return how both parts of `beyond_limits` change with a small turn in the joint's own frame.

    With sigma the swing's angle, u its axis, v = a x u: the swing changes along u by beta.u,
    along v by beta.v sigma / sin sigma, the twist by beta.a + tan(sigma / 2) beta.v, where beta
    is the turn seen before the twist.
    """
    swing, cone, twist, offset = _split(limit, q)
    axis, sigma = vec3(limit.axis), norm(swing)
    u = scale(swing, 1.0 / sigma) if sigma > 1e-9 else vec3(limit.first)
    v = cross(axis, u)
    about = values.exp(scale(axis, -twist))
    stretch = sigma / math.sin(sigma) if sigma > 1e-6 else 1.0
    along, side = values.rotate(about, u), values.rotate(about, scale(v, stretch))
    twisting = add(axis, scale(v, math.tan(0.5 * min(sigma, 3.0))))
    a, b = KEPT_INSIDE * limit.swing[0], KEPT_INSIDE * limit.swing[1]
    first, second = dot(swing, vec3(limit.first)), dot(swing, vec3(limit.second))
    rho, length = max(cone / KEPT_INSIDE, 1.0), (sigma if sigma > 1e-9 else 1.0)
    x, y = first / length, second / length
    px, py = first / (a * a * rho), second / (b * b * rho)
    by_cone = add(scale(along, px * x + py * y), scale(side, py * x - px * y))
    sign = 1.0 if offset > 0.0 else -1.0
    return scale(by_cone, math.sqrt(a * b)), scale(values.rotate(about, twisting), sign)


@kernel
def keep_limits(limits: np.ndarray, before: np.ndarray, poses: np.ndarray) -> None:
    """
    Bring displaced joints back to their limits in place.

    Between constrained frames no penalty acts. A joint that was beyond its limits before
    may be so still, but not more. `before` and `poses` are (n,) of POSE, `limits` (16,).
    """
    for segment in range(1, len(limits)):
        limit = limits[segment]
        if limit.has == 0:
            continue
        half = 0.5 * (limit.twist[1] - limit.twist[0])
        for frame in range(len(poses)):
            q_before, q = before[frame].rotations[segment], poses[frame].rotations[segment]
            if angle_between(q_before, q) == 0.0:
                continue
            _, cone_before, _, offset_before = _split(limit, quat(q_before))
            swing, cone, twist, offset = _split(limit, quat(q))
            widest, farthest = max(cone_before, 1.0), max(abs(offset_before), half)
            if cone <= widest and abs(offset) <= farthest:
                continue
            twist += clamp(offset, -farthest, farthest) - offset
            factor = min(widest / cone, 1.0) if cone > 0.0 else 1.0
            local = values.multiply(
                values.exp(scale(swing, factor)), values.exp(scale(vec3(limit.axis), twist))
            )
            kept = values.multiply(values.conjugate(quat(limit.centre)), local)
            q[:] = values.align_sign(quat(q_before), kept)
