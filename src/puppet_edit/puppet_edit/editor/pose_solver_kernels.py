# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics of frames by penalties and conjugate gradients (LeeShin1999 section 5; kernel).

Minimises g = 1/2 (alpha_0 |v0|^2 + sum alpha_i |v_i|^2) + 1/2 sum w_i c_i^2, eqs. 4 and 6, over
the unknowns of `constraint_kernels`, frame by frame. Polak-Ribiere, preconditioned by the
curvature that the objective has as far as derivatives of first order tell, which makes
penalties of any weight harmless.

"""

import math
from typing import NamedTuple

from puppet_core.body import N_SEGMENTS
from puppet_core.math import (
    conjugate,
    copy,
    factorise_in_place,
    Floats,
    Ints,
    kernel,
    log,
    multiply,
    Quats,
    rotate,
    solve_factorised,
    Vec3s,
    work_array,
    work_table,
)
from puppet_edit.editor.constraint_kernels import (
    CLOSED,
    constraint_residual,
    copy_pose,
    FREE,
    LIMB_OF,
    limit_rows,
    MODE,
    OFFSET,
    Pose,
    PoseTask,
    pull_row_back,
    Residual,
    SEGMENT,
    Unknowns,
    UPPER,
    WEIGHT,
)
from puppet_edit.editor.limb_kernels import (
    choose_unknowns,
    move_pose,
    place_all,
    prepare_limbs,
    reduce_limbs,
)

PENALTY = 1e5  # w of a constraint of weight 1 [1/m^2], where turning a joint costs 1 [1/rad^2]
LIMIT_PENALTY = 1e4  # of going beyond a joint's limit [1/rad^2]
MET_M = 1e-9  # residuals below it are ignored

SUFFICIENT = 1e-4  # fraction of the predicted decrease that a step must reach (Armijo) [-]
LARGEST_TURN = 0.7  # of one segment in one step [rad]
SHORTEST_STEP = 1e-6  # of the promised one

TORSO_SAY = 0.05  # or a pelvis could hardly be moved while feet are planted before and after


@kernel
def _is_moving(task: PoseTask, segment: int) -> bool:
    limb = LIMB_OF[segment]
    return limb < 0 or task.limbs[limb, MODE] != FREE


@kernel
def deviation(task: PoseTask, pose: Pose, out: Floats) -> float:
    """
    Write the derivative of the secondary terms by all unknowns, shape (51,); return their value.

    The derivative of alpha |v|^2 / 2, v = log(q0^-1 q), by a turn in the segment's own frame is
    alpha v: v is an eigenvector of what relates the two.

    """
    total, turn = 0.0, work_array(4)
    for k in range(3):
        moved = pose.root[k] - task.root[k]
        out[k] = task.rigidity[0] * moved
        total += task.rigidity[0] * moved * moved
    for segment in range(N_SEGMENTS):
        first = 3 + 3 * segment
        if not _is_moving(task, segment):
            for k in range(3):
                out[first + k] = 0.0
            continue
        conjugate(task.rotations[segment], turn)
        multiply(turn, pose.rotations[segment], turn)
        log(turn, out[first : first + 3])
        alpha = task.rigidity[1 + segment]
        for k in range(3):
            total += alpha * out[first + k] * out[first + k]
            out[first + k] *= alpha
    return 0.5 * total


@kernel
def penalties(task: PoseTask, pose: Pose, residual: Residual) -> float:
    """Return the penalty terms of g."""
    total = 0.0
    values, rows = work_array(2), work_table(2, 3)
    for i in range(len(task.items)):
        constraint_residual(task.items[i], pose, residual)
        square = 0.0
        for row in range(3):
            square += residual.values[row] * residual.values[row]
        total += PENALTY * task.items[i, WEIGHT] * square
    for segment in range(1, N_SEGMENTS):
        if _is_moving(task, segment):
            for row in range(
                limit_rows(task.limits[segment], pose.rotations[segment], values, rows)
            ):
                total += LIMIT_PENALTY * values[row] * values[row]
    return 0.5 * total


@kernel
def _to_unknowns(
    task: PoseTask, full: Floats, limb_rows: Floats, unknowns: Unknowns, n: int, out: Floats
) -> None:
    """Turn a derivative by all angles into one by the unknowns."""
    for i in range(n):
        column = unknowns.columns[i]
        limb = LIMB_OF[(column - 3) // 3] if column >= 3 else -1
        is_swivel = limb >= 0 and task.limbs[limb, MODE] == CLOSED
        out[i] = 0.0 if is_swivel else full[column]
    for limb in range(4):
        if task.limbs[limb, MODE] != CLOSED:
            continue
        first = 3 + 3 * UPPER[limb]
        for k in range(9):
            share = full[first + k]
            if share != 0.0:
                for i in range(n):
                    out[i] += share * limb_rows[9 * limb + k, i]


@kernel
def _add_square(
    row: Floats, weight: float, value: float, n: int, gradient: Floats, curvature: Floats
) -> None:
    """Add a squared residual's derivative and curvature; the lower triangle counts."""
    for i in range(n):
        share = weight * row[i]
        if share != 0.0:
            gradient[i] += share * value
            for j in range(i + 1):
                curvature[i, j] += share * row[j]


@kernel
def _start_curvature(
    task: PoseTask, limb_rows: Floats, unknowns: Unknowns, n: int, out: Floats
) -> None:
    """Fill the curvature of the secondary terms."""
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = 0.0
        column = unknowns.columns[i]
        segment = (column - 3) // 3 if column >= 3 else -1
        limb = LIMB_OF[segment] if segment >= 0 else -1
        if limb < 0 or task.limbs[limb, MODE] != CLOSED:
            out[i, i] = task.rigidity[1 + segment]
    for limb in range(4):
        if task.limbs[limb, MODE] != CLOSED:
            continue
        for k in range(9):
            row, alpha = limb_rows[9 * limb + k], task.rigidity[1 + UPPER[limb] + k // 3]
            for i in range(n):
                share = alpha * row[i]
                if share != 0.0:
                    for j in range(i + 1):
                        out[i, j] += share * row[j]


@kernel
def pose_gradient(
    task: PoseTask,
    pose: Pose,
    unknowns: Unknowns,
    n: int,
    residual: Residual,
    full: Floats,
    limb_rows: Floats,
    row: Floats,
    gradient: Floats,
    curvature: Floats,
) -> None:
    """
    Fill the derivative of g by the unknowns and its curvature, of the first order.

    Parameters
    ----------
    task, pose, unknowns, n
        The problem, at a placed posture.
    residual : Residual
        Working space.
    full, row : ndarray, shape (51,)
        Working space.
    limb_rows : ndarray, shape (36, 51)
        Working space.
    gradient : ndarray, shape (51,)
        Out: its first n.
    curvature : ndarray, shape (51, 51)
        Out: the lower triangle of its first n rows.

    """
    reduce_limbs(task, pose, unknowns, n, full, limb_rows)
    deviation(task, pose, full)
    _to_unknowns(task, full, limb_rows, unknowns, n, gradient)
    _start_curvature(task, limb_rows, unknowns, n, curvature)
    for i in range(len(task.items)):
        constraint_residual(task.items[i], pose, residual)
        weight = PENALTY * task.items[i, WEIGHT]
        for k in range(3):
            if abs(residual.values[k]) < MET_M and _follows(task, i):
                continue
            pull_row_back(task.items[i], pose, residual, k, full)
            _to_unknowns(task, full, limb_rows, unknowns, n, row)
            _add_square(row, weight, residual.values[k], n, gradient, curvature)
    values, rows = work_array(2), work_table(2, 3)
    for segment in range(1, N_SEGMENTS):
        if not _is_moving(task, segment):
            continue
        for k in range(limit_rows(task.limits[segment], pose.rotations[segment], values, rows)):
            full[:] = 0.0
            copy(rows[k], full[3 + 3 * segment : 6 + 3 * segment])
            _to_unknowns(task, full, limb_rows, unknowns, n, row)
            _add_square(row, LIMIT_PENALTY, values[k], n, gradient, curvature)


@kernel
def _follows(task: PoseTask, index: int) -> bool:
    """Return whether a constraint is met by a limb in closed form, whatever the torso does."""
    limb = LIMB_OF[int(task.items[index, SEGMENT])]
    return limb >= 0 and task.limbs[limb, MODE] == CLOSED


@kernel
def _inner(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@kernel
def _spread(direction: Floats, unknowns: Unknowns, n: int, out: Floats) -> float:
    """Write a direction at the places of its unknowns; return the longest step along it."""
    out[:] = 0.0
    largest = 0.0
    for i in range(n):
        out[unknowns.columns[i]] = direction[i]
        if unknowns.columns[i] >= 3:
            largest = max(largest, abs(direction[i]))
    return LARGEST_TURN / largest if largest > LARGEST_TURN else 1.0


@kernel
def solve_pose(
    task: PoseTask,
    pose: Pose,
    trial: Pose,
    is_full: bool,
    max_iterations: int,
    tolerance: float,
    unknowns: Unknowns,
    residual: Residual,
    space: Floats,
    out: Pose,
) -> int:
    """
    Bring a posture to the minimum of g; return the number of steps.

    Parameters
    ----------
    task : PoseTask
        The problem.
    pose : Pose
        Where to start, such as the posture before; working space.
    trial : Pose
        Working space.
    is_full : bool
        Whether no limb is solved in closed form.
    max_iterations : int
        Cap of the steps.
    tolerance : float
        Fall of g that a further step would have to promise.
    unknowns, residual
        Working space.
    space : ndarray, shape (51 + 36 + 6, 51)
        Working space.
    out : Pose
        The solution, without its forward kinematics.

    """
    curvature, limb_rows = space[0:51], space[51:87]
    full, row, gradient, newton = space[87], space[88], space[89], space[90]
    old_gradient, direction = space[91], space[92]
    place_all(task, pose)
    prepare_limbs(task, pose, is_full)
    n = choose_unknowns(task, unknowns)
    full[:] = 0.0
    move_pose(task, pose, 0.0, full, trial)
    pose, trial = trial, pose
    energy = deviation(task, pose, full) + penalties(task, pose, residual)
    steps, old_fall = 0, 0.0
    while steps < max_iterations:
        pose_gradient(task, pose, unknowns, n, residual, full, limb_rows, row, gradient, curvature)
        factorise_in_place(curvature, n, True)
        solve_factorised(curvature, gradient, n, newton)
        fall = _inner(gradient, newton, n)
        if not fall > tolerance:
            break
        ratio = (
            max((fall - _inner(newton, old_gradient, n)) / old_fall, 0.0)
            if (old_fall > 0.0)
            else 0.0
        )
        for i in range(n):
            direction[i] = ratio * direction[i] - newton[i]
        slope = _inner(gradient, direction, n)
        if not slope < 0.0:
            for i in range(n):
                direction[i] = -newton[i]
            slope = -fall
        step = _spread(direction, unknowns, n, full)
        was_full, shortest = step == 1.0, SHORTEST_STEP * step
        copy(full, row)
        found = False
        while step > shortest:
            move_pose(task, pose, step, row, trial)
            tried = deviation(task, trial, full) + penalties(task, trial, residual)
            if tried < energy + SUFFICIENT * step * slope:
                found = True
                break
            was_full = False
            bend = tried - energy - slope * step
            wanted = -0.5 * slope * step * step / bend if bend > 0.0 else 0.0
            step = min(max(wanted, 0.1 * step), 0.5 * step)
        if not found:
            break
        steps += 1
        energy = tried
        old_fall = fall if was_full else 0.0
        copy(gradient, old_gradient)
        pose, trial = trial, pose
    copy_pose(pose, out)
    return steps


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
    tasks: FrameTasks,
    roots: Vec3s,
    rotations: Quats,
    is_full: bool,
    max_iterations: int,
    tolerance: float,
    columns: Ints,
    row_of: Ints,
    out_roots: Vec3s,
    out_rotations: Quats,
    displacements: Floats,
    says: Floats,
) -> int:
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
        Out: weight of the root's position and each segment in the displacement map: 0
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
        work_array(3),
        work_array(3),
        work_array(3),
        work_table(3, 3),
        work_table(3, 3),
        work_table(3, 3),
    )
    unknowns = Unknowns(columns, row_of)
    total, turn = 0, work_array(4)
    for j in range(len(tasks.frames)):
        frame = tasks.frames[j]
        task = PoseTask(
            tasks.offsets[frame],
            roots[frame],
            rotations[frame],
            tasks.items[tasks.starts[j] : tasks.starts[j + 1]],
            limbs,
            tasks.rigidity,
            tasks.limits,
        )
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
            log(turn, displacements[j, first : first + 3])
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
        pose = Pose(roots[frame], rotations[frame], q_world[frame], p_world[frame], matrices)
        task = PoseTask(
            offsets[frame], roots[frame], rotations[frame], limbs, limbs, roots[frame], limbs
        )
        place_all(task, pose)


@kernel
def item_errors(items: Floats, places: Ints, q_world: Quats, p_world: Vec3s, out: Floats) -> None:
    """Write the length of each item's residual, shape (m,) [m]; see `item_points`."""
    nothing = work_array(3)
    residual = Residual(
        work_array(3),
        work_array(3),
        work_array(3),
        work_table(3, 3),
        work_table(3, 3),
        work_table(3, 3),
    )
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
def item_points(items: Floats, places: Ints, q_world: Quats, p_world: Vec3s, out: Vec3s) -> None:
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
        rotate(q_world[place, segment], items[i, OFFSET : OFFSET + 3], out[i])
        for k in range(3):
            out[i, k] += p_world[place, segment, k]
