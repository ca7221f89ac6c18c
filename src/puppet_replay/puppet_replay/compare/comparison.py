# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two bags side by side: every topic, every field, in one pass.

The bag that is behind by its stamps is read on, so that messages find their counterparts soon
after they were read. The result has an evaluation of each field, the worst first.

What is not a number in both bags is equal, in one of them alone infinitely far. Rotations q and
-q are equal; where the sign changes from one message to the next in one bag alone, a program that
interpolates or differentiates goes the long way round, so that is a field of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
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
    EQUAL,
    NUMBER,
    ROTATION,
    STAMPS,
    ZERO,
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
    stacked,
)
from puppet_replay.compare.tolerances import COUNT, FieldTolerance, Tolerances, UNITS
from puppet_ros.bags import BagMessage, BagReader

MESSAGES, TOPIC, ORDER = 'messages', 'topic', 'order'
STAMP, SIGN = 'stamp', '_sign'
TF_STATIC = '/tf_static'
DESCRIPTION = 'data'  # text of a whole body, of std_msgs/String
FAR_FROM_UNIT = 1e-3  # lengths of two quaternions that differ more are not two rotations' alone
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


class Place(NamedTuple):
    """One value of one message."""

    stamp_ns: int  # of the message in A; its log time if the type has no header
    frame_index: int  # the message's own if it has one, else its number
    component: str = ''  # name of the row and of the axis, as in left_hand x
    row: int = 0
    axis: int = 0
    amount: float = 1.0  # the difference


class FieldResult(NamedTuple):
    """How one field of one topic differs."""

    topic: str
    name: str  # of the field, or MESSAGES, TOPIC or ORDER for the topic as a whole
    unit: str  # a key of UNITS
    tolerance: FieldTolerance
    within: bool
    severity: float  # the difference in tolerances: how bad it is beside others
    n: int = 1  # values compared
    n_beyond: int = 1  # how many of them differ by more than the tolerance of one value
    peak: float = 1.0  # greatest difference; infinite if one of two values is no number
    p99: float = 1.0  # what 99 in 100 do not exceed
    rms: float = 1.0  # root of the mean square
    worst: Place | None = None  # where the greatest difference is
    first: Place | None = None  # where the first one beyond the tolerance is
    note: str = ''  # what the numbers do not show


class TopicResult(NamedTuple):
    """How one topic differs; pairs are of A and B."""

    topic: str
    msgtype: str  # in A, or in B if A has none
    counts: tuple[int, int]
    rates_hz: tuple[float, float]  # means, by their stamps
    longest_gaps_s: tuple[float, float]  # between two stamps
    fields: tuple[FieldResult, ...]  # the worst first

    @property
    def within(self) -> bool:
        return all(field.within for field in self.fields)


class Comparison(NamedTuple):
    """How two bags differ."""

    paths: tuple[str, str]  # A and B
    start_ns: int  # first stamp of A, from which times in reports are counted
    topics: tuple[TopicResult, ...]  # by name
    ignored: tuple[str, ...]  # topics that were left out
    warnings: tuple[str, ...]  # what the files lack, and rules that fitted nothing

    @property
    def within(self) -> bool:
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


def stage(topic: str) -> int:
    return next(i for i, pattern in enumerate(STAGES) if fnmatchcase(topic, pattern))


class Stamped(NamedTuple):
    """When n messages are from."""

    stamps_ns: Ints  # in A, shape (n,)
    indices: Ints  # shape (n,)


# Called with topic, field and both channels of every block that is compared.
Observer = Callable[[str, str, Channel, Channel, Stamped], None]


def compare_bags(
    path_a: Path,
    path_b: Path,
    tolerances: Tolerances,
    topics: Sequence[str] = ('*',),
    show: Show | None = None,
    observe: Observer | None = None,
) -> Comparison:
    """
    Return how bag B differs from bag A, of the topics that fit one of the patterns.

    `show` is given the number of messages and returns a context of a function that is called with
    how many more were read; `observe` is called with what is compared. Raises InputFileError if
    one of them is no bag, MessageError if a message does not match its definition.
    """
    with ExitStack() as stack:
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
            kind = readers[A].topics.get(name)
            if kind and kind == readers[B].topics.get(name):
                decoders = [
                    Decoder(store, kind, f'{reader.path}: {name}')
                    for store, reader in zip(stores, readers)
                ]
                comparisons[name] = TopicComparison(name, decoders, tolerances, observe)
        total = sum(reader.counts[name] for reader in readers for name in comparisons)
        advance = stack.enter_context(show(total)) if show is not None and total else None
        _run(readers, comparisons, advance)
        firsts = [
            min(c.stamps_ns[A])
            for c in comparisons.values()
            if c.decoders[A].has_stamp and c.stamps_ns[A]
        ]
        results = (
            comparisons[name].result()
            if name in comparisons
            else _topic_without_counterpart(name, readers)
            for name in chosen
        )
        warnings = [f'{reader.path}: {text}' for reader in readers for text in reader.warnings]
        return Comparison(
            (str(path_a), str(path_b)),
            min(firsts, default=readers[A].start_ns),
            tuple(results),
            tuple(name for name in known if name not in chosen),
            (*warnings, *tolerances.unused()),
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


def _topic_without_counterpart(name: str, readers: Sequence[BagReader]) -> TopicResult:
    kinds = [reader.topics.get(name, '') for reader in readers]
    counts = (readers[A].counts.get(name, 0), readers[B].counts.get(name, 0))
    note = 'extra' if kinds[B] else 'missing'
    if all(kinds):
        note = f'of type {kinds[A]} and {kinds[B]}'
    whole = _whole(name, TOPIC, OF_TOPIC, note)
    return TopicResult(name, kinds[A] or kinds[B], counts, (0.0, 0.0), (0.0, 0.0), (whole,))


def _whole(topic: str, name: str, severity: float, note: str) -> FieldResult:
    """Return what is wrong with a topic as a whole."""
    return FieldResult(topic, name, COUNT, FieldTolerance(), False, severity, note=note)


class TopicComparison:
    """Takes the messages of one topic of two bags and keeps what differs."""

    def __init__(
        self,
        topic: str,
        decoders: Sequence[Decoder],
        tolerances: Tolerances,
        observe: Observer | None = None,
    ) -> None:
        self.topic = topic
        self.decoders = decoders
        self.stamps_ns: tuple[list[int], list[int]] = ([], [])
        self._fields: dict[str, FieldStatistics] = {}
        self._missing: list[Key] = []
        self._extra: list[Key] = []
        self._is_static = topic == TF_STATIC and decoders[A].is_transforms
        self._tolerances, self._observe = tolerances, observe
        self._join = Join(self._on_pair)
        self._pairs: list[tuple[Message, Message]] = []
        self._bytes = 0
        self._last: dict[str, tuple[tuple[str, ...], Floats, Floats]] = {}
        self._static: tuple[list[Message], list[Message]] = ([], [])

    def add(self, side: int, data: bytes, log_ns: int) -> int:
        """Take the next message of one bag; return its stamp, or its log time."""
        decoder, number = self.decoders[side], len(self.stamps_ns[side])
        stamp_ns = log_ns if self._is_static else decoder.stamp_ns(data, number, log_ns)
        message = Message(stamp_ns, number, data)
        self.stamps_ns[side].append(stamp_ns)
        if self._is_static:
            self._static[side].append(message)
            return stamp_ns
        key = (stamp_ns, 0) if decoder.is_stamped else (number, 0)
        if decoder.is_transforms:
            key = (stamp_ns, hash(tuple(decoder.fields(message).texts.items())))
        self._join.add(side, key, message)
        return stamp_ns

    def finish(self) -> None:
        """Compare what is left; raise MessageError, as `add` does."""
        if not self._is_static:
            has_index = all(decoder.has_index for decoder in self.decoders)
            self._missing, self._extra = self._join.finish(
                (lambda side, m: _index_of(self.decoders[side].fields(m), m))
                if has_index
                else None
            )
            self._flush()
        elif all(self._static):
            stamp_ns = min(side[0].stamp_ns for side in self._static)
            at = Stamped(np.array([stamp_ns]), np.array([0]))
            self._compare(self._latest(A), self._latest(B), at)
        else:  # announced in both bags, published in one of them at most
            self._missing, self._extra = (
                [(message.stamp_ns, message.number) for message in side] for side in self._static
            )

    def result(self) -> TopicResult:
        fields = [found.result(self.topic, name) for name, found in self._fields.items()]
        if not self._is_static or self._missing or self._extra:
            fields.append(self._messages())
        backward, rates, gaps = zip(*map(_stamp_figures, self.stamps_ns))
        order = self._tolerances.field(self.topic, ORDER, COUNT)
        is_beyond = abs(backward[B] - backward[A]) > order.mismatches
        if self.decoders[A].has_stamp and is_beyond and not order.ignored:
            note = f'stamps go back {backward[A]} times in A, {backward[B]} in B'
            fields.append(_whole(self.topic, ORDER, OF_TEXT, note))
        fields.sort(key=lambda field: (field.within, -field.severity, field.name))
        counts = (len(self.stamps_ns[A]), len(self.stamps_ns[B]))
        msgtype = self.decoders[A].msgtype
        return TopicResult(self.topic, msgtype, counts, rates, gaps, tuple(fields))

    def _messages(self) -> FieldResult:
        allowed = self._tolerances.topic(self.topic)
        missing, extra = len(self._missing), len(self._extra)
        within = missing <= allowed.missing and extra <= allowed.extra
        lost, n = missing + extra, max(map(len, self.stamps_ns))
        first = min(self._missing + self._extra, default=None)
        place = Place(*first) if first is not None else None
        tolerance = FieldTolerance(mismatches=allowed.missing + allowed.extra)
        severity = 0.0 if within else OF_MESSAGES * lost / n
        figures = (n, lost, float(lost), 0.0, 0.0, place, place)
        note = f'{missing} missing, {extra} extra' if lost else ''
        return FieldResult(
            self.topic, MESSAGES, COUNT, tolerance, within, severity, *figures, note
        )

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
            mine = self.decoders[A].fields(a)
            other = mine if a.data == b.data else self.decoders[B].fields(b)
            shape = mine.shape()
            key = (shape, shape if other is mine else other.shape())
            groups.setdefault(key, []).append((a, b, mine, other))
        for group in groups.values():
            in_a, in_b, fields_a, fields_b = zip(*group)
            stamps_ns = np.array([message.stamp_ns for message in in_a])
            at = Stamped(stamps_ns, np.array([_index_of(f, m) for f, m in zip(fields_a, in_a)]))
            if self.decoders[A].has_stamp:
                apart = np.abs(np.array([message.stamp_ns for message in in_b]) - stamps_ns)
                self._add(STAMP, 'ms', 1e-6 * apart[:, None], at, ('',))
            msgtype = self.decoders[A].msgtype
            self._compare(
                decode(msgtype, stacked(fields_a)), decode(msgtype, stacked(fields_b)), at
            )

    def _latest(self, side: int) -> Decoded:
        """Return the last of each static transform, as one message."""
        latest: dict[str, dict[str, Floats]] = {}
        known: dict[str, Channel] = {}
        for message in self._static[side]:
            decoder = self.decoders[side]
            fields = stacked([decoder.fields(message)])
            for name, channel in decode(decoder.msgtype, fields).channels.items():
                if name != STAMPS:  # when it was published is of the run
                    known[name] = channel
                    latest.setdefault(name, {}).update(zip(channel.labels, channel.values[0]))
        frames = tuple(sorted(next(iter(latest.values()), {})))
        channels = {
            name: known[name]._replace(
                values=np.stack([rows[frame] for frame in frames])[None], labels=frames
            )
            for name, rows in latest.items()
        }
        return Decoded(channels, {'frames': frames})

    def _compare(self, a: Decoded, b: Decoded, at: Stamped) -> None:
        for name in dict.fromkeys((*a.texts, *b.texts)):
            texts = [side.texts.get(name, ()) for side in (a, b)]
            unequal = np.full((len(at.stamps_ns), 1), float(texts[A] != texts[B]))
            self._add(name, COUNT, unequal, at, (_first_difference(*texts),))
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
        amounts, axes = difference(a, b)
        axis_names = () if a.metric == ROTATION else a.axes
        self._add(name, a.unit, amounts, at, a.labels, axis_names, axes)
        if a.metric == ROTATION:
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
        if not tolerance.ignored:
            field = self._fields.setdefault(name, FieldStatistics(unit, tolerance))
            field.add(amounts, axes, at, labels, axis_names)


def _index_of(fields: Fields, message: Message) -> int:
    """Return the frame_index of a message; its number if it has none."""
    field = fields.numbers.get('frame_index')
    return message.number if field is None else int(field.values[0, 0])


def _first_difference(a: tuple[str, ...], b: tuple[str, ...]) -> str:
    """Return the first two texts that differ, shortly."""
    for mine, other in zip((*a, *[''] * len(b)), (*b, *[''] * len(a))):
        if mine != other:
            start = max(len(commonprefix((mine, other))) - SHOWN // 2, 0)
            return f'{mine[start : start + SHOWN]!r}, {other[start : start + SHOWN]!r}'
    return ''


def _stamp_figures(stamps_ns: Sequence[int]) -> tuple[int, float, float]:
    """Return how often stamps go back, their mean rate [Hz] and the longest gap [s]."""
    if len(stamps_ns) < 2:
        return 0, 0.0, 0.0
    steps_ns, span_ns = np.diff(stamps_ns), max(stamps_ns) - min(stamps_ns)
    rate_hz = (len(stamps_ns) - 1) * 1e9 / span_ns if span_ns else 0.0
    return int(np.sum(steps_ns < 0)), rate_hz, max(int(steps_ns.max()), 0) * 1e-9


class FieldStatistics:
    """The differences of one field, of which those above zero are kept."""

    def __init__(self, unit: str, tolerance: FieldTolerance) -> None:
        self.unit = unit
        self.tolerance = tolerance
        self._n = self._n_beyond = 0
        self._positive: list[Floats] = []
        self._worst: Place | None = None
        self._first: Place | None = None

    def add(
        self,
        amounts: Floats,
        axes: Ints | None,
        at: Stamped,
        labels: tuple[str, ...] = (),
        axis_names: tuple[str, ...] = (),
    ) -> None:
        """
        Add the differences of n messages, none NaN, and which axis differs most, shape (n, rows).

        Empty names of rows and axes are left out, missing ones are numbers.
        """
        self._n += amounts.size
        positive = amounts[amounts > 0.0]
        if not positive.size:
            return
        self._positive.append(positive)

        def place(frame: int) -> Place:
            row = int(np.argmax(amounts[frame]))
            axis = 0 if axes is None else int(axes[frame, row])
            label = labels[row] if row < len(labels) else f'[{row}]'
            name = axis_names[axis] if axis < len(axis_names) else ''
            when = int(at.stamps_ns[frame]), int(at.indices[frame])
            return Place(*when, f'{label} {name}'.strip(), row, axis, float(amounts[frame, row]))

        peaks = amounts.max(axis=1)
        if self._worst is None or peaks.max() > self._worst.amount:
            self._worst = place(int(np.argmax(peaks)))
        self._n_beyond += int(np.count_nonzero(amounts > self.tolerance.max))
        frames = np.flatnonzero(peaks > self.tolerance.max)
        if frames.size:
            frame = int(frames[np.argmin(at.stamps_ns[frames])])
            if self._first is None or at.stamps_ns[frame] < self._first.stamp_ns:
                self._first = place(frame)

    def result(self, topic: str, name: str) -> FieldResult:
        positive = np.concatenate((np.zeros(0), *self._positive))
        finite = positive[np.isfinite(positive)]
        n_invalid = len(positive) - len(finite)
        peak = self._worst.amount if self._worst is not None else 0.0
        rms = math.sqrt(float(finite @ finite) / max(self._n - n_invalid, 1))
        rank = math.ceil(0.99 * self._n) - (self._n - len(positive))
        p99 = float(np.partition(positive, rank - 1)[rank - 1]) if rank > 0 else 0.0
        if self.unit == COUNT:
            within = self._n_beyond <= self.tolerance.mismatches
            severity = 0.0 if within else 1.0 + self._n_beyond / self._n
            # a name, such as the solver's, is a cause; a description explains less than numbers
            is_name = self._worst is not None and self._worst.component.startswith("'")
            if is_name and name != DESCRIPTION:
                severity *= OF_TEXT
        else:
            pairs = tuple(zip((peak, p99, rms), self.tolerance))
            within = all(value <= limit for value, limit in pairs)
            severity = max(
                0.0 if math.isinf(limit) else value / (limit or UNITS[self.unit].tolerance)
                for value, limit in pairs
            )
            if n_invalid:
                severity = OF_NO_NUMBER
        note = f'{n_invalid} values without a number, or a field, on one side' * bool(n_invalid)
        figures = (self._n, self._n_beyond, peak, p99, rms, self._worst, self._first)
        return FieldResult(
            topic, name, self.unit, self.tolerance, within, severity, *figures, note
        )


def difference(a: Channel, b: Channel) -> tuple[Floats, Ints | None]:
    """
    Return how far two channels of equal shape are apart, and at which axis most; None: the first.

    Both of shape (n, rows); amounts in the channel's unit, infinite where one side alone has no
    number.
    """
    if a.metric == ROTATION:
        return angles_deg(a.values, b.values), None
    if a.metric == EQUAL:  # whole numbers too large for floats as well
        equal = (a.values == b.values) | ((a.values != a.values) & (b.values != b.values))
        return np.any(~equal, axis=-1).astype(np.float64), None
    with np.errstate(invalid='ignore'):
        apart = np.abs(a.values - b.values)
    same = (a.values == b.values) | (np.isnan(a.values) & np.isnan(b.values))
    apart = np.where(np.isnan(apart), np.where(same, 0.0, np.inf), apart)
    if a.metric == NUMBER:
        size = np.fmax(np.abs(a.values), np.abs(b.values))
        apart /= np.maximum(1.0, np.where(np.isfinite(size), size, 1.0))
    if apart.shape[-1] == 1:
        return apart[..., 0], None
    axes = np.argmax(apart, axis=-1) if apart.shape[-1] else None
    return np.sqrt(np.sum(apart * apart, axis=-1)), axes


def angles_deg(a: Floats, b: Floats) -> Floats:
    """
    Return the angles [deg] between quaternions (..., 4), their signs aside, shape (...).

    Infinite if one of the two is none (not finite, or of length zero) or if the lengths differ;
    zero if both are none.
    """
    length_a, length_b = np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1)
    with np.errstate(invalid='ignore', divide='ignore', over='ignore'):
        unit_a, unit_b = a / length_a[..., None], b / length_b[..., None]
        chords = [np.linalg.norm(unit_a - sign * unit_b, axis=-1) for sign in (1.0, -1.0)]
        # a chord of the unit 3-sphere; exact for small angles too
        angles = np.degrees(4.0 * np.arcsin(np.minimum(0.5 * np.minimum(*chords), 1.0)))
        is_a = np.isfinite(length_a) & (length_a > 0.0)
        is_b = np.isfinite(length_b) & (length_b > 0.0)
        alike = np.abs(length_a - length_b) <= FAR_FROM_UNIT
    return np.where(is_a & is_b & alike, angles, np.where(is_a | is_b, np.inf, 0.0))


def sign_breaks(a: Floats, b: Floats) -> Floats:
    """
    Return where one of two streams of quaternions changes its sign and the other does not.

    Of shapes (n, rows, 4), in order of time; the result is of shape (n - 1, rows), 1 where just
    one of the streams goes to the other half of the sphere, else 0.
    """
    with np.errstate(invalid='ignore'):
        in_a, in_b = (np.sum(q[1:] * q[:-1], axis=-1) < 0.0 for q in (a, b))
    return (in_a != in_b).astype(np.float64)
