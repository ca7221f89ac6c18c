# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Linear systems, and a quadratic in a box, so small that a library call costs more (kernels)."""

import math

from puppet_core.math.arrays import Floats
from puppet_core.math.compiled import kernel, work_array, work_table
from puppet_core.math.values import clamp

LEAST_PIVOT, STIFF = 1e-12, 1e12
MAX_CHANGES = 40  # of the variables at their bounds; some 10 are usual
LEAVE_TOL = 1e-12  # of the greatest gradient, what a variable gains at least [-]


@kernel
def factorise_in_place(matrix: Floats, n: int) -> None:
    """
    Turn the lower triangle of a symmetric matrix into its Cholesky factor.

    The diagonal becomes the inverse of the factor's. Rows and columns from n on are left alone.
    A direction without curvature is made very stiff.
    """
    for i in range(n):
        for j in range(i):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value * matrix[j, j]
        pivot = matrix[i, i]
        for k in range(i):
            pivot -= matrix[i, k] * matrix[i, k]
        matrix[i, i] = 1.0 / math.sqrt(pivot) if pivot > LEAST_PIVOT else 1.0 / STIFF


@kernel
def solve_factorised(factor: Floats, right: Floats, n: int, out: Floats) -> None:
    """Write the solution for n right sides of `right` and a factor from the above."""
    for i in range(n):
        value = right[i]
        for k in range(i):
            value -= factor[i, k] * out[k]
        out[i] = value * factor[i, i]
    for i in range(n - 1, -1, -1):
        # downwards, so that rows are read as they lie
        out[i] *= factor[i, i]
        for k in range(i):
            out[k] -= factor[i, k] * out[i]


# The least of 1/2 x' H x - g' x with low <= x <= high.
#
# By active sets (NocedalWright2006, section 16.5): along the way to the least of the free
# variables the first that gets to its bound stays there, and the others go on; where they are at
# their least, the variable that would gain most by leaving its bound is let go. What is found is
# the least of all since H is positive definite. To cut each variable's step by itself, or to go
# without a variable for good, ends in corners that are none.


@kernel
def bounded_step(matrix: Floats, right: Floats, low: Floats, high: Floats, out: Floats) -> None:
    """
    Write the least x of a quadratic within a box, low <= 0 <= high; g is `right`, H `matrix`.

    H (n, n) is positive definite, n at most 9.
    """
    count = len(right)
    left, way = work_array(9)[:count], work_array(9)[:count]
    stopped = work_array(9)  # -1 at its lower bound, 1 at its upper one
    tolerance = 0.0
    for i in range(count):
        out[i] = stopped[i] = 0.0
        tolerance = max(tolerance, LEAVE_TOL * abs(right[i]))
    for _ in range(MAX_CHANGES):
        _gradient(matrix, right, out, left)
        _free_way(matrix, left, stopped, way)
        fraction, first = 1.0, -1
        for i in range(count):
            if stopped[i] == 0.0 and way[i] != 0.0:
                room = ((high[i] if way[i] > 0.0 else low[i]) - out[i]) / way[i]
                if room < fraction:
                    fraction, first = max(room, 0.0), i
        for i in range(count):
            out[i] = clamp(out[i] + fraction * way[i], low[i], high[i])
        if first >= 0:
            stopped[first] = 1.0 if way[first] > 0.0 else -1.0
            out[first] = high[first] if way[first] > 0.0 else low[first]
            continue
        # at the least of the free ones: what is left of those that are stopped
        _gradient(matrix, right, out, left)
        gain, best = tolerance, -1
        for i in range(count):
            if -stopped[i] * left[i] > gain:
                gain, best = -stopped[i] * left[i], i
        if best < 0:
            return
        stopped[best] = 0.0


@kernel
def _gradient(matrix: Floats, right: Floats, x: Floats, out: Floats) -> None:
    """Write g - H x."""
    for i in range(len(right)):
        out[i] = right[i]
        for k in range(len(right)):
            out[i] -= matrix[i, k] * x[k]


@kernel
def _free_way(matrix: Floats, left: Floats, stopped: Floats, out: Floats) -> None:
    """Write the solution for the variables that are not stopped, 0 for others, by Cholesky."""
    count, factor, right = len(left), work_table(9, 9), work_array(9)
    for i in range(count):
        for k in range(i + 1):
            is_free = stopped[i] == 0.0 and stopped[k] == 0.0
            factor[i, k] = matrix[i, k] if is_free else (1.0 if i == k else 0.0)
        right[i] = left[i] if stopped[i] == 0.0 else 0.0
    factorise_in_place(factor, count)
    solve_factorised(factor, right, count, out)
