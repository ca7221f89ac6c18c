# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of one topic of two bags, compared block by block."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os.path import commonprefix
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_replay import compare_messages  # noqa: F401  (makes our types known)
from puppet_replay.compare_channels import (
    aligned,
    Channel,
    decode,
    Decoded,
    DIFFERS,
    ROTATION,
    STAMPS,
    ZERO,
)
from puppet_replay.compare_join import A, B, Join, Key, KeyReader, Message, Spool
from puppet_replay.compare_layout import Definitions, Group, LayoutCache, LayoutError
from puppet_replay.compare_metrics import difference, sign_breaks
from puppet_replay.compare_statistics import FieldStatistics, SideTimes
from puppet_replay.compare_table import stamp_text
from puppet_replay.compare_tolerances import Tolerances

BLOCK_MESSAGES, BLOCK_BYTES = 256, 4_000_000
SAMPLE = 8  # of a block of equal messages so many are decoded
STAMP, SIGN = 'stamp', '_sign'
TF_STATIC = '/tf_static'
_ONE = ('',)
SHOWN = 24  # letters of a text that differs


class Stamped(NamedTuple):
    """When the messages of a block are from."""

    stamps_ns: Ints
    """In A, shape (n,)."""

    indices: Ints
    """Shape (n,)."""


Observer = Callable[[str, Channel, Channel, Stamped], None]


class TopicComparison:
    """
    Takes the messages of one topic of two bags and keeps what differs.

    Parameters
    ----------
    topic, type_name : str
        The topic, and the type of its messages.
    definitions : (mapping, mapping)
        Of the message types, in A and in B.
    tolerances : Tolerances
        What is allowed.
    spool : Spool
        Where messages wait for their counterparts.
    observe : callable, optional
        Is told every pair of channels that is compared.
    places : (str, str), optional
        What A and B are called in errors.

    """

    def __init__(
        self, topic: str, type_name: str, definitions: tuple[Definitions, Definitions],
        tolerances: Tolerances, spool: Spool, observe: Observer | None = None,
        places: tuple[str, str] = ('', ''),
    ) -> None:  # fmt: skip
        self.topic = topic
        self.type = type_name
        self.fields: dict[str, FieldStatistics] = {}
        self.times = (SideTimes(), SideTimes())
        self.missing: list[Key] = []
        self.extra: list[Key] = []
        self._tolerances = tolerances
        self._observe = observe
        self._caches = tuple(
            LayoutCache(side, type_name) for side in definitions
        )
        self._places = tuple(f'{place}: {topic}' if place else topic for place in places)
        self.keys = tuple(
            KeyReader(side, type_name, cache) for side, cache in zip(definitions, self._caches)
        )
        self._join = Join(spool, self._on_pair)
        self._pairs: list[tuple[Message, Message]] = []
        self._bytes = 0
        self._last: dict[str, tuple[tuple[str, ...], Floats, Floats]] = {}
        self._left_out = 0.0  # equal messages that each of the sample stands for, besides it
        self.is_static = topic == TF_STATIC and self.keys[A].is_transforms
        self._static: tuple[list[Message], list[Message]] = ([], [])
        self._static_ns = 0

    def add(self, side: int, data: bytes, log_ns: int) -> int:
        """Take the next message of one bag; return its stamp, or its log time."""
        if self.is_static:
            self._static_ns = self._static_ns or log_ns
            number = len(self._static[side])
            self._static[side].append(Message(log_ns, number, data, number))
            self.times[side].add(log_ns)
            return log_ns
        number = self.times[side].count
        with self._named(side, (Message(log_ns, number, data, number),)):
            key, index = self.keys[side].read(data)
        stamp_ns = key[0] if self.keys[side].is_stamped else log_ns
        self.times[side].add(stamp_ns)
        self._join.add(side, key, Message(stamp_ns, index, data, number))
        return stamp_ns

    def finish(self) -> None:
        """Compare what is left; raise LayoutError, as `add` does."""
        has_index = self.keys[A].has_index and self.keys[B].has_index
        self.missing, self.extra = self._join.finish(has_index)
        self._flush()
        if self.is_static and all(self._static):
            self._compare(self._latest(A), self._latest(B), _at(self._static_ns))
        elif self.is_static:  # announced in both bags, said in one of them at most
            self.missing, self.extra = (
                [(self._static_ns, k) for k in range(len(side))] for side in self._static
            )

    def _on_pair(self, a: Message, b: Message) -> None:
        self._pairs.append((a, b))
        self._bytes += len(a.data) + len(b.data)
        if len(self._pairs) >= BLOCK_MESSAGES or self._bytes >= BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        pairs, self._pairs, self._bytes = self._pairs, [], 0
        if not pairs:
            return
        sides = tuple(zip(*pairs))
        groups = [self._groups(side, sides[side]) for side in (A, B)]
        stamps = [np.array([m.stamp_ns for m in side], np.int64) for side in sides]
        indices = np.array([m.frame_index for m in sides[A]], np.uint64).astype(np.int64)
        if self.keys[A].has_stamp:
            self._add_stamps(stamps[A], stamps[B], indices)
        for group_a, group_b in _touching(*groups):
            common, in_a, in_b = np.intersect1d(
                group_a.places, group_b.places, assume_unique=True, return_indices=True
            )
            at = Stamped(stamps[A][common], indices[common])
            self._compare_rows((group_a, group_b), (in_a, in_b), at)

    @contextmanager
    def _named(self, side: int, messages: Sequence[Message]) -> Iterator[None]:
        """Name the message that is not what its type says."""
        try:
            yield
        except LayoutError as err:
            wrong = messages[err.place]
            raise LayoutError(f'{self._places[side]}: message {wrong.number}, stamp '
                              f'{stamp_text(wrong.stamp_ns)}: {err}') from err

    def _groups(self, side: int, messages: Sequence[Message]) -> list[Group]:
        with self._named(side, messages):
            return self._caches[side].groups([message.data for message in messages])

    def _compare_rows(
        self, groups: tuple[Group, Group], rows: tuple[Ints, Ints], at: Stamped
    ) -> None:
        """Compare messages of one layout; of those that are the same bytes only a few."""
        a, b = groups
        n_left_out = 0
        if self._observe is None and len(rows[A]) > SAMPLE and a.layout.parts == b.layout.parts:
            if np.array_equal(a.matrix[rows[A]], b.matrix[rows[B]]):
                kept = np.r_[0: SAMPLE - 1, len(rows[A]) - 1]
                n_left_out = len(rows[A]) - SAMPLE
                rows = (rows[A][kept], rows[B][kept])
                at = Stamped(at.stamps_ns[kept], at.indices[kept])
        self._left_out = n_left_out / SAMPLE  # for each value of the sample
        self._compare(self._decode(a, rows[A]), self._decode(b, rows[B]), at)
        self._left_out = 0.0

    def _decode(self, group: Group, rows: Ints) -> Decoded:
        matrix = group.matrix if len(rows) == len(group.matrix) else group.matrix[rows]
        return decode(self.type, Group(group.layout, matrix, rows))

    def _latest(self, side: int) -> Decoded:
        """Return the last of each static transform, as one message."""
        rows: dict[str, dict[str, Floats]] = {}
        shapes: dict[str, Channel] = {}
        for message in self._static[side]:
            for group in self._groups(side, [message]):
                found = decode(self.type, group).channels
                found.pop(STAMPS, None)  # when it was said is of the run
                for name, channel in found.items():
                    shapes[name] = channel
                    for row, label in enumerate(channel.labels):
                        rows.setdefault(name, {})[label] = channel.values[0, row]
        channels = {
            name: shapes[name]._replace(
                values=np.stack([latest[label] for label in sorted(latest)])[None],
                labels=tuple(sorted(latest)),
            )
            for name, latest in rows.items()
        }
        frames = next((tuple(sorted(latest)) for latest in rows.values()), ())
        return Decoded(channels, {'frames': frames})

    def _compare(self, a: Decoded, b: Decoded, at: Stamped) -> None:
        n = len(at.stamps_ns)
        for name in dict.fromkeys((*a.texts, *b.texts)):
            texts = [side.texts.get(name, ()) for side in (a, b)]
            self._add(name, 'count', _same(n, texts[A] == texts[B]), at, _unlike(*texts))
        for name in dict.fromkeys((*a.channels, *b.channels)):
            self._compare_channel(name, a.channels.get(name), b.channels.get(name), at)

    def _compare_channel(
        self, name: str, a: Channel | None, b: Channel | None, at: Stamped
    ) -> None:
        known = a or b
        assert known is not None
        if a is None or b is None:
            if known.if_absent == ZERO:
                nothing = known._replace(values=np.zeros_like(known.values))
                self._compare_channel(name, a or nothing, b or nothing, at)
            elif known.if_absent == DIFFERS:
                absent = np.full((len(at.stamps_ns), 1), np.inf)
                self._add(name, known.unit, absent, at, ('not in both',))
            return
        if a.labels != b.labels:
            a, b = aligned(a, b)
        if a.values.shape != b.values.shape or (a.metric, a.unit) != (b.metric, b.unit):
            unlike = np.full((len(at.stamps_ns), 1), np.inf)
            self._add(name, a.unit, unlike, at, ('form',))
            return
        if self._observe is not None:
            self._observe(name, a, b, at)
        found = difference(a, b)
        axes = () if a.metric == ROTATION else a.axes
        self._add(name, a.unit, found.amounts, at, a.labels, axes, found.axes)
        if a.metric == ROTATION:
            self._add_signs(name, a, b, at)

    def _add_signs(self, name: str, a: Channel, b: Channel, at: Stamped) -> None:
        labels, last_a, last_b = self._last.get(name, ((), a.values[:1], b.values[:1]))
        if labels != a.labels:
            last_a, last_b = a.values[:1], b.values[:1]
        breaks = sign_breaks(
            np.concatenate((last_a, a.values)), np.concatenate((last_b, b.values))
        )
        self._last[name] = (a.labels, a.values[-1:], b.values[-1:])
        self._add(name + SIGN, 'count', breaks, at, a.labels)

    def _add_stamps(self, a: Ints, b: Ints, indices: Ints) -> None:
        apart = np.abs((b - a) * 1e-6)[:, None]
        self._add(STAMP, 'ms', apart, Stamped(a, indices), _ONE)

    def _add(
        self, name: str, unit: str, amounts: Floats, at: Stamped, labels: tuple[str, ...],
        axis_names: tuple[str, ...] = (), axes: Ints | None = None,
    ) -> None:  # fmt: skip
        tolerance = self._tolerances.field(self.topic, name, unit)
        if tolerance.ignored:
            return
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = FieldStatistics(unit, tolerance.peak)
        if axes is None:
            axes = np.zeros(amounts.shape, np.int64)
        field.add(amounts, axes, at.stamps_ns, at.indices, labels, axis_names)
        field.add_equal(round(self._left_out * amounts.size))


def _touching(a: Sequence[Group], b: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    """Yield the groups that have a place in common, each two once."""
    at_place = {place: k for k, group in enumerate(b) for place in group.places.tolist()}
    for group in a:
        for k in dict.fromkeys(at_place[place] for place in group.places.tolist()):
            yield group, b[k]


def _at(stamp_ns: int) -> Stamped:
    return Stamped(np.array([stamp_ns]), np.array([0]))


def _same(n: int, equal: bool) -> Floats:
    return np.full((n, 1), 0.0 if equal else 1.0)


def _unlike(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """Return what to call the difference of two lists of texts, shortly."""
    for mine, other in zip((*a, *[''] * len(b)), (*b, *[''] * len(a))):
        if mine != other:
            differs = len(commonprefix((mine, other)))
            start = max(differs - SHOWN // 2, 0)
            return (f'{mine[start: start + SHOWN]!r}, {other[start: start + SHOWN]!r}',)
    return _ONE
