# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Linear systems so small that a library call would cost more (kernel layer)."""

import math

from puppet_core.math.arrays import Floats
from puppet_core.math.compiled import kernel

SINGULAR = 1e-13  # pivot below which a system counts as singular
LEAST_PIVOT, STIFF = 1e-12, 1e12


@kernel
def solve_in_place(system: Floats) -> bool:
    """Turn the last column of a system (4, 5) into its solution, by Gauss-Jordan; or False."""
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


@kernel
def factorise_in_place(matrix: Floats, n: int, stiffen: bool) -> bool:
    """
    Turn the lower triangle of a symmetric matrix into its Cholesky factor; False if it has none.

    The diagonal becomes the inverse of the factor's, for `solve_factorised`. Rows and columns from
    n on are left alone. `stiffen` makes a direction without curvature very stiff, so that it stays
    as it is, as rounding may want it with absurd weights; else the factor is left unfinished.
    """
    is_definite = True
    for i in range(n):
        for j in range(i):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value * matrix[j, j]
        pivot = matrix[i, i]
        for k in range(i):
            pivot -= matrix[i, k] * matrix[i, k]
        if pivot > LEAST_PIVOT:
            matrix[i, i] = 1.0 / math.sqrt(pivot)
        elif not stiffen:
            return False
        else:
            matrix[i, i] = 1.0 / STIFF
            is_definite = False
    return is_definite


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
