# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A step of closed-loop inverse rate control (ChoiKo2000 eq. 16), and a frame made of steps.

A step maps the goals' displacement, and the estimate of the error it will leave, through the
pseudo-inverse. It is shortened when it would bring the body farther from its goals than it was. A
frame in which the goals go far is divided, so that each part is as short as the Jacobian holds.
Corrections follow while the error is above a tolerance and falls.
"""

import math

import numpy as np
from puppet_core.math import (
    angle_between,
    copy,
    factorise_in_place,
    Floats,
    kernel,
    norm,
    solve_factorised,
    sub,
    values,
)
from puppet_retarget.rate_control.kinematics import (
    base_difference,
    clamp_rows,
    error_rows,
    fill_jacobian,
    joint_difference,
    move_rows,
    move_tree,
    pose_tree,
    task_point,
)
from puppet_retarget.rate_control.state import (
    ALL_RATES,
    GoalArrays,
    NO_ESTIMATE,
    RateArrays,
    SECONDARY_ONLY,
    TASKS_ONLY,
)
from puppet_retarget.rate_control.tree import BASE_DOFS, POSITION

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
def length_of(rows: Floats, n: int) -> float:
    """Return the length of the first n numbers together."""
    square = 0.0
    for i in range(n):
        square += rows[i] * rows[i]
    return math.sqrt(square)


@kernel
def _normalise(vector: Floats, n: int) -> float:
    """Bring a vector to unit length, in place; return the length it had."""
    length = length_of(vector, n)
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
    factorise_in_place(factor, n)


@kernel
def prepare_inverse(c: RateArrays, n: int) -> None:
    """
    Factorise J W J^T + lambda^2 I for `pseudo_inverse`; measure dexterity and damping.

    lambda^2 grows from 0 to `max_damping`^2 as the smallest singular value falls from
    `damped_below` to 0, so that away from singularities nothing is damped.
    """
    work, state, below = c.work, c.state, c.settings.damped_below
    trace = fill_gram(work.jacobian, c.inputs.mobilities, c.tree.n_dofs, n, work.gram)
    floor = FLOOR * trace + 1e-300
    largest = largest_eigenvalue(work.gram, n, state.strongest, work.spare)
    _factorise(work.gram, n, floor, work.factor)
    smallest = smallest_eigenvalue(work.factor, n, state.weakest, work.spare)
    smallest = max(smallest - floor, 0.0)
    share = smallest / (below * below) if below > 0.0 else 1.0
    damping = c.settings.max_damping * math.sqrt(max(1.0 - share, 0.0))
    if damping > 0.0:
        _factorise(work.gram, n, floor + damping * damping, work.factor)
    state.dexterity[0] = math.sqrt(smallest / largest) if largest > 0.0 else 0.0
    state.damping[0] = damping


@kernel
def through_jacobian(c: RateArrays, rates: Floats, n: int, out: Floats) -> None:
    """Write J rates, shape (n,)."""
    for i in range(n):
        out[i] = 0.0
    for d in range(c.tree.n_dofs):
        if rates[d] != 0.0:
            for i in range(n):
                out[i] += c.work.jacobian[d, i] * rates[d]


@kernel
def pseudo_inverse(c: RateArrays, wish: Floats, n: int) -> None:
    """
    Fill the rates that do `work.moves` and, as far as that leaves room, what is wished.

    ChoiKo2000 eqs. 5, 16 and 19, J+ x + (I - J+ J) y, as y + J+ (x - J y): one solution instead of
    two. J+ = W J^T (J W J^T + lambda^2 I)^-1, W = diag(mobilities); where a mobility is 0 the wish
    is carried out as it is.
    """
    work, mobilities = c.work, c.inputs.mobilities
    through_jacobian(c, wish, n, work.spare)
    for i in range(n):
        work.spare[i] = work.moves[i] - work.spare[i]
    solve_factorised(work.factor, work.spare, n, work.solved)
    for d in range(c.tree.n_dofs):
        value = 0.0
        if mobilities[d] != 0.0:
            for i in range(n):
                value += work.jacobian[d, i] * work.solved[i]
        work.rates[d] = wish[d] + mobilities[d] * value


# A step.


MAX_SHORTENINGS = 4
WORTH_A_STEP = 0.8  # fraction of the error that a correction may leave to be followed by another


@kernel
def _keep(c: RateArrays) -> None:
    base = c.tree.base[0]
    copy(c.state.p_world[base], c.work.kept_base[:3])
    copy(c.state.q_world[base], c.work.kept_base[3:7])
    for joint in range(1, c.tree.n_segments):
        copy(c.state.rotations[joint], c.work.kept_rotations[joint])


@kernel
def _restore(c: RateArrays) -> None:
    """Put base and joints back; the other segments follow with the next move."""
    base = c.tree.base[0]
    copy(c.work.kept_base[:3], c.state.p_world[base])
    copy(c.work.kept_base[3:7], c.state.q_world[base])
    for joint in range(1, c.tree.n_segments):
        copy(c.work.kept_rotations[joint], c.state.rotations[joint])


@kernel
def goal_error(c: RateArrays) -> float:
    """Return how far this sub-step's goals are, all rows together; fill `work.errors`."""
    return length_of(c.work.errors, error_rows(c, c.work.goal))


@kernel
def _limit_rates(c: RateArrays, rates: Floats) -> None:
    """Shorten what is not driven, all together, until no joint turns too far; in place."""
    share, driven = 1.0, c.work.driven
    for d in range(c.tree.n_dofs):
        if c.inputs.mobilities[d] > 0.0:
            limit = c.settings.max_input_m if d < 3 else c.settings.max_turn_rad
            size = abs(rates[d])
            if size * share > limit:
                share = limit / size
    if share < 1.0:
        for d in range(c.tree.n_dofs):
            rates[d] = driven[d] + share * (rates[d] - driven[d])


@kernel
def fill_secondary_rates(c: RateArrays, share: float, gain: float) -> None:
    """
    Fill the secondary rate, by its gain, and its driven part, which has none.

    It goes towards what is to be imitated, and whatever else is wished: ChoiKo2000 eq. 20 with
    its error as in eq. 15. x2 are the joints' rotations and the pose of the base, f2 is the
    identity. Driven degrees of freedom, those of no mobility, take up all of the way; the others
    the share of this sub-step.
    """
    tree, inputs, state, wish = c.tree, c.inputs, c.state, c.work.wish
    base_difference(tree, inputs, state, wish)
    if inputs.mobilities[0] == 0.0:
        for k in range(6):
            wish[k] += state.gap[k]
    for joint in range(1, tree.n_segments):
        kind, axes = tree.kinds[joint], tree.axes[joint]
        out = wish[tree.first_dofs[joint] : tree.first_dofs[joint] + 3]
        joint_difference(kind, axes, state.rotations[joint], inputs.imitated[joint], out)
    for d in range(tree.n_dofs):
        is_driven = inputs.mobilities[d] == 0.0
        k2 = 1.0 if is_driven or d < BASE_DOFS else c.settings.k2
        wish[d] = share * (k2 * wish[d] + inputs.extra[d])
        c.work.driven[d] = wish[d] if is_driven else 0.0
        wish[d] *= 1.0 if is_driven else gain
    _limit_rates(c, wish)


@kernel
def estimate_errors(c: RateArrays, n: int, gain: float) -> None:
    """
    Turn `work.errors`, how far the goals are, into the error that is to be expected.

    Steps 1 to 3 before ChoiKo2000 eq. 17. As printed, TASKS_ONLY, the step that is tried out moves
    for the goals alone, and what it turns comes off the error of the secondary task, of whose
    gain `gain` is the part beside K2: the null space takes that out again unless it is damped.
    With ALL_RATES it moves for the secondary task as well, whose curvature is as large.
    With SECONDARY_ONLY it moves for the secondary task alone, and the pseudo-inverse is left what
    that misses: near singularities a wish that meets the goals is not projected away.
    """
    work, k1 = c.work, c.settings.k1
    if c.settings.estimate == NO_ESTIMATE:
        # that of the step before, ChoiKo2000 eq. 10
        for i in range(n):
            work.errors[i] -= work.moves[i]
        return
    if c.settings.estimate == SECONDARY_ONLY:
        copy(work.wish, work.rates)
        for i in range(n):
            work.solved[i] = work.errors[i] - work.moves[i]
        through_jacobian(c, work.wish, n, work.moves)
    else:
        pseudo_inverse(c, work.wish if c.settings.estimate == ALL_RATES else work.driven, n)
    _limit_rates(c, work.rates)
    _keep(c)
    move_tree(c.tree, work.rates, c.state)
    goal_error(c)
    _restore(c)
    pose_tree(c.tree, c.state)
    if c.settings.estimate == SECONDARY_ONLY:
        # K1 is for the error of the step before; what the goals have moved is followed in full
        for i in range(n):
            work.moves[i] += (1.0 - k1) * (work.errors[i] - work.solved[i])
    elif c.settings.estimate == TASKS_ONLY:
        for d in range(c.tree.n_dofs):
            if c.inputs.mobilities[d] > 0.0:
                k2 = c.settings.k2 if d >= BASE_DOFS else 1.0
                work.wish[d] -= gain * k2 * work.rates[d]


@kernel
def apply_step(c: RateArrays, n: int, bound: float) -> None:
    """
    Move by `work.inputs` and `work.wish`, shortened until the error is within a bound.

    What is wished is shortened faster: the direction that is left in the end leads towards the
    goals, so that some fraction of it helps unless nothing does.
    """
    work = c.work
    _keep(c)
    primary, secondary = 1.0, 1.0
    for _ in range(MAX_SHORTENINGS + 1):
        for d in range(c.tree.n_dofs):
            work.tried[d] = work.driven[d] + secondary * (work.wish[d] - work.driven[d])
        for i in range(n):
            work.moves[i] = primary * work.inputs[i]
        pseudo_inverse(c, work.tried, n)
        _limit_rates(c, work.rates)
        move_tree(c.tree, work.rates, c.state)
        if not c.settings.guarded or goal_error(c) <= bound:
            return
        _restore(c)
        primary, secondary = 0.5 * primary, 0.25 * secondary
    move_tree(c.tree, work.driven, c.state)


@kernel
def prepare_step(c: RateArrays) -> tuple[int, float]:
    """Fill and factorise the Jacobian; return number of rows and gain (ChoiKo2000 eq. 21)."""
    n = fill_jacobian(c)
    prepare_inverse(c, n)
    if n == 0 or c.settings.full_gain_dexterity <= 0.0:
        return n, 1.0
    share = c.state.dexterity[0] / c.settings.full_gain_dexterity
    return n, min(max(share, c.settings.least_gain), 1.0)


# A frame of sub-steps and corrections, and the calls from Python.


@kernel
def _sub_step(c: RateArrays, share: float) -> None:
    """Go a fraction of what is left of the frame."""
    inputs, work, goal, before = c.inputs, c.work, c.work.goal, c.state.before
    copy(values.lerp(before.root, inputs.root_position, share), goal.root)
    for task in range(c.tree.n_tasks):
        start, q_start = before.positions[task], before.orientations[task]
        copy(values.lerp(start, inputs.positions[task], share), goal.positions[task])
        copy(values.slerp(q_start, inputs.orientations[task], share), goal.orientations[task])
    n, gain = prepare_step(c)
    # goals out of reach push back: what is wished against them would swing about
    yielding = c.settings.full_gain_error / max(c.state.error[0], c.settings.full_gain_error)
    fill_secondary_rates(c, share, gain * yielding)
    through_jacobian(c, work.driven, n, work.spare)
    carried = length_of(work.spare, n)
    bound = max(goal_error(c) + carried, c.settings.slack)
    move_rows(c)
    estimate_errors(c, n, gain * yielding)
    for i in range(n):
        work.inputs[i] = work.moves[i] + gain * c.settings.k1 * work.errors[i]
    clamp_rows(c)
    apply_step(c, n, bound)
    copy(goal.root, before.root)
    for task in range(c.tree.n_tasks):
        copy(goal.positions[task], before.positions[task])
        copy(goal.orientations[task], before.orientations[task])


@kernel
def _correct(c: RateArrays) -> int:
    """Take further steps towards the goals until they are met; return how many."""
    work = c.work
    for d in range(c.tree.n_dofs):
        work.wish[d] = 0.0
        work.driven[d] = 0.0
    error = goal_error(c)
    for step in range(c.settings.max_corrections):
        if error <= c.settings.tolerance:
            return step
        n, gain = prepare_step(c)
        goal_error(c)
        for i in range(n):
            work.inputs[i] = gain * c.settings.k1 * work.errors[i]
        clamp_rows(c)
        apply_step(c, n, error)
        before, error = error, goal_error(c)
        if error > WORTH_A_STEP * before:
            return step + 1
    return c.settings.max_corrections


@kernel
def _count_sub_steps(c: RateArrays) -> int:
    """Return how many parts the frame is divided into, by how far goals and base go."""
    inputs, before, settings, most = c.inputs, c.state.before, c.settings, 1.0
    for task in range(c.tree.n_tasks):
        if inputs.active[task] == 0:
            continue
        if c.tree.task_kinds[task] == POSITION:
            way = norm(sub(inputs.positions[task], before.positions[task]))
            most = max(most, way / settings.sub_step_m)
        else:
            turn = angle_between(before.orientations[task], inputs.orientations[task])
            most = max(most, turn / settings.sub_step_rad)
    if inputs.mobilities[0] == 0.0:
        turn = angle_between(c.state.q_world[c.tree.base[0]], inputs.base_orientation)
        most = max(most, turn / settings.sub_step_rad)
    return int(math.ceil(min(most, 1.0 * settings.max_sub_steps)))


@kernel
def advance(c: RateArrays) -> None:
    """Take a frame: bring the body from where it is to what the inputs ask for."""
    for k in range(6):
        c.state.gap[k] *= c.settings.kept_gap
    parts = _count_sub_steps(c)
    for part in range(parts):
        _sub_step(c, 1.0 / (parts - part))
    c.state.steps[0] = parts + _correct(c)
    c.state.error[0] = goal_error(c)


@kernel
def begin(c: RateArrays) -> None:
    """Pose the tree from its base and joints, and forget all that was before."""
    tree, state, before = c.tree, c.state, c.state.before
    pose_tree(tree, state)
    copy(state.p_world[0], before.root)
    for task in range(tree.n_tasks):
        copy(task_point(tree, state, task), before.positions[task])
        copy(state.q_world[tree.segments[task]], before.orientations[task])
    for k in range(6):
        state.gap[k] = 0.0
    state.error[0] = 0.0


@kernel
def advance_packed(packed: np.ndarray) -> None:
    """Take a frame, in place. `packed` holds RateArrays."""
    advance(packed[0])


@kernel
def pose_packed(packed: np.ndarray) -> None:
    """Pose the tree from its base and joints, and take where its tasks are as their goals."""
    c = packed[0]
    begin(c)
    for task in range(c.tree.n_tasks):
        copy(c.state.before.positions[task], c.inputs.positions[task])
        copy(c.state.before.orientations[task], c.inputs.orientations[task])


@kernel
def jacobian_packed(packed: np.ndarray) -> int:
    """Fill Jacobian and errors where the body is; return the number of rows."""
    c = packed[0]
    inputs = c.inputs
    error_rows(c, GoalArrays(inputs.positions, inputs.orientations, inputs.root_position))
    return fill_jacobian(c)
