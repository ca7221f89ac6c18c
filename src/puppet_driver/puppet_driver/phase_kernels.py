# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How much later than the first line of a frame another one measures (kernel layer).

Devices that share a clock send their ticks at one time, and what differs is delay on the way;
devices that do not share one are out of phase, which is told from delays by its persistence.

"""

from puppet_core.kernel import kernel

MEMORY = 0.1  # weight of one tick in a line's phase
MAX_STEP = 0.02  # of a period: the most that one tick, perhaps held up, changes it
SAME_TIME, OTHER_TIME = 0.1, 0.2  # of a period: lines so far apart measure at one time, at two


@kernel
def next_phase(phase_ns: float, delay_ns: float, period_ns: float) -> float:
    """Return a line's phase after a tick that came with some delay after the first line's."""
    change_ns = MEMORY * (delay_ns - phase_ns)
    return phase_ns + min(max(change_ns, -MAX_STEP * period_ns), MAX_STEP * period_ns)


@kernel
def own_phase(phase_ns: float, period_ns: float) -> float:
    """Return the part of a phase that is the device's own, 0 for what delays can explain [ns]."""
    certainty = (phase_ns / period_ns - SAME_TIME) / (OTHER_TIME - SAME_TIME)
    return phase_ns * min(max(certainty, 0.0), 1.0)
