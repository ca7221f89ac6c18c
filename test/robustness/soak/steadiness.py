# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether something that runs for hours stays as it is: memory, latency, frames.

A slope is that of Theil and Sen: the median of the slopes between all pairs, which single steps
and outliers do not move. It is taken of medians of blocks of the series, so that values which
hang together with their neighbours do not make the confidence interval too narrow. A limit is
kept if the whole interval is below it, missed if the whole interval is above.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats
from scipy.stats import theilslopes

KEPT, MISSED, UNDECIDED = 'kept', 'missed', 'too short to tell'

CONFIDENCE = 0.95
MAX_BLOCKS = 60  # of a series; an hour's are minutes
MIN_BLOCKS = 8  # fewer have no interval worth the name
MIN_STRETCH_S = 600.0  # one arena of Python's is 1 MiB: a single one in less is any slope
WARM_UP_SHARE, MAX_WARM_UP_S = 0.2, 600.0

MAX_GROWTH_MB_H = 1.0
MAX_DRIFT_SHARE_H, MIN_DRIFT_MS_H = 0.1, 0.1  # an hour, of the median, and in any case
MAX_LOST_SHARE = 1e-5
MAX_MISSING_SHARE = 1e-4  # of the frames of a rate; two clocks differ by less
EDGE_FRAMES = 2  # that a window may lack at its ends


class Trend(NamedTuple):
    """The slope of a series, with its confidence interval; NaN where there is none."""

    per_hour: float
    low_per_hour: float
    high_per_hour: float
    stretch_s: float  # What it was taken of [s]


class Evaluation(NamedTuple):
    """Whether a limit was kept."""

    outcome: str  # KEPT, MISSED or UNDECIDED
    limit: float  # What was allowed
    found: float  # What was found, in the unit of the limit; NaN if nothing


def warm_up_s(duration_s: float) -> float:
    """Return how much of the begin of a run does not count [s]."""
    return min(WARM_UP_SHARE * duration_s, MAX_WARM_UP_S)


def trend(times_s: Floats, values: Floats) -> Trend:
    """
    Return the slope of a series.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Ascending [s].
    values : ndarray, shape (n,)
        In any unit; those that are not finite are left out.

    Returns
    -------
    trend : Trend
        In the unit of the values an hour.

    """
    known = np.isfinite(values)
    times_s, values = times_s[known], values[known]
    if len(values) < 2:
        return Trend(np.nan, np.nan, np.nan, 0.0)
    stretch_s = float(times_s[-1] - times_s[0])
    parts = np.array_split(np.arange(len(values)), min(len(values), MAX_BLOCKS))
    hours = np.array([np.median(times_s[part]) for part in parts]) / 3600.0
    medians = np.array([np.median(values[part]) for part in parts])
    found = theilslopes(medians, hours, alpha=CONFIDENCE)
    if len(parts) < MIN_BLOCKS:
        return Trend(float(found[0]), np.nan, np.nan, stretch_s)
    return Trend(float(found[0]), float(found[2]), float(found[3]), stretch_s)


def judge_growth(found: Trend, limit_per_hour: float = MAX_GROWTH_MB_H) -> Evaluation:
    """Return whether a slope is at most a limit; one downwards is none that matters."""
    if not found.stretch_s >= MIN_STRETCH_S or not np.isfinite(found.high_per_hour):
        outcome = UNDECIDED
    elif found.high_per_hour <= limit_per_hour:
        outcome = KEPT
    else:
        outcome = MISSED if found.low_per_hour > limit_per_hour else UNDECIDED
    return Evaluation(outcome, limit_per_hour, found.per_hour)


def judge_drift(found: Trend, median_ms: float) -> Evaluation:
    """Return whether a latency stays: its slope [ms/h] is small compared with its median [ms]."""
    limit = max(MAX_DRIFT_SHARE_H * median_ms, MIN_DRIFT_MS_H)
    return judge_growth(found, limit)


def judge_losses(frames: int, lost: int) -> Evaluation:
    """Return whether the fraction of lost frames is at most one in a hundred thousand."""
    share = lost / frames if frames else float('nan')
    if share > MAX_LOST_SHARE:
        outcome = MISSED
    else:
        outcome = KEPT if frames * MAX_LOST_SHARE >= 1.0 else UNDECIDED
    return Evaluation(outcome, MAX_LOST_SHARE, share)


def judge_rate(frames: int, rate_hz: float, duration_s: float) -> Evaluation:
    """Return whether there were as many frames as a rate [Hz] has in a time [s], nearly."""
    wanted = rate_hz * duration_s
    share = max(wanted - frames, 0.0) / wanted if wanted else float('nan')
    if share * wanted > MAX_MISSING_SHARE * wanted + EDGE_FRAMES:
        outcome = MISSED
    else:
        outcome = KEPT if wanted * MAX_MISSING_SHARE >= 1.0 else UNDECIDED
    return Evaluation(outcome, MAX_MISSING_SHARE, share)


def judge_count(values: Floats) -> Evaluation:
    """Return whether a count, of threads or files, is at the end what it was at the begin."""
    known = values[np.isfinite(values)]
    n = len(known) // 10
    if not n:
        return Evaluation(UNDECIDED, np.nan, np.nan)
    first, last = float(np.median(known[:n])), float(np.median(known[-n:]))
    return Evaluation(KEPT if last <= first else MISSED, first, last)
