# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The damped pseudo-inverse of a stacked Jacobian, and what else is wished in its null space.

With few constraints and many degrees of freedom the small matrix J W J^T is formed and
factorised by Cholesky: for 8 x 30 an eighth of the work of a singular value decomposition, and
W comes in for nothing. Squaring loses digits only where singular values are small, which the
damping takes over, and the closed loop corrects the rest. The extreme singular values, for
damping and gains, come from power and inverse iteration: the directions are kept from frame to
frame, so two rounds follow them, and the smallest pivot catches a new one at once.

"""

import math

from puppet_core.math import factorise_in_place, Floats, kernel, solve_factorised
from puppet_retarget.rate_control.state import DAMPING, DEXTERITY, State, Work

ROUNDS = 2
FLOOR = 1e-12  # of the trace, added to the diagonal against rounding
NUDGE = 1e-3  # added to a remembered direction, so that it can turn


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
    wanted: Floats,
    wish: Floats,
    mobilities: Floats,
    n_dofs: int,
    n: int,
    work: Work,
    out: Floats,
) -> None:
    """
    Write the rates that do what the tasks want and, as far as that leaves room, what is wished.

    ChoiKo2000 eqs. 5, 16 and 19, J+ x + (I - J+ J) y, as y + J+ (x - J y): one solution
    instead of two. J+ = W J^T (J W J^T + lambda^2 I)^-1.

    Parameters
    ----------
    wanted : ndarray, shape (n,)
        What the tasks want.
    wish : ndarray, shape (n_dofs,)
        The secondary rate; where the mobility is 0 it is carried out as it is.
    mobilities : ndarray, shape (n_dofs,)
        Diagonal of W.
    n_dofs, n : int
        Degrees of freedom and rows.
    work : Work
        With Jacobian and factor.
    out : ndarray, shape (n_dofs,)
        Out.

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
