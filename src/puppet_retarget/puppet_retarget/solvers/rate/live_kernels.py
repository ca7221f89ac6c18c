# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rate control of the puppet in a frame of the live pipeline (kernels).

What ChoiKo2000 calls the reference end-effector trajectory of the animated character is made of
what importance says: an end-effector that matters goes where the performer's is, in the puppet's
world; one that does not goes where the captured angles take it; between them, a share of the way.

"""

import math

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import align_sign, slerp
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.importance.environment import objects_of
from puppet_retarget.solvers.end_effector_solver import set_goals
from puppet_retarget.solvers.frame_arrays import (
    Frame,
    frame_of,
    Goals,
    range_goals_of,
    update_kinematics,
)
from puppet_retarget.solvers.frame_kernels import measure, pose_captured
from puppet_retarget.solvers.joint_limits import limit_joints
from puppet_retarget.solvers.limb_ranges import ease
from puppet_retarget.solvers.puppet_model import model_of
from puppet_retarget.solvers.rate.frame_kernels import advance, begin
from puppet_retarget.solvers.rate.rate_arrays import (
    ERROR,
    Inputs,
    inputs_of,
    settings_of,
    State,
    state_of,
    STEPS,
    tree_of,
    TreeArrays,
    work_of,
)
from puppet_retarget.solvers.rate.tree_kernels import pose_tree

START_ROUNDS = 20  # of a first frame, until root and joints have settled
TANGLED_M = 0.02  # farther from the goals than the captured posture by so much: a dead end [m]
UNTANGLING = 0.1  # share of the way back to the captured posture in each such frame [-]
_ENDS = tuple(int(segment) for segment in LIMB_SEGMENTS[:, 2])


@kernel
def _ask(inputs: Inputs, goals: Goals, frame: Frame) -> float:
    """
    Fill the inputs from goals and from a frame that is posed as captured.

    What is free goes along with the root: it is not to hold on to a place in the air that has
    no meaning. Returned is how far from its goals the captured posture is [m].

    """
    square = 0.0
    for limb in range(4):
        share = ease(goals.importances[limb])
        inputs.carried[limb] = 1.0 - share
        for k in range(3):
            captured = frame.end_effectors[limb, k]
            away = share * (goals.positions[limb, k] - captured)
            inputs.positions[limb, k] = captured + away
            square += away * away
        copy(frame.q_world[_ENDS[limb]], inputs.orientations[4 + limb])
    copy(frame.root, inputs.base_position)
    copy(frame.rotations[0], inputs.base_orientation)
    for joint in range(1, 16):
        copy(frame.rotations[joint], inputs.imitated[joint])
    return math.sqrt(square)


@kernel
def _approach_captured(tree: TreeArrays, state: State, frame: Frame, share: float) -> None:
    """Bring the body a share of the way to the captured posture; 1 is all of it."""
    for k in range(3):
        state.p_world[0, k] += share * (frame.root[k] - state.p_world[0, k])
    slerp(state.q_world[0], frame.rotations[0], share, state.q_world[0])
    for joint in range(1, 16):
        slerp(state.rotations[joint], frame.rotations[joint], share, state.rotations[joint])
    pose_tree(tree, state.rotations, state.q_world, state.p_world)


@kernel
def _take(state: State, rotations: Quats, frame: Frame) -> None:
    """Take root and rotations of the controlled body, signs as captured."""
    copy(state.p_world[0], frame.root)
    align_sign(rotations[0], state.q_world[0], frame.rotations[0])
    for joint in range(1, 16):
        align_sign(rotations[joint], state.rotations[joint], frame.rotations[joint])


@kernel
def solve_rate_packed(
    packed: np.ndarray, controller: np.ndarray, hips: Vec3, rotations: Quats, rows: Floats,
    self_rows: Floats, is_start: bool,
) -> int:  # fmt: skip
    """
    Solve a frame in place; return how many steps it took.

    Parameters
    ----------
    packed : ndarray, shape (1,)
        The solver's SolverArrays.
    controller : ndarray, shape (1,)
        The controller's RateArrays: the same skeleton, positions of the end-effectors as its
        first four tasks, orientations of hands and feet as the next.
    hips, rotations, rows, self_rows : ndarray
        As in `Solver.solve`.
    is_start : bool
        Whether nothing is to be remembered of the frames before.

    """
    record, control = packed[0], controller[0]
    model, frame, numbers = model_of(record.model), frame_of(record.frame), record.tuning
    ranges = range_goals_of(record.goals)
    goals = Goals(ranges.positions, ranges.importances, ranges.radii, self_rows)
    set_goals(goals, rows, numbers.world_scale)
    pose_captured(model, numbers, hips, rotations, frame)
    tree, inputs = tree_of(control.tree), inputs_of(control.inputs)
    state = state_of(control.state)
    captured_error = _ask(inputs, goals, frame)
    rounds = 1
    if is_start:
        _approach_captured(tree, state, frame, 1.0)
        begin(tree, state)
        rounds = START_ROUNDS
    elif state.measures[ERROR] > captured_error + TANGLED_M:
        _approach_captured(tree, state, frame, UNTANGLING)
    for _ in range(rounds):
        advance(tree, inputs, state, settings_of(control.settings), work_of(control.work))
    _take(state, rotations, frame)
    if numbers.joint_limits:
        limit_joints(model.limits, frame.rotations)
    update_kinematics(model, frame)
    for k in range(3):
        frame.root_offset[k] = frame.root[k] - inputs.base_position[k]
    measure(model, objects_of(record.objects), goals, frame)
    return int(state.measures[STEPS])
