# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two bags side by side: every topic, every field, in one pass and in bounded memory.

The bag that is behind by its stamps is read on, so that messages find their counterparts soon
after they were read. The result has an evaluation of each field, the worst first.

"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
import math
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Ints
from puppet_replay.compare.channels import (
    aligned,
    Channel,
    decode,
    Decoded,
    DIFFERS,
    ROTATION,
    STAMPS,
    ZERO,
)
from puppet_replay.compare.differences import (
    difference,
    FieldStatistics,
    Place,
    SideTimes,
    sign_breaks,
)
from puppet_replay.compare.reading import (
    A,
    B,
    Decoder,
    definitions_of,
    Fields,
    Join,
    Key,
    Message,
    Spool,
    stacked,
)
from puppet_replay.compare.tolerances import COUNT, FieldTolerance, Tolerances, UNITS
from puppet_ros.bags import BagMessage, BagReader

MESSAGES, TOPIC, ORDER = 'messages', 'topic', 'order'
STAMP, SIGN = 'stamp', '_sign'
TF_STATIC = '/tf_static'
DESCRIPTION = 'data'  # text of a whole body, of std_msgs/String
BLOCK_MESSAGES, BLOCK_BYTES = 256, 4_000_000
SHOWN = 24  # letters of a text that differs
# How bad what has no size is beside differences, which count in tolerances.
OF_TOPIC, OF_MESSAGES, OF_NO_NUMBER, OF_TEXT = 1e12, 1e9, 1e8, 1e6
# In the order of the data flow: what differs first is where a difference comes from.
STAGES = (
    '/tracker/raw*',
    '/tracker/filtered*',
    '/performer/*',
    '/importance',
    '*robot_description',
    '/puppet/*',
    '/joint_states',
    '/retarget/*',
    '*',
)
Advance = Callable[[int], object]
Show = Callable[[int], AbstractContextManager[Advance]]


@dataclass(frozen=True, slots=True)
class FieldResult:
    """How one field of one topic differs."""

    topic: str
    """Name of the topic."""

    name: str
    """Name of the field, or MESSAGES, TOPIC or ORDER for the topic as a whole."""

    unit: str
    """A key of UNITS."""

    tolerance: FieldTolerance
    """What is allowed."""

    within: bool
    """Whether it is within that."""

    severity: float
    """How bad it is beside others: the difference in tolerances; above 1 beyond the tolerance."""

    n: int = 1
    """How many values were compared."""

    n_beyond: int = 1
    """How many of them differ by more than the tolerance of one value."""

    peak: float = 1.0
    """Greatest difference; infinite if one of two values is no number."""

    p99: float = 1.0
    """What 99 in 100 do not exceed, to 1 %."""

    rms: float = 1.0
    """Root of the mean square."""

    worst: Place | None = None
    """Where the greatest difference is."""

    first: Place | None = None
    """Where the first one beyond the tolerance is."""

    note: str = ''
    """What the numbers do not show."""


@dataclass(frozen=True, slots=True)
class TopicResult:
    """How one topic differs."""

    topic: str
    """Its name."""

    msgtype: str
    """Of its messages in A, or in B if A has none."""

    counts: tuple[int, int]
    """Messages in A and in B."""

    rates_hz: tuple[float, float]
    """Their mean rates by their stamps."""

    longest_gaps_s: tuple[float, float]
    """Longest times between two stamps."""

    fields: tuple[FieldResult, ...]
    """The worst first."""

    @property
    def within(self) -> bool:
        """Return whether all fields are within their tolerances."""
        return all(field.within for field in self.fields)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two bags differ."""

    paths: tuple[str, str]
    """A and B."""

    start_ns: int
    """First stamp of A, from which times in reports are counted."""

    topics: tuple[TopicResult, ...]
    """In the order of their names."""

    ignored: tuple[str, ...]
    """Topics that were left out."""

    warnings: tuple[str, ...]
    """What the files were found to lack, and rules that fitted nothing."""

    @property
    def within(self) -> bool:
        """Return whether all differences are within their tolerances."""
        return all(topic.within for topic in self.topics)

    def fields(self) -> list[FieldResult]:
        """Return the fields of all topics, the worst first."""
        rows = [field for topic in self.topics for field in topic.fields]
        return sorted(rows, key=lambda f: (f.within, -f.severity, stage(f.topic), f.name))

    def worst(self) -> FieldResult | None:
        """Return the worst field; None if nothing was compared."""
        return next(iter(self.fields()), None)

    def origin(self) -> str:
        """Return the first topic in the data flow that differs; '' if none does."""
        wrong = [topic.topic for topic in self.topics if not topic.within]
        return min(wrong, key=lambda name: (stage(name), name), default='')

    def __iter__(self) -> Iterator[TopicResult]:
        """Iterate over the topics."""
        return iter(self.topics)


def stage(topic: str) -> int:
    """Return where in the data flow a topic is."""
    return next(i for i, pattern in enumerate(STAGES) if fnmatchcase(topic, pattern))


class Stamped(NamedTuple):
    """When the messages of a block are from."""

    stamps_ns: Ints
    """In A, shape (n,)."""

    indices: Ints
    """Shape (n,)."""


Observer = Callable[[str, str, Channel, Channel, Stamped], None]
"""Called with topic, field and both channels of every block that is compared."""


def compare_bags(
    path_a: Path,
    path_b: Path,
    tolerances: Tolerances,
    topics: Sequence[str] = ('*',),
    show: Show | None = None,
    observe: Observer | None = None,
) -> Comparison:
    """
    Return how bag B differs from bag A.

    Parameters
    ----------
    path_a, path_b : Path
        The bags: files or folders.
    tolerances : Tolerances
        What is allowed.
    topics : sequence of str
        Patterns; topics that fit none are not compared.
    show : callable, optional
        Given the number of messages, returns a context of a function that is told how many were
        read since it was called last.
    observe : callable, optional
        Called with what is compared.

    Raises
    ------
    InputFileError : if one of them is no bag.
    MessageError : if a message does not match its definition.

    """
    with ExitStack() as stack:
        spool = stack.enter_context(closing(Spool()))
        readers = [stack.enter_context(BagReader(path)) for path in (path_a, path_b)]
        stores = [definitions_of(reader) for reader in readers]
        known = sorted({name for reader in readers for name in reader.topics})
        chosen = [
            name
            for name in known
            if any(fnmatchcase(name, pattern) for pattern in topics)
            and not tolerances.topic(name).ignored
        ]
        comparisons = {}
        for name in chosen:
            types = [reader.topics.get(name) for reader in readers]
            kind = types[A]
            if kind and kind == types[B]:
                decoders = [
                    Decoder(store, kind, f'{reader.path}: {name}')
                    for store, reader in zip(stores, readers)
                ]
                comparisons[name] = TopicComparison(name, decoders, tolerances, spool, observe)
        total = sum(reader.counts[name] for reader in readers for name in comparisons)
        advance = stack.enter_context(show(total)) if show is not None and total else None
        _run(readers, comparisons, advance)
        firsts = [
            c.times[A].first_ns
            for c in comparisons.values()
            if c.decoders[A].has_stamp and c.times[A].count
        ]
        return Comparison(
            (str(path_a), str(path_b)),
            min(firsts, default=readers[A].start_ns),
            tuple(_result(name, readers, comparisons.get(name), tolerances) for name in chosen),
            tuple(name for name in known if name not in chosen),
            tuple(f'{reader.path}: {text}' for reader in readers for text in reader.warnings)
            + tuple(tolerances.unused()),
        )


def _run(
    readers: Sequence[BagReader],
    comparisons: dict[str, 'TopicComparison'],
    advance: Advance | None,
) -> None:
    """Read both bags to their ends, always the one that is behind."""
    streams: list[Iterator[BagMessage]] = [
        reader.messages(tuple(comparisons)) for reader in readers
    ]
    at = [(-1, 0), (-1, 0)]  # latest stamp, messages so far
    is_open = [bool(comparisons)] * 2
    while any(is_open):
        side = A if is_open[A] and (at[A] <= at[B] or not is_open[B]) else B
        message = next(streams[side], None)
        if message is None:
            is_open[side] = False
            continue
        comparison = comparisons[message.topic]
        stamp_ns = comparison.add(side, message.data, message.log_ns)
        previous, count = at[side]
        at[side] = (stamp_ns if comparison.decoders[side].has_stamp else previous, count + 1)
        if advance is not None and (at[A][1] + at[B][1]) % 1024 == 0:
            advance(1024)
    for comparison in comparisons.values():
        comparison.finish()


class TopicComparison:
    """
    Takes the messages of one topic of two bags and keeps what differs.

    Parameters
    ----------
    topic : str
        Its name.
    decoders : sequence of Decoder
        Of A and B.
    tolerances : Tolerances
        What is allowed.
    spool : Spool
        Where messages wait for their counterparts.
    observe : callable, optional
        Called with every pair of channels that is compared.

    """

    def __init__(
        self,
        topic: str,
        decoders: Sequence[Decoder],
        tolerances: Tolerances,
        spool: Spool,
        observe: Observer | None = None,
    ) -> None:
        self.topic = topic
        self.decoders = decoders
        self.fields: dict[str, FieldStatistics] = {}
        self.times = (SideTimes(), SideTimes())
        self.missing: list[Key] = []
        self.extra: list[Key] = []
        self.is_static = topic == TF_STATIC and decoders[A].is_transforms
        self._tolerances = tolerances
        self._observe = observe
        self._join = Join(spool, self._on_pair)
        self._pairs: list[tuple[Message, Message]] = []
        self._bytes = 0
        self._last: dict[str, tuple[tuple[str, ...], Floats, Floats]] = {}
        self._static: tuple[list[Message], list[Message]] = ([], [])

    def add(self, side: int, data: bytes, log_ns: int) -> int:
        """Take the next message of one bag; return its stamp, or its log time."""
        decoder, number = self.decoders[side], self.times[side].count
        stamp_ns = log_ns if self.is_static else decoder.stamp_ns(data, number, log_ns)
        message = Message(stamp_ns, number, data)
        self.times[side].add(stamp_ns)
        if self.is_static:
            self._static[side].append(message)
            return stamp_ns
        key = (stamp_ns, 0) if decoder.is_stamped else (number, 0)
        if decoder.is_transforms:
            key = (stamp_ns, hash(tuple(self._fields(side, message).texts.items())))
        self._join.add(side, key, message)
        return stamp_ns

    def finish(self) -> None:
        """Compare what is left; raise MessageError, as `add` does."""
        if not self.is_static:
            has_index = all(decoder.has_index for decoder in self.decoders)
            self.missing, self.extra = self._join.finish(self._index if has_index else None)
            self._flush()
        elif all(self._static):
            stamp_ns = min(side[0].stamp_ns for side in self._static)
            at = Stamped(np.array([stamp_ns]), np.array([0]))
            self._compare(self._latest(A), self._latest(B), at)
        else:  # announced in both bags, published in one of them at most
            self.missing, self.extra = (
                [(message.stamp_ns, message.number) for message in side] for side in self._static
            )

    def _fields(self, side: int, message: Message) -> Fields:
        return self.decoders[side].fields(message.data, message.number, message.stamp_ns)

    def _index(self, side: int, message: Message) -> int:
        return _index_of(self._fields(side, message), message)

    def _on_pair(self, a: Message, b: Message) -> None:
        self._pairs.append((a, b))
        self._bytes += len(a.data) + len(b.data)
        if len(self._pairs) >= BLOCK_MESSAGES or self._bytes >= BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Compare the pairs so far, those of equal shapes and texts at once."""
        pairs, self._pairs, self._bytes = self._pairs, [], 0
        groups: dict[tuple[object, object], list[tuple[Message, Message, Fields, Fields]]] = {}
        for a, b in pairs:
            mine = self._fields(A, a)
            other = mine if a.data == b.data else self._fields(B, b)
            shape = mine.shape()
            key = (shape, shape if other is mine else other.shape())
            groups.setdefault(key, []).append((a, b, mine, other))
        for group in groups.values():
            in_a, in_b, mine_of_all, others = zip(*group)
            stamps_ns = np.array([message.stamp_ns for message in in_a])
            indices = np.array([_index_of(f, m) for f, m in zip(mine_of_all, in_a)])
            at = Stamped(stamps_ns, indices)
            if self.decoders[A].has_stamp:
                apart = np.abs(np.array([message.stamp_ns for message in in_b]) - stamps_ns)
                self._add(STAMP, 'ms', 1e-6 * apart[:, None], at, ('',))
            msgtype = self.decoders[A].msgtype
            self._compare(
                decode(msgtype, stacked(mine_of_all)), decode(msgtype, stacked(others)), at
            )

    def _latest(self, side: int) -> Decoded:
        """Return the last of each static transform, as one message."""
        rows: dict[str, dict[str, Floats]] = {}
        shapes: dict[str, Channel] = {}
        for message in self._static[side]:
            fields = stacked([self._fields(side, message)])
            found = decode(self.decoders[side].msgtype, fields).channels
            found.pop(STAMPS, None)  # when it was published is of the run
            for name, channel in found.items():
                shapes[name] = channel
                for row, label in enumerate(channel.labels):
                    rows.setdefault(name, {})[label] = channel.values[0, row]
        frames = tuple(sorted(next(iter(rows.values()), {})))
        channels = {
            name: shapes[name]._replace(
                values=np.stack([latest[label] for label in frames])[None], labels=frames
            )
            for name, latest in rows.items()
        }
        return Decoded(channels, {'frames': frames})

    def _compare(self, a: Decoded, b: Decoded, at: Stamped) -> None:
        n = len(at.stamps_ns)
        for name in dict.fromkeys((*a.texts, *b.texts)):
            texts = [side.texts.get(name, ()) for side in (a, b)]
            unequal = np.full((n, 1), float(texts[A] != texts[B]))
            self._add(name, COUNT, unequal, at, _unlike(*texts))
        for name in dict.fromkeys((*a.channels, *b.channels)):
            self._compare_channel(name, a.channels.get(name), b.channels.get(name), at)

    def _compare_channel(
        self, name: str, a: Channel | None, b: Channel | None, at: Stamped
    ) -> None:
        known = a or b
        assert known is not None
        unlike = np.full((len(at.stamps_ns), 1), np.inf)
        if a is None or b is None:
            if known.if_absent == DIFFERS:
                self._add(name, known.unit, unlike, at, ('not in both',))
            if known.if_absent != ZERO:
                return
            nothing = known._replace(values=np.zeros_like(known.values))
            a, b = a or nothing, b or nothing
        if a.labels != b.labels:
            a, b = aligned(a, b)
        if a.values.shape != b.values.shape or (a.metric, a.unit) != (b.metric, b.unit):
            self._add(name, a.unit, unlike, at, ('form',))
            return
        if self._observe is not None:
            self._observe(self.topic, name, a, b, at)
        found = difference(a, b)
        is_rotation = a.metric == ROTATION
        axes = () if is_rotation else a.axes
        self._add(name, a.unit, found.amounts, at, a.labels, axes, found.axes)
        if is_rotation:
            labels, last_a, last_b = self._last.get(name, ((), a.values[:1], b.values[:1]))
            if labels != a.labels:
                last_a, last_b = a.values[:1], b.values[:1]
            breaks = sign_breaks(
                np.concatenate((last_a, a.values)), np.concatenate((last_b, b.values))
            )
            self._last[name] = (a.labels, a.values[-1:], b.values[-1:])
            self._add(name + SIGN, COUNT, breaks, at, a.labels)

    def _add(
        self,
        name: str,
        unit: str,
        amounts: Floats,
        at: Stamped,
        labels: tuple[str, ...],
        axis_names: tuple[str, ...] = (),
        axes: Ints | None = None,
    ) -> None:
        tolerance = self._tolerances.field(self.topic, name, unit)
        if tolerance.ignored:
            return
        field = self.fields.setdefault(name, FieldStatistics(unit, tolerance.max))
        axes = np.zeros(amounts.shape, np.int64) if axes is None else axes
        field.add(amounts, axes, at.stamps_ns, at.indices, labels, axis_names)


def _index_of(fields: Fields, message: Message) -> int:
    """Return the frame_index of a message; its number if it has none."""
    field = fields.numbers.get('frame_index')
    return message.number if field is None else int(field.values[0, 0])


def _unlike(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """Return what to call the difference of two lists of texts, shortly."""
    for mine, other in zip((*a, *[''] * len(b)), (*b, *[''] * len(a))):
        if mine != other:
            start = max(len(commonprefix((mine, other))) - SHOWN // 2, 0)
            return (f'{mine[start : start + SHOWN]!r}, {other[start : start + SHOWN]!r}',)
    return ('',)


def _result(
    name: str,
    readers: Sequence[BagReader],
    found: TopicComparison | None,
    tolerances: Tolerances,
) -> TopicResult:
    """Return the evaluation of one topic."""
    if found is None:
        kinds = [reader.topics.get(name, '') for reader in readers]
        counts = (readers[A].counts.get(name, 0), readers[B].counts.get(name, 0))
        note = 'extra' if kinds[B] else 'missing'
        if all(kinds):
            note = f'of type {kinds[A]} and {kinds[B]}'
        whole = FieldResult(name, TOPIC, COUNT, FieldTolerance(), False, OF_TOPIC, note=note)
        return TopicResult(name, kinds[A] or kinds[B], counts, (0.0, 0.0), (0.0, 0.0), (whole,))
    a, b = found.times
    fields = [
        _field(name, field, statistics, tolerances.field(name, field, statistics.unit))
        for field, statistics in found.fields.items()
    ]
    if not found.is_static or found.missing or found.extra:
        fields.append(_messages(found, tolerances))
    backward = abs(b.n_backward - a.n_backward)
    if found.decoders[A].has_stamp:
        order = tolerances.field(name, ORDER, COUNT)
        if not order.ignored and backward > order.mismatches:
            note = f'stamps go back {a.n_backward} times in A, {b.n_backward} in B'
            fields.append(
                FieldResult(name, ORDER, COUNT, FieldTolerance(), False, OF_TEXT, note=note)
            )
    fields.sort(key=lambda field: (field.within, -field.severity, field.name))
    gaps_s = (a.longest_gap_ns * 1e-9, b.longest_gap_ns * 1e-9)
    return TopicResult(
        name,
        found.decoders[A].msgtype,
        (a.count, b.count),
        (a.rate_hz, b.rate_hz),
        gaps_s,
        tuple(fields),
    )


def _field(
    topic: str, name: str, found: FieldStatistics, tolerance: FieldTolerance
) -> FieldResult:
    """Return the evaluation of the differences of one field."""
    note = ''
    if found.n_invalid:
        note = f'{found.n_invalid} values without a number, or a field, on one side'
    if found.unit == COUNT:
        within = found.n_beyond <= tolerance.mismatches
        severity = 0.0 if within else 1.0 + found.n_beyond / found.n
        # a name, such as the solver's, is a cause; a description explains less than its numbers
        is_name = found.worst is not None and found.worst.component.startswith("'")
        if is_name and name != DESCRIPTION:
            severity *= OF_TEXT
    else:
        pairs = (
            (found.max, tolerance.max),
            (found.p99, tolerance.p99),
            (found.rms, tolerance.rms),
        )
        within = all(value <= limit for value, limit in pairs)
        severity = max(
            0.0 if math.isinf(limit) else value / (limit or UNITS[found.unit].tolerance)
            for value, limit in pairs
        )
        if found.n_invalid:
            severity = OF_NO_NUMBER
    return FieldResult(
        topic,
        name,
        found.unit,
        tolerance,
        within,
        severity,
        found.n,
        found.n_beyond,
        found.max,
        found.p99,
        found.rms,
        found.worst,
        found.first,
        note,
    )


def _messages(found: TopicComparison, tolerances: Tolerances) -> FieldResult:
    """Return the evaluation of messages without counterpart."""
    allowed = tolerances.topic(found.topic)
    missing, extra = len(found.missing), len(found.extra)
    within = missing <= allowed.missing and extra <= allowed.extra
    lost, n = missing + extra, max(times.count for times in found.times)
    first = min(found.missing + found.extra, default=None)
    place = Place(*first) if first is not None else None
    return FieldResult(
        found.topic,
        MESSAGES,
        COUNT,
        FieldTolerance(mismatches=allowed.missing + allowed.extra),
        within,
        0.0 if within else OF_MESSAGES * lost / n,
        n,
        lost,
        float(lost),
        0.0,
        0.0,
        place,
        place,
        f'{missing} missing, {extra} extra' if lost else '',
    )
