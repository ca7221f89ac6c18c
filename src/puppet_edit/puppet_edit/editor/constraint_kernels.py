# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The inverse kinematics of one frame as numbers: unknowns, constraints, joint limits (kernel layer).

Unknowns are counted as in LeeShin1999 eq. 5: the root's displacement, then three of each
joint, a turn in the segment's own frame. Of a limb that is solved in closed form only the first
of its shoulder's counts: it is the swivel angle.

Every row of a constraint's residual (eq. 6) is a length [m]: angles are multiplied by that of a
lever. Derivatives are forces: a row changes with the motion of a point and the turn of its
segment as the work of a force at the point and a torque would. Joint limits are inequality
constraints: nothing inside the limits, and beyond them how far the joint has gone.

"""

import math
from typing import NamedTuple

from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import (
    align_sign,
    angle_between,
    conjugate,
    copy,
    exp,
    Floats,
    Ints,
    kernel,
    log,
    multiply,
    Quat,
    Quats,
    rotate,
    Vec3,
    Vec3s,
    work_array,
)
from puppet_retarget.solvers import split_swing_twist

N_UNKNOWNS = 3 + 3 * N_SEGMENTS
N_TORSO = 4  # segments before the limbs'
SEGMENT_PARENTS = tuple(int(p) for p in PARENTS)
UPPER, LOWER, END = (tuple(int(s) for s in LIMB_SEGMENTS[:, i]) for i in range(3))
LIMB_OF = (-1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)  # of each segment

FREE, CLOSED, NUMERIC = 0, 1, 2  # how a limb is solved

# columns of PoseTask.items
KIND, SEGMENT, OTHER, OFFSET, SECOND, DATA, SCALAR, MASK, WEIGHT, N_ITEM = (
    0,
    1,
    2,
    3,
    6,
    9,
    13,
    14,
    17,
    18,
)
POINT, PLANE, ORIENTATION, LOOK, VECTOR, DISTANCE = range(6)

# columns of PoseTask.limbs
MODE, ORIENTED, AXIS, TIP, TARGET = 0, 1, 2, 5, 8
UPPER_RADIUS, LOWER_RADIUS, ALONG, REACH, CURRENT, TURN, N_LIMB = 11, 12, 13, 14, 16, 17, 21

# columns of PoseTask.limits
HAS, TWIST_AXIS, FIRST, SWING_SECOND, CENTRE, SWINGS, TWISTS, N_LIMIT = 0, 1, 4, 7, 10, 14, 16, 18

KEPT_INSIDE = 0.99  # fraction of a limit at which the penalty begins, so that it is kept

LEVER_M = 0.1  # at which an angle counts as a length: a hand's
NO_DIRECTION_M = 1e-9


class PoseTask(NamedTuple):
    """One frame's problem."""

    offsets: Vec3s  # (16, 3) of the skeleton [m]
    root: Vec3  # (3,) before the solution [m]
    rotations: Quats  # (16, 4) before the solution
    items: Floats  # (m, N_ITEM) constraints
    limbs: Floats  # (4, N_LIMB) how each limb is solved; filled by `prepare_limbs`
    rigidity: Floats  # (17,) of the root's position [1/m^2] and each joint [1/rad^2]
    limits: Floats  # (16, N_LIMIT) of the joints


class Pose(NamedTuple):
    """A posture with its forward kinematics."""

    root: Vec3  # (3,) [m]
    rotations: Quats  # (16, 4)
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3) [m]
    matrices: Floats  # (48, 3): of q_world, three rows a segment


class Unknowns(NamedTuple):
    """Which unknowns there are."""

    columns: Ints  # (51,) the first n: their places among all
    row_of: Ints  # (51,) the other way round, -1 where it is none


@kernel
def copy_pose(pose: Pose, out: Pose) -> None:
    """Copy a posture without its forward kinematics."""
    copy(pose.root, out.root)
    for segment in range(N_SEGMENTS):
        copy(pose.rotations[segment], out.rotations[segment])


@kernel
def cross(a: Vec3, b: Vec3, out: Vec3) -> None:
    """Write a x b; out may be neither."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a: Vec3, b: Vec3) -> float:
    """Return a . b of vectors of three."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def to_matrix(q: Floats, rows: Floats) -> None:
    """Write the rotation matrix of q to three rows."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    rows[0, 0], rows[0, 1] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z)
    rows[0, 2], rows[1, 0] = 2.0 * (x * z + w * y), 2.0 * (x * y + w * z)
    rows[1, 1], rows[1, 2] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    rows[2, 0], rows[2, 1] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x)
    rows[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def _turn_rates(
    axis: Vec3, swing: Vec3, twist: float, along: Vec3, side: Vec3, about: Vec3
) -> float:
    """
    Write how swing and twist change with a small turn in the joint's own frame.

    With sigma the swing's angle, u its axis, v = a x u: the swing changes along u by beta.u,
    along v by beta.v sigma / sin sigma, the twist by beta.a + tan(sigma / 2) beta.v, where beta
    is the turn seen before the twist.

    Parameters
    ----------
    axis, swing : ndarray, shape (3,)
        a and the swing's rotation vector.
    twist : float
        Angle [rad].
    along, side, about : ndarray, shape (3,)
        Out: u, v sigma / sin sigma and a + tan(sigma / 2) v, in the frame after the twist, so
        that their products with the turn are the three changes.

    Returns
    -------
    sigma : float
        The swing's angle [rad].

    """
    u, v, turn, q = work_array(3), work_array(3), work_array(3), work_array(4)
    sigma = math.sqrt(dot(swing, swing))
    if sigma > 1e-9:
        for k in range(3):
            u[k] = swing[k] / sigma
    else:
        # any axis square to a
        least = 0
        for k in range(1, 3):
            if abs(axis[k]) < abs(axis[least]):
                least = k
        turn[:] = 0.0
        turn[least] = 1.0
        cross(axis, turn, u)
        norm = math.sqrt(dot(u, u))
        for k in range(3):
            u[k] /= norm
    cross(axis, u, v)
    stretch = sigma / math.sin(sigma) if sigma > 1e-6 else 1.0
    slope = math.tan(0.5 * min(sigma, 3.0))
    for k in range(3):
        turn[k] = -twist * axis[k]
        side[k], about[k] = stretch * v[k], axis[k] + slope * v[k]
    exp(turn, q)
    rotate(q, u, along)
    rotate(q, side, side)
    rotate(q, about, about)
    return sigma


@kernel
def _split(limit: Floats, q: Quat, swing: Vec3, parts: Floats) -> float:
    """
    Write a joint's swing, and where it is in its limits; return its twist.

    The parts are the swing by its two axes [rad], its fraction of the cone, where 1 is the limit,
    and the twist from the middle of its range [rad].

    """
    local = work_array(4)
    multiply(limit[CENTRE : CENTRE + 4], q, local)
    twist = split_swing_twist(local, limit[TWIST_AXIS : TWIST_AXIS + 3], swing)
    parts[0] = dot(swing, limit[FIRST : FIRST + 3])
    parts[1] = dot(swing, limit[SWING_SECOND : SWING_SECOND + 3])
    parts[2] = math.sqrt((parts[0] / limit[SWINGS]) ** 2 + (parts[1] / limit[SWINGS + 1]) ** 2)
    offset = twist - 0.5 * (limit[TWISTS] + limit[TWISTS + 1])
    parts[3] = offset - 2.0 * math.pi * math.floor(offset / (2.0 * math.pi) + 0.5)
    return twist


@kernel
def limit_rows(limit: Floats, q: Quat, values: Floats, rows: Floats) -> int:
    """
    Write by how much a joint is beyond its limits.

    Parameters
    ----------
    limit : ndarray, shape (N_LIMIT,)
        Of PoseTask.limits.
    q : ndarray, shape (4,)
        The joint's rotation.
    values : ndarray, shape (2,)
        Out: beyond the cone, beyond the range of twist [rad].
    rows : ndarray, shape (2, 3)
        Out: how they change with a small turn in the joint's own frame.

    Returns
    -------
    n : int
        Rows that are not zero; they come first.

    """
    if limit[HAS] == 0.0:
        return 0
    swing, parts = work_array(3), work_array(4)
    along, side, about = work_array(3), work_array(3), work_array(3)
    axis = limit[TWIST_AXIS : TWIST_AXIS + 3]
    twist = _split(limit, q, swing, parts)
    x, y, rho, offset = parts[0], parts[1], parts[2] / KEPT_INSIDE, parts[3]
    a, b = KEPT_INSIDE * limit[SWINGS], KEPT_INSIDE * limit[SWINGS + 1]
    half = 0.5 * KEPT_INSIDE * (limit[TWISTS + 1] - limit[TWISTS])
    if rho <= 1.0 and abs(offset) <= half:
        return 0
    sigma = _turn_rates(axis, swing, twist, along, side, about)
    n = 0
    if rho > 1.0:
        # the swing's two parts change along u and v; v is a x u
        length = sigma if sigma > 1e-9 else 1.0
        ux, uy = x / length, y / length
        px, py = x / (a * a * rho), y / (b * b * rho)
        scale = math.sqrt(a * b)
        values[n] = scale * (rho - 1.0)
        for k in range(3):
            rows[n, k] = scale * ((px * ux + py * uy) * along[k] + (py * ux - px * uy) * side[k])
        n += 1
    if abs(offset) > half:
        sign = 1.0 if offset > 0.0 else -1.0
        values[n] = abs(offset) - half
        for k in range(3):
            rows[n, k] = sign * about[k]
        n += 1
    return n


@kernel
def keep_limits(limits: Floats, before: Quats, rotations: Quats) -> int:
    """
    Bring displaced joints back to their limits in place; return how many there were.

    Between constrained frames no penalty acts. A joint that was beyond its limits before
    may be so still, but not more.

    Parameters
    ----------
    limits : ndarray, shape (16, N_LIMIT)
        Of all joints.
    before, rotations : ndarray, shape (n, 16, 4)
        The motion before and after editing.

    """
    swing, was, parts = work_array(3), work_array(4), work_array(4)
    q, turn = work_array(4), work_array(4)
    n_changed = 0
    for segment in range(1, limits.shape[0]):
        limit = limits[segment]
        if limit[HAS] == 0.0:
            continue
        half = 0.5 * (limit[TWISTS + 1] - limit[TWISTS])
        for frame in range(len(rotations)):
            if angle_between(before[frame, segment], rotations[frame, segment]) == 0.0:
                continue
            _split(limit, before[frame, segment], swing, was)
            twist = _split(limit, rotations[frame, segment], swing, parts)
            cone, wide = max(was[2], 1.0), max(abs(was[3]), half)
            if parts[2] <= cone and abs(parts[3]) <= wide:
                continue
            n_changed += 1
            twist += min(max(parts[3], -wide), wide) - parts[3]
            share = min(cone / parts[2], 1.0) if parts[2] > 0.0 else 1.0
            for k in range(3):
                swing[k] *= share
            exp(swing, q)
            for k in range(3):
                swing[k] = twist * limit[TWIST_AXIS + k]
            exp(swing, turn)
            multiply(q, turn, q)
            conjugate(limit[CENTRE : CENTRE + 4], turn)
            multiply(turn, q, q)
            align_sign(before[frame, segment], q, rotations[frame, segment])
    return n_changed


class Residual(NamedTuple):
    """Rows of one constraint, up to three, and what they change with."""

    values: Vec3  # (3,) [m]
    point: Vec3  # (3,) where the forces act on the segment
    other: Vec3  # (3,) and on the other segment
    forces: Floats  # (3, 3) one a row
    torques: Floats  # (3, 3)
    counter: Floats  # (3, 3) forces on the other segment


@kernel
def world_point(pose: Pose, segment: int, offset: Vec3, out: Vec3) -> None:
    """Write a point of a segment in world [m]."""
    rotate(pose.q_world[segment], offset, out)
    for k in range(3):
        out[k] += pose.p_world[segment, k]


@kernel
def _orientation(goal: Quat, pose: Pose, segment: int, out: Residual) -> None:
    turn = work_array(4)
    conjugate(goal, turn)
    multiply(turn, pose.q_world[segment], turn)
    log(turn, out.values)
    for row in range(3):
        out.values[row] *= LEVER_M
        for k in range(3):
            # of log(goal^-1 q exp(d)) by d to first order; times the values it is exact
            out.torques[row, k] = LEVER_M * pose.matrices[3 * segment + k, row]


@kernel
def _look(item: Floats, pose: Pose, segment: int, out: Residual) -> None:
    axis, line = work_array(3), work_array(3)
    rotate(pose.q_world[segment], item[SECOND : SECOND + 3], axis)
    for k in range(3):
        line[k] = item[DATA + k] - out.point[k]
    distance = math.sqrt(dot(line, line))
    if distance < NO_DIRECTION_M:
        return
    for k in range(3):
        line[k] /= distance
    for row in range(3):
        out.values[row] = LEVER_M * (axis[row] - line[row])
        for k in range(3):
            unit = 1.0 if k == row else 0.0
            out.forces[row, k] = LEVER_M * (unit - line[row] * line[k]) / distance
    out.torques[0, 1], out.torques[0, 2] = LEVER_M * axis[2], -LEVER_M * axis[1]
    out.torques[1, 0], out.torques[1, 2] = -LEVER_M * axis[2], LEVER_M * axis[0]
    out.torques[2, 0], out.torques[2, 1] = LEVER_M * axis[1], -LEVER_M * axis[0]


@kernel
def _plane(item: Floats, out: Residual) -> None:
    value = dot(item[DATA : DATA + 3], out.point) - item[DATA + 3]
    side = item[SCALAR]
    if side * value > 0.0:
        return
    out.values[0] = value
    for k in range(3):
        out.forces[0, k] = item[DATA + k]


@kernel
def _between(kind: int, item: Floats, out: Residual) -> None:
    if kind == VECTOR:
        for row in range(3):
            out.values[row] = out.other[row] - out.point[row] - item[DATA + row]
            out.forces[row, row], out.counter[row, row] = -1.0, 1.0
        return
    distance = 0.0
    for k in range(3):
        distance += (out.other[k] - out.point[k]) ** 2
    distance = math.sqrt(distance)
    out.values[0] = distance - item[SCALAR]
    for k in range(3):
        # two points on each other part along any line
        way = (
            (out.other[k] - out.point[k]) / distance
            if distance > NO_DIRECTION_M
            else (1.0 if k == 0 else 0.0)
        )
        out.forces[0, k], out.counter[0, k] = -way, way


@kernel
def constraint_residual(item: Floats, pose: Pose, out: Residual) -> None:
    """Fill the rows of one constraint; those that it does not have are zero."""
    out.values[:] = 0.0
    out.forces[:] = 0.0
    out.torques[:] = 0.0
    out.counter[:] = 0.0
    kind, segment = int(item[KIND]), int(item[SEGMENT])
    world_point(pose, segment, item[OFFSET : OFFSET + 3], out.point)
    if kind == POINT:
        for row in range(3):
            out.values[row] = item[MASK + row] * (out.point[row] - item[DATA + row])
            out.forces[row, row] = item[MASK + row]
    elif kind == PLANE:
        _plane(item, out)
    elif kind == ORIENTATION:
        _orientation(item[DATA : DATA + 4], pose, segment, out)
    elif kind == LOOK:
        _look(item, pose, segment, out)
    elif kind == VECTOR or kind == DISTANCE:
        world_point(pose, int(item[OTHER]), item[SECOND : SECOND + 3], out.other)
        _between(kind, item, out)


@kernel
def pull_back(
    pose: Pose, segment: int, point: Vec3, force: Vec3, torque: Vec3, out: Floats
) -> None:
    """
    Add what a force and a torque on a segment do to all unknowns, shape (51,).

    A turn of a joint by delta in its segment's frame moves a point below it by
    (R delta) x (point - joint).

    """
    for k in range(3):
        out[k] += force[k]
    moment, lever = work_array(3), work_array(3)
    while segment >= 0:
        for k in range(3):
            lever[k] = point[k] - pose.p_world[segment, k]
        cross(lever, force, moment)
        for k in range(3):
            moment[k] += torque[k]
        rows = pose.matrices[3 * segment : 3 * segment + 3]
        for k in range(3):
            out[3 + 3 * segment + k] += (
                rows[0, k] * moment[0] + rows[1, k] * moment[1] + rows[2, k] * moment[2]
            )
        segment = SEGMENT_PARENTS[segment]


@kernel
def pull_row_back(item: Floats, pose: Pose, residual: Residual, row: int, out: Floats) -> None:
    """Write the derivative of one row by all unknowns, shape (51,)."""
    out[:] = 0.0
    pull_back(
        pose, int(item[SEGMENT]), residual.point, residual.forces[row], residual.torques[row], out
    )
    if item[KIND] == VECTOR or item[KIND] == DISTANCE:
        nothing = work_array(3)
        nothing[:] = 0.0
        pull_back(pose, int(item[OTHER]), residual.other, residual.counter[row], nothing, out)
