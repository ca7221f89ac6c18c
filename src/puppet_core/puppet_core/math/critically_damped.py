# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A critically damped follower: causal smoothing of a scalar in time (kernel layer)."""

import math

from puppet_core.math.arrays import Floats
from puppet_core.math.compiled import kernel


@kernel
def follow(state: Floats, target: float, time_constant: float, dt: float) -> float:
    """
    Advance a critically damped follower by one step and return its value.

    Exact for a target held over the step, so any step length is stable.

    Parameters
    ----------
    state : ndarray, shape (2,)
        Value and its rate; overwritten.
    target : float
        What to follow.
    time_constant : float
        tau [s]; 0 follows at once.
    dt : float
        Step [s].

    """
    if time_constant <= 0.0:
        state[0], state[1] = target, 0.0
        return target
    error = state[0] - target
    slope = state[1] + error / time_constant
    decay = math.exp(-dt / time_constant)
    state[0] = target + (error + slope * dt) * decay
    state[1] = (state[1] - slope * dt / time_constant) * decay
    return state[0]
