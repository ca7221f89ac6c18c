# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The corrected covariance where subtraction loses it (kernel layer).

P^- - W'W of kalman_kernels.correct is short and exact enough as long as what remains is not
below the rounding of what it was. Noise of nanometres after a gap of seconds is, and the
difference may then come out negative; Joseph's form adds positive terms only.

"""

from puppet_core.arrays import Floats
from puppet_core.kernel import kernel

LEAST_SHARE = 1e-8  # of a variance that a difference leaves with half of its digits


@kernel
def has_lost_digits(before: Floats, after: Floats) -> bool:
    """Return whether a variance fell to where rounding matters; P^- and P, shape (12, 12)."""
    for k in range(12):
        if not after[k, k] > LEAST_SHARE * before[k, k]:
            return True
    return False


@kernel
def correct_joseph(
    p: Floats, noise: Floats, lower: Floats, w: Floats, gain: Floats, rest: Floats, out: Floats
) -> None:
    """
    Write (I - K H) P^- (I - K H)' + K R K'.

    Parameters
    ----------
    p : ndarray, shape (12, 12)
        P^-; must not be `out`.
    noise : ndarray, shape (6, 6)
        R.
    lower, w : ndarray, shape (6, 6) and (6, 12)
        As factor_innovation and correct left them.
    gain, rest : ndarray, shape (12, 6) and (12, 12)
        Work space: K, (I - K H) P^-.
    out : ndarray, shape (12, 12)
        Takes the corrected covariance, symmetric to the bit.

    """
    for a in range(12):
        # K' = L'^-1 W
        for i in range(5, -1, -1):
            value = w[i, a]
            for k in range(i + 1, 6):
                value -= lower[k, i] * gain[a, k]
            gain[a, i] = value * lower[i, i]
        for b in range(12):
            value = p[a, b]
            for k in range(6):
                value -= gain[a, k] * p[k, b]
            rest[a, b] = value
    for a in range(12):
        for b in range(a + 1):
            value = rest[a, b]
            for k in range(6):
                value -= rest[a, k] * gain[b, k]
            for i in range(6):
                for k in range(6):
                    value += gain[a, i] * noise[i, k] * gain[b, k]
            out[a, b] = value
            out[b, a] = value
