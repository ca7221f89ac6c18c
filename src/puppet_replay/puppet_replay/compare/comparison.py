# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two bags side by side: every field of a topic, one topic after the other.

What is no number in both bags is equal, in one of them infinitely far. Rotations q and -q are
equal; where the sign changes in one bag alone is a field of its own, since programs that
interpolate go the long way round there.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
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
    EQUAL,
    NUMBER,
    ROTATION,
    SKELETON,
)
from puppet_replay.compare.reading import (
    A,
    B,
    blocks,
    definitions_of,
    Fields,
    index_of,
    joined,
    Message,
    Pair,
    stacked,
    TopicReader,
)
from puppet_replay.compare.tolerances import COUNT, Tolerance, Tolerances, UNITS
from puppet_ros.bags import BagReader

MESSAGES, TOPIC, ORDER = 'messages', 'topic', 'order'
STAMP, SIGN = 'stamp', '_sign'
DESCRIPTION = 'data'  # text of a whole body, of std_msgs/String
FAR_FROM_UNIT = 1e-3  # lengths of two quaternions that differ more are not two rotations' alone
DRAWN_POINTS = 1_800  # of a curve: two a pixel
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
    stamp_ns: int  # of the message in A; its log time if the type has no header
    frame_index: int  # the message's own if it has one, else its number
    component: str = ''  # name of the row and of the axis, as in left_hand x
    difference: float = 1.0


class Curve(NamedTuple):
    """One field over time; stamps are of A."""

    stamps_ns: Ints  # shape (n,), at most DRAWN_POINTS
    apart: Floats  # the greatest difference of the field then, shape (n,)
    near_ns: Ints  # shape (m,), some messages around the worst one
    values: tuple[Floats, Floats]  # of the worst component then, of A and B, shape (m,)


class FieldResult(NamedTuple):
    topic: str
    name: str  # of the field, or MESSAGES, TOPIC or ORDER for the topic as a whole
    unit: str  # a key of UNITS
    tolerance: Tolerance
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
    curve: Curve | None = None  # of what differs and is a number


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
    paths: tuple[str, str]  # A and B
    start_ns: int  # first stamp of A, from which times in reports are counted
    topics: tuple[TopicResult, ...]  # by name
    ignored: tuple[str, ...]  # topics that were left out
    warnings: tuple[str, ...]  # what the files lack, and rules that fitted nothing

    @property
    def within(self) -> bool:
        return all(topic.within for topic in self.topics)

    def fields(self) -> list[FieldResult]:
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
    stamps_ns: Ints  # in A, shape (n,)
    indices: Ints  # shape (n,)


def compare_bags(
    path_a: Path,
    path_b: Path,
    tolerances: Tolerances,
    topics: Sequence[str] = ('*',),
    show: Show | None = None,
) -> Comparison:
    """
    Return how bag B differs from bag A, of the topics that fit one of the patterns.

    `show` is given the number of messages and returns a context of a function that counts those
    read. Raises InputFileError or MessageError for what is no bag or message.
    """
    with ExitStack() as stack:
        bags = [stack.enter_context(BagReader(path)) for path in (path_a, path_b)]
        stores = [definitions_of(bag) for bag in bags]
        known = sorted({name for bag in bags for name in bag.topics})
        chosen = [
            name
            for name in known
            if any(fnmatchcase(name, pattern) for pattern in topics)
            and not tolerances.topic(name).ignore
        ]
        shared = [name for name in chosen if bags[A].topics.get(name) == bags[B].topics.get(name)]
        total = sum(bag.counts[name] for bag in bags for name in shared)
        nobody: AbstractContextManager[Advance] = nullcontext(int)
        advance = stack.enter_context(show(total) if show and total else nobody)
        results, starts_ns = [], []
        for name in chosen:
            if name not in shared:
                results.append(_topic_without_counterpart(name, bags))
                continue
            a, b = (TopicReader(bags[side], stores[side], name, side) for side in (A, B))
            results.append(TopicComparison(a, b, tolerances).result(advance))
            stamps_ns = [stamp for stamp in a.stamps_ns if stamp]  # of 0: without a stamp
            if a.has_stamp and stamps_ns:
                starts_ns.append(min(stamps_ns))
        warnings = [text for bag in bags for text in bag.warnings]
        return Comparison(
            (str(path_a), str(path_b)),
            min(starts_ns, default=bags[A].start_ns),
            tuple(results),
            tuple(name for name in known if name not in chosen),
            (*warnings, *tolerances.unused()),
        )


def _topic_without_counterpart(name: str, bags: Sequence[BagReader]) -> TopicResult:
    kinds = [bag.topics.get(name, '') for bag in bags]
    counts = (bags[A].counts.get(name, 0), bags[B].counts.get(name, 0))
    note = 'extra' if kinds[B] else 'missing'
    if all(kinds):
        note = f'of type {kinds[A]} and {kinds[B]}'
    whole = _whole(name, TOPIC, OF_TOPIC, note)
    return TopicResult(name, kinds[A] or kinds[B], counts, (0.0, 0.0), (0.0, 0.0), (whole,))


def _whole(topic: str, name: str, severity: float, note: str) -> FieldResult:
    """Return what is wrong with a topic as a whole."""
    return FieldResult(topic, name, COUNT, Tolerance(), False, severity, note=note)


class TopicComparison:
    """Compares one topic of two bags, field by field."""

    def __init__(self, a: TopicReader, b: TopicReader, tolerances: Tolerances) -> None:
        self.topic = a.topic
        self._a, self._b, self._tolerances = a, b, tolerances
        self._fields: dict[str, FieldStatistics] = {}
        self._last: dict[tuple[object, ...], list[Floats]] = {}

    def result(self, advance: Advance) -> TopicResult:
        """Read both; raise MessageError if a message does not match its definition."""
        a, b = self._a, self._b
        left: list[Message] = []
        whole: list[FieldResult] = []
        if a.is_static and a.count and b.count:
            latest = [a.latest_transforms()], [b.latest_transforms()]
            stamp_ns = min(a.stamps_ns + b.stamps_ns)
            self._compare(*latest, Stamped(np.array([stamp_ns]), np.array([0])))
            advance(a.count + b.count)
        else:
            for block in blocks(joined(a, b, left)):
                self._add_block(block)
                advance(2 * len(block))
            advance(len(left))
            whole.append(self._messages(left))
        found = [f.result(self.topic, n) for n, f in self._fields.items()]
        fields = [field for field in found if not field.tolerance.ignore]
        backward, rates, gaps = zip(*(_stamp_figures(side.stamps_ns) for side in (a, b)))
        order = self._tolerances.field(self.topic, ORDER, COUNT)
        is_beyond = abs(backward[B] - backward[A]) > order.mismatches
        if a.is_stamped and is_beyond and not order.ignore:
            note = f'stamps go back {backward[A]} times in A, {backward[B]} in B'
            whole.append(_whole(self.topic, ORDER, OF_TEXT, note))
        fields = sorted(
            [*fields, *whole], key=lambda field: (field.within, -field.severity, field.name)
        )
        counts = (len(a.stamps_ns), len(b.stamps_ns))
        return TopicResult(self.topic, a.msgtype, counts, rates, gaps, tuple(fields))

    def _messages(self, left: list[Message]) -> FieldResult:
        allowed = self._tolerances.topic(self.topic)
        missing, extra = (sum(message.side == side for message in left) for side in (A, B))
        within = missing <= allowed.missing_messages and extra <= allowed.extra_messages
        n = (len(self._a.stamps_ns) + len(self._b.stamps_ns) + len(left)) // 2  # and pairs
        place = None
        if left:
            first = min(left, key=lambda message: (message.stamp_ns, message.number))
            reader = (self._a, self._b)[first.side]
            place = Place(first.stamp_ns, index_of(reader.fields(first), first))
        tolerance = Tolerance(mismatches=allowed.missing_messages + allowed.extra_messages)
        severity = 0.0 if within else OF_MESSAGES * len(left) / n
        figures = (n, len(left), float(len(left)), 0.0, 0.0, place, place)
        note = f'{missing} missing, {extra} extra' if left else ''
        return FieldResult(
            self.topic, MESSAGES, COUNT, tolerance, within, severity, *figures, note
        )

    def _add_block(self, pairs: Sequence[Pair]) -> None:
        """Compare pairs of messages, those of equal shapes and texts at once."""
        groups: dict[tuple[object, object], list[tuple[Message, Message, Fields, Fields]]] = {}
        for a, b in pairs:
            mine = self._a.fields(a)
            other = mine if a.data == b.data else self._b.fields(b)
            shape = mine.shape()
            key = (shape, shape if other is mine else other.shape())
            groups.setdefault(key, []).append((a, b, mine, other))
        for group in groups.values():
            in_a, in_b, fields_a, fields_b = zip(*group)
            stamps_ns = np.array([message.stamp_ns for message in in_a])
            at = Stamped(stamps_ns, np.array([index_of(f, m) for f, m in zip(fields_a, in_a)]))
            if self._a.is_stamped:
                apart = np.abs(np.array([message.stamp_ns for message in in_b]) - stamps_ns)
                self._field(STAMP, 'ms').add(at, 1e-6 * apart[:, None])
            self._compare(fields_a, fields_b, at)

    def _compare(
        self, fields_a: Sequence[Fields], fields_b: Sequence[Fields], at: Stamped
    ) -> None:
        a, b = (decode(self._a.msgtype, stacked(fields)) for fields in (fields_a, fields_b))
        every = np.ones((len(at.stamps_ns), 1))
        for name in dict.fromkeys((*a.texts, *b.texts)):
            texts = a.texts.get(name, ()), b.texts.get(name, ())
            unequal = every * (texts[A] != texts[B])
            self._field(name, COUNT).add(at, unequal, (_first_difference(*texts),))
        for name in dict.fromkeys((*a.channels, *b.channels)):
            channels = a.channels.get(name), b.channels.get(name)
            alike = aligned(*channels)
            if alike is None:
                unit = next(channel.unit for channel in channels if channel is not None)
                if name != SKELETON:  # a body is rigid in one of them
                    self._field(name, unit).add(at, every * np.inf, ('another form',))
                continue
            mine, other = alike
            self._field(name, mine.unit).add(at, difference(mine, other), mine.labels, alike)
            if mine.metric == ROTATION:
                now = mine.values, other.values
                stream = name, mine.labels, mine.values.shape[1:]
                last = self._last.get(stream, [q[:1] for q in now])
                self._last[stream] = [q[-1:] for q in now]
                breaks = sign_breaks(*map(np.concatenate, zip(last, now)))
                self._field(name + SIGN, COUNT).add(at, breaks, mine.labels)

    def _field(self, name: str, unit: str) -> 'FieldStatistics':
        if name not in self._fields:
            tolerance = self._tolerances.field(self.topic, name, unit)
            self._fields[name] = FieldStatistics(unit, tolerance)
        return self._fields[name]


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
    """The differences of one field; of numbers, those above zero are kept."""

    def __init__(self, unit: str, tolerance: Tolerance) -> None:
        self.unit = unit
        self.tolerance = tolerance
        self._n = self._n_beyond = self._n_invalid = 0
        self._positive: list[Floats] = []
        self._peaks: list[tuple[Ints, Floats]] = []  # with stamps, of each message
        self._worst: Place | None = None
        self._near: tuple[Ints, Floats, Floats] | None = None  # stamps and values around it
        self._first: Place | None = None

    def add(
        self,
        at: Stamped,
        amounts: Floats,
        labels: tuple[str, ...] = ('',),
        sides: tuple[Channel, Channel] | None = None,
    ) -> None:
        """Add the differences of n messages, none NaN, shape (n, rows), and the rows' names."""
        self._n += amounts.size
        peaks = amounts.max(axis=1, initial=0.0)
        self._peaks.append((at.stamps_ns, peaks))
        if not peaks.any():
            return
        self._n_invalid += int(np.count_nonzero(np.isinf(amounts)))
        if self.unit != COUNT:
            self._positive.append(amounts[amounts > 0.0])

        def place(frame: int) -> tuple[Place, int, int]:
            row, axis = int(np.argmax(amounts[frame])), 0
            component = labels[row] if row < len(labels) else f'[{row}]'
            if sides is not None and sides[A].metric != ROTATION:
                values = (side.values[frame, row].astype(np.float64) for side in sides)
                axis = int(np.argmax(distances(*values)))
                component += f' {sides[A].axes[axis]}'
            when = int(at.stamps_ns[frame]), int(at.indices[frame])
            return Place(*when, component.strip(), float(amounts[frame, row])), row, axis

        if self._worst is None or peaks.max() > self._worst.difference:
            self._worst, row, axis = place(int(np.argmax(peaks)))
            if sides is not None:
                a, b = (side.values[:, row].astype(np.float64) for side in sides)
                if sides[A].metric == ROTATION:
                    a, b = angles_deg(a[:1], a), angles_deg(a[:1], b)
                else:
                    a, b = a[:, axis], b[:, axis]
                self._near = at.stamps_ns, a, b
        self._n_beyond += int(np.count_nonzero(amounts > self.tolerance.max))
        frames = np.flatnonzero(peaks > self.tolerance.max)
        if frames.size:
            frame = int(frames[np.argmin(at.stamps_ns[frames])])
            if self._first is None or at.stamps_ns[frame] < self._first.stamp_ns:
                self._first, _, _ = place(frame)

    def _curve(self) -> Curve | None:
        """Return the peaks, of neighbours always the greatest, and the values near the worst."""
        stamps_ns, peaks = map(np.concatenate, zip(*self._peaks))
        if self._near is None or len(peaks) < 2:
            return None
        order = np.argsort(stamps_ns, kind='stable')
        parts = np.array_split(order, min(len(order), DRAWN_POINTS))
        chosen = [part[np.argmax(peaks[part])] for part in parts]
        near_ns, a, b = self._near
        return Curve(stamps_ns[chosen], peaks[chosen], near_ns, (a, b))

    def _p99_rms(self) -> tuple[float, float]:
        n_above = self._n - math.ceil(0.99 * self._n)  # what may exceed p99
        n_numbers = max(self._n - self._n_invalid, 1)
        if self.unit == COUNT:  # each difference is 0, 1 or infinite
            p99 = math.inf if self._n_invalid > n_above else float(self._n_beyond > n_above)
            return p99, math.sqrt((self._n_beyond - self._n_invalid) / n_numbers)
        positive = np.concatenate((np.zeros(0), *self._positive))
        finite = positive[np.isfinite(positive)]
        rank = len(positive) - 1 - n_above
        p99 = float(np.partition(positive, rank)[rank]) if rank >= 0 else 0.0
        return p99, math.sqrt(float(finite @ finite) / n_numbers)

    def result(self, topic: str, name: str) -> FieldResult:
        peak = self._worst.difference if self._worst is not None else 0.0
        p99, rms = self._p99_rms()
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
            if self._n_invalid:
                severity = OF_NO_NUMBER
        invalid = f'{self._n_invalid} values without a number, or a field, on one side'
        note = invalid if self._n_invalid else ''
        figures = (self._n, self._n_beyond, peak, p99, rms, self._worst, self._first)
        return FieldResult(
            topic, name, self.unit, self.tolerance, within, severity, *figures, note, self._curve()
        )


def difference(a: Channel, b: Channel) -> Floats:
    """Return how far two channels are apart, (n, rows); infinite if one has no number."""
    if a.metric == ROTATION:
        return angles_deg(a.values, b.values)
    if a.metric == EQUAL:  # whole numbers too large for floats as well
        equal = (a.values == b.values) | ((a.values != a.values) & (b.values != b.values))
        return np.any(~equal, axis=-1).astype(np.float64)
    apart = distances(a.values, b.values)
    if a.metric == NUMBER:
        size = np.fmax(np.abs(a.values), np.abs(b.values))
        apart /= np.maximum(1.0, np.where(np.isfinite(size), size, 1.0))
    return apart[..., 0] if apart.shape[-1] == 1 else np.sqrt(np.sum(apart * apart, axis=-1))


def distances(a: Floats, b: Floats) -> Floats:
    """Return how far numbers are apart; infinite where one of two is none, else zero."""
    with np.errstate(invalid='ignore'):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(np.isnan(apart), np.where(same, 0.0, np.inf), apart)


def angles_deg(a: Floats, b: Floats) -> Floats:
    """
    Return the angles [deg] between quaternions (..., 4), their signs aside, shape (...).

    Infinite if one of the two is none (not finite, or of length zero) or if the lengths differ.
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
    """Return where one of two streams (n, rows, 4) changes its sign alone, (n - 1, rows), as 1."""
    with np.errstate(invalid='ignore'):
        in_a, in_b = (np.sum(q[1:] * q[:-1], axis=-1) < 0.0 for q in (a, b))
    return (in_a != in_b).astype(np.float64)
