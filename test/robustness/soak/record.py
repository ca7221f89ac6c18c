# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a long run is remembered by, in memory that does not grow with it."""

from collections.abc import Mapping, Sequence

import numpy as np
from puppet_bringup.monitor import ARRIVALS, FrameLog, INDEX, STAMP, TOPICS, WIDTH
from puppet_core.math import Floats
from robustness.process_usage import FullUsage
from robustness.soak.time_histogram import TimeHistogram

LAST = ARRIVALS.stop - 1  # /joint_states
MINUTE_S = 60.0
MINUTE_FIELDS = ('time_s', 'frames', 'lost', 'p50_ms', 'p99_ms', 'max_ms')
PERCENTILES = {'p50': 50.0, 'p99': 99.0, 'p99_9': 99.9}


class TakenLog(FrameLog):
    """A log whose rows are taken out as they are done, so that it does not grow."""

    def __init__(self) -> None:
        super().__init__()
        self._taken_s = -np.inf
        self._late = np.full(WIDTH, np.nan)

    def row(self, stamp_ns: int) -> Floats:
        """Return the row of a frame; of one that was taken, a row that nobody asks about."""
        row = super().row(stamp_ns)
        if row[STAMP] >= self._taken_s:
            return row
        del self.rows[stamp_ns]
        return self._late

    def take(self, before_s: float) -> Floats:
        """Return the rows of frames acquired before a time, and forget them, (n, WIDTH) [s]."""
        table = self.table()
        before = table[:, STAMP] < before_s
        self.rows = {t: row for t, row in self.rows.items() if row[STAMP] >= before_s}
        self._taken_s = max(self._taken_s, before_s)
        return table[before]


class FrameTally:
    """
    Frames counted by their index, and the times that they took, minute by minute.

    Parameters
    ----------
    n_minutes : int
        How many there will be at most; what comes later counts in the sums only.

    """

    def __init__(self, n_minutes: int) -> None:
        self._minutes = np.full((n_minutes, len(MINUTE_FIELDS)), np.nan)
        self._minute, self._before = 0, (0, 0)
        self._of_minute, self._of_all = TimeHistogram(), TimeHistogram()
        self._last_index = float('nan')
        self.published = 0
        """Frames that the driver counted, those that it did not publish included."""
        self.solved = 0
        """Frames of which there are joint states."""
        self._last_seen = np.zeros(len(TOPICS) - 1, np.int64)

    @property
    def lost(self) -> int:
        """Frames without joint states."""
        return max(self.published - self.solved, 0)

    def lost_where(self) -> dict[str, int]:
        """Return how many of the lost frames were last seen on each topic, or 'nowhere'."""
        seen = {topic: int(count) for topic, count in zip(TOPICS, self._last_seen)}
        return {'nowhere': max(self.lost - sum(seen.values()), 0), **seen}

    def add(self, rows: Floats, begin_s: float) -> None:
        """
        Count frames.

        Parameters
        ----------
        rows : ndarray, shape (n, frame_log.WIDTH)
            Later than those before, sorted by stamp.
        begin_s : float
            When the first minute began [s].

        """
        minutes = np.floor((rows[:, STAMP] - begin_s) / MINUTE_S)
        for minute in np.unique(minutes):
            if minute > self._minute:
                self.close_minute()
                self._minute = int(minute)
            self._count(rows[minutes == minute])

    def close_minute(self) -> None:
        """Note the figures of the minute that has come to its end."""
        times = self._of_minute
        if self._minute < len(self._minutes):
            self._minutes[self._minute] = (
                (self._minute + 0.5) * MINUTE_S,
                self.published - self._before[0],
                self.lost - self._before[1],
                1e3 * times.percentile_s(50.0),
                1e3 * times.percentile_s(99.0),
                1e3 * times.longest_s,
            )
        self._before = self.published, self.lost
        times.reset()

    def minutes(self) -> dict[str, Floats]:
        """Return the figures of each closed minute by name, MINUTE_FIELDS."""
        closed = self._minutes[np.isfinite(self._minutes[:, 0])]
        return {name: closed[:, i] for i, name in enumerate(MINUTE_FIELDS)}

    def latency_ms(self) -> dict[str, float]:
        """Return percentiles of all frames [ms]."""
        found = {k: 1e3 * self._of_all.percentile_s(p) for k, p in PERCENTILES.items()}
        return {**found, 'max': 1e3 * self._of_all.longest_s}

    def _count(self, rows: Floats) -> None:
        is_solved = np.isfinite(rows[:, LAST])
        times_s = rows[is_solved, LAST] - rows[is_solved, STAMP]
        self._of_minute.add(times_s)
        self._of_all.add(times_s)
        indices = rows[np.isfinite(rows[:, INDEX]), INDEX]
        if len(indices):
            if np.isnan(self._last_index):
                self._last_index = indices[0] - 1.0 - int(np.argmax(np.isfinite(rows[:, INDEX])))
            steps = np.diff(indices, prepend=self._last_index)
            # an index that goes back is that of another driver
            self.published += int(np.where(steps > 0.0, steps, 1.0).sum())
            self._last_index = indices[-1]
        self.solved += int(np.count_nonzero(is_solved))
        seen = np.isfinite(rows[~is_solved, ARRIVALS])[:, :-1]
        for place in range(seen.shape[1]):
            self._last_seen[place] += np.count_nonzero(
                seen[:, place] & ~seen[:, place + 1 :].any(axis=1)
            )


class UsageSeries:
    """
    What processes used, poll by poll.

    Parameters
    ----------
    names : sequence of str
        The processes.
    n_looks : int
        How many there will be at most; later ones are not kept.

    """

    def __init__(self, names: Sequence[str], n_looks: int) -> None:
        self.names = tuple(names)
        """The processes."""
        self._times_s = np.full(n_looks, np.nan)
        self._machine = np.full(n_looks, np.nan)
        self._values = np.full((n_looks, len(self.names), len(FullUsage._fields)), np.nan)
        self._n = 0

    def add(self, time_s: float, usage: Mapping[str, FullUsage], machine_percent: float) -> None:
        """Keep a poll: its time [s], the processes, and how busy all cores are [%]."""
        if self._n == len(self._times_s):
            return
        for place, name in enumerate(self.names):
            if name in usage:
                self._values[self._n, place] = usage[name]
        self._machine[self._n] = machine_percent
        self._times_s[self._n] = time_s
        self._n += 1

    @property
    def times_s(self) -> Floats:
        """Times of the polls, shape (n,) [s]."""
        return self._times_s[: self._n]

    @property
    def machine_percent(self) -> Floats:
        """How busy all cores of the machine were, shape (n,)."""
        return self._machine[: self._n]

    def of(self, name: str, field: str) -> Floats:
        """Return the series of one process and field of FullUsage, shape (n,); a view."""
        place, column = self.names.index(name), FullUsage._fields.index(field)
        return self._values[: self._n, place, column]
