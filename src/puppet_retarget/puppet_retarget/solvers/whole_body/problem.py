# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The weighted least-squares problem of one step (kernels).

A row says how far something is from where it should be (its residual), how firmly it should be
there (its weight), and how it moves with the unknowns (its Jacobian). Rows are summed as they come
into the normal equations, of which only the lower triangle from each line's first entry on is kept
and factorised: unknowns are numbered so that this envelope is small, and what couples two limbs
widens it by itself.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, frozen, Ints, kernel
from puppet_retarget.solvers.whole_body.tree import MAX_UNKNOWNS

N = MAX_UNKNOWNS + 3  # with the displacement of what hands carry


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


@kernel
def firmness(importance: float, slack: float) -> float:
    """
    Return how firmly something of an importance is held: w^2 / (1 - w + slack).

    Shin2002 eqs. 5.2 and 5.10 let an end be farther from its goal the less it matters; here it is
    pulled the more softly. Contact, w = 1, is 1 / slack times as firm as its half weight.
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
