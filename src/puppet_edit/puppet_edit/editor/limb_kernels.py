# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Postures from unknowns, with limbs in closed form (kernels, LeeShin1999 sections 5.2, 5.3).

The elbow bends about one axis until shoulder and tip are as far apart as shoulder and goal (eq.
7); the shoulder brings the tip to the goal by the least rotation, and swivels about the line to
it. The tip is the wrist if the hand's orientation is given, else the point itself.
"""

import math
from typing import Any

import numpy as np
from puppet_core.body import N_SEGMENTS, polar_limit, soft_distance, soft_distance_slope
from puppet_core.math import (
    add,
    cross,
    dot,
    Floats,
    Ints,
    kernel,
    norm,
    quat,
    scale,
    sub,
    values,
    vec3,
)
from puppet_edit.editor.constraint_kernels import (
    END,
    LIMB_OF,
    LOWER,
    N_UNKNOWNS,
    ORIENTATION,
    PARENT_OF,
    place_segment,
    POINT,
    PoseTask,
    pull_back,
    Quat,
    UNITS,
    UPPER,
    Vec3,
    VECTOR,
)

FREE, CLOSED, NUMERIC = 0, 1, 2  # how a limb is solved
MIN_DISTANCE_M = 1e-9  # shorter lines have no direction
STRAIGHT = 0.2  # sine of the upper segment's angle below which a limb counts as straight [-]
EXACT_SHARE = 0.998  # of a limb's length, to which it is stretched exactly [-]
_KNEE_HINT, _ELBOW_HINT = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)  # in the upper segment's frame

# how one limb is solved, and what the closed form needs
LIMB = np.dtype(
    [
        ('mode', 'i8'),
        ('oriented', 'i8'),  # whether the end segment's orientation is given
        ('axis', 'f8', 3),  # of the elbow, in the lower segment
        ('tip', 'f8', 3),  # in the lower segment [m]
        ('target', 'f8', 3),  # of the tip, in world [m]
        ('upper_radius', 'f8'),  # distances of shoulder and tip from the elbow's axis [m]
        ('lower_radius', 'f8'),
        ('along', 'f8'),  # how far apart shoulder and tip are along the axis [m]
        # two lengths whose sum and difference are the limb's reach, and what it keeps back [m]
        ('reach', 'f8', 3),
        ('current', 'f8'),  # distance of shoulder and tip before the solution [m]
        ('turn', 'f8', 4),  # orientation of the end segment, if given
    ],
    align=True,
)


@kernel
def bend_angle(r1: float, r2: float, along: float, distance: float) -> float:
    """
    Return the angle between the segments that brings shoulder and wrist so far apart, 0 .. pi.

    LeeShin1999 eq. 7, where l1^2 + l2^2 + 2 sqrt(l1^2 - r1^2) sqrt(l2^2 - r2^2) is
    r1^2 + r2^2 + along^2: r1 and r2 are their distances from the elbow's axis, and `along` how far
    apart they are along it [m].
    """
    return polar_limit(r1, r2, math.sqrt(max(distance * distance - along * along, 0.0)))


@kernel
def _bend_hint(limb: int, q_upper: Quat) -> Vec3:
    """Return the world direction to which a straight elbow or knee moves when it bends."""
    return values.rotate(q_upper, _ELBOW_HINT if limb < 2 else _KNEE_HINT)


@kernel
def _bending_axis(limb: int, upper: Vec3, lower: Vec3, q_upper: Quat) -> Vec3:
    """
    Return the unit axis in world about which an elbow or knee bends: the limb's plane's normal.

    Of a nearly straight limb, more and more, the axis about which it bends by nature.
    """
    axis = scale(cross(upper, lower), 1.0 / math.sqrt(dot(upper, upper) * dot(lower, lower)))
    doubt = max(1.0 - norm(axis) / STRAIGHT, 0.0)
    axis = add(axis, scale(cross(_bend_hint(limb, q_upper), upper), doubt * doubt / norm(upper)))
    length = norm(axis)
    return scale(axis, 1.0 / length) if length > 1e-12 else (0.0, 1.0, 0.0)


@kernel
def _reached(limb: Any, distance: float) -> float:
    """Return how far the tip comes from the shoulder when its goal is at a distance [m]."""
    return soft_distance(distance, limb.current, limb.reach[0], limb.reach[1], limb.reach[2])


@kernel
def _bend(shoulder: Vec3, tip: Vec3, axis: Vec3, wanted: float) -> Quat:
    """Return the turn about the elbow after which both, seen from it, are at the angle wanted."""
    a = sub(shoulder, scale(axis, dot(shoulder, axis)))
    b = sub(tip, scale(axis, dot(tip, axis)))
    angle = -wanted - math.atan2(dot(cross(a, b), axis), dot(a, b))
    angle -= 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)
    return values.exp(scale(axis, angle))


@kernel
def _set_joint(pose: Any, segment: int, q_parent: Quat, q_world: Quat) -> None:
    relative = values.multiply(values.conjugate(q_parent), q_world)
    pose.rotations[segment] = values.normalize(relative)


@kernel
def solve_bending_limb(task: PoseTask, pose: Any, number: int, swivel: float) -> None:
    """Fill a limb's joint rotations: its tip at the goal, or near, turned by `swivel` [rad]."""
    limb, upper, lower = task.limbs[number], UPPER[number], LOWER[number]
    parent = PARENT_OF[upper]
    q_parent = quat(pose.q_world[parent])
    shoulder = add(values.rotate(q_parent, vec3(task.offsets[upper])), vec3(pose.p_world[parent]))
    line = sub(vec3(limb.target), shoulder)
    q_upper = values.multiply(q_parent, quat(pose.rotations[upper]))
    q_lower = values.multiply(q_upper, quat(pose.rotations[lower]))
    distance = norm(line)
    if distance >= MIN_DISTANCE_M:
        elbow = values.rotate(q_upper, vec3(task.offsets[lower]))  # from the shoulder
        tip, axis = values.rotate(q_lower, vec3(limb.tip)), values.rotate(q_lower, vec3(limb.axis))
        wanted = bend_angle(
            limb.upper_radius, limb.lower_radius, limb.along, _reached(limb, distance)
        )
        q_lower = values.multiply(_bend(scale(elbow, -1.0), tip, axis, wanted), q_lower)
        tip = add(elbow, values.rotate(q_lower, vec3(limb.tip)))
        turn = values.multiply(
            values.exp(scale(line, swivel / distance)), values.between(tip, line)
        )
        q_upper, q_lower = values.multiply(turn, q_upper), values.multiply(turn, q_lower)
    _set_joint(pose, upper, q_parent, q_upper)
    _set_joint(pose, lower, q_upper, q_lower)
    if limb.oriented != 0:
        _set_joint(pose, END[number], q_lower, quat(limb.turn))


@kernel
def move_pose(task: PoseTask, pose: Any, step: float, by: Floats, out: Any) -> None:
    """Fill another posture, a step along a direction of all unknowns, shape (51,)."""
    out.root[:] = add(vec3(pose.root), scale(vec3(by[:3]), step))
    for segment in range(N_SEGMENTS):
        out.rotations[segment] = quat(pose.rotations[segment])
    for segment in range(N_SEGMENTS):
        limb, first = LIMB_OF[segment], 3 + 3 * segment
        if limb >= 0 and task.limbs[limb].mode != NUMERIC:
            if segment == UPPER[limb] and task.limbs[limb].mode == CLOSED:
                solve_bending_limb(task, out, limb, step * by[first])
        elif by[first] != 0.0 or by[first + 1] != 0.0 or by[first + 2] != 0.0:
            turn = values.exp(scale(vec3(by[first : first + 3]), step))
            turned = values.multiply(quat(out.rotations[segment]), turn)
            out.rotations[segment] = values.normalize(turned)
        place_segment(task.offsets, out, segment)


@kernel
def prepare_limbs(task: PoseTask, is_full: bool) -> None:
    """
    Choose how each limb is solved, and fill what the closed form needs.

    The closed form is for a hand or foot with the place of one point; all else is left to the
    numbers, and everything if `is_full` (LeeShin1999 section 5.1).
    """
    for number in range(4):
        limb = task.limbs[number]
        point, turn, n_others = -1, -1, 0
        for i in range(len(task.items)):
            item = task.items[i]
            if item.kind >= VECTOR and LIMB_OF[item.other] == number:
                n_others += 1
            if LIMB_OF[item.segment] != number:
                continue
            is_end = item.segment == END[number]
            is_place = item.kind == POINT and item.mask[0] * item.mask[1] * item.mask[2] != 0.0
            if is_end and is_place and point < 0:
                point = i
            elif is_end and item.kind == ORIENTATION and turn < 0:
                turn = i
            else:
                n_others += 1
        if point < 0 and turn < 0 and n_others == 0:
            limb.mode = FREE
        elif is_full or point < 0 or n_others > 0:
            limb.mode = NUMERIC
        else:
            limb.mode = CLOSED
            _prepare_closed(task, number, point, turn)


@kernel
def _prepare_closed(task: PoseTask, number: int, point: int, turn: int) -> None:
    """Fill a limb's tip and target from its items, its axis, radii and reach from the start."""
    limb, start = task.limbs[number], task.start
    upper, lower, end = UPPER[number], LOWER[number], END[number]
    goal, offset = vec3(task.items[point].goal), vec3(task.items[point].offset)
    wrist = vec3(task.offsets[end])
    limb.oriented = 1 if turn >= 0 else 0
    if turn >= 0:
        q_end = quat(task.items[turn].goal)
        limb.turn[:] = q_end
        limb.target[:] = sub(goal, values.rotate(q_end, offset))
        limb.tip[:] = wrist
    else:
        limb.target[:] = goal
        limb.tip[:] = add(wrist, values.rotate(quat(start.rotations[end]), offset))
    q_lower = quat(start.q_world[lower])
    a = sub(vec3(start.p_world[lower]), vec3(start.p_world[upper]))
    b = values.rotate(q_lower, vec3(limb.tip))
    axis = _bending_axis(number, a, b, quat(start.q_world[upper]))
    limb.axis[:] = values.rotate_inverse(q_lower, axis)
    first, second = dot(a, axis), dot(b, axis)
    r1 = math.sqrt(max(dot(a, a) - first * first, 0.0))
    r2 = math.sqrt(max(dot(b, b) - second * second, 0.0))
    along = first + second
    longest = math.sqrt(along * along + (r1 + r2) ** 2)
    shortest = math.sqrt(along * along + (r1 - r2) ** 2)
    limb.upper_radius, limb.lower_radius, limb.along = r1, r2, along
    limb.reach[0], limb.reach[1] = 0.5 * (longest + shortest), 0.5 * (longest - shortest)
    limb.reach[2] = (1.0 - EXACT_SHARE) * (limb.reach[0] + limb.reach[1])
    limb.current = norm(add(a, b))


@kernel
def choose_unknowns(task: PoseTask, columns: Ints, row_of: Ints) -> int:
    """
    Find the n unknowns that can change a constraint; return n.

    The first n of `columns` (51,) are their places among all; `row_of` (51,) the reverse, or -1.
    """
    row_of[:] = -1
    row_of[:6] = 0
    for i in range(len(task.items)):
        item = task.items[i]
        for side in range(2 if item.kind >= VECTOR else 1):
            segment = item.other if side == 1 else item.segment
            while segment >= 0:
                limb, first = LIMB_OF[segment], 3 + 3 * segment
                if limb < 0 or task.limbs[limb].mode == NUMERIC:
                    row_of[first : first + 3] = 0
                elif segment == UPPER[limb] and task.limbs[limb].mode == CLOSED:
                    row_of[first] = 0
                segment = PARENT_OF[segment]
    n = 0
    for column in range(N_UNKNOWNS):
        if row_of[column] == 0:
            row_of[column] = n
            columns[n] = column
            n += 1
    return n


@kernel
def limb_rows(task: PoseTask, pose: Any, row_of: Ints, full: Floats, out: Floats) -> None:
    """
    Fill how the nine angles of each closed limb change with the unknowns of a solved pose.

    When its shoulder moves, the upper segment turns with the line to the goal and as the elbow
    bends, the forearm by the elbow's bend more; both turn with the parent about that line, and
    with the swivel angle. An end segment whose orientation is given turns the other way. `out`
    (36, n) has nine rows a limb; those of other limbs are not touched. `full` (51,) is for work.
    """
    for number in range(4):
        limb, upper, lower = task.limbs[number], UPPER[number], LOWER[number]
        if limb.mode != CLOSED:
            continue
        q_lower, shoulder = quat(pose.q_world[lower]), vec3(pose.p_world[upper])
        elbow_axis = values.rotate(q_lower, vec3(limb.axis))
        swing = cross(elbow_axis, values.rotate(q_lower, vec3(limb.tip)))
        line = sub(vec3(limb.target), shoulder)
        distance, rate, spin_rate = norm(line), 0.0, 0.0
        if distance < MIN_DISTANCE_M:
            line, distance = (0.0, 0.0, 0.0), 1.0
        else:
            line = scale(line, 1.0 / distance)
            stretch = dot(swing, line)
            # a straight limb gets longer by no bend: keep the rate finite
            stretch = min(stretch, -1e-7) if stretch <= 0.0 else max(stretch, 1e-7)
            upper_m, lower_m, kept_back = vec3(limb.reach)
            slope = soft_distance_slope(distance, limb.current, upper_m, lower_m, kept_back)
            rate = -slope / stretch  # of the bend, along the line
            spin_rate = -rate / _reached(limb, distance)
        spin = cross(line, swing)
        for part in range(3):
            q = quat(pose.q_world[upper + part])
            for k in range(3):
                row = out[9 * number + 3 * part + k]
                row[:] = 0.0
                if part == 2 and limb.oriented == 0:
                    continue
                axis = values.rotate(q, UNITS[k])
                along, bend = dot(axis, line), scale(line, rate * dot(axis, elbow_axis))
                by_shift = scale(line, spin_rate * dot(axis, spin))
                by_shift = sub(by_shift, scale(cross(axis, line), 1.0 / distance))
                force, torque, swivel = by_shift, sub(scale(line, along), axis), along
                if part == 1:
                    force, torque, swivel = bend, (0.0, 0.0, 0.0), 0.0
                elif part == 2:
                    force = scale(add(by_shift, bend), -1.0)
                    torque, swivel = scale(line, -along), -along
                full[:] = 0.0
                pull_back(pose, PARENT_OF[upper], shoulder, force, torque, full)
                for column in range(3 + 3 * UPPER[0]):  # of the torso
                    if row_of[column] >= 0:
                        row[row_of[column]] = full[column]
                row[row_of[3 + 3 * upper]] = swivel
