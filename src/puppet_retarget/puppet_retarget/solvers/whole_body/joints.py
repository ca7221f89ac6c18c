# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the joints: the hinges of knees and elbows, limits, and how fast corrections change."""

import math

from puppet_core.math import kernel
from puppet_core.math.values import dot, rotate_inverse
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.problem import close_row, ramp
from puppet_retarget.solvers.whole_body.tree import MIDDLES


@kernel
def add_hinges(frame: Frame) -> None:
    """Add the rows that keep knees and elbows from bending sideways."""
    tree, x, weights = frame.tree, frame.x, frame.weights
    if tree.is_robot:
        return
    for s in MIDDLES:
        # the segment above has its lateral axis along X at rest, of arms and legs
        lateral = rotate_inverse(frame.wishes.rotations[s], (1.0, 0.0, 0.0))
        k = tree.first[s]
        for i in range(3):
            frame.problem.row[k + i] = lateral[i]
        close_row(frame.problem, weights.lateral, -dot(lateral, x[k : k + 3]))


@kernel
def add_rates(frame: Frame) -> None:
    """Add one-sided rows for corrections of joints that change too fast."""
    tree, weights, problem, dt = frame.tree, frame.weights, frame.problem, frame.wishes.dt
    if not dt < math.inf:
        return
    for s in range(16):
        k, count = tree.first[s], tree.counts[s]
        square = 0.0
        for i in range(k, k + count):
            square += (frame.x[i] - frame.memory.last[i]) ** 2
        change = math.sqrt(square)
        beyond, slope = ramp(change - weights.rate_rad_s * dt, weights.rate_soft_rad_s * dt)
        if beyond > 0.0:
            for i in range(k, k + count):
                problem.row[i] = (frame.memory.last[i] - frame.x[i]) / change
            close_row(problem, weights.rate * slope, beyond)


@kernel
def add_limits(frame: Frame) -> None:
    """Add the rows that bring joint rotations back within their limits."""
