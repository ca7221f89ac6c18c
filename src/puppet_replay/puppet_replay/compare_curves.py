# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The worst channels over time, read in a second pass: both values, and how far they are apart.

Of a long bag only so many points are kept: of two neighbours the one that differs more.

"""

from collections.abc import Sequence
from contextlib import closing, ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, Ints
from puppet_replay.compare_bags import open_comparisons, run
from puppet_replay.compare_channels import Channel, ROTATION
from puppet_replay.compare_join import Spool
from puppet_replay.compare_metrics import angles_deg, difference
from puppet_replay.compare_result import Comparison, FieldResult
from puppet_replay.compare_tolerances import Tolerances
from puppet_replay.compare_topic import Observer, Stamped
from puppet_ros.bags import BagReader

MOST_CURVES = 6
CANDIDATES = 4  # times as many are looked at: texts, signs and missing messages have no curve
MOST_POINTS = 200_000
AROUND_S = 1.0  # before and after the worst frame, kept in full


class Points(NamedTuple):
    """A channel of both bags over time."""

    times_s: Floats
    """Since the comparison's start, rising, shape (n,) [s]."""

    apart: Floats
    """The difference, shape (n,)."""

    values: Floats
    """Of A and B, shape (n, 2); of rotations the angle from the first one of A [deg]."""


class ChannelCurve(NamedTuple):
    """The worst component of one field over time."""

    field: FieldResult
    """What it is."""

    whole: Points
    """All of it, thinned out if it is long."""

    near: Points
    """Around the worst frame."""


class _Recorder:
    """Keeps one component of a field while it is compared."""

    def __init__(self, field: FieldResult, start_ns: int) -> None:
        assert field.worst is not None
        self._field = field
        self._worst = field.worst
        self._start_ns = start_ns
        self._reference: Floats | None = None
        self._whole: list[Floats] = []
        self._near: list[Floats] = []
        self._count = 0

    def __call__(self, name: str, a: Channel, b: Channel, at: Stamped) -> None:
        """Take a block; fields of other names are none of ours."""
        if name != self._field.name:
            return
        row = _row_of(a, self._worst.component, self._worst.row)
        if row is None:
            return
        pair = [channel._replace(values=channel.values[:, row: row + 1]) for channel in (a, b)]
        block = np.column_stack((
            (at.stamps_ns - self._start_ns) * 1e-9,
            difference(*pair).amounts[:, 0],
            *(self._value(channel) for channel in pair),
        ))  # fmt: skip
        self._whole.append(block)
        self._count += len(block)
        near = np.abs(at.stamps_ns - self._worst.stamp_ns) <= AROUND_S * 1e9
        self._near.append(block[near])
        if self._count > MOST_POINTS:
            self._whole = [_thinned(_sorted(self._whole))]
            self._count = len(self._whole[0])

    def curve(self) -> ChannelCurve:
        """Return what was taken."""
        return ChannelCurve(self._field, _points(self._whole), _points(self._near))

    def _value(self, channel: Channel) -> NDArray[np.float64]:
        if channel.metric != ROTATION:
            return np.asarray(channel.values[:, 0, self._worst.axis], np.float64)
        if self._reference is None:
            self._reference = channel.values[0, 0]
        return angles_deg(np.broadcast_to(self._reference, channel.values[:, 0].shape),
                          channel.values[:, 0])


def worst_curves(
    comparison: Comparison, tolerances: Tolerances, count: int = MOST_CURVES
) -> list[ChannelCurve]:
    """
    Return the worst channels of two bags over time.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    tolerances : Tolerances
        Those it was found with.
    count : int
        At most so many fields: of those beyond their tolerances, or of all if there are none.

    """
    fields = comparison.fields()
    wrong = [field for field in fields if not field.within]
    chosen = [field for field in wrong or fields if _is_drawn(field)][: CANDIDATES * count]
    if not chosen:
        return []
    recorders = [_Recorder(field, comparison.start_ns) for field in chosen]
    topics = {field.topic for field in chosen}
    observe: dict[str, Observer] = {
        topic: _all([r for r, f in zip(recorders, chosen) if f.topic == topic])
        for topic in topics
    }
    with ExitStack() as stack:
        spool = stack.enter_context(closing(Spool()))
        readers = [stack.enter_context(BagReader(Path(path))) for path in comparison.paths]
        run(readers, open_comparisons(readers, sorted(topics), tolerances, spool, observe))
    curves = [recorder.curve() for recorder in recorders]
    return [curve for curve in curves if len(curve.whole.times_s) > 1][:count]


def _is_drawn(field: FieldResult) -> bool:
    return field.worst is not None and field.peak > 0.0


def _all(observers: Sequence[Observer]) -> Observer:
    def observe(name: str, a: Channel, b: Channel, at: Stamped) -> None:
        for observer in observers:
            observer(name, a, b, at)

    return observe


def _row_of(channel: Channel, component: str, number: int) -> int | None:
    """Return the row of a component: by its name, since the order may change, or by number."""
    fits = [
        row for row, label in enumerate(channel.labels)
        if component == label or component.startswith(f'{label} ') and label
    ]  # fmt: skip
    if len(fits) == 1:
        return fits[0]
    return number if number < channel.values.shape[1] else None


def _sorted(blocks: list[Floats]) -> Floats:
    rows = np.concatenate(blocks) if blocks else np.zeros((0, 4))
    return rows[np.argsort(rows[:, 0], kind='stable')]


def _thinned(rows: Floats) -> Floats:
    """Return half of the rows: of two neighbours the one that differs more."""
    even, odd = rows[:-1:2], rows[1::2]
    return np.where((odd[:, 1] > even[:, 1])[:, None], odd, even)


def _points(blocks: list[Floats]) -> Points:
    rows = _sorted(blocks)
    return Points(rows[:, 0], rows[:, 1], rows[:, 2:])


def highest_of(rows: Ints | Floats, count: int) -> Ints:
    """Return the places of the greatest value in each of about `count` runs of rows."""
    n = len(rows)
    if n <= count:
        return np.arange(n)
    edges = np.linspace(0, n, count + 1).astype(np.int64)
    return np.array([low + int(np.argmax(rows[low:high])) for low, high in zip(edges, edges[1:])])
