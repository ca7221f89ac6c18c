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
from typing import NamedTuple

import numpy as np
from puppet_core.math import array_kernel, copy, factorise_in_place, Floats, solve_factorised
from puppet_core.math.values import angle_between, lerp, norm, slerp, sub
from puppet_retarget.rate_control.kinematics import (
    base_difference,
    clamped,
    error_rows,
    goal_rows,
    jacobian_of,
    joint_difference,
    move_tree,
    note_tasks,
    pose_tree,
)
from puppet_retarget.rate_control.state import (
    ALL_RATES,
    GoalArrays,
    NO_ESTIMATE,
    RateArrays,
    RateConfig,
    SECONDARY_ONLY,
    TASKS_ONLY,
)
from puppet_retarget.rate_control.tree import BASE_DOFS, POSITION

FLOOR = 1e-12  # of the trace, added to the diagonal against rounding
ROUNDS = 6  # of inverse iteration
MAX_SHORTENINGS = 4
WORTH_A_STEP = 0.8  # fraction of the error that a correction may leave to be followed by another


class Local(NamedTuple):
    """The tasks about where the body is."""

    jacobian: Floats  # J, (rows, dofs)
    factor: Floats  # of J W J^T + lambda^2 I, (rows, rows)
    gain: float  # less than 1 near singularities


class Wanted(NamedTuple):
    """Rates that are wished beside the tasks, (dofs,)."""

    wish: Floats
    driven: Floats  # the part of it that no task may change


# The damped pseudo-inverse of a stacked Jacobian, and what else is wished in its null space.
#
# With few constraints and many degrees of freedom the small matrix J W J^T is formed and
# factorised, and W comes in for nothing. Squaring loses digits only where singular values are
# small, which the damping takes over, and the closed loop corrects the rest.


@array_kernel
def damped_factor(
    jacobian: Floats, mobilities: Floats, settings: RateConfig
) -> tuple[Floats, float, float]:
    """
    Return the factor of J W J^T + lambda^2 I, dexterity sigma_min / sigma_max, lambda [m/rad].

    lambda^2 grows from 0 to `max_damping`^2 as the smallest singular value falls from
    `damped_below` to 0, so that away from singularities nothing is damped.
    """
    n, smallest, largest = len(jacobian), math.inf, 0.0
    if n == 0:
        return np.zeros((0, 0)), 1.0, 0.0
    gram = (jacobian * mobilities) @ jacobian.T
    added = FLOOR * np.trace(gram) + 1e-300
    factor = _factorised(gram, added)
    weak = np.cos(np.arange(1.0, n + 1.0))  # not square to anything in particular
    strong = weak.copy()
    for _ in range(ROUNDS):  # by inverse and by power iteration
        weak = solved(factor, weak / length_of(weak))
        strong = gram @ (strong / max(length_of(strong), 1e-300))
        smallest, largest = 1.0 / length_of(weak), length_of(strong)
    smallest, below = max(smallest - added, 0.0), settings.damped_below
    share = smallest / (below * below) if below > 0.0 else 1.0
    damping = settings.max_damping * math.sqrt(max(1.0 - share, 0.0))
    if damping > 0.0:
        factor = _factorised(gram, added + damping * damping)
    return factor, math.sqrt(smallest / max(largest, 1e-300)), damping


@array_kernel
def _factorised(matrix: Floats, added: float) -> Floats:
    """Return the Cholesky factor of a matrix with something added to its diagonal."""
    factor = matrix.copy()
    for i in range(len(factor)):
        factor[i, i] += added
    factorise_in_place(factor, len(factor))
    return factor


@array_kernel
def solved(factor: Floats, right: Floats) -> Floats:
    """Return the solution of a factorised system."""
    out = np.empty(len(right))
    solve_factorised(factor, right, len(right), out)
    return out


@array_kernel
def pseudo_inverse(local: Local, mobilities: Floats, moves: Floats, wish: Floats) -> Floats:
    """
    Return the rates that do `moves` and, as far as that leaves room, what is wished.

    ChoiKo2000 eqs. 5, 16 and 19, J+ x + (I - J+ J) y, as y + J+ (x - J y): one solution instead of
    two. J+ = W J^T (J W J^T + lambda^2 I)^-1, W = diag(mobilities); where a mobility is 0 the wish
    is carried out as it is.
    """
    left = moves - local.jacobian @ wish
    return wish + mobilities * (local.jacobian.T @ solved(local.factor, left))


@array_kernel
def localise(c: RateArrays) -> Local:
    """Return the tasks about where the body is, with their gain (ChoiKo2000 eq. 21)."""
    jacobian, settings = jacobian_of(c), c.settings
    factor, dexterity, _ = damped_factor(jacobian, mobilities_of(c), settings)
    full, share = settings.full_gain_dexterity, 1.0
    if full > 0.0:
        share = max(dexterity / full, settings.least_gain)
    return Local(jacobian, factor, min(share, 1.0))


@array_kernel
def mobilities_of(c: RateArrays) -> Floats:
    """Return W, shape (dofs,)."""
    return c.inputs.mobilities[: c.tree.n_dofs].copy()


# A step.


@array_kernel
def _kept(c: RateArrays) -> tuple[Floats, Floats, Floats]:
    base, state = c.tree.base[0], c.state
    return state.rotations.copy(), state.p_world[base].copy(), state.q_world[base].copy()


@array_kernel
def _put_back(c: RateArrays, kept: tuple[Floats, Floats, Floats]) -> None:
    """Put base and joints back; the other segments follow with the next move."""
    base, state = c.tree.base[0], c.state
    state.rotations[:], state.p_world[base], state.q_world[base] = kept


@array_kernel
def _limited(c: RateArrays, rates: Floats, driven: Floats) -> Floats:
    """Return rates whose part that is not driven is shortened until nothing moves too far."""
    share = 1.0
    for d in range(len(rates)):
        if c.inputs.mobilities[d] > 0.0:
            limit = c.settings.max_input_m if d < 3 else c.settings.max_turn_rad
            share = min(share, limit / max(abs(rates[d]), 1e-300))
    return driven + share * (rates - driven)


@array_kernel
def secondary_rates(c: RateArrays, share: float, gain: float) -> Wanted:
    """
    Return the secondary rate, by its gain, and its driven part, which has none.

    It goes towards what is to be imitated, and whatever else is wished: ChoiKo2000 eq. 20 with
    its error as in eq. 15. x2 are the joints' rotations and the pose of the base, f2 is the
    identity. Driven degrees of freedom, those of no mobility, take up all of the way; the others
    the share of this sub-step.
    """
    tree, inputs, state = c.tree, c.inputs, c.state
    wish, driven = np.zeros(tree.n_dofs), np.zeros(tree.n_dofs)
    copy(base_difference(tree, inputs, state), wish[:BASE_DOFS])
    if inputs.mobilities[0] == 0.0:
        wish[:BASE_DOFS] += state.gap
    for joint in range(1, tree.n_segments):
        kind, first = tree.kinds[joint], tree.first_dofs[joint]
        q, goal = state.rotations[joint], inputs.imitated[joint]
        difference = joint_difference(kind, tree.axes[joint], q, goal)
        for k in range(kind):
            wish[first + k] = difference[k]
    for d in range(tree.n_dofs):
        if inputs.mobilities[d] == 0.0:
            wish[d] = driven[d] = share * (wish[d] + inputs.extra[d])
        else:
            wish[d] = gain * share * (_k2_of(c, d) * wish[d] + inputs.extra[d])
    return Wanted(_limited(c, wish, driven), driven)


@array_kernel
def _k2_of(c: RateArrays, d: int) -> float:
    """Return K2 of a degree of freedom; the base has none."""
    return c.settings.k2 if d >= BASE_DOFS else 1.0


@array_kernel
def expected_errors(
    c: RateArrays, local: Local, goal: GoalArrays, moves: Floats, wanted: Wanted, gain: float
) -> tuple[Floats, Floats, Floats]:
    """
    Return the error that is to be expected, with what the tasks are to move and what is wished.

    Steps 1 to 3 before ChoiKo2000 eq. 17. As printed, TASKS_ONLY, the step that is tried out moves
    for the goals alone, and what it turns comes off the error of the secondary task, of whose
    gain `gain` is the part beside K2: the null space takes that out again unless it is damped.
    With ALL_RATES it moves for the secondary task as well, whose curvature is as large.
    With SECONDARY_ONLY it moves for the secondary task alone, and the pseudo-inverse is left what
    that misses: near singularities a wish that meets the goals is not projected away.
    """
    errors, estimate = error_rows(c, goal), c.settings.estimate
    wish, driven = wanted
    if estimate == NO_ESTIMATE:
        # that of the step before, ChoiKo2000 eq. 10
        return errors - moves, moves, wish
    tried = wish.copy()
    if estimate != SECONDARY_ONLY:
        own = wish if estimate == ALL_RATES else driven
        tried = pseudo_inverse(local, mobilities_of(c), moves, own)
    tried = _limited(c, tried, driven)
    kept = _kept(c)
    move_tree(c.tree, tried, c.state)
    expected = error_rows(c, goal)
    _put_back(c, kept)
    pose_tree(c.tree, c.state)
    if estimate == SECONDARY_ONLY:
        # K1 is for the error of the step before; what the goals have moved is followed in full
        missed = (1.0 - c.settings.k1) * (expected - (errors - moves))
        return expected, local.jacobian @ wish + missed, wish
    if estimate == TASKS_ONLY:
        wish = wish.copy()
        for d in range(len(wish)):
            if c.inputs.mobilities[d] > 0.0:
                wish[d] -= gain * _k2_of(c, d) * tried[d]
    return expected, moves, wish


@array_kernel
def apply_step(
    c: RateArrays, local: Local, goal: GoalArrays, moves: Floats, wanted: Wanted, bound: float
) -> None:
    """
    Move by the tasks and by what is wanted, shortened until the error is within a bound.

    What is wished is shortened faster: the direction that is left in the end leads towards the
    goals, so that some fraction of it helps unless nothing does.
    """
    kept, mobilities, driven = _kept(c), mobilities_of(c), wanted.driven
    primary, secondary = 1.0, 1.0
    for _ in range(MAX_SHORTENINGS + 1):
        wish = driven + secondary * (wanted.wish - driven)
        rates = pseudo_inverse(local, mobilities, primary * moves, wish)
        move_tree(c.tree, _limited(c, rates, driven), c.state)
        if not c.settings.guarded or length_of(error_rows(c, goal)) <= bound:
            return
        _put_back(c, kept)
        primary, secondary = 0.5 * primary, 0.25 * secondary
    move_tree(c.tree, driven, c.state)


@array_kernel
def length_of(rows: Floats) -> float:
    """Return the length of numbers together."""
    return math.sqrt(np.sum(rows * rows))


# A frame of sub-steps and corrections, and the calls from Python.


@array_kernel
def _asked(c: RateArrays) -> GoalArrays:
    """Return the goals of the frame."""
    inputs = c.inputs
    return GoalArrays(inputs.positions[:], inputs.orientations[:], inputs.root_position[:])


@array_kernel
def _before(c: RateArrays) -> GoalArrays:
    """Return those of the step before."""
    before = c.state.before
    return GoalArrays(before.positions[:], before.orientations[:], before.root[:])


@array_kernel
def _step(c: RateArrays, share: float, corrects: bool) -> None:
    """Go a fraction of what is left of the frame; or nearer to the goals, without wishes."""
    asked, before, settings, n = _asked(c), _before(c), c.settings, c.tree.n_dofs
    goal = GoalArrays(before.positions.copy(), before.orientations.copy(), before.root.copy())
    copy(lerp(before.root, asked.root, share), goal.root)
    for task in range(c.tree.n_tasks):
        start, q_start = before.positions[task], before.orientations[task]
        copy(lerp(start, asked.positions[task], share), goal.positions[task])
        copy(slerp(q_start, asked.orientations[task], share), goal.orientations[task])
    local, wanted = localise(c), Wanted(np.zeros(n), np.zeros(n))
    errors, moves = error_rows(c, goal), goal_rows(c, goal, before)
    bound = length_of(errors)
    if not corrects:
        # goals out of reach push back: what is wished against them would swing about
        most = settings.full_gain_error
        gain = local.gain * most / max(c.state.error[0], most)
        wanted = secondary_rates(c, share, gain)
        bound = max(bound + length_of(local.jacobian @ wanted.driven), settings.slack)
        errors, moves, wish = expected_errors(c, local, goal, moves, wanted, gain)
        wanted = Wanted(wish, wanted.driven)
    moves = clamped(c, moves + local.gain * settings.k1 * errors)
    apply_step(c, local, goal, moves, wanted, bound)
    before.positions[:], before.orientations[:] = goal.positions, goal.orientations
    before.root[:] = goal.root


@array_kernel
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


@array_kernel
def advance(c: RateArrays) -> None:
    """Take a frame: bring the body from where it is to what the inputs ask for."""
    settings, state = c.settings, c.state
    state.gap[:] *= settings.kept_gap
    parts, error = _count_sub_steps(c), math.inf
    state.steps[0] = 0
    for step in range(parts + settings.max_corrections):
        if step >= parts:
            before, error = error, length_of(error_rows(c, _asked(c)))
            if error <= settings.tolerance or error > WORTH_A_STEP * before:
                break
        _step(c, 1.0 / max(parts - step, 1), step >= parts)
        state.steps[0] += 1
    state.error[0] = length_of(error_rows(c, _asked(c)))


@array_kernel
def begin(c: RateArrays) -> None:
    """Pose the tree from its base and joints, and forget all that was before."""
    pose_tree(c.tree, c.state)
    note_tasks(c.tree, c.state, _before(c))
    c.state.gap[:] = 0.0
    c.state.error[0] = 0.0


@array_kernel
def advance_packed(packed: np.ndarray) -> None:
    """Take a frame, in place. `packed` holds RateArrays."""
    advance(packed[0])


@array_kernel
def pose_packed(packed: np.ndarray) -> None:
    """Pose the tree from its base and joints, and take where its tasks are as their goals."""
    c = packed[0]
    begin(c)
    note_tasks(c.tree, c.state, _asked(c))


@array_kernel
def linear_packed(packed: np.ndarray) -> tuple[Floats, Floats]:
    """Return Jacobian (rows, dofs) and errors (rows,) where the body is."""
    c = packed[0]
    return jacobian_of(c), error_rows(c, _asked(c))
