# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Importance of one distance (kernels): Shin2002 eqs. 4.2 and 4.3 predict, eq. 4.4 is the cubic.

`importance` is Shin2002 eq. 4.4; `saturate` makes a smoothed importance reach exactly 1.
"""

from puppet_core.math import kernel

CONTACT_EXCESS = 0.04  # by which the follower's target at contact exceeds full importance [-]


@kernel
def importance(distance: float, rate: float, prediction: float, influence: float) -> float:
    """
    Return the importance in [0, 1] of an end-effector near an object.

    Parameters
    ----------
    distance, rate : float
        Distance [m], 0 at contact, and its time derivative [m/s].
    prediction : float
        lambda, how far ahead the distance is extrapolated [s].
    influence : float
        D, the distance from which on there is no importance [m].

    """
    # Shin2002 eqs. 4.2, 4.3: d_plus = d + lambda d_dot, d_bar = d_plus / D
    d_bar = (distance + prediction * rate) / influence
    # errata 1 (doc/errata.md): clamped, or a fast approach would lower the cubic again
    d_bar = min(max(d_bar, 0.0), 1.0)
    # Shin2002 eq. 4.4: cubic smooth step, 1 at contact, 0 at d_bar = 1
    return (2.0 * d_bar - 3.0) * d_bar * d_bar + 1.0


@kernel
def saturate(followed: float) -> float:
    """
    Return the importance in [0, 1] for the value of a follower that aims at 1 + CONTACT_EXCESS.

    A follower that aims at 1 comes near it for ever, and what is planted would never be wholly
    important. This one has passed 1 by half the excess a little later, and there the parabola
    that takes over at half the excess below 1 has its top: exactly 1, without a kink.

    """
    half = 0.5 * CONTACT_EXCESS
    missing = 1.0 + half - followed
    if missing <= 0.0:
        return 1.0
    if missing < 2.0 * half:
        return 1.0 - missing * missing / (4.0 * half)
    return max(followed, 0.0)
