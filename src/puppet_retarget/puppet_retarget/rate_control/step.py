# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A step of closed-loop inverse rate control (ChoiKo2000 eq. 16), and a frame made of steps.

A step maps the goals' displacement, and the estimate of the error it will leave, through the
pseudo-inverse. It is shortened when it would bring the body farther from its goals than it was:
so no gain and no frame rate makes it oscillate. A frame in which the goals go far is divided, so
that each part is as short as the Jacobian holds. Corrections follow while the error is above a
tolerance and falls. The functions named `*_packed` are the calls from Python.
"""

import math

import numpy as np
from puppet_core.math import (
    angle_between,
    copy,
    factorise_in_place,
    Floats,
    kernel,
    slerp,
    solve_factorised,
    unpack,
)
from puppet_retarget.rate_control.kinematics import (
    clamp_rows,
    error_rows,
    fill_jacobian,
    hang_on,
    move_rows,
    move_tree,
    pose_tree,
    task_point,
    wish_rates,
)
from puppet_retarget.rate_control.state import (
    DAMPING,
    DEXTERITY,
    ERROR,
    Inputs,
    RateArrays,
    Settings,
    State,
    STEPS,
    TreeArrays,
    Work,
)
from puppet_retarget.rate_control.tree import POSITION

ROUNDS = 2
FLOOR = 1e-12  # of the trace, added to the diagonal against rounding
NUDGE = 1e-3  # added to a remembered direction, so that it can turn


# The damped pseudo-inverse of a stacked Jacobian, and what else is wished in its null space.
#
# With few constraints and many degrees of freedom the small matrix J W J^T is formed and
# factorised by Cholesky: for 8 x 30 an eighth of the work of a singular value decomposition, and
# W comes in for nothing. Squaring loses digits only where singular values are small, which the
# damping takes over, and the closed loop corrects the rest. The extreme singular values, for
# damping and gains, come from power and inverse iteration: the directions are kept from frame to
# frame, so two rounds follow them, and the smallest pivot catches a new one at once.


@kernel
def fill_gram(jacobian: Floats, mobilities: Floats, n_dofs: int, n: int, gram: Floats) -> float:
    """Write J W J^T, shape (n, n), of a transposed Jacobian; return its trace."""
    for i in range(n):
        for j in range(i + 1):
            gram[i, j] = 0.0
    for d in range(n_dofs):
        if mobilities[d] == 0.0:
            continue
        for i in range(n):
            value = mobilities[d] * jacobian[d, i]
            if value != 0.0:
                for j in range(i + 1):
                    gram[i, j] += value * jacobian[d, j]
    trace = 0.0
    for i in range(n):
        trace += gram[i, i]
        for j in range(i):
            gram[j, i] = gram[i, j]
    return trace


@kernel
def _normalise(vector: Floats, n: int) -> float:
    """Bring a vector to unit length, in place; return the length it had."""
    square = 0.0
    for i in range(n):
        square += vector[i] * vector[i]
    length = math.sqrt(square)
    if length > 0.0:
        for i in range(n):
            vector[i] /= length
    return length


@kernel
def _nudge(vector: Floats, n: int) -> None:
    for i in range(n):
        vector[i] += NUDGE * (1.0 + 0.1 * i) * (1.0 if i % 2 == 0 else -1.0)
    _normalise(vector, n)


@kernel
def largest_eigenvalue(gram: Floats, n: int, direction: Floats, spare: Floats) -> float:
    """Return about the largest eigenvalue; `direction`, shape (n,), is kept for the next call."""
    _nudge(direction, n)
    value = 0.0
    for _ in range(ROUNDS):
        for i in range(n):
            spare[i] = 0.0
            for j in range(n):
                spare[i] += gram[i, j] * direction[j]
        for i in range(n):
            direction[i] = spare[i]
        value = _normalise(direction, n)
    for i in range(n):
        value = max(value, gram[i, i])
    return value


@kernel
def smallest_eigenvalue(factor: Floats, n: int, direction: Floats, spare: Floats) -> float:
    """Return about the smallest eigenvalue of a factorised matrix; `direction` is kept."""
    _nudge(direction, n)
    value = math.inf
    for _ in range(ROUNDS):
        solve_factorised(factor, direction, n, spare)
        for i in range(n):
            direction[i] = spare[i]
        length = _normalise(direction, n)
        value = 1.0 / length if length > 0.0 else 0.0
    for i in range(n):
        # the factor's diagonal is the inverse root of its pivots, none below the eigenvalue
        value = min(value, 1.0 / (factor[i, i] * factor[i, i]))
    return value


@kernel
def _factorise(gram: Floats, n: int, added: float, factor: Floats) -> None:
    for i in range(n):
        for j in range(i):
            factor[i, j] = gram[i, j]
        factor[i, i] = gram[i, i] + added
    factorise_in_place(factor, n, True)


@kernel
def prepare_inverse(
    mobilities: Floats,
    n_dofs: int,
    n: int,
    max_damping: float,
    damped_below: float,
    state: State,
    work: Work,
) -> None:
    """
    Factorise J W J^T + lambda^2 I for `pseudo_inverse`; measure dexterity and damping.

    lambda^2 grows from 0 to `max_damping`^2 as the smallest singular value falls from
    `damped_below` to 0, so that away from singularities nothing is damped.
    """
    trace = fill_gram(work.jacobian, mobilities, n_dofs, n, work.gram)
    floor = FLOOR * trace + 1e-300
    largest = largest_eigenvalue(work.gram, n, state.strongest, work.spare)
    _factorise(work.gram, n, floor, work.factor)
    smallest = smallest_eigenvalue(work.factor, n, state.weakest, work.spare)
    smallest = max(smallest - floor, 0.0)
    share = smallest / (damped_below * damped_below) if damped_below > 0.0 else 1.0
    damping = max_damping * math.sqrt(max(1.0 - share, 0.0))
    if damping > 0.0:
        _factorise(work.gram, n, floor + damping * damping, work.factor)
    state.measures[DEXTERITY] = math.sqrt(smallest / largest) if largest > 0.0 else 0.0
    state.measures[DAMPING] = damping


@kernel
def through_jacobian(jacobian: Floats, rates: Floats, n_dofs: int, n: int, out: Floats) -> None:
    """Write J rates, shape (n,)."""
    for i in range(n):
        out[i] = 0.0
    for d in range(n_dofs):
        if rates[d] != 0.0:
            for i in range(n):
                out[i] += jacobian[d, i] * rates[d]


@kernel
def pseudo_inverse(
    wanted: Floats, wish: Floats, mobilities: Floats, n_dofs: int, n: int, work: Work, out: Floats
) -> None:
    """
    Write the rates that do what the tasks want and, as far as that leaves room, what is wished.

    ChoiKo2000 eqs. 5, 16 and 19, J+ x + (I - J+ J) y, as y + J+ (x - J y): one solution instead of
    two. J+ = W J^T (J W J^T + lambda^2 I)^-1, W = diag(mobilities); where a mobility is 0 the wish
    is carried out as it is.
    """
    through_jacobian(work.jacobian, wish, n_dofs, n, work.spare)
    for i in range(n):
        work.spare[i] = wanted[i] - work.spare[i]
    solve_factorised(work.factor, work.spare, n, work.solved)
    for d in range(n_dofs):
        value = 0.0
        if mobilities[d] != 0.0:
            for i in range(n):
                value += work.jacobian[d, i] * work.solved[i]
        out[d] = wish[d] + mobilities[d] * value


# A step.


NO_ESTIMATE, TASKS_ONLY, ALL_RATES, WISH_FIRST = 0, 1, 2, 3  # RateConfig.estimate
MAX_SHORTENINGS = 4
WORTH_A_STEP = 0.8  # fraction of the error that a correction may leave to be followed by another


@kernel
def _keep(tree: TreeArrays, state: State, work: Work) -> None:
    base = tree.base[0]
    copy(state.p_world[base], work.kept_base[:3])
    copy(state.q_world[base], work.kept_base[3:7])
    for joint in range(1, tree.sizes[0]):
        copy(state.rotations[joint], work.kept_rotations[joint])


@kernel
def _restore(tree: TreeArrays, state: State, work: Work) -> None:
    """Put base and joints back; the other segments follow with the next move."""
    base = tree.base[0]
    copy(work.kept_base[:3], state.p_world[base])
    copy(work.kept_base[3:7], state.q_world[base])
    for joint in range(1, tree.sizes[0]):
        copy(work.kept_rotations[joint], state.rotations[joint])


@kernel
def length_of(rows: Floats, n: int) -> float:
    square = 0.0
    for i in range(n):
        square += rows[i] * rows[i]
    return math.sqrt(square)


@kernel
def goal_error(tree: TreeArrays, inputs: Inputs, state: State, work: Work) -> float:
    """Return how far this sub-step's goals are, all rows together; fill `work.errors`."""
    n = error_rows(
        tree,
        inputs,
        state,
        work.goal_positions,
        work.goal_orientations,
        work.goal_base,
        work.errors,
    )
    return length_of(work.errors, n)


@kernel
def _limit_rates(
    tree: TreeArrays, inputs: Inputs, settings: Settings, driven: Floats, rates: Floats
) -> None:
    """Shorten what is not driven, all together, until no joint turns too far; in place."""
    share = 1.0
    for d in range(tree.sizes[1]):
        if inputs.mobilities[d] > 0.0:
            limit = settings.max_input_m if d < 3 else settings.max_turn_rad
            size = abs(rates[d])
            if size * share > limit:
                share = limit / size
    if share < 1.0:
        for d in range(tree.sizes[1]):
            rates[d] = driven[d] + share * (rates[d] - driven[d])


@kernel
def fill_wish(
    tree: TreeArrays,
    inputs: Inputs,
    state: State,
    settings: Settings,
    share: float,
    gain: float,
    work: Work,
) -> None:
    """Fill the secondary rate, by its gain, and its driven part, which has none."""
    wish_rates(tree, inputs, state, share, work.wish)
    for d in range(tree.sizes[1]):
        if inputs.mobilities[d] == 0.0:
            work.driven[d] = work.wish[d]
        else:
            work.driven[d] = 0.0
            work.wish[d] *= gain
    _limit_rates(tree, inputs, settings, work.driven, work.wish)


@kernel
def estimate_errors(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, n: int, work: Work
) -> None:
    """
    Turn `work.errors`, how far the goals are, into the error that is to be expected.

    Steps 1 to 3 before ChoiKo2000 eq. 17. As printed the step that is tried out moves for the
    goals alone; with ALL_RATES for the secondary task as well, whose curvature is as large.
    With WISH_FIRST it moves for the secondary task alone, and the pseudo-inverse is left what
    that misses: near singularities a wish that meets the goals is not projected away.
    The error of the secondary task is not estimated: it would differ from the plain one by
    what the tasks use, which the null space takes out again.
    """
    if settings.estimate == NO_ESTIMATE:
        # that of the step before, ChoiKo2000 eq. 10
        for i in range(n):
            work.errors[i] -= work.moves[i]
        return
    if settings.estimate == WISH_FIRST:
        for d in range(tree.sizes[1]):
            work.rates[d] = work.wish[d]
        through_jacobian(work.jacobian, work.wish, tree.sizes[1], n, work.moves)
    else:
        wish = work.wish if settings.estimate == ALL_RATES else work.driven
        pseudo_inverse(work.moves, wish, inputs.mobilities, tree.sizes[1], n, work, work.rates)
    _limit_rates(tree, inputs, settings, work.driven, work.rates)
    _keep(tree, state, work)
    move_tree(tree, work.rates, 1.0, work.tried, state)
    goal_error(tree, inputs, state, work)
    _restore(tree, state, work)
    pose_tree(tree, state.rotations, state.q_world, state.p_world)


@kernel
def apply_step(
    tree: TreeArrays,
    inputs: Inputs,
    state: State,
    settings: Settings,
    n: int,
    bound: float,
    work: Work,
) -> None:
    """
    Move by `work.inputs` and `work.wish`, shortened until the error is within a bound.

    What is wished is shortened faster: the direction that is left in the end leads towards the
    goals, so that some fraction of it helps unless nothing does.
    """
    _keep(tree, state, work)
    primary, secondary = 1.0, 1.0
    for _ in range(MAX_SHORTENINGS + 1):
        for d in range(tree.sizes[1]):
            work.tried[d] = work.driven[d] + secondary * (work.wish[d] - work.driven[d])
        for i in range(n):
            work.moves[i] = primary * work.inputs[i]
        pseudo_inverse(
            work.moves, work.tried, inputs.mobilities, tree.sizes[1], n, work, work.rates
        )
        _limit_rates(tree, inputs, settings, work.driven, work.rates)
        move_tree(tree, work.rates, 1.0, work.tried, state)
        if not settings.guarded or goal_error(tree, inputs, state, work) <= bound:
            return
        _restore(tree, state, work)
        primary, secondary = 0.5 * primary, 0.25 * secondary
    move_tree(tree, work.driven, 1.0, work.tried, state)


@kernel
def prepare_step(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, work: Work
) -> int:
    """Fill and factorise the Jacobian; return the number of rows."""
    n = fill_jacobian(tree, inputs, state, work.jacobian)
    prepare_inverse(
        inputs.mobilities,
        tree.sizes[1],
        n,
        settings.max_damping,
        settings.damped_below,
        state,
        work,
    )
    return n


# A frame of sub-steps and corrections, and the calls from Python.


@kernel
def dexterity_gain(state: State, settings: Settings, n: int) -> float:
    """Return K1 = K2: 1, less where the dexterity is small (ChoiKo2000 after eq. 21)."""
    if n == 0 or settings.full_gain_dexterity <= 0.0:
        return 1.0
    share = state.measures[DEXTERITY] / settings.full_gain_dexterity
    return min(max(share, settings.least_gain), 1.0)


@kernel
def _sub_goals(tree: TreeArrays, inputs: Inputs, state: State, share: float, work: Work) -> None:
    """Write goals a fraction of the way from those of the step before."""
    for k in range(3):
        before = state.before_base[k]
        work.goal_base[k] = before + share * (inputs.base_position[k] - before)
    for task in range(tree.sizes[2]):
        for k in range(3):
            before = state.before_positions[task, k]
            work.goal_positions[task, k] = before + share * (inputs.positions[task, k] - before)
        slerp(
            state.before_orientations[task],
            inputs.orientations[task],
            share,
            work.goal_orientations[task],
        )


@kernel
def _sub_step(
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, share: float, work: Work
) -> None:
    """Go a fraction of what is left of the frame."""
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
        tree,
        inputs,
        state,
        work.goal_positions,
        work.goal_orientations,
        work.goal_base,
        work.moves,
    )
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
def _count_sub_steps(tree: TreeArrays, inputs: Inputs, state: State, settings: Settings) -> int:
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
    c = unpack(packed[0], RateArrays)
    advance(c.tree, c.inputs, c.state, c.settings, c.work)


@kernel
def pose_packed(packed: np.ndarray) -> None:
    """Pose the tree from its base and joints, and take where its tasks are as their goals."""
    c = unpack(packed[0], RateArrays)
    tree, state, inputs = c.tree, c.state, c.inputs
    begin(tree, state)
    copy(state.before_base, inputs.base_position)
    for task in range(tree.sizes[2]):
        copy(state.before_positions[task], inputs.positions[task])
        copy(state.before_orientations[task], inputs.orientations[task])


@kernel
def jacobian_packed(packed: np.ndarray) -> int:
    """Fill Jacobian and errors where the body is; return the number of rows."""
    c = unpack(packed[0], RateArrays)
    goals = c.inputs.positions, c.inputs.orientations, c.inputs.base_position
    error_rows(c.tree, c.inputs, c.state, *goals, c.work.errors)
    return fill_jacobian(c.tree, c.inputs, c.state, c.work.jacobian)


@kernel
def hang_on_packed(packed: np.ndarray, segment: int) -> None:
    """Make a segment the base; `inputs` has its pose."""
    c = unpack(packed[0], RateArrays)
    hang_on(c.tree, c.inputs, c.state, segment, c.work.tried)
