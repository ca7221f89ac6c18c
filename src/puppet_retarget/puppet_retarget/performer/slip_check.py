# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which sensor slipped on its segment during a recording, and when.

A sensor that slips sees its joints in one place before and in another after. For each sensor
and each instant the joints next to it are fitted again with two centres in that sensor's
frame; the sensor and instant whose second centre removes most of the residual are named, if
it removes much. A slip of the sensor's neighbour would not stay in one place in its frame.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats
from puppet_retarget.performer.joint_centres import fit_joint, normal_equations, residual_vectors
from puppet_retarget.performer.motion_recording import Joint, RelativePoses

CHUNKS = 50  # instants that are tried
MARGIN = 3  # chunks that must lie on both sides
MIN_GAIN_M = 0.0045  # RMS movement that a slip must explain
MIN_GAIN_SHARE = 0.45  # of the sum of squares that it must explain
CORRELATION_S = 0.5  # of the residuals: frames nearer to each other tell the same
NOISE_M = 0.002  # below it a residual is as good as none
RIDGE = 1e-9
WILD_M = 0.2  # no slip moves a joint this far; an outlier does


class Slip(NamedTuple):
    """A sensor that changed its place on its segment."""

    sensor: int
    """Which."""

    share: float
    """When, as a share of the recording, 0 .. 1."""

    moved_m: float
    """RMS movement of its joints in its frame that this explains [m]."""


class _Sums(NamedTuple):
    """Normal equations of one joint, cumulated over the chunks of the recording."""

    matrices: Floats  # (CHUNKS + 1, 6, 6)
    rights: Floats  # (CHUNKS + 1, 6)
    squares: Floats  # (CHUNKS + 1,)
    counts: Floats  # (CHUNKS + 1,)


def slipped_sensors(
    joints: Sequence[Joint], relatives: Sequence[RelativePoses], n_frames: int, rate_hz: float
) -> list[Slip]:
    """Return the sensors that slipped, the worst first; none if all stayed."""
    sums = [_cumulated(relative, n_frames) for relative in relatives]
    left = list(range(len(joints)))
    slips: list[Slip] = []
    while left:
        sensors = sorted({s for j in left for s in joints[j][1:]})
        found = [_best_instant(s, joints, sums, left, rate_hz) for s in sensors]
        score, slip = max(found, key=lambda pair: pair[0])
        if score <= 0.0:
            break
        slips.append(slip)
        left = [j for j in left if slip.sensor not in joints[j][1:]]
    return slips


def _best_instant(
    sensor: int, joints: Sequence[Joint], sums: Sequence[_Sums], left: Sequence[int],
    rate_hz: float,
) -> tuple[float, Slip]:  # fmt: skip
    """Return how much better a slip of this sensor explains its joints, 0 if it does not."""
    own = [j for j in left if sensor in joints[j][1:]]
    count = sum(sums[j].counts[-1] for j in own)
    before = np.array([_rss(s.matrices[-1], s.rights[-1], s.squares[-1])
                       for s in (sums[j] for j in own)])  # fmt: skip
    best = (0.0, Slip(sensor, 0.0, 0.0))
    for chunk in range(MARGIN, CHUNKS - MARGIN + 1):
        after = np.array([_split_rss(sums[j], chunk, joints[j].child == sensor) for j in own])
        gain = float(np.sum(before - after))
        moved = np.sqrt(max(gain, 0.0) / max(count, 1.0))
        if moved < MIN_GAIN_M or gain < MIN_GAIN_SHARE * float(np.sum(before)):
            continue
        counts = np.array([sums[j].counts[-1] for j in own])
        floors = counts * NOISE_M**2
        # Bayesian information criterion, a joint at a time, for a noise that is not known: a
        # slip must pay for the three coordinates that it adds to each joint of the sensor
        independent = np.maximum(counts / rate_hz / CORRELATION_S, 2.0)
        gains = independent * np.log((before + floors) / (after + floors))
        score = float(np.sum(gains - 3.0 * np.log(independent)))
        if score > best[0]:
            best = (score, Slip(sensor, chunk / CHUNKS, float(moved)))
    return best


def _cumulated(relative: RelativePoses, n_frames: int) -> _Sums:
    matrices, rights = np.zeros((CHUNKS + 1, 6, 6)), np.zeros((CHUNKS + 1, 6))
    squares, counts = np.zeros(CHUNKS + 1), np.zeros(CHUNKS + 1)
    distances = np.linalg.norm(residual_vectors(relative, fit_joint(relative).centre), axis=1)
    chunk_of = np.where(distances < WILD_M, relative.frames * CHUNKS // n_frames, -1)
    for chunk in range(CHUNKS):
        mine = chunk_of == chunk
        part = RelativePoses(
            relative.rotations[mine], relative.positions[mine], relative.frames[mine]
        )
        matrix, right, square = normal_equations(part, np.ones(int(np.sum(mine))))
        matrices[chunk + 1] = matrices[chunk] + matrix
        rights[chunk + 1] = rights[chunk] + right
        squares[chunk + 1] = squares[chunk] + square
        counts[chunk + 1] = counts[chunk] + np.sum(mine)
    return _Sums(matrices, rights, squares, counts)


def _split_rss(sums: _Sums, chunk: int, in_child: bool) -> float:
    """Return the sum of squares with two centres in one sensor's frame, parted at a chunk."""
    first, whole = sums.matrices[chunk], sums.matrices[-1]
    split, kept = (slice(3, 6), slice(0, 3)) if in_child else (slice(0, 3), slice(3, 6))
    parts = (first, whole - first)
    rights = (sums.rights[chunk], sums.rights[-1] - sums.rights[chunk])
    matrix, right = np.zeros((9, 9)), np.zeros(9)
    for part, vector, rows in zip(parts, rights, (slice(3, 6), slice(6, 9))):
        matrix[:3, :3] += part[kept, kept]
        matrix[:3, rows] = part[kept, split]
        matrix[rows, :3] = part[split, kept]
        matrix[rows, rows] = part[split, split]
        right[:3] += vector[kept]
        right[rows] = vector[split]
    return _rss(matrix, right, sums.squares[-1])


def _rss(matrix: Floats, right: Floats, square: float) -> float:
    ridge = RIDGE * np.trace(matrix) * np.eye(len(right))
    return max(float(square - right @ np.linalg.solve(matrix + ridge, right)), 0.0)
