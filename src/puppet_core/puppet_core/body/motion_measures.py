# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Measures of motion shared by reports and live code: foot slide, whips, the fastest human motion.

The fastest limbs that sport science measures are kicking feet, 17 m/s, and elbows that extend in a
pitch, 2400 deg/s = 42 rad/s (Corcoran2024, Fleisig1999). A joint whips in a frame where it turns
faster than `WHIP_DEG_S` while the performer's turns slower than `CALM_DEG_S`.
"""

import math

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import angle_between, Floats, kernel, Quats, Vec3s

PLANTED_HEIGHT_M = 0.05
PLANTED_SPEED_M_S = 0.25
MIN_CONTACT_S = 0.1  # a shorter contact is none
MAX_GAP_S = 0.07  # a shorter interruption is none

FASTEST_M_S = 20.0
FASTEST_RAD_S = 60.0

# A performer's body is slower: above the 42 rad/s of that elbow and the 12.4 m/s of a sprinter.
PERFORMER_RATIO = 0.75

WHIP_DEG_S, CALM_DEG_S = 1000.0, 300.0

SHORTEST_S = 1.0 / 240.0  # frames are not nearer; stamps may be
LONGEST_S = 1.0 / 24.0  # nothing goes on at its fastest for longer than a frame of a film


def speeds(positions: Vec3s, rate_hz: float) -> Floats:
    """Return speeds by causal differences, zero in the first frame, shape (n, ...) [m/s]."""
    steps = np.zeros(positions.shape[:-1])
    steps[1:] = np.linalg.norm(np.diff(positions, axis=0), axis=-1) * rate_hz
    return steps


def planted_soles(soles: Vec3s, rate_hz: float) -> NDArray[np.bool_]:
    """Return in which frames the sole centres (n, 2, 3) in world [m] are planted, shape (n, 2)."""
    planted = soles[..., 2] < PLANTED_HEIGHT_M
    planted &= speeds(soles, rate_hz) < PLANTED_SPEED_M_S
    planted[0] = False  # its speed is not known
    return planted


def runs(inside: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first index and end of each run of true values (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])).astype(np.int8)))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def lasting(planted: NDArray[np.bool_], rate_hz: float) -> NDArray[np.bool_]:
    """Return contacts (n,) without short interruptions and without short ones but at the ends."""
    joined, n = planted.copy(), len(planted)
    for first, end in runs(~planted):
        if 0 < first and end < n and end - first <= MAX_GAP_S * rate_hz:
            joined[first:end] = True
    for first, end in runs(joined):
        if 0 < first and end < n and end - first < MIN_CONTACT_S * rate_hz:
            joined[first:end] = False
    return joined


def slide_mm_s(soles: Vec3s, planted: NDArray[np.bool_], rate_hz: float) -> float:
    """Return the mean speed [mm/s] of soles (n, 2, 3) over the planted frames; NaN if none."""
    moving = speeds(soles, rate_hz)[planted]
    return float(np.mean(moving) * 1000.0) if moving.size else float('nan')


@kernel
def whipping(
    before: Quats,
    after: Quats,
    performer_before: Quats,
    performer_after: Quats,
    dt_s: float,
    out: NDArray[np.bool_],
) -> int:
    """Mark which joints (k,) whip within one frame, rotations (k, 4); return how many."""
    count, fast, calm = 0, math.radians(WHIP_DEG_S) * dt_s, math.radians(CALM_DEG_S) * dt_s
    for j in range(len(out)):
        out[j] = (
            angle_between(before[j], after[j]) > fast
            and angle_between(performer_before[j], performer_after[j]) < calm
        )
        count += out[j]
    return count
