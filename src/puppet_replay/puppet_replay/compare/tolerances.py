# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How much two bags may differ: rules by topic and field, from YAML (puppet-tolerances/1).

A rule has patterns for topic and field (`*` and `?`, all by default), and what it says of the
fields that fit: it counts for those measured in its units. A later rule outweighs an earlier
one. All rules stand on a preset: `default`, or `exact`, which allows nothing.

"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
import math
from pathlib import Path
from typing import Any, NamedTuple

from puppet_core.io import brief, ConfigError, load_yaml, Section

FORMAT = 'puppet-tolerances/1'
DEFAULT, EXACT = 'default', 'exact'
PRESETS = (DEFAULT, EXACT)
STATISTICS = ('max', 'p99', 'rms')
COUNT = 'count'  # of this unit's fields only the number of mismatches counts
MOST_MESSAGES = 10**9

Limits = dict[str, Any]


class Unit(NamedTuple):
    """A unit that a difference is measured in."""

    text: str
    """As in tables."""

    tolerance: float
    """Greatest difference that is not one, unless a rule sets another."""


# Far above what compilers and processors differ by, far below what anybody sees.
UNITS = {
    'mm': Unit('mm', 0.1),  # positions, lengths
    'deg': Unit('deg', 0.05),  # rotations
    'rad': Unit('rad', 0.002),  # joint angles
    'mm_s': Unit('mm/s', 10.0),  # velocities
    'deg_s': Unit('deg/s', 5.0),  # angular velocities
    'ms': Unit('ms', 0.001),  # stamps, ages
    'ratio': Unit('', 1e-4),  # importance; other numbers, of the greater of 1 and their size
    'count': Unit('', 0.0),  # flags, counts, texts: 1 where they differ; messages
}


@dataclass(frozen=True, slots=True)
class Rule:
    """The contents of one entry of the file."""

    topic: str = '*'
    """Pattern of the topic's name."""

    field: str = '*'
    """Pattern of the field's name."""

    limits: tuple[tuple[tuple[str, str], float], ...] = ()
    """By statistic and unit: (('max', 'mm'), 0.1)."""

    mismatches: int | None = None
    """How many values of flags and texts may differ."""

    missing: int | None = None
    """How many messages of A may be missing in B."""

    extra: int | None = None
    """How many messages of B may be missing in A."""

    ignore: bool | None = None
    """Whether what fits is not compared; None: as before."""

    line: int | None = None
    """Where it stands in the file; None in a preset."""

    def fits(self, topic: str, field: str) -> bool:
        """Return whether a field is meant."""
        return fnmatchcase(topic, self.topic) and fnmatchcase(field, self.field)

    def limits_in(self, unit: str) -> Limits:
        """Return the limits of a field in this unit, by the names in FieldTolerance."""
        found = {name: value for (name, of_unit), value in self.limits if of_unit == unit}
        if self.mismatches is not None and unit == COUNT:
            found['mismatches'] = self.mismatches
        if self.ignore is not None:
            found['ignored'] = self.ignore
        return found

    def messages(self) -> Limits:
        """Return its limits for the messages of a topic, by the names in TopicTolerance."""
        said = {'missing': self.missing, 'extra': self.extra, 'ignored': self.ignore}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class FieldTolerance:
    """What is allowed of one field, in its unit."""

    max: float = math.inf  # noqa: A003
    """Greatest difference of one value."""

    p99: float = math.inf
    """What 99 in 100 differences may not exceed."""

    rms: float = math.inf
    """Root of the mean square."""

    mismatches: int = 0
    """How many values may be beyond `peak`: of flags and texts, else 0."""

    ignored: bool = False
    """Whether it is not compared."""


@dataclass(frozen=True, slots=True)
class TopicTolerance:
    """What is allowed of the messages of one topic."""

    missing: int = 0
    """How many may be missing in B."""

    extra: int = 0
    """How many may be missing in A."""

    ignored: bool = False
    """Whether it is not compared."""


def _ignoring(topic: str, field: str = '*') -> Rule:
    return Rule(topic, field, ignore=True)


# Of the run and not of the motion: clocks, logs, and what a node counts since it was started.
ALWAYS = (
    _ignoring('/diagnostics'),
    _ignoring('/rosout'),
    _ignoring('/parameter_events'),
    _ignoring('/clock'),
    _ignoring('/events/*'),
    _ignoring('*', 'solve_time'),
    _ignoring('*', 'frames_solved'),
    _ignoring('*', 'frames_dropped'),
)
_SKELETON = Rule(field='skeleton', limits=((('max', 'mm'), 0.01),))


def _preset(name: str) -> tuple[Rule, ...]:
    scale = 0.0 if name == EXACT else 1.0
    limits = tuple((('max', unit), scale * UNITS[unit].tolerance) for unit in UNITS)
    basic = (Rule(limits=limits, mismatches=0, missing=0, extra=0), *ALWAYS)
    return basic if name == EXACT else (*basic, _SKELETON)


class Tolerances:
    """
    Rules, and the limits they set for a field.

    Parameters
    ----------
    preset : str
        What the rules stand on: `default` or `exact`.
    rules : sequence of Rule
        In the order of the file.
    path : Path, optional
        Of the file.

    Raises
    ------
    ConfigError : if there is no such preset.

    """

    def __init__(
        self, preset: str = DEFAULT, rules: Sequence[Rule] = (), path: Path | None = None
    ) -> None:
        if preset not in PRESETS:
            raise ConfigError(f'preset: expected one of {", ".join(PRESETS)}, got {preset!r}')
        self.preset = preset
        self.path = path
        self._rules = (*_preset(preset), *rules)
        self._used: set[int] = set()

    def field(self, topic: str, field: str, unit: str) -> FieldTolerance:
        """Return what is allowed of a field that is measured in `unit`."""
        return FieldTolerance(
            **self._merged(lambda rule: rule.limits_in(unit) if rule.fits(topic, field) else {})
        )

    def topic(self, topic: str) -> TopicTolerance:
        """Return what is allowed of the messages of a topic."""
        return TopicTolerance(
            **self._merged(
                lambda rule: rule.messages() if rule.field == '*' and rule.fits(topic, '') else {}
            )
        )

    def _merged(self, said: Callable[[Rule], Limits]) -> Limits:
        """Return the limits of all rules together, the later ones first."""
        found: Limits = {}
        for number, rule in enumerate(self._rules):
            if more := said(rule):
                self._used.add(number)
                found |= more
        return found

    def unused(self) -> list[str]:
        """Return a line for each rule of the file that fitted nothing so far."""
        return [
            f'{self.path}:{rule.line}: fits nothing: topic {rule.topic}, field {rule.field}'
            f'{_units(rule)}'
            for number, rule in enumerate(self._rules)
            if rule.line is not None and number not in self._used
        ]


def _units(rule: Rule) -> str:
    units = dict.fromkeys(unit for (_, unit), _ in rule.limits)
    return f' in {", ".join(units)}' if units else ''


def load_tolerances(path: Path | None) -> Tolerances:
    """
    Return the tolerances of a file, or the default ones without a file.

    Raises
    ------
    InputFileError : with file, line and key, if it is not a file of tolerances.

    """
    if path is None:
        return Tolerances()
    section = load_yaml(path, FORMAT)
    preset = section.text('preset', DEFAULT, PRESETS)
    rules = [_rule(entry) for entry in section.sections('rules')] if 'rules' in section else []
    section.finish()
    return Tolerances(preset, rules, path)


def _rule(entry: Section) -> Rule:
    limits: dict[tuple[str, str], float] = {}
    for statistic in STATISTICS:
        for unit in UNITS:
            key = f'{statistic}_{unit}'
            if unit != COUNT and key in entry:
                limits[statistic, unit] = entry.number(key, low=0.0)
    rule = Rule(
        entry.text('topic', '*'),
        entry.text('field', '*'),
        tuple(limits.items()),
        _count(entry, 'mismatches'),
        _count(entry, 'missing_messages'),
        _count(entry, 'extra_messages'),
        _truth(entry, 'ignore'),
        entry.line,
    )
    entry.finish()
    said = (rule.mismatches, rule.missing, rule.extra, rule.ignore)
    if not limits and said == (None,) * 4:
        raise entry.error('topic', 'a limit such as max_mm, or ignore: true', 'none')
    if rule.field != '*' and (rule.missing, rule.extra) != (None, None):
        key = 'missing_messages' if rule.missing is not None else 'extra_messages'
        raise entry.error(key, 'a rule without a field', f'the field {rule.field}')
    return rule


def _count(entry: Section, key: str) -> int | None:
    if key not in entry:
        return None
    value = entry.number(key, low=0.0, high=MOST_MESSAGES)
    if value != int(value):
        raise entry.error(key, 'a whole number', f'{value:g}')
    return int(value)


def _truth(entry: Section, key: str) -> bool | None:
    if key not in entry:
        return None
    value = entry.raw(key)
    if not isinstance(value, bool):
        raise entry.error(key, 'true or false', brief(value))
    return value
