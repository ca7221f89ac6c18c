# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Percentiles of any number of times in memory of fixed size."""

import numpy as np
from puppet_core.math import Floats

SHORTEST_S, LONGEST_S = 1e-6, 100.0
WIDTH = 0.01  # of a bin, over its lower edge
EDGES_S = SHORTEST_S * np.exp(
    np.arange(np.ceil(np.log(LONGEST_S / SHORTEST_S) / np.log1p(WIDTH)) + 1) * np.log1p(WIDTH)
)


class TimeHistogram:
    """
    Times counted in bins one per cent wide.

    What is shorter or longer than the bins reach counts in the first or last of them.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(len(EDGES_S) - 1, np.int64)
        self.longest_s = float('nan')
        """Exactly; NaN without any [s]."""

    @property
    def count(self) -> int:
        """How many were counted."""
        return int(self._counts.sum())

    def add(self, times_s: Floats) -> None:
        """Count times, shape (n,) [s]; NaN are left out."""
        known = times_s[~np.isnan(times_s)]
        if not len(known):
            return
        bins = np.searchsorted(EDGES_S, known, side='right') - 1
        np.add.at(self._counts, np.clip(bins, 0, len(self._counts) - 1), 1)
        self.longest_s = float(np.fmax(self.longest_s, known.max()))

    def reset(self) -> None:
        """Forget all."""
        self._counts[:] = 0
        self.longest_s = float('nan')

    def percentile_s(self, percent: float) -> float:
        """Return a percentile, at most half a bin wrong; NaN without any [s]."""
        count = self.count
        if not count:
            return float('nan')
        reached = np.cumsum(self._counts)
        rank = 0.01 * percent * count
        i = int(np.searchsorted(reached, max(rank, 1.0)))
        share = (max(rank, 0.5) - (reached[i] - self._counts[i])) / self._counts[i]
        inside = EDGES_S[i] + np.clip(share, 0.0, 1.0) * (EDGES_S[i + 1] - EDGES_S[i])
        return float(min(inside, self.longest_s))
