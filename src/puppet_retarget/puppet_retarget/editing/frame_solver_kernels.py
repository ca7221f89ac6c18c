# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of many frames, and their constraints' errors (kernel layer)."""

import math
from typing import NamedTuple

from puppet_core.arrays import Floats, Ints, Quats, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import conjugate, log, multiply, rotate
from puppet_core.skeleton import N_SEGMENTS
from puppet_core.work_array import work_array, work_table
from puppet_retarget.editing.goal_kernels import constraint_residual, Residual
from puppet_retarget.editing.pose_arrays import (
    CLOSED,
    LIMB_OF,
    MODE,
    OFFSET,
    Pose,
    PoseTask,
    SEGMENT,
    Unknowns,
)
from puppet_retarget.editing.pose_place_kernels import place_all
from puppet_retarget.editing.pose_solver_kernels import solve_pose

TORSO_SAY = 0.05  # or a pelvis could hardly be moved while feet are planted before and after


class FrameTasks(NamedTuple):
    """Constraints of a motion's frames, and what does not change from frame to frame."""

    frames: Ints  # (k,) rising, those with a constraint
    starts: Ints  # (k + 1,) first item of each
    items: Floats  # (m, N_ITEM)
    offsets: Vec3s  # (n, 16, 3) of each frame's body [m]
    rigidity: Floats  # (17,)
    limits: Floats  # (16, N_LIMIT)


@kernel
def solve_frames(
    tasks: FrameTasks, roots: Vec3s, rotations: Quats, is_full: bool, max_iterations: int,
    tolerance: float, columns: Ints, row_of: Ints, out_roots: Vec3s, out_rotations: Quats,
    displacements: Floats, says: Floats,
) -> int:  # fmt: skip
    """
    Solve every constrained frame from the motion as it is; return the steps of all together.

    Parameters
    ----------
    tasks : FrameTasks
        What to solve.
    roots, rotations : ndarray, shapes (n, 3) and (n, 16, 4)
        The motion.
    is_full, max_iterations, tolerance
        As for `solve_pose`.
    columns, row_of : ndarray, shape (51,)
        Working space.
    out_roots, out_rotations : ndarray, shapes (k, 3) and (k, 16, 4)
        Out: the solutions.
    displacements : ndarray, shape (k, 51)
        Out: m - m_0 of LeeShin1999 eq. 1, root and rotation vectors.
    says : ndarray, shape (k, 17)
        Out: what the root's position and each segment have to say about the displacement map: 0
        if no constraint depends on them, TORSO_SAY for the torso where all constraints are of
        limbs, which can meet them with other torsos too, else 1.

    """
    space, limbs = work_table(93, 51), work_table(4, 21)
    pose = Pose(
        work_array(3), work_table(16, 4), work_table(16, 4), work_table(16, 3), work_table(48, 3)
    )
    trial = Pose(
        work_array(3), work_table(16, 4), work_table(16, 4), work_table(16, 3), work_table(48, 3)
    )
    residual = Residual(
        work_array(3), work_array(3), work_array(3), work_table(3, 3), work_table(3, 3),
        work_table(3, 3),
    )  # fmt: skip
    unknowns = Unknowns(columns, row_of)
    total, turn = 0, work_array(4)
    for j in range(len(tasks.frames)):
        frame = tasks.frames[j]
        task = PoseTask(
            tasks.offsets[frame], roots[frame], rotations[frame],
            tasks.items[tasks.starts[j]:tasks.starts[j + 1]], limbs, tasks.rigidity,
            tasks.limits,
        )  # fmt: skip
        copy(roots[frame], pose.root)
        for segment in range(N_SEGMENTS):
            copy(rotations[frame, segment], pose.rotations[segment])
        out = Pose(out_roots[j], out_rotations[j], pose.q_world, pose.p_world, pose.matrices)
        total += solve_pose(
            task, pose, trial, is_full, max_iterations, tolerance, unknowns, residual, space, out
        )
        _fill_says(task, unknowns, says[j])
        for k in range(3):
            displacements[j, k] = out_roots[j, k] - roots[frame, k]
        for segment in range(N_SEGMENTS):
            first = 3 + 3 * segment
            conjugate(rotations[frame, segment], turn)
            multiply(turn, out_rotations[j, segment], turn)
            log(turn, displacements[j, first:first + 3])
    return total


@kernel
def _fill_says(task: PoseTask, unknowns: Unknowns, out: Floats) -> None:
    is_told = False
    for i in range(len(task.items)):
        if LIMB_OF[int(task.items[i, SEGMENT])] < 0:
            is_told = True
    torso = 1.0 if is_told else TORSO_SAY
    out[0] = torso
    for segment in range(N_SEGMENTS):
        limb = LIMB_OF[segment]
        is_closed = limb >= 0 and task.limbs[limb, MODE] == CLOSED
        has_unknown = unknowns.row_of[3 + 3 * segment] >= 0
        say = 1.0 if limb >= 0 else torso
        out[1 + segment] = say if is_closed or has_unknown else 0.0


@kernel
def place_frames(
    offsets: Vec3s, roots: Vec3s, rotations: Quats, q_world: Quats, p_world: Vec3s
) -> None:
    """Fill the forward kinematics of every frame: shapes (n, 16, 4) and (n, 16, 3) [m]."""
    matrices, limbs = work_table(48, 3), work_table(4, 21)
    for frame in range(len(roots)):
        pose = Pose(
            roots[frame], rotations[frame], q_world[frame], p_world[frame], matrices
        )
        task = PoseTask(
            offsets[frame], roots[frame], rotations[frame], limbs, limbs, roots[frame], limbs
        )
        place_all(task, pose)


@kernel
def item_errors(
    items: Floats, places: Ints, q_world: Quats, p_world: Vec3s, out: Floats
) -> None:
    """Write the length of each item's residual, shape (m,) [m]; see `item_points`."""
    nothing = work_array(3)
    residual = Residual(
        work_array(3), work_array(3), work_array(3), work_table(3, 3), work_table(3, 3),
        work_table(3, 3),
    )  # fmt: skip
    matrices = work_table(48, 3)
    matrices[:] = 0.0
    for i in range(len(items)):
        q, p = q_world[places[i]], p_world[places[i]]
        constraint_residual(items[i], Pose(nothing, q, q, p, matrices), residual)
        square = 0.0
        for row in range(3):
            square += residual.values[row] * residual.values[row]
        out[i] = math.sqrt(square)


@kernel
def item_points(
    items: Floats, places: Ints, q_world: Quats, p_world: Vec3s, out: Vec3s
) -> None:
    """
    Write where the point of each item is, shape (m, 3) [m].

    Parameters
    ----------
    items : ndarray, shape (m, N_ITEM)
        Constraints.
    places : ndarray, shape (m,)
        Which of the placed postures each item is of.
    q_world, p_world : ndarray, shapes (n, 16, 4) and (n, 16, 3)
        Placed postures.
    out : ndarray, shape (m, 3)
        Out.

    """
    for i in range(len(items)):
        segment, place = int(items[i, SEGMENT]), places[i]
        rotate(q_world[place, segment], items[i, OFFSET:OFFSET + 3], out[i])
        for k in range(3):
            out[i, k] += p_world[place, segment, k]
