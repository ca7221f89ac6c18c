# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A limb in closed form: bend, point, swivel (kernel, LeeShin1999 section 5.3).

The elbow bends about one axis, fixed in both segments, until shoulder and tip are as far apart
as shoulder and goal (eq. 7); the shoulder brings the tip to the goal by the least rotation, and
swivels about the line to it. The tip is the wrist if the hand's orientation is given, and else
the point itself, on a hand that stays on its forearm as it was.

"""

import math

from puppet_core.arrays import Floats, Quat, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.limb_triangle import polar_limit, soft_distance, soft_distance_slope
from puppet_core.quaternion import (
    between,
    conjugate,
    exp,
    multiply,
    normalize,
    rotate,
    rotate_inverse,
)
from puppet_core.work_array import work_array
from puppet_retarget.editing.pose_arrays import (
    ALONG,
    AXIS,
    cross,
    CURRENT,
    dot,
    END,
    LOWER,
    LOWER_RADIUS,
    ORIENTED,
    Pose,
    PoseTask,
    REACH,
    SEGMENT_PARENTS,
    TARGET,
    TIP,
    TURN,
    UPPER,
    UPPER_RADIUS,
)
from puppet_retarget.solvers.limb_position import EXACT_SHARE, STRAIGHT
from puppet_retarget.solvers.limb_rotation import bend_hint

MIN_DISTANCE_M = 1e-9  # shorter lines have no direction


@kernel
def bend_angle(r1: float, r2: float, along: float, distance: float) -> float:
    """
    Return the angle phi between the segments that brings shoulder and wrist so far apart.

    LeeShin1999 eq. 7, where l1^2 + l2^2 + 2 sqrt(l1^2 - r1^2) sqrt(l2^2 - r2^2) is
    r1^2 + r2^2 + along^2. Clamped to 0 .. pi where the limb is too short or cannot fold so far.

    Parameters
    ----------
    r1, r2 : float
        Distances of shoulder and wrist from the elbow's axis [m].
    along : float
        How far apart they are along that axis [m].
    distance : float
        L, between shoulder and wrist [m].

    """
    return polar_limit(r1, r2, math.sqrt(max(distance * distance - along * along, 0.0)))


@kernel
def bending_axis(
    limb: int, upper: Vec3, lower: Vec3, q_upper: Quat, out: Vec3
) -> None:
    """
    Write the unit axis about which an elbow or knee bends, in world.

    The normal of the limb's plane. A nearly straight limb has hardly one: there it is, more
    and more, the axis about which such a limb bends by nature.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    upper, lower : ndarray, shape (3,)
        From shoulder to elbow, and on to the tip [m].
    q_upper : ndarray, shape (4,)
        Orientation of the upper segment.
    out : ndarray, shape (3,)
        Out.

    """
    hint, natural = work_array(3), work_array(3)
    lengths = math.sqrt(dot(upper, upper) * dot(lower, lower))
    cross(upper, lower, out)
    for k in range(3):
        out[k] /= lengths
    doubt = max(1.0 - math.sqrt(dot(out, out)) / STRAIGHT, 0.0)
    bend_hint(limb, q_upper, hint)
    cross(hint, upper, natural)
    share = doubt * doubt / math.sqrt(dot(upper, upper))
    for k in range(3):
        out[k] += share * natural[k]
    norm = math.sqrt(dot(out, out))
    for k in range(3):
        out[k] = out[k] / norm if norm > 1e-12 else (1.0 if k == 1 else 0.0)


@kernel
def prepare_bend(limb: int, pose: Pose, row: Floats) -> None:
    """Fill a limb's axis, radii and reach from the posture before the solution."""
    a, b = work_array(3), work_array(3)
    axis, tip = work_array(3), work_array(3)
    upper, lower = UPPER[limb], LOWER[limb]
    rotate(pose.q_world[lower], row[TIP:TIP + 3], b)
    for k in range(3):
        a[k] = pose.p_world[lower, k] - pose.p_world[upper, k]
        tip[k] = a[k] + b[k]
    bending_axis(limb, a, b, pose.q_world[upper], axis)
    rotate_inverse(pose.q_world[lower], axis, row[AXIS:AXIS + 3])
    first, second = dot(a, axis), dot(b, axis)
    r1 = math.sqrt(max(dot(a, a) - first * first, 0.0))
    r2 = math.sqrt(max(dot(b, b) - second * second, 0.0))
    along = first + second
    longest = math.sqrt(along * along + (r1 + r2) ** 2)
    shortest = math.sqrt(along * along + (r1 - r2) ** 2)
    row[UPPER_RADIUS], row[LOWER_RADIUS], row[ALONG] = r1, r2, along
    # two lengths with these as their sum and difference
    row[REACH], row[REACH + 1] = 0.5 * (longest + shortest), 0.5 * (longest - shortest)
    row[CURRENT] = math.sqrt(dot(tip, tip))


@kernel
def reached(row: Floats, distance: float) -> float:
    """Return how far the tip comes from the shoulder when its goal is at a distance [m]."""
    upper, lower = row[REACH], row[REACH + 1]
    kept_back = (1.0 - EXACT_SHARE) * (upper + lower)
    return soft_distance(distance, row[CURRENT], upper, lower, kept_back)


@kernel
def reached_slope(row: Floats, distance: float) -> float:
    """Return the derivative of `reached`."""
    upper, lower = row[REACH], row[REACH + 1]
    kept_back = (1.0 - EXACT_SHARE) * (upper + lower)
    return soft_distance_slope(distance, row[CURRENT], upper, lower, kept_back)


@kernel
def _bend(elbow: Vec3, shoulder: Vec3, tip: Vec3, axis: Vec3, wanted: float, turn: Quat) -> None:
    """Write the turn about the elbow's axis after which the segments are at the angle wanted."""
    a, b, normal = work_array(3), work_array(3), work_array(3)
    for k in range(3):
        a[k], b[k] = shoulder[k] - elbow[k], tip[k] - elbow[k]
    first, second = dot(a, axis), dot(b, axis)
    for k in range(3):
        a[k] -= first * axis[k]
        b[k] -= second * axis[k]
    cross(a, b, normal)
    angle = -wanted - math.atan2(dot(normal, axis), dot(a, b))
    angle -= 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)
    for k in range(3):
        a[k] = angle * axis[k]
    exp(a, turn)


@kernel
def solve_bending_limb(
    task: PoseTask, pose: Pose, limb: int, swivel: float
) -> None:
    """
    Fill the joint rotations of a limb whose parent segment is in place.

    Parameters
    ----------
    task : PoseTask
        With what `prepare_bend` filled in.
    pose : Pose
        In: the parent's world frame, and joint rotations from which to start; out: those that
        bring the tip to its goal, or as near as the limb reaches.
    limb : int
        Index into LIMBS.
    swivel : float
        Turn about the line from shoulder to goal, after all else [rad].

    """
    row, upper, lower = task.limbs[limb], UPPER[limb], LOWER[limb]
    q_parent, shoulder = pose.q_world[SEGMENT_PARENTS[upper]], work_array(3)
    q_upper, q_lower, turn = work_array(4), work_array(4), work_array(4)
    elbow, tip, axis, line = work_array(3), work_array(3), work_array(3), work_array(3)
    rotate(q_parent, task.offsets[upper], shoulder)
    for k in range(3):
        shoulder[k] += pose.p_world[SEGMENT_PARENTS[upper], k]
        line[k] = row[TARGET + k] - shoulder[k]
    multiply(q_parent, pose.rotations[upper], q_upper)
    multiply(q_upper, pose.rotations[lower], q_lower)
    rotate(q_upper, task.offsets[lower], elbow)
    rotate(q_lower, row[TIP:TIP + 3], tip)
    rotate(q_lower, row[AXIS:AXIS + 3], axis)
    for k in range(3):
        elbow[k] += shoulder[k]
        tip[k] += elbow[k]
    distance = math.sqrt(dot(line, line))
    if distance >= MIN_DISTANCE_M:
        wanted = bend_angle(
            row[UPPER_RADIUS], row[LOWER_RADIUS], row[ALONG], reached(row, distance)
        )
        _bend(elbow, shoulder, tip, axis, wanted, turn)
        multiply(turn, q_lower, q_lower)
        rotate(q_lower, row[TIP:TIP + 3], tip)
        for k in range(3):
            tip[k] += elbow[k] - shoulder[k]
        between(tip, line, turn)
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
        for k in range(3):
            axis[k] = swivel * line[k] / distance
        exp(axis, turn)
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
    _relative(q_parent, q_upper, turn, pose.rotations[upper])
    _relative(q_upper, q_lower, turn, pose.rotations[lower])
    if row[ORIENTED] != 0.0:
        copy(row[TURN:TURN + 4], q_upper)
        _relative(q_lower, q_upper, turn, pose.rotations[END[limb]])


@kernel
def _relative(q_parent: Quat, q_child: Quat, work: Quat, out: Quat) -> None:
    conjugate(q_parent, work)
    multiply(work, q_child, work)
    normalize(work, out)


@kernel
def limb_rates(
    row: Floats, pose: Pose, limb: int, by_shift: Floats, by_bend: Vec3, line: Vec3
) -> None:
    """
    Write how a solved limb turns when its shoulder moves, its parent turns, and it swivels.

    The upper segment turns by `by_shift` times the shoulder's motion, the forearm by the
    elbow's bend more, which is `by_bend` times the motion along the line; both turn with the
    parent about that line, and with the swivel angle.

    Parameters
    ----------
    row : ndarray, shape (N_LIMB,)
        Of PoseTask.limbs.
    pose : Pose
        The solved posture with its forward kinematics.
    limb : int
        Index into LIMBS.
    by_shift : ndarray, shape (3, 3)
        Out: turn of the upper segment by the shoulder's motion [rad/m].
    by_bend : ndarray, shape (3,)
        Out: the forearm's turn on top of that, when the shoulder moves along the line [rad/m].
    line : ndarray, shape (3,)
        Out: unit vector from shoulder to goal.

    """
    upper, lower = UPPER[limb], LOWER[limb]
    tip, axis, swing, spin = work_array(3), work_array(3), work_array(3), work_array(3)
    rotate(pose.q_world[lower], row[TIP:TIP + 3], tip)
    rotate(pose.q_world[lower], row[AXIS:AXIS + 3], axis)
    for k in range(3):
        line[k] = row[TARGET + k] - pose.p_world[upper, k]
    distance = math.sqrt(dot(line, line))
    if distance < MIN_DISTANCE_M:
        by_shift[:] = 0.0
        by_bend[:] = 0.0
        line[:] = 0.0
        return
    for k in range(3):
        line[k] /= distance
    length = reached(row, distance)
    cross(axis, tip, swing)
    stretch = dot(swing, line)
    # a straight limb gets longer by no bend: keep the rate finite
    stretch = min(stretch, -1e-7) if stretch <= 0.0 else max(stretch, 1e-7)
    rate = -reached_slope(row, distance) / stretch  # d phi by motion along the line
    cross(line, swing, spin)
    for k in range(3):
        by_bend[k] = rate * axis[k]
        for i in range(3):
            by_shift[k, i] = -rate / length * spin[k] * line[i]
    # - (line x shift) / distance
    by_shift[0, 1] += line[2] / distance
    by_shift[0, 2] -= line[1] / distance
    by_shift[1, 0] -= line[2] / distance
    by_shift[1, 2] += line[0] / distance
    by_shift[2, 0] += line[1] / distance
    by_shift[2, 1] -= line[0] / distance
