# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the decoders of all devices share: plausible paths, sensor errors, orientations.

A flipped bit in a position leaves a well-formed record. What gives it away is that bodies do not
jump: a record out of a body's reach is taken for damage until CONFIRMATIONS further ones in a row
agree with it. So a true jump, and the beginning of a run, cost that many records; of only two, one
could repeat the other's damage. The speed of earlier records is no evidence, since a hand that
hits something stops or turns round within one period, and the reach does not grow while records
are lost.

An error that a device reports for a sensor counts once two records in a row carry it, because a
single one may be a flipped bit. It is kept until the sensor has sent records without it for
KEPT_NS, so that an intermittent error is visible to a poll once a second.

"""

from dataclasses import dataclass
import math
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.body import FASTEST_M_S, FASTEST_RAD_S
from puppet_core.math import Floats, Ints, kernel, Quat

CONFIRMATIONS = 2


# columns of Paths.memory: the last accepted pose, the last doubted one, how many agree with it
LAST, DOUBTED, N_DOUBTED = 0, 7, 14
MEMORY_SIZE = 15

NOISE_M = 0.01  # of a sensor far from its transmitter

KEPT_NS = 5_000_000_000

# columns of a table with a row for each sensor; codes are 0 for no error
SAID, ERROR, ERROR_NS, HEARD_NS = 0, 1, 2, 3
N_COLUMNS = 4


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


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sensor on a body can do between two of its records."""

    rate_hz: float = 120.0
    """Records a second of each sensor."""

    max_speed_mps: float = FASTEST_M_S
    """Speed of the fastest sensor [m/s]; infinite: nothing is implausible."""

    @property
    def distance_m(self) -> float:
        """How far it moves at most, noise included [m]."""
        return self.max_speed_mps / self.rate_hz + NOISE_M

    @property
    def angle_rad(self) -> float:
        """By how much it turns at most [rad]."""
        return min(FASTEST_RAD_S / self.rate_hz, math.pi)

    def paths(self, n_sensors: int) -> Paths:
        """Return the memory of so many sensors, none of which has been seen."""
        memory = np.full((n_sensors, MEMORY_SIZE), np.nan)
        memory[:, N_DOUBTED] = 0.0
        return Paths(memory, self.distance_m, math.cos(0.5 * self.angle_rad))


USUAL = Reach()
ANYWHERE = Reach(max_speed_mps=math.inf)


@njit(cache=True)
def record_error_code(table: Ints, ordinal: int, first: int, code: int, stamp_ns: int) -> None:
    """Note the error in a record, its sensor's columns in `table` beginning at `first`."""
    if code != 0 and code == table[ordinal, first + SAID]:
        table[ordinal, first + ERROR] = code
        table[ordinal, first + ERROR_NS] = stamp_ns
    table[ordinal, first + SAID] = code
    table[ordinal, first + HEARD_NS] = stamp_ns


@njit(cache=True)
def standing_error(table: Ints, ordinal: int, first: int) -> int:
    """Return the error that counts, 0 for none."""
    quiet_ns = table[ordinal, first + HEARD_NS] - table[ordinal, first + ERROR_NS]
    return table[ordinal, first + ERROR] if quiet_ns < KEPT_NS else 0


@kernel
def from_angles(z: float, y: float, x: float, out: Quat) -> None:
    """Write the rotation about Z, then the new Y, then the new X [rad] as (w, x, y, z)."""
    cz, sz = np.cos(0.5 * z), np.sin(0.5 * z)
    cy, sy = np.cos(0.5 * y), np.sin(0.5 * y)
    cx, sx = np.cos(0.5 * x), np.sin(0.5 * x)
    out[0] = cz * cy * cx + sz * sy * sx
    out[1] = cz * cy * sx - sz * sy * cx
    out[2] = cz * sy * cx + sz * cy * sx
    out[3] = sz * cy * cx - cz * sy * sx


@kernel
def matrix_error(m: Floats) -> float:
    """Return how far a matrix is from a rotation: the largest entry of m mᵀ - 1, 2 if mirrored."""
    worst = 0.0
    for i in range(3):
        for j in range(3):
            dot = m[i, 0] * m[j, 0] + m[i, 1] * m[j, 1] + m[i, 2] * m[j, 2]
            worst = max(worst, abs(dot - (1.0 if i == j else 0.0)))
    determinant = (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )
    return worst if determinant > 0.0 else max(worst, 2.0)


@kernel
def from_matrix(m: Floats, out: Quat) -> None:
    """Write the unit quaternion (w, x, y, z) of a rotation matrix, shape (3, 3)."""
    # four times the square of each component; the largest is divided by
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    largest, square = 0, 1.0 + trace
    for k in range(3):
        candidate = 1.0 + 2.0 * m[k, k] - trace
        if candidate > square:
            largest, square = k + 1, candidate
    if largest == 0:
        out[0] = square
        out[1], out[2], out[3] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        out[0] = m[k, j] - m[j, k]
        out[1 + i] = square
        out[1 + j] = m[j, i] + m[i, j]
        out[1 + k] = m[k, i] + m[i, k]
    norm = np.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + out[3] ** 2)
    for k in range(4):
        out[k] /= norm
