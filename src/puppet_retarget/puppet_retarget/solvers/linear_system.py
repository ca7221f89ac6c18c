# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Linear systems so small that a library call would cost more (kernel layer)."""

import math

from numba import njit
from puppet_core.arrays import Floats

SINGULAR = 1e-13  # pivot below which a system counts as singular
LEAST_PIVOT, STIFF = 1e-12, 1e12


@njit(cache=True)
def solve_in_place(system: Floats) -> bool:
    """
    Turn the last column of a (4, 5) linear system into its solution; False if singular.

    Gauss-Jordan elimination with row pivoting; the other columns are destroyed.

    """
    for column in range(4):
        pivot = column
        for row in range(column + 1, 4):
            if abs(system[row, column]) > abs(system[pivot, column]):
                pivot = row
        if abs(system[pivot, column]) < SINGULAR:
            return False
        for k in range(column, 5):
            swap = system[column, k]
            system[column, k] = system[pivot, k]
            system[pivot, k] = swap
        for row in range(4):
            if row != column:
                factor = system[row, column] / system[column, column]
                for k in range(column, 5):
                    system[row, k] -= factor * system[column, k]
    for row in range(4):
        system[row, 4] /= system[row, row]
    return True


@njit(cache=True)
def factorise_in_place(matrix: Floats) -> None:
    """Turn the lower triangle of a positive definite (n, n) matrix into its Cholesky factor."""
    n = len(matrix)
    for j in range(n):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        # a direction that rounding left without curvature, with absurd weights, stays as it is
        matrix[j, j] = math.sqrt(matrix[j, j]) if matrix[j, j] > LEAST_PIVOT else STIFF
        for i in range(j + 1, n):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]


@njit(cache=True)
def solve_factorised(factor: Floats, right: Floats, out: Floats) -> None:
    """Write the solution for a right side, shape (n,), and a factor from the above."""
    n = len(right)
    for i in range(n):
        out[i] = right[i]
        for k in range(i):
            out[i] -= factor[i, k] * out[k]
        out[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            out[i] -= factor[k, i] * out[k]
        out[i] /= factor[i, i]
