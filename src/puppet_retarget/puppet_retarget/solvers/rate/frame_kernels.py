# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A frame of rate control from sub-steps and corrections, and the calls from Python (kernels).

A frame in which the goals go far is divided, so that each part is as short as the Jacobian
holds. Corrections follow while the error is above a tolerance and falls.

"""

import math

import numpy as np
from puppet_core.arrays import Quats, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import angle_between, slerp
from puppet_retarget.solvers.rate.inverse_kernels import through_jacobian
from puppet_retarget.solvers.rate.rate_arrays import (
    ERROR,
    Inputs,
    inputs_of,
    Script,
    Settings,
    settings_of,
    State,
    state_of,
    STEPS,
    tree_of,
    TreeArrays,
    Work,
    work_of,
)
from puppet_retarget.solvers.rate.step_kernels import (
    apply_step,
    dexterity_gain,
    estimate_errors,
    fill_wish,
    goal_error,
    length_of,
    prepare_step,
)
from puppet_retarget.solvers.rate.task_kernels import (
    clamp_rows,
    error_rows,
    fill_jacobian,
    move_rows,
    task_point,
)
from puppet_retarget.solvers.rate.tasks import POSITION
from puppet_retarget.solvers.rate.tree_kernels import hang_on, pose_tree

WORTH_A_STEP = 0.8  # share of the error that a correction may leave to be followed by another


@kernel
def _sub_goals(tree: TreeArrays, inputs: Inputs, state: State, share: float, work: Work) -> None:
    """Write goals a share of the way from those of the step before."""
    for k in range(3):
        before = state.before_base[k]
        work.goal_base[k] = before + share * (inputs.base_position[k] - before)
    for task in range(tree.sizes[2]):
        for k in range(3):
            before = state.before_positions[task, k]
            work.goal_positions[task, k] = before + share * (inputs.positions[task, k] - before)
        slerp(
            state.before_orientations[task], inputs.orientations[task], share,
            work.goal_orientations[task],
        )  # fmt: skip


@kernel
def _sub_step(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, share: float, work: Work
) -> None:
    """Go a share of what is left of the frame."""
    _sub_goals(tree, inputs, state, share, work)
    n = prepare_step(tree, inputs, state, settings, work)
    gain = dexterity_gain(state, settings, n)
    # goals out of reach push back: what is wished against them would swing about
    yielding = settings.full_gain_error / max(state.measures[ERROR], settings.full_gain_error)
    fill_wish(tree, inputs, state, settings, share, gain * yielding, work)
    through_jacobian(work.jacobian, work.driven, tree.sizes[1], n, work.spare)
    carried = length_of(work.spare, n)
    bound = max(goal_error(tree, inputs, state, work) + carried, settings.slack)
    move_rows(
        tree, inputs, state, work.goal_positions, work.goal_orientations, work.goal_base,
        work.moves,
    )  # fmt: skip
    estimate_errors(tree, inputs, state, settings, n, work)
    for i in range(n):
        work.inputs[i] = work.moves[i] + gain * work.errors[i]
    clamp_rows(tree, inputs, settings.max_input_m, settings.max_input_rad, work.inputs)
    apply_step(tree, inputs, state, settings, n, bound, work)
    copy(work.goal_base, state.before_base)
    for task in range(tree.sizes[2]):
        copy(work.goal_positions[task], state.before_positions[task])
        copy(work.goal_orientations[task], state.before_orientations[task])


@kernel
def _correct(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, work: Work
) -> int:
    """Take further steps towards the goals until they are met; return how many."""
    for d in range(tree.sizes[1]):
        work.wish[d] = 0.0
        work.driven[d] = 0.0
    error = goal_error(tree, inputs, state, work)
    for step in range(settings.max_corrections):
        if error <= settings.tolerance:
            return step
        n = prepare_step(tree, inputs, state, settings, work)
        gain = dexterity_gain(state, settings, n)
        goal_error(tree, inputs, state, work)
        for i in range(n):
            work.inputs[i] = gain * work.errors[i]
        clamp_rows(tree, inputs, settings.max_input_m, settings.max_input_rad, work.inputs)
        apply_step(tree, inputs, state, settings, n, error, work)
        before, error = error, goal_error(tree, inputs, state, work)
        if error > WORTH_A_STEP * before:
            return step + 1
    return settings.max_corrections


@kernel
def _count_sub_steps(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings
) -> int:
    """Return how many parts the frame is divided into, by how far goals and base go."""
    most = 1.0
    base = tree.base[0]
    for task in range(tree.sizes[2]):
        if inputs.active[task] == 0:
            continue
        if tree.task_kinds[task] == POSITION:
            square = 0.0
            for k in range(3):
                step = inputs.positions[task, k] - state.before_positions[task, k]
                square += step * step
            most = max(most, math.sqrt(square) / settings.sub_step_m)
        else:
            turn = angle_between(state.before_orientations[task], inputs.orientations[task])
            most = max(most, turn / settings.sub_step_rad)
    if inputs.mobilities[0] == 0.0:
        turn = angle_between(state.q_world[base], inputs.base_orientation)
        most = max(most, turn / settings.sub_step_rad)
    return int(math.ceil(min(most, 1.0 * settings.max_sub_steps)))


@kernel
def advance(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, work: Work
) -> None:
    """Take a frame: bring the body from where it is to what the inputs ask for."""
    for k in range(6):
        state.gap[k] *= settings.kept_gap
    parts = _count_sub_steps(tree, inputs, state, settings)
    for part in range(parts):
        _sub_step(tree, inputs, state, settings, 1.0 / (parts - part), work)
    corrections = _correct(tree, inputs, state, settings, work)
    state.measures[STEPS] = parts + corrections
    state.measures[ERROR] = goal_error(tree, inputs, state, work)


@kernel
def begin(tree: TreeArrays, state: State) -> None:
    """Pose the tree from its base and joints, and forget all that was before."""
    pose_tree(tree, state.rotations, state.q_world, state.p_world)
    copy(state.p_world[tree.base[0]], state.before_base)
    for task in range(tree.sizes[2]):
        task_point(tree, state, task, state.before_positions[task])
        copy(state.q_world[tree.segments[task]], state.before_orientations[task])
    for k in range(6):
        state.gap[k] = 0.0
    state.measures[ERROR] = 0.0


@kernel
def advance_packed(packed: np.ndarray) -> None:
    """Take a frame, in place. `packed` holds RateArrays."""
    record = packed[0]
    advance(
        tree_of(record.tree), inputs_of(record.inputs), state_of(record.state),
        settings_of(record.settings), work_of(record.work),
    )  # fmt: skip


@kernel
def pose_packed(packed: np.ndarray) -> None:
    """Pose the tree from its base and joints, and take where its tasks are as their goals."""
    record = packed[0]
    tree, state, inputs = tree_of(record.tree), state_of(record.state), inputs_of(record.inputs)
    begin(tree, state)
    copy(state.before_base, inputs.base_position)
    for task in range(tree.sizes[2]):
        copy(state.before_positions[task], inputs.positions[task])
        copy(state.before_orientations[task], inputs.orientations[task])


@kernel
def jacobian_packed(packed: np.ndarray) -> int:
    """Fill Jacobian and errors where the body is; return the number of rows."""
    record = packed[0]
    tree, inputs = tree_of(record.tree), inputs_of(record.inputs)
    state, work = state_of(record.state), work_of(record.work)
    error_rows(
        tree, inputs, state, inputs.positions, inputs.orientations, inputs.base_position,
        work.errors,
    )  # fmt: skip
    return fill_jacobian(tree, inputs, state, work.jacobian)


@kernel
def play_packed(
    packed: np.ndarray, script: Script, rotations: Quats, q_world: Quats, p_world: Vec3s
) -> None:
    """Take all frames of a script; write rotations, orientations and positions of each."""
    record = packed[0]
    tree, inputs = tree_of(record.tree), inputs_of(record.inputs)
    state, settings = state_of(record.state), settings_of(record.settings)
    for i in range(len(script.bases)):
        if tree.base[0] != script.bases[i]:
            copy(script.entry_positions[i], inputs.base_position)
            copy(script.entry_orientations[i], inputs.base_orientation)
            hang_on(tree, inputs, state, script.bases[i], work_of(record.work).tried)
        copy(script.base_positions[i], inputs.base_position)
        copy(script.base_orientations[i], inputs.base_orientation)
        for task in range(tree.sizes[2]):
            inputs.active[task] = script.active[i, task]
            copy(script.positions[i, task], inputs.positions[task])
            copy(script.orientations[i, task], inputs.orientations[task])
        for joint in range(1, tree.sizes[0]):
            copy(script.imitated[i, joint], inputs.imitated[joint])
        advance(tree, inputs, state, settings, work_of(record.work))
        for segment in range(tree.sizes[0]):
            copy(state.rotations[segment], rotations[i, segment])
            copy(state.q_world[segment], q_world[i, segment])
            copy(state.p_world[segment], p_world[i, segment])


@kernel
def hang_on_packed(packed: np.ndarray, segment: int) -> None:
    """Make a segment the base; `inputs` has its pose."""
    record = packed[0]
    hang_on(
        tree_of(record.tree), inputs_of(record.inputs), state_of(record.state), segment,
        work_of(record.work).tried,
    )  # fmt: skip
