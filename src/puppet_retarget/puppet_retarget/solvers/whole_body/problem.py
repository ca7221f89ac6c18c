# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The weighted least-squares problem of one step (kernels).

A row says how far something is from where it should be (its residual), how firmly it should be
there (its weight), and how it moves with the unknowns (its Jacobian). Rows are summed as they come
into the normal equations, of which only the lower triangle from each line's first entry on is kept
and factorised: unknowns are numbered so that this envelope is small, and what couples two limbs
widens it by itself.

A step may be bounded, unknown by unknown. Which are at their bounds is found in rounds of whole
solutions: what is beyond a bound is put there, what would rather leave its bound is let go, all at
once, and one at a time where that does not end (JudicePires1994). The matrix is positive definite,
so there is one such step, and it changes as little as the rows do.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, frozen, Ints, kernel
from puppet_retarget.solvers.whole_body.tree import MAX_UNKNOWNS

N = MAX_UNKNOWNS + 3  # with the displacement of what hands carry
MAX_ROUNDS, TRIES = 60, 6  # of a bounded step; rounds in which no fewer unknowns are wrong
KEEP = 1e-3  # damping of an unknown that nothing asks for
BEYOND = 1e-12  # a bound is passed, or left, by more


class Problem(NamedTuple):
    """Normal equations in the making, and the row that is being filled."""

    n: int = N  # unknowns
    cost: Floats = frozen(np.zeros(1))  # sum of weighted squares of the residuals
    matrix: Floats = frozen(np.zeros((N, N)))  # lower triangle, then its Cholesky factor
    right: Floats = frozen(np.zeros(N))
    step: Floats = frozen(np.zeros(N))  # the solution
    begins: Ints = frozen(np.zeros(N, dtype=np.int64))  # first entry of each line
    row: Floats = frozen(np.zeros(N))
    used: Ints = frozen(np.zeros(N, dtype=np.int64))  # its entries that are not zero
    # of a bounded step
    low: Floats = frozen(np.full(N, -np.inf))
    high: Floats = frozen(np.full(N, np.inf))
    sides: Ints = frozen(np.zeros(N, dtype=np.int64))  # -1 at its lower bound, 1 at its upper
    whole: Floats = frozen(np.zeros((N, N)))  # the equations, as `matrix` and `right`
    whole_right: Floats = frozen(np.zeros(N))


@kernel
def firmness(importance: float, slack: float) -> float:
    """
    Return how firmly something of an importance is held: w^2 / (1 - w + slack).

    Shin2002 eqs. 5.2 and 5.10 let an end be farther from its goal the less it matters; here it is
    pulled the more softly. In contact, w = 1, it is 1 / slack.
    """
    return importance * importance / (1.0 - importance + slack)


@kernel
def ramp(depth: float, width: float) -> tuple[float, float]:
    """Return a one-sided residual and its slope: 0 below 0, depth - width from 2 width on; C1."""
    if depth <= 0.0:
        return 0.0, 0.0
    if depth < 2.0 * width:
        return depth * depth / (4.0 * width), depth / (2.0 * width)
    return depth - width, 1.0


@kernel
def clear(problem: Problem) -> None:
    """Begin anew."""
    problem.cost[0] = 0.0
    for i in range(problem.n):
        problem.right[i] = problem.row[i] = 0.0
        problem.begins[i] = i
        for k in range(i + 1):
            problem.matrix[i, k] = 0.0


@kernel
def add_diagonal(problem: Problem, i: int, weight: float, residual: float) -> None:
    """Add the row of one unknown by itself."""
    problem.matrix[i, i] += weight
    problem.right[i] += weight * residual
    problem.cost[0] += weight * residual * residual


@kernel
def close_row(problem: Problem, weight: float, residual: float) -> None:
    """Add the row that was filled, and clear it."""
    row, used, count = problem.row, problem.used, 0
    problem.cost[0] += weight * residual * residual
    for i in range(problem.n):
        if row[i] != 0.0:
            used[count] = i
            count += 1
    for a in range(count):
        i = used[a]
        own = weight * row[i]
        problem.right[i] += own * residual
        problem.begins[i] = min(problem.begins[i], used[0])
        line = problem.matrix[i]
        for b in range(a + 1):
            line[used[b]] += own * row[used[b]]
    for a in range(count):
        row[used[a]] = 0.0


@kernel
def solve(problem: Problem) -> None:
    """Write the solution to `step`; the matrix is positive definite."""
    n, matrix, begins, step = problem.n, problem.matrix, problem.begins, problem.step
    for i in range(n):
        line, begin = matrix[i], begins[i]
        for j in range(begin, i):
            other = matrix[j]
            value = line[j]
            for k in range(max(begin, begins[j]), j):
                value -= line[k] * other[k]
            line[j] = value * other[j]
        pivot, value = line[i], problem.right[i]
        for k in range(begin, i):
            pivot -= line[k] * line[k]
            value -= line[k] * step[k]
        line[i] = 1.0 / math.sqrt(pivot)
        step[i] = value * line[i]
    for i in range(n - 1, -1, -1):
        line = matrix[i]
        step[i] *= line[i]
        for k in range(begins[i], i):
            step[k] -= line[k] * step[i]


@kernel
def solve_within(problem: Problem) -> None:
    """Write the least step within `low` <= 0 and `high` >= 0 to `step`."""
    n, step, whole = problem.n, problem.step, problem.whole
    for i in range(n):
        problem.sides[i] = -1 if problem.low[i] > -BEYOND else 1 if problem.high[i] < BEYOND else 0
        problem.whole_right[i] = problem.right[i]
        for k in range(problem.begins[i], i + 1):
            whole[i, k] = problem.matrix[i, k]
    least, tries = n + 1, TRIES
    for _ in range(MAX_ROUNDS):
        _solve_free(problem)
        wrong, last = 0, 0
        for i in range(n):
            if _wanted_side(problem, i) != problem.sides[i]:
                wrong, last = wrong + 1, i
        if wrong == 0:
            break
        tries = TRIES if wrong < least else tries - 1
        least = min(least, wrong)
        for i in range(0 if tries > 0 else last, last + 1):
            problem.used[i] = _wanted_side(problem, i)
        for i in range(0 if tries > 0 else last, last + 1):
            problem.sides[i] = problem.used[i]
    for i in range(n):
        step[i] = min(max(step[i], problem.low[i]), problem.high[i])


@kernel
def _solve_free(problem: Problem) -> None:
    """Solve for the unknowns that are at no bound, the others' steps given."""
    n, sides, step = problem.n, problem.sides, problem.step
    for i in range(n):
        bound = problem.low[i] if sides[i] < 0 else problem.high[i]
        step[i] = 0.0 if sides[i] == 0 else bound
        problem.right[i] = problem.whole_right[i] if sides[i] == 0 else bound
    for i in range(n):
        for k in range(problem.begins[i], i):
            value = problem.whole[i, k]
            problem.matrix[i, k] = value if sides[i] == 0 and sides[k] == 0 else 0.0
            if sides[i] == 0 and sides[k] != 0:
                problem.right[i] -= value * step[k]
            elif sides[i] != 0 and sides[k] == 0:
                problem.right[k] -= value * step[i]
        problem.matrix[i, i] = problem.whole[i, i] if sides[i] == 0 else 1.0
    solve(problem)


@kernel
def _wanted_side(problem: Problem, i: int) -> int:
    """Return which bound an unknown should be at by the step that was found."""
    step, sides = problem.step, problem.sides
    if problem.low[i] >= problem.high[i]:
        return -1
    if sides[i] == 0:
        if step[i] < problem.low[i] - BEYOND:
            return -1
        return 1 if step[i] > problem.high[i] + BEYOND else 0
    pull, size = problem.whole_right[i], abs(problem.whole_right[i])
    for k in range(problem.n):
        if problem.begins[max(i, k)] <= min(i, k):
            part = problem.whole[max(i, k), min(i, k)] * step[k]
            pull, size = pull - part, size + abs(part)
    return sides[i] if sides[i] * pull >= -BEYOND * size else 0
