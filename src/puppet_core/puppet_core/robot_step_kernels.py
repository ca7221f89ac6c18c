# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The least of a quadratic within a box: of 1/2 x' H x - g' x with low <= x <= high (kernel layer).

By active sets (NocedalWright2006, section 16.5): along the way to the least of the free variables
the first that gets to its bound stays there, and the others go on; where they are at their
least, the variable that would gain most by leaving its bound is let go. What is found is the
least of all since H is positive definite. To cut each variable's step by itself, or to go without
a variable for good, ends in corners that are none.

"""

import math

from puppet_core.arrays import Floats
from puppet_core.kernel import kernel
from puppet_core.work_array import work_array, work_table

MAX_VARIABLES = 9
MAX_CHANGES = 40  # of the variables at their bounds; some 10 are usual
LEAVE_TOL = 1e-12  # of the greatest gradient, what a variable gains at least [-]


@kernel
def bounded_step(
    matrix: Floats, right: Floats, low: Floats, high: Floats, count: int, out: Floats
) -> None:
    """
    Write the least of a quadratic within a box.

    Parameters
    ----------
    matrix : ndarray, shape (9, 9)
        H, positive definite; rows and columns up to `count` count.
    right : ndarray, shape (9,)
        g.
    low, high : ndarray, shape (9,)
        The box, low <= 0 <= high.
    count : int
        How many variables there are, at most MAX_VARIABLES.
    out : ndarray, shape (9,)
        Out: x.

    """
    left, way, stopped = work_array(9), work_array(9), work_array(9)
    scale = 0.0
    for i in range(count):
        out[i], stopped[i] = 0.0, 0.0
        scale = max(scale, abs(right[i]))
    for _ in range(MAX_CHANGES):
        for i in range(count):
            left[i] = right[i]
            for k in range(count):
                left[i] -= matrix[i, k] * out[k]
        _free_way(matrix, left, stopped, count, way)
        if _go(way, low, high, count, stopped, out):
            continue
        for i in range(count):
            # at the least of the free ones: what is left of those that are stopped
            left[i] = right[i]
            for k in range(count):
                left[i] -= matrix[i, k] * out[k]
        if not _let_go(left, LEAVE_TOL * scale, count, stopped):
            return


@kernel
def _go(
    way: Floats, low: Floats, high: Floats, count: int, stopped: Floats, out: Floats
) -> bool:
    """Go along a way to the first bound; return whether there is one on the way."""
    share, first = 1.0, -1
    for i in range(count):
        if stopped[i] == 0.0 and way[i] != 0.0:
            room = (high[i] if way[i] > 0.0 else low[i]) - out[i]
            if room / way[i] < share:
                share, first = max(room / way[i], 0.0), i
    for i in range(count):
        out[i] = min(max(out[i] + share * way[i], low[i]), high[i])
    if first < 0:
        return False
    stopped[first] = 1.0 if way[first] > 0.0 else -1.0
    out[first] = high[first] if way[first] > 0.0 else low[first]
    return True


@kernel
def _let_go(left: Floats, least: float, count: int, stopped: Floats) -> bool:
    """Free the variable that would gain most by leaving its bound; return whether any would."""
    best, found = least, -1
    for i in range(count):
        gain = -stopped[i] * left[i]
        if gain > best:
            best, found = gain, i
    if found >= 0:
        stopped[found] = 0.0
    return found >= 0


@kernel
def _free_way(matrix: Floats, left: Floats, stopped: Floats, count: int, out: Floats) -> None:
    """Write the solution for the variables that are not stopped, 0 for others, by Cholesky."""
    lower = work_table(9, 9)
    for i in range(count):
        for k in range(i + 1):
            is_free = stopped[i] == 0.0 and stopped[k] == 0.0
            total = matrix[i, k] if is_free else (1.0 if i == k else 0.0)
            for m in range(k):
                total -= lower[i, m] * lower[k, m]
            lower[i, k] = math.sqrt(max(total, 1e-300)) if i == k else total / lower[k, k]
    for i in range(count):
        total = left[i] if stopped[i] == 0.0 else 0.0
        for m in range(i):
            total -= lower[i, m] * out[m]
        out[i] = total / lower[i, i]
    for i in range(count - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, count):
            total -= lower[m, i] * out[m]
        out[i] = total / lower[i, i]
