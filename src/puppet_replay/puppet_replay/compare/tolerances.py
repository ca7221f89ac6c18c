# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How much two bags may differ (puppet-tolerances/1): a preset, and rules; later ones win."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
import math
from pathlib import Path
from typing import Any, NamedTuple

from puppet_core.io import load_yaml, Section

FORMAT = 'puppet-tolerances/1'
DEFAULT, EXACT = 'default', 'exact'
STATISTICS = ('max', 'p99', 'rms')
COUNT = 'count'  # of this unit's fields only the number of mismatches counts
OF_MESSAGES = ('missing_messages', 'extra_messages', 'ignore')


class Unit(NamedTuple):
    """A unit that a difference is measured in."""

    text: str  # as in tables
    tolerance: float  # greatest difference that is not one, unless a rule sets another


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


class Rule(NamedTuple):
    topic: str = '*'  # pattern
    field: str = '*'  # pattern
    limits: Mapping[str, Any] = {}  # noqa: RUF012  # by the keys of the file, such as max_mm
    line: int | None = None  # None in a preset


class Tolerance(NamedTuple):
    """What is allowed of one field, in its unit, or of the messages of one topic."""

    max: float = math.inf  # noqa: A003  # greatest difference of one value
    p99: float = math.inf  # what 99 in 100 differences may not exceed
    rms: float = math.inf  # root of the mean square
    mismatches: int = 0  # how many flags or texts may differ
    missing_messages: int = 0  # how many may be missing in B
    extra_messages: int = 0  # how many may be missing in A
    ignore: bool = False  # whether it is not compared


# Of the run and not of the motion: clocks, logs, and what a node counts since it was started.
RUN_TOPICS = (
    *('/diagnostics', '/rosout', '/parameter_events', '/puppet/parameters', '/clock', '/events/*'),
)
RUN_FIELDS = ('solve_time', 'frames_solved', 'frames_dropped')
OF_RUN = (
    *(Rule(topic=topic, limits={'ignore': True}) for topic in RUN_TOPICS),
    *(Rule(field=field, limits={'ignore': True}) for field in RUN_FIELDS),
)
PRESETS = {
    DEFAULT: (
        Rule(limits={f'max_{name}': unit.tolerance for name, unit in UNITS.items()}),
        *OF_RUN,
        Rule(field='skeleton', limits={'max_mm': 0.01}),
    ),
    EXACT: (Rule(limits={f'max_{name}': 0.0 for name in UNITS}), *OF_RUN),
}


class Tolerances:
    """Rules, on one of PRESETS, and the limits they set for a field."""

    def __init__(
        self, preset: str = DEFAULT, rules: Sequence[Rule] = (), path: Path | None = None
    ) -> None:
        self.path = path
        self._rules = (*PRESETS[preset], *rules)
        self._used: set[int] = set()

    def field(self, topic: str, field: str, unit: str) -> Tolerance:
        """Return what is allowed of a field that is measured in `unit`."""
        names = {f'{name}_{unit}': name for name in STATISTICS} | {'ignore': 'ignore'}
        if unit == COUNT:
            names['mismatches'] = 'mismatches'
        return self._limits(topic, names, lambda pattern: fnmatchcase(field, pattern))

    def topic(self, topic: str) -> Tolerance:
        return self._limits(
            topic, dict(zip(OF_MESSAGES, OF_MESSAGES)), lambda pattern: pattern == '*'
        )

    def _limits(
        self, topic: str, names: Mapping[str, str], is_of: Callable[[str], bool]
    ) -> Tolerance:
        """Return the limits of all rules together; `names` are by the keys of the file."""
        found: dict[str, Any] = {}
        for number, rule in enumerate(self._rules):
            limits = {names[key]: limit for key, limit in rule.limits.items() if key in names}
            if limits and is_of(rule.field) and fnmatchcase(topic, rule.topic):
                self._used.add(number)
                found |= limits
        return Tolerance(**found)

    def unused(self) -> list[str]:
        """Return a line for each rule of the file that fitted nothing so far."""
        return [
            f'{self.path}:{rule.line}: fits nothing: topic {rule.topic}, field {rule.field}, '
            f'{", ".join(rule.limits)}'
            for number, rule in enumerate(self._rules)
            if rule.line is not None and number not in self._used
        ]


def load_tolerances(path: Path | None) -> Tolerances:
    """Return the tolerances of a file, or the default; raise InputFileError with line and key."""
    if path is None:
        return Tolerances()
    section = load_yaml(path, FORMAT)
    preset = section.text('preset', DEFAULT, tuple(PRESETS))
    rules = [_rule(entry) for entry in section.sections('rules')] if 'rules' in section else []
    section.finish()
    return Tolerances(preset, rules, path)


def _rule(entry: Section) -> Rule:
    topic, field = entry.text('topic', '*'), entry.text('field', '*')
    keys = [f'{name}_{unit}' for name in STATISTICS for unit in UNITS if unit != COUNT]
    limits: dict[str, Any] = {key: entry.number(key, low=0.0) for key in keys if key in entry}
    for key in ('mismatches', 'missing_messages', 'extra_messages'):
        if key in entry:
            value = entry.number(key, low=0.0, high=1e9)
            if value % 1.0:
                raise entry.error(key, 'a whole number', f'{value:g}')
            limits[key] = int(value)
            if key != 'mismatches' and field != '*':
                raise entry.error(key, 'a rule without a field', f'the field {field}')
    if 'ignore' in entry:
        limits['ignore'] = entry.flag('ignore')
    entry.finish()
    if not limits:
        raise entry.error('topic', 'a tolerance such as max_mm, or ignore: true', 'none')
    return Rule(topic, field, limits, entry.line)
