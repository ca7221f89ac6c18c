# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The period of ticks by their arrivals, late and lost ones among them (kernel layer)."""

from numba import njit
import numpy as np
from puppet_core.math import Ints

MIN_USUAL, MAX_USUAL = 0.6, 1.6  # of a period: a step between arrivals that may be one
STEP = 0.002  # from one period that is tried to the next; a third of what 128 ticks resolve
FINE_STEPS = 8  # into which the best of those steps is divided
LONGEST = 1.25  # of the usual step or of the nominal period: the longest that is tried
MAX_BUNCH, MAX_DIVISOR = 4.0, 4.5  # how far the usual step may be from the period, either way
AS_WELL = 0.85  # of the best time-keeping: what is as good
MIN_PERIOD_NS = 500_000.0  # a device at twice the highest rate_hz
NOMINAL_TOLERANCE = 0.005  # a period so close to the configured one is the configured one
CLEAR, UNCLEAR = 0.4, 0.2  # how well arrivals keep time with a period, of 1
COUNT_TOLERANCE = 0.018  # ticks of the nominal rate are counted so well
OTHER = 0.02  # from when on a period is another one than the nominal
FASTER = (
    0.9  # of the nominal period: a shorter one means that the device is faster than configured
)


@njit(cache=True)
def time_keeping(arrivals_ns: Ints, period_ns: float) -> float:
    """Return how well arrivals keep time with a period: 1 exactly, 0 not at all."""
    cosines, sines = 0.0, 0.0
    for arrival_ns in arrivals_ns:
        phase = 2.0 * np.pi * ((arrival_ns - arrivals_ns[0]) / period_ns)
        cosines += np.cos(phase)
        sines += np.sin(phase)
    return np.hypot(cosines, sines) / len(arrivals_ns)


@njit(cache=True)
def usual_step(arrivals_ns: Ints) -> float:
    """Return the median step from one arrival to the next [ns]."""
    return float(np.median(np.diff(arrivals_ns).astype(np.float64)))


@njit(cache=True)
def shortest_step(arrivals_ns: Ints) -> float:
    """Return a step between arrivals that nine in ten exceed [ns]."""
    return float(np.quantile(np.diff(arrivals_ns).astype(np.float64), 0.1))


@njit(cache=True)
def is_too_fast(arrivals_ns: Ints, period_ns: float, nominal_ns: float) -> bool:
    """
    Return whether a period is short for a reason that arrivals do not bear out.

    What a held up host reads at once is dated back by whole periods, and so keeps time with
    halves and thirds of the period too. But a faster device sends more ticks in the same time.

    """
    mean_ns = (arrivals_ns[-1] - arrivals_ns[0]) / (len(arrivals_ns) - 1)
    return period_ns < FASTER * nominal_ns and mean_ns > MAX_USUAL * period_ns


@njit(cache=True)
def longest_kept(arrivals_ns: Ints, longest_ns: float, shortest_ns: float) -> tuple[float, float]:
    """
    Return the longest period in a range that is kept about as well as any, and how well.

    What keeps time with a period does so with a half and a third of it too.

    """
    n = int(np.log(longest_ns / shortest_ns) / STEP) + 1
    keepings = np.empty(n)
    for i in range(n):
        keepings[i] = time_keeping(arrivals_ns, longest_ns * np.exp(-STEP * i))
    first = 0
    while keepings[first] < AS_WELL * keepings.max():
        first += 1
    best = first
    while first < n and keepings[first] >= AS_WELL * keepings.max():
        best = first if keepings[first] > keepings[best] else best
        first += 1
    middle_ns = longest_ns * np.exp(-STEP * best)
    keeping, period_ns = keepings[best], middle_ns
    for i in range(1 - FINE_STEPS, FINE_STEPS):
        near_ns = middle_ns * (1.0 + STEP / FINE_STEPS * i)
        kept = time_keeping(arrivals_ns, near_ns)
        if kept > keeping:
            keeping, period_ns = kept, near_ns
    return period_ns, keeping


@njit(cache=True)
def measured_period(arrivals_ns: Ints, nominal_ns: float) -> float:
    """
    Return the period that the arrivals keep time with, -1 if there is none [ns].

    Lost ticks do not matter to a periodogram, unlike to a mean of the steps. The usual step
    between arrivals is some periods long where most ticks are lost, and part of one where they
    come in bunches. The nominal period is believed on less evidence than another: adapters that
    deliver at times of their own make arrivals keep time with these, yet lose no tick.

    """
    usual_ns = max(usual_step(arrivals_ns), MIN_PERIOD_NS)
    longest_ns = min(max(LONGEST * usual_ns, LONGEST * nominal_ns), MAX_BUNCH * usual_ns)
    shortest_ns = max(usual_ns / MAX_DIVISOR, MIN_PERIOD_NS)
    period_ns, keeping = longest_kept(arrivals_ns, longest_ns, shortest_ns)
    mean_ns = (arrivals_ns[-1] - arrivals_ns[0]) / (len(arrivals_ns) - 1)
    if keeping <= CLEAR or is_too_fast(arrivals_ns, period_ns, nominal_ns):
        is_usual = MIN_USUAL * nominal_ns < usual_ns < MAX_USUAL * nominal_ns
        kept = time_keeping(arrivals_ns, nominal_ns) > UNCLEAR
        return nominal_ns if is_usual and kept else -1.0
    difference = abs(period_ns / nominal_ns - 1.0)
    is_counted = abs(mean_ns / nominal_ns - 1.0) < COUNT_TOLERANCE
    if difference < NOMINAL_TOLERANCE or (is_counted and difference > OTHER):
        return nominal_ns
    return period_ns
