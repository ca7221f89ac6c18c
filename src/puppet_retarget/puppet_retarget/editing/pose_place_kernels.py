# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Postures from unknowns: the reduced coordinates of LeeShin1999 section 5.2 (kernel layer).

Root, torso and numerical limbs move as told; limbs in closed form follow. How the whole body's
angles change with the unknowns is the matrix that turns derivatives by angles into derivatives
by unknowns.

"""

from puppet_core.arrays import Floats, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import exp, multiply, normalize, rotate
from puppet_core.skeleton import N_SEGMENTS
from puppet_core.work_array import work_array, work_table
from puppet_retarget.editing.bending_limb_kernels import (
    limb_rates,
    prepare_bend,
    solve_bending_limb,
)
from puppet_retarget.editing.goal_kernels import pull_back
from puppet_retarget.editing.pose_arrays import (
    CLOSED,
    copy_pose,
    DATA,
    dot,
    END,
    FREE,
    KIND,
    LIMB_OF,
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
    SEGMENT,
    SEGMENT_PARENTS,
    TARGET,
    TIP,
    to_matrix,
    TURN,
    Unknowns,
    UPPER,
    VECTOR,
)


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
    to_matrix(pose.q_world[segment], pose.matrices[3 * segment:3 * segment + 3])


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
        item[KIND] == POINT and item[MASK] != 0.0 and item[MASK + 1] != 0.0
        and item[MASK + 2] != 0.0
    )  # fmt: skip


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
                copy(item[DATA:DATA + 3], row[TARGET:TARGET + 3])
                copy(item[OFFSET:OFFSET + 3], row[TIP:TIP + 3])
            elif segment == END[limb] and item[KIND] == ORIENTATION:
                n_turns += 1
                copy(item[DATA:DATA + 4], row[TURN:TURN + 4])
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
    copy(row[TIP:TIP + 3], tip)
    if is_oriented:
        rotate(row[TURN:TURN + 4], tip, tip)
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
def _limb_row(
    pose: Pose, limb: int, axis: Vec3, rates: Floats, part: int, full: Floats
) -> float:
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
