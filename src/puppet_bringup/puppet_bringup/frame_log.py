# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One row for each frame of a run: when it passed each topic, and what is needed of it later.

Rows are found by the frame's stamp, which travels unchanged through the graph. Times are in
seconds since the first stamp.

"""

from collections import OrderedDict

import numpy as np
from puppet_core.arrays import Floats

# Where a frame is seen, in the order of the data; each is what the node before it publishes.
STAGES = {
    '/tracker/raw': 'driver',
    '/tracker/filtered': 'filter',
    '/performer/posture': 'performer',
    '/importance': 'importance',
    '/joint_states': 'retarget',
}
TOPICS = tuple(STAGES)

STAMP, INDEX = 0, 1
ARRIVALS = slice(2, 2 + len(STAGES))
PERFORMER_SOLES = slice(ARRIVALS.stop, ARRIVALS.stop + 6)
PUPPET_SOLES = slice(PERFORMER_SOLES.stop, PERFORMER_SOLES.stop + 6)
PENETRATION = PUPPET_SOLES.stop
IMPORTANCES = slice(PENETRATION + 1, PENETRATION + 5)
N_JOINTS = IMPORTANCES.stop  # joint states, one of each puppet; not finite without any
WIDTH = N_JOINTS + 1

FIRST_CAPACITY = 4096
RECENT_FRAMES = 1000  # still found by stamp; messages are never that late


class FrameLog:
    """
    Rows that grow with the run; what was not seen is NaN.

    Whoever takes rows out now and then keeps it small.

    """

    def __init__(self) -> None:
        self._rows = np.full((FIRST_CAPACITY, WIDTH), np.nan)
        self._n = self._taken = 0
        self._late = np.full(WIDTH, np.nan)
        # stamp -> how many rows came before, taken ones included
        self._recent: OrderedDict[int, int] = OrderedDict()
        self._first_ns: int | None = None

    def __len__(self) -> int:
        return self._n

    def row(self, stamp_ns: int) -> Floats:
        """Return the row of a frame, a view to write into; a new one if the stamp is new."""
        index = self._recent.get(stamp_ns)
        if index is None:
            index = self._append(stamp_ns)
        if index < self._taken:
            return self._late  # nobody asks about it any more
        return self._rows[index - self._taken]

    def seconds(self, time_ns: int) -> float:
        """Return a time in seconds since the first stamp."""
        assert self._first_ns is not None
        return (time_ns - self._first_ns) * 1e-9

    def arrived(self, topic_index: int, stamp_ns: int, now_ns: int) -> Floats:
        """Note when a frame came on a topic, by its place in TOPICS; return its row."""
        row = self.row(stamp_ns)
        place = ARRIVALS.start + topic_index
        row[place] = self.seconds(now_ns)
        if place == ARRIVALS.stop - 1:
            n = row[N_JOINTS]
            row[N_JOINTS] = n + 1.0 if n > 0.0 else 1.0
        return row

    def table(self) -> Floats:
        """Return all rows, sorted by stamp, shape (n, WIDTH); a copy."""
        rows = self._rows[: self._n]
        return rows[np.argsort(rows[:, STAMP], kind='stable')]

    def take(self, before_s: float) -> Floats:
        """Return the rows of frames acquired before a time, and forget them, (n, WIDTH) [s]."""
        rows = self._rows[: self._n]
        later = np.flatnonzero(rows[:, STAMP] >= before_s)
        n = int(later[0]) if len(later) else len(rows)
        taken = rows[:n].copy()
        left = self._n - n
        rows[:left] = rows[n:].copy()
        rows[left:] = np.nan
        self._n = left
        self._taken += n
        return taken[np.argsort(taken[:, STAMP], kind='stable')]

    def _append(self, stamp_ns: int) -> int:
        if self._first_ns is None:
            self._first_ns = stamp_ns
        if self._n == len(self._rows):
            self._rows = np.concatenate((self._rows, np.full_like(self._rows, np.nan)))
        self._rows[self._n, STAMP] = self.seconds(stamp_ns)
        index = self._taken + self._n
        self._n += 1
        self._recent[stamp_ns] = index
        if len(self._recent) > RECENT_FRAMES:
            self._recent.popitem(last=False)
        return index
