# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two bags side by side: every topic, every field, in one pass and in bounded memory.

The bag that is behind by its stamps is read on, so that messages find their counterparts soon
after they were read.

"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, ExitStack
from fnmatch import fnmatchcase
from pathlib import Path

from puppet_replay.compare_definitions import definitions_of
from puppet_replay.compare_join import A, B, Spool
from puppet_replay.compare_layout import Definitions
from puppet_replay.compare_result import (
    Comparison,
    FieldResult,
    judged,
    judged_messages,
    judged_whole,
    OF_TEXT,
    OF_TOPIC,
    ORDER,
    TOPIC,
    TopicResult,
)
from puppet_replay.compare_tolerances import Tolerances
from puppet_replay.compare_topic import Observer, TopicComparison
from puppet_ros.bags import BagMessage, BagReader

Advance = Callable[[int], object]
Show = Callable[[int], AbstractContextManager[Advance]]


def compare_bags(
    path_a: Path, path_b: Path, tolerances: Tolerances, topics: Sequence[str] = ('*',),
    show: Show | None = None,
) -> Comparison:  # fmt: skip
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

    Raises
    ------
    InputFileError : if one of them is no bag.
    LayoutError : if a message is not what its definition says.

    """
    with ExitStack() as stack:
        spool = stack.enter_context(closing(Spool()))
        readers = [stack.enter_context(BagReader(path)) for path in (path_a, path_b)]
        known = sorted({name for reader in readers for name in reader.topics})
        chosen = [
            name for name in known
            if any(fnmatchcase(name, pattern) for pattern in topics)
            and not tolerances.topic(name).ignored
        ]  # fmt: skip
        comparisons = open_comparisons(readers, chosen, tolerances, spool)
        total = sum(reader.counts[name] for reader in readers for name in comparisons)
        advance = stack.enter_context(show(total)) if show is not None and total else None
        run(readers, comparisons, advance)
        rows = [_result(name, readers, comparisons.get(name), tolerances) for name in chosen]
        return Comparison(
            (str(path_a), str(path_b)),
            _start_ns(comparisons, readers[A]),
            tuple(rows),
            tuple(name for name in known if name not in chosen),
            tuple(
                f'{reader.path}: {text}' for reader in readers for text in reader.warnings
            ) + tuple(tolerances.unused()),
        )  # fmt: skip


def open_comparisons(
    readers: Sequence[BagReader], topics: Sequence[str], tolerances: Tolerances, spool: Spool,
    observe: dict[str, Observer] | None = None,
) -> dict[str, TopicComparison]:  # fmt: skip
    """Return a comparison for each of the topics that both bags have, with one type."""
    definitions: list[Definitions] = [definitions_of(reader) for reader in readers]
    a, b = readers
    return {
        name: TopicComparison(
            name, a.topics[name], (definitions[A], definitions[B]), tolerances, spool,
            (observe or {}).get(name), (str(a.path), str(b.path)),
        )
        for name in topics
        if name in a.topics and a.topics[name] == b.topics.get(name)
    }  # fmt: skip


def run(
    readers: Sequence[BagReader], comparisons: dict[str, TopicComparison],
    advance: Advance | None = None,
) -> None:  # fmt: skip
    """Read both bags to their ends."""
    if comparisons:
        streams = [reader.messages(tuple(comparisons)) for reader in readers]
        for count in _by_turns(streams, comparisons):
            if advance is not None and count % 1024 == 0:
                advance(1024)
    for comparison in comparisons.values():
        comparison.finish()


def _by_turns(
    streams: Sequence[Iterator[BagMessage]], comparisons: dict[str, TopicComparison]
) -> Iterator[int]:
    """Give each message to its topic, from the bag that is behind; yield how many so far."""
    at = [(-1, 0), (-1, 0)]  # latest stamp, messages so far
    is_open = [True, True]
    while any(is_open):
        side = A if is_open[A] and (at[A] <= at[B] or not is_open[B]) else B
        message = next(streams[side], None)
        if message is None:
            is_open[side] = False
            continue
        comparison = comparisons[message.topic]
        stamp = comparison.add(side, message.data, message.log_ns)
        previous, count = at[side]
        at[side] = (stamp if comparison.keys[side].has_stamp else previous, count + 1)
        yield at[A][1] + at[B][1]


def _result(
    name: str, readers: Sequence[BagReader], found: TopicComparison | None,
    tolerances: Tolerances,
) -> TopicResult:  # fmt: skip
    kinds = [reader.topics.get(name, '') for reader in readers]
    counts = (readers[A].counts.get(name, 0), readers[B].counts.get(name, 0))
    if found is None:
        if all(kinds):
            row = judged_whole(name, TOPIC, f'of type {kinds[A]} and {kinds[B]}', OF_TOPIC)
        else:
            row = judged_whole(name, TOPIC, 'extra' if kinds[B] else 'missing', OF_TOPIC)
        return TopicResult(name, kinds[A] or kinds[B], counts, (0.0, 0.0), (0.0, 0.0), (row,))
    a, b = found.times
    rows = [
        judged(name, field, statistics, tolerances.field(name, field, statistics.unit))
        for field, statistics in found.fields.items()
    ]
    counts = (a.count, b.count)
    if not found.is_static or found.missing or found.extra:
        tolerance = tolerances.topic(name)
        rows.append(judged_messages(name, counts, found.missing, found.extra, tolerance))
    rows += _order(found, tolerances)
    rows.sort(key=lambda row: (row.within, -row.severity, row.name))
    gaps = (a.longest_gap_ns * 1e-9, b.longest_gap_ns * 1e-9)
    return TopicResult(name, found.type, counts, (a.rate_hz, b.rate_hz), gaps, tuple(rows))


def _order(found: TopicComparison, tolerances: Tolerances) -> list[FieldResult]:
    """Return the verdict on stamps that go backward, of topics with a header."""
    tolerance = tolerances.field(found.topic, ORDER, 'count')
    if tolerance.ignored or not found.keys[A].has_stamp:
        return []
    backward = [times.n_backward for times in found.times]
    apart = abs(backward[B] - backward[A])
    if apart <= tolerance.mismatches:
        return []
    note = f'stamps go back {backward[A]} times in A, {backward[B]} in B'
    return [judged_whole(found.topic, ORDER, note, OF_TEXT)]


def _start_ns(comparisons: dict[str, TopicComparison], reader: BagReader) -> int:
    firsts = [
        comparison.times[A].first_ns
        for comparison in comparisons.values()
        if comparison.keys[A].has_stamp and comparison.times[A].count
    ]
    return min(firsts, default=reader.start_ns)
