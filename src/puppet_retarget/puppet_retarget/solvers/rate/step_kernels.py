# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A step of closed-loop inverse rate control (ChoiKo2000 eq. 16), and what keeps it bounded.

It takes the goals' displacement and the estimate of the error it will leave through the
pseudo-inverse. It is shortened when it would bring the body farther from its goals than it was:
so no gain and no rate of frames makes it swing up.

"""

import math

from puppet_core.arrays import Floats
from puppet_core.kernel import copy, kernel
from puppet_retarget.solvers.rate.inverse_kernels import (
    prepare_inverse,
    pseudo_inverse,
    through_jacobian,
)
from puppet_retarget.solvers.rate.rate_arrays import (
    DEXTERITY,
    Inputs,
    Settings,
    State,
    TreeArrays,
    Work,
)
from puppet_retarget.solvers.rate.task_kernels import (
    error_rows,
    fill_jacobian,
)
from puppet_retarget.solvers.rate.tree_kernels import move_tree, pose_tree, wish_rates

NO_ESTIMATE, TASKS_ONLY, ALL_RATES, WISH_FIRST = 0, 1, 2, 3  # RateConfig.estimate
MAX_SHORTENINGS = 4
WORTH_A_STEP = 0.8  # share of the error that a correction may leave to be followed by another


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
        tree, inputs, state, work.goal_positions, work.goal_orientations, work.goal_base,
        work.errors,
    )  # fmt: skip
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
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, share: float,
    gain: float, work: Work,
) -> None:  # fmt: skip
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
    tree: TreeArrays, inputs: Inputs, state: State, settings: Settings, n: int, bound: float,
    work: Work,
) -> None:  # fmt: skip
    """
    Move by `work.inputs` and `work.wish`, shortened until the error is within a bound.

    What is wished is shortened faster: the direction that is left in the end leads towards the
    goals, so that some share of it helps unless nothing does.

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
        inputs.mobilities, tree.sizes[1], n, settings.max_damping, settings.damped_below,
        state, work,
    )  # fmt: skip
    return n


@kernel
def dexterity_gain(state: State, settings: Settings, n: int) -> float:
    """Return K1 = K2: 1, less where the dexterity is small (ChoiKo2000 after eq. 21)."""
    if n == 0 or settings.full_gain_dexterity <= 0.0:
        return 1.0
    share = state.measures[DEXTERITY] / settings.full_gain_dexterity
    return min(max(share, settings.least_gain), 1.0)
