# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Postures from unknowns, with limbs in closed form (kernel layer, LeeShin1999 sections 5.2, 5.3).

The elbow bends about one axis, fixed in both segments, until shoulder and tip are as far apart
as shoulder and goal (eq. 7); the shoulder brings the tip to the goal by the least rotation, and
swivels about the line to it. The tip is the wrist if the hand's orientation is given, and else
the point itself, on a hand that stays on its forearm as it was.

Root, torso and numerical limbs move as the unknowns say; limbs in closed form follow. How the
whole body's angles change with the unknowns is the matrix that turns derivatives by angles into
derivatives by unknowns.

"""

import math

from puppet_core.body import N_SEGMENTS, polar_limit, soft_distance, soft_distance_slope
from puppet_core.math import (
    between,
    conjugate,
    copy,
    exp,
    Floats,
    kernel,
    multiply,
    normalize,
    Quat,
    rotate,
    rotate_inverse,
    Vec3,
    work_array,
    work_table,
)
from puppet_edit.editor.constraint_kernels import (
    ALONG,
    AXIS,
    CLOSED,
    copy_pose,
    cross,
    CURRENT,
    DATA,
    dot,
    END,
    FREE,
    KIND,
    LIMB_OF,
    LOWER,
    LOWER_RADIUS,
    MASK,
    MODE,
    N_TORSO,
    N_UNKNOWNS,
    NUMERIC,
    OFFSET,
    ORIENTATION,
    ORIENTED,
    OTHER,
    POINT,
    Pose,
    PoseTask,
    pull_back,
    REACH,
    SEGMENT,
    SEGMENT_PARENTS,
    TARGET,
    TIP,
    to_matrix,
    TURN,
    Unknowns,
    UPPER,
    UPPER_RADIUS,
    VECTOR,
)
from puppet_retarget.solvers import bend_hint, EXACT_SHARE, STRAIGHT

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
def bending_axis(limb: int, upper: Vec3, lower: Vec3, q_upper: Quat, out: Vec3) -> None:
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
    copy(bend_hint(limb, q_upper), hint)
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
    rotate(pose.q_world[lower], row[TIP : TIP + 3], b)
    for k in range(3):
        a[k] = pose.p_world[lower, k] - pose.p_world[upper, k]
        tip[k] = a[k] + b[k]
    bending_axis(limb, a, b, pose.q_world[upper], axis)
    rotate_inverse(pose.q_world[lower], axis, row[AXIS : AXIS + 3])
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
def solve_bending_limb(task: PoseTask, pose: Pose, limb: int, swivel: float) -> None:
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
    rotate(q_lower, row[TIP : TIP + 3], tip)
    rotate(q_lower, row[AXIS : AXIS + 3], axis)
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
        rotate(q_lower, row[TIP : TIP + 3], tip)
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
        copy(row[TURN : TURN + 4], q_upper)
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
    rotate(pose.q_world[lower], row[TIP : TIP + 3], tip)
    rotate(pose.q_world[lower], row[AXIS : AXIS + 3], axis)
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


@kernel
def place_segment(task: PoseTask, pose: Pose, segment: int) -> None:
    """Fill a segment's world frame from its parent's."""
    parent = SEGMENT_PARENTS[segment]
    if parent < 0:
        copy(pose.rotations[0], pose.q_world[0])
        copy(pose.root, pose.p_world[0])
    else:
        multiply(pose.q_world[parent], pose.rotations[segment], pose.q_world[segment])
        rotate(pose.q_world[parent], task.offsets[segment], pose.p_world[segment])
        for k in range(3):
            pose.p_world[segment, k] += pose.p_world[parent, k]
    to_matrix(pose.q_world[segment], pose.matrices[3 * segment : 3 * segment + 3])


@kernel
def place_all(task: PoseTask, pose: Pose) -> None:
    """Fill the forward kinematics of a posture."""
    for segment in range(N_SEGMENTS):
        place_segment(task, pose, segment)


@kernel
def move_pose(task: PoseTask, pose: Pose, step: float, by: Floats, out: Pose) -> None:
    """Fill another posture, a step along a direction of all unknowns, shape (51,)."""
    copy_pose(pose, out)
    turn, vector = work_array(4), work_array(3)
    for k in range(3):
        out.root[k] += step * by[k]
    for segment in range(N_SEGMENTS):
        limb = LIMB_OF[segment]
        if limb >= 0 and task.limbs[limb, MODE] != NUMERIC:
            if segment == UPPER[limb] and task.limbs[limb, MODE] == CLOSED:
                solve_bending_limb(task, out, limb, step * by[3 + 3 * segment])
        else:
            for k in range(3):
                vector[k] = step * by[3 + 3 * segment + k]
            if vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0:
                exp(vector, turn)
                multiply(out.rotations[segment], turn, turn)
                normalize(turn, out.rotations[segment])
        place_segment(task, out, segment)


@kernel
def _is_exact_point(item: Floats) -> bool:
    return (
        item[KIND] == POINT
        and item[MASK] != 0.0
        and item[MASK + 1] != 0.0
        and item[MASK + 2] != 0.0
    )


@kernel
def prepare_limbs(task: PoseTask, pose: Pose, is_full: bool) -> None:
    """
    Choose how each limb is solved, and fill what the closed form needs.

    Limbs without a constraint stay as they are. The closed form is for a hand or foot with the
    place of one point, with or without its orientation; all else is left to the numbers.

    Parameters
    ----------
    task : PoseTask
        Its `limbs` are filled.
    pose : Pose
        Before the solution, with its forward kinematics.
    is_full : bool
        Whether the closed form is never used (LeeShin1999 section 5.1).

    """
    for limb in range(4):
        row = task.limbs[limb]
        n_points, n_turns, n_others = 0, 0, 0
        for i in range(len(task.items)):
            item = task.items[i]
            segment = int(item[SEGMENT])
            if item[KIND] >= VECTOR and LIMB_OF[int(item[OTHER])] == limb:
                n_others += 1
            if LIMB_OF[segment] != limb:
                continue
            if segment == END[limb] and _is_exact_point(item):
                n_points += 1
                copy(item[DATA : DATA + 3], row[TARGET : TARGET + 3])
                copy(item[OFFSET : OFFSET + 3], row[TIP : TIP + 3])
            elif segment == END[limb] and item[KIND] == ORIENTATION:
                n_turns += 1
                copy(item[DATA : DATA + 4], row[TURN : TURN + 4])
            else:
                n_others += 1
        row[MODE] = NUMERIC
        if n_points + n_turns + n_others == 0:
            row[MODE] = FREE
        elif not is_full and n_points == 1 and n_turns <= 1 and n_others == 0:
            row[MODE] = CLOSED
            _prepare_closed(task, pose, limb, n_turns == 1)


@kernel
def _prepare_closed(task: PoseTask, pose: Pose, limb: int, is_oriented: bool) -> None:
    row, tip = task.limbs[limb], work_array(3)
    row[ORIENTED] = 1.0 if is_oriented else 0.0
    copy(row[TIP : TIP + 3], tip)
    if is_oriented:
        rotate(row[TURN : TURN + 4], tip, tip)
        for k in range(3):
            row[TARGET + k] -= tip[k]
            row[TIP + k] = task.offsets[END[limb], k]
    else:
        rotate(task.rotations[END[limb]], tip, tip)
        for k in range(3):
            row[TIP + k] = task.offsets[END[limb], k] + tip[k]
    prepare_bend(limb, pose, row)


@kernel
def choose_unknowns(task: PoseTask, unknowns: Unknowns) -> int:
    """Fill which unknowns can change a constraint; return their number."""
    unknowns.row_of[:] = -1
    for k in range(6):
        unknowns.row_of[k] = 0
    for i in range(len(task.items)):
        for side in (SEGMENT, OTHER):
            segment = int(task.items[i, side])
            if side == OTHER and task.items[i, KIND] < VECTOR:
                continue
            while segment >= 0:
                limb = LIMB_OF[segment]
                if limb < 0 or task.limbs[limb, MODE] == NUMERIC:
                    for k in range(3):
                        unknowns.row_of[3 + 3 * segment + k] = 0
                elif segment == UPPER[limb] and task.limbs[limb, MODE] == CLOSED:
                    unknowns.row_of[3 + 3 * segment] = 0
                segment = SEGMENT_PARENTS[segment]
    n = 0
    for column in range(N_UNKNOWNS):
        if unknowns.row_of[column] == 0:
            unknowns.row_of[column] = n
            unknowns.columns[n] = column
            n += 1
    return n


@kernel
def _gather(full: Floats, unknowns: Unknowns, out: Floats) -> None:
    """Pick what the torso's unknowns do."""
    for column in range(3 + 3 * N_TORSO):
        if unknowns.row_of[column] >= 0:
            out[unknowns.row_of[column]] = full[column]


@kernel
def _limb_row(pose: Pose, limb: int, axis: Vec3, rates: Floats, part: int, full: Floats) -> float:
    """
    Write how one joint of a closed limb turns about an axis with the torso; return by swivel.

    Rows 0 to 2 of the rates are `by_shift`, row 3 `by_bend`, row 4 the line, of `limb_rates`.

    """
    shift, turn, line = work_array(3), work_array(3), rates[4]
    along, bend = dot(axis, line), dot(axis, rates[3])
    sign = 1.0 if part == 0 else -1.0
    for k in range(3):
        shift[k] = 0.0
        turn[k] = 0.0
        if part != 1:
            shift[k] = sign * (
                axis[0] * rates[0, k] + axis[1] * rates[1, k] + axis[2] * rates[2, k]
            )
            turn[k] = sign * along * line[k]
        if part == 0:
            turn[k] -= axis[k]
        elif part == 1:
            shift[k] = bend * line[k]
        else:
            shift[k] -= bend * line[k]
    full[:] = 0.0
    parent = SEGMENT_PARENTS[UPPER[limb]]
    pull_back(pose, parent, pose.p_world[UPPER[limb]], shift, turn, full)
    return sign * along if part != 1 else 0.0


@kernel
def reduce_limbs(
    task: PoseTask, pose: Pose, unknowns: Unknowns, n: int, full: Floats, out: Floats
) -> None:
    """
    Fill how the nine angles of each closed limb change with the unknowns.

    Parameters
    ----------
    task, pose, unknowns
        The problem, at a solved posture.
    n : int
        Number of unknowns.
    full : ndarray, shape (51,)
        Working space.
    out : ndarray, shape (36, 51)
        Nine rows a limb; those of other limbs are not touched.

    """
    rates, axis = work_table(5, 3), work_array(3)
    for limb in range(4):
        row = task.limbs[limb]
        if row[MODE] != CLOSED:
            continue
        limb_rates(row, pose, limb, rates[0:3], rates[3], rates[4])
        for part in range(3):
            segment = UPPER[limb] + part
            for k in range(3):
                target = out[9 * limb + 3 * part + k]
                for i in range(n):
                    target[i] = 0.0
                if part == 2 and row[ORIENTED] == 0.0:
                    continue
                for i in range(3):
                    axis[i] = pose.matrices[3 * segment + i, k]
                swivel = _limb_row(pose, limb, axis, rates, part, full)
                _gather(full, unknowns, target)
                target[unknowns.row_of[3 + 3 * UPPER[limb]]] = swivel
