# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A critically damped follower: causal smoothing of a scalar in time (kernel layer)."""

import math

from puppet_core.math.arrays import Floats
from puppet_core.math.compiled import kernel


@kernel
def follow(state: Floats, target: float, time_constant: float, dt: float) -> float:
    """Advance a follower's value and rate (2,) exactly; return the value. 0 s follows at once."""
    if time_constant <= 0.0:
        state[0], state[1] = target, 0.0
        return target
    error = state[0] - target
    slope = state[1] + error / time_constant
    decay = math.exp(-dt / time_constant)
    state[0] = target + (error + slope * dt) * decay
    state[1] = (state[1] - slope * dt / time_constant) * decay
    return state[0]
