# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Linear systems so small that a library call costs more (kernels)."""

import math

from puppet_core.math.arrays import Floats
from puppet_core.math.compiled import kernel

LEAST_PIVOT, STIFF = 1e-12, 1e12


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
