# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a comparison of two bags found: a verdict for each field, the worst first."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
import math

from puppet_replay.compare_join import Key
from puppet_replay.compare_statistics import FieldStatistics, Place
from puppet_replay.compare_tolerances import COUNT, FieldTolerance, TopicTolerance
from puppet_replay.compare_units import UNITS

MESSAGES, TOPIC, ORDER = 'messages', 'topic', 'order'
DESCRIPTION = 'data'  # text of a whole body, of std_msgs/String
# How bad what has no size is beside differences, which count in tolerances.
OF_TOPIC, OF_MESSAGES, OF_NO_NUMBER, OF_TEXT = 1e12, 1e9, 1e8, 1e6
# The way of the data: what differs first in it is where a difference comes from.
STAGES = (
    '/tracker/raw*', '/tracker/filtered*', '/performer/*', '/importance', '*robot_description',
    '/puppet/*', '/joint_states', '/retarget/*', '*',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldResult:
    """How one field of one topic differs."""

    topic: str
    """Name of the topic."""

    name: str
    """Name of the field, or MESSAGES, TOPIC or ORDER for the topic as a whole."""

    unit: str
    """A key of compare_units.UNITS."""

    tolerance: FieldTolerance
    """What is allowed."""

    within: bool
    """Whether it is within that."""

    severity: float
    """How bad it is beside others: the difference in tolerances; above 1 beyond the tolerance."""

    n: int
    """How many values were compared."""

    n_beyond: int
    """How many of them differ by more than the tolerance of one value."""

    peak: float
    """Greatest difference; infinite if one of two values is no number."""

    p99: float
    """What 99 in 100 do not exceed, to 1 %."""

    rms: float
    """Root of the mean square."""

    worst: Place | None = None
    """Where the greatest difference is."""

    first: Place | None = None
    """Where the first one beyond the tolerance is."""

    note: str = ''
    """What the numbers do not say."""


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
        return sorted(rows, key=_rank)

    def worst(self) -> FieldResult | None:
        """Return the worst field; None if nothing was compared."""
        rows = self.fields()
        return rows[0] if rows else None

    def origin(self) -> str:
        """Return the first topic on the way of the data that differs; '' if none does."""
        wrong = [topic.topic for topic in self.topics if not topic.within]
        return min(wrong, key=lambda name: (stage(name), name), default='')

    def __iter__(self) -> Iterator[TopicResult]:
        """Iterate over the topics."""
        return iter(self.topics)


def stage(topic: str) -> int:
    """Return where on the way of the data a topic is."""
    return next(i for i, pattern in enumerate(STAGES) if fnmatchcase(topic, pattern))


def _rank(field: FieldResult) -> tuple[bool, float, int, str]:
    return field.within, -field.severity, stage(field.topic), field.name


def judged(
    topic: str, name: str, found: FieldStatistics, tolerance: FieldTolerance
) -> FieldResult:
    """Return the verdict on the differences of one field."""
    measured = {'max': found.max, 'p99': found.p99, 'rms': found.rms}
    if found.unit == COUNT:
        within = found.n_beyond <= tolerance.mismatches
        severity = _severity_of_count(name, found, tolerance.mismatches)
    else:
        limits = {'max': tolerance.peak, 'p99': tolerance.p99, 'rms': tolerance.rms}
        within = all(measured[key] <= limits[key] for key in measured)
        severity = max(_share(measured[key], limits[key], found.unit) for key in measured)
        if found.n_invalid:
            severity = OF_NO_NUMBER
    return FieldResult(
        topic, name, found.unit, tolerance, within, severity, found.n, found.n_beyond,
        found.max, found.p99, found.rms, found.worst, found.first, _note(found),
    )  # fmt: skip


def judged_messages(
    topic: str, counts: tuple[int, int], missing: list[Key], extra: list[Key],
    tolerance: TopicTolerance,
) -> FieldResult:  # fmt: skip
    """Return the verdict on messages without counterpart."""
    within = len(missing) <= tolerance.missing and len(extra) <= tolerance.extra
    total = len(missing) + len(extra)
    n = max(counts)
    severity = 0.0 if within or not n else OF_MESSAGES * total / n
    lost = sorted(missing + extra)
    first = Place(lost[0][0], lost[0][1], '', 0, 0, 1.0) if lost else None
    note = f'{len(missing)} missing, {len(extra)} extra' if lost else ''
    return FieldResult(
        topic, MESSAGES, COUNT, FieldTolerance(mismatches=tolerance.missing + tolerance.extra),
        within, severity, n, total, float(total), 0.0, 0.0, first, first, note,
    )  # fmt: skip


def judged_whole(topic: str, name: str, note: str, severity: float) -> FieldResult:
    """Return a verdict that is never within: a topic that is missing, or of another type."""
    return FieldResult(
        topic, name, COUNT, FieldTolerance(), False, severity, 1, 1, 1.0, 1.0, 1.0, note=note
    )


def _share(value: float, limit: float, unit: str) -> float:
    if math.isinf(limit):
        return 0.0
    return value / (limit or UNITS[unit].tolerance)


def _severity_of_count(name: str, found: FieldStatistics, allowed: int) -> float:
    if found.n_beyond <= allowed:
        return 0.0
    share = found.n_beyond / max(found.n, 1)
    # a name, such as the solver's, is a cause; a whole description says less than its numbers
    is_name = found.worst is not None and found.worst.component.startswith("'")
    return OF_TEXT * (1.0 + share) if is_name and name != DESCRIPTION else 1.0 + share


def _note(found: FieldStatistics) -> str:
    if found.n_invalid:
        return f'{found.n_invalid} values without a number, or a field, on one side'
    return ''
