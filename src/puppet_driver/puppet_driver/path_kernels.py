# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a record continues its sensor's path: for devices without a checksum (kernel layer).

A turned bit in a position leaves a perfect record. What tells it is that bodies do not jump: a
record beyond the reach of a body is held to be damage until CONFIRMATIONS further ones, one
after another, have come from there. So a true jump, and the beginning of a run, cost
that many records. Of two, one could repeat the other's damage: the same bit turned twice.

The speed of the records before says nothing: a hand that hits something stops, or turns
round, within one period. Nor does the reach grow while records are lost.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.kernel import kernel

CONFIRMATIONS = 2


# columns of Paths.memory: the last accepted pose, the last doubted one, how many agree with it
LAST, DOUBTED, N_DOUBTED = 0, 7, 14
MEMORY_SIZE = 15


class Paths(NamedTuple):
    """Where the sensors of a line are: one array, for each costs time in every read."""

    memory: Floats
    """For each sensor its last accepted pose, NaN before the first; its last pose that did not
    continue its path, NaN if it was accepted; how many such poses continue each other. Shape
    (sensors, MEMORY_SIZE)."""

    near_m: float
    """How far a sensor moves from record to record [m]; infinite: nothing is doubted."""

    near_cosine: float
    """Cosine of half the angle by which it turns."""


@kernel
def continues(pose: Floats, ordinal: int, at: int, paths: Paths) -> bool:
    """Return whether a pose is within reach of a remembered one, NaN in it aside."""
    distance2, cosine = 0.0, 0.0
    for k in range(3):
        distance2 += (pose[k] - paths.memory[ordinal, at + k]) ** 2
    for k in range(3, 7):
        cosine += pose[k] * paths.memory[ordinal, at + k]
    # false after NaN
    is_near = np.isnan(pose[0]) or distance2 <= paths.near_m * paths.near_m
    return is_near and (np.isnan(pose[3]) or abs(cosine) >= paths.near_cosine)


@kernel
def is_plausible(ordinal: int, pose: Floats, paths: Paths) -> bool:
    """Return whether a record is believed; remember it if not, for others to confirm."""
    if paths.near_m == np.inf or continues(pose, ordinal, LAST, paths):
        return True
    memory = paths.memory
    agrees = continues(pose, ordinal, DOUBTED, paths)
    memory[ordinal, N_DOUBTED] = 1.0 + (memory[ordinal, N_DOUBTED] if agrees else 0.0)
    for k in range(7):
        memory[ordinal, DOUBTED + k] = pose[k]
    return memory[ordinal, N_DOUBTED] > CONFIRMATIONS


@kernel
def follow(ordinal: int, pose: Floats, paths: Paths) -> None:
    """Go on from an accepted pose."""
    for k in range(7):
        paths.memory[ordinal, LAST + k] = pose[k]
        paths.memory[ordinal, DOUBTED + k] = np.nan
    paths.memory[ordinal, N_DOUBTED] = 0.0


@kernel
def has_begun(ordinal: int, paths: Paths) -> bool:
    """Return whether a sensor has been believed before."""
    memory = paths.memory
    return not (np.isnan(memory[ordinal, LAST]) and np.isnan(memory[ordinal, LAST + 3]))
