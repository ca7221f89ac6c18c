# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison in words: a few lines and a short table, the worst field first."""

from collections.abc import Sequence
import math

from puppet_core.io.text import printable
from puppet_replay.compare_result import Comparison, FieldResult, MESSAGES, stage
from puppet_replay.compare_statistics import Place
from puppet_replay.compare_tolerances import COUNT
from puppet_replay.compare_units import UNITS

MOST_ROWS = 12
HEAD = ('topic', 'field', 'max', 'p99', 'rms', 'allowed', 'first', 'worst')


def report_lines(comparison: Comparison, everything: bool = False) -> list[str]:
    """
    Return what a terminal shows.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    everything : bool
        Whether the table has all fields, not only the worst of those beyond their tolerances.

    """
    fields = comparison.fields()
    wrong = [field for field in fields if not field.within]
    rows = fields if everything else wrong[:MOST_ROWS]
    lines = summary_lines(comparison)
    if rows:
        table = [HEAD, *(_cells(field, comparison.start_ns) for field in rows)]
        lines += ['', *_aligned(table)]
        if len(wrong) > len(rows):
            lines.append(f'.. and {len(wrong) - len(rows)} more; --all prints every field')
    return [printable(line) for line in lines]


def summary_lines(comparison: Comparison) -> list[str]:
    """Return the verdict: one line if nothing differs, the worst field and where it begins."""
    fields = comparison.fields()
    wrong = [field for field in fields if not field.within]
    count = f'{len(fields)} fields of {len(comparison.topics)} topics'
    if not fields:
        return ['nothing compared: no topic of that name']
    if not wrong:
        return [printable(f'within tolerance: {count}; {_nearest(fields)}')]
    lines = [f'differs: {len(wrong)} of {count}', f'worst: {described(wrong[0])}']
    origin = comparison.origin()
    before = [t.topic for t in comparison if t.within and stage(t.topic) < stage(origin)]
    before.sort(key=stage)
    tail = f'; equal before it: {", ".join(before)}' if before else ''
    lines.append(f'begins: {origin}{tail}')
    return [printable(line) for line in lines]


def described(field: FieldResult) -> str:
    """Return one line about the worst of a field: amount, component, frame and stamp."""
    name = f'{field.topic} {field.name}'
    place = '' if field.worst is None else f' at {_where(field.worst)}'
    if field.unit == COUNT:
        what = field.note or f'{field.n_beyond} of {field.n} values unequal'
        return f'{name}: {what}{place}'
    allowed = amount(field.tolerance.peak, field.unit)
    tail = f'; {field.note}' if field.note else ''
    return f'{name}: {amount(field.peak, field.unit)}{place}, allowed {allowed}{tail}'


def amount(value: float, unit: str) -> str:
    """Return a difference with its unit."""
    if math.isinf(value):
        return 'no number'
    text = UNITS[unit].text
    number = f'{value:.3g}' if value < 1000.0 or value >= 1e6 else f'{value:.0f}'
    return f'{number} {text}'.strip()


def stamp_text(stamp_ns: int) -> str:
    """Return a stamp in seconds, all nine digits."""
    sign = '-' if stamp_ns < 0 else ''
    seconds, rest = divmod(abs(stamp_ns), 1_000_000_000)
    return f'{sign}{seconds}.{rest:09d}'


def _nearest(fields: Sequence[FieldResult]) -> str:
    worst = fields[0]
    if worst.peak == 0.0:
        return 'all equal'
    return f'largest {described(worst)}'


def _where(place: Place) -> str:
    component = f'{place.component}, ' if place.component else ''
    return f'{component}frame {place.frame_index}, stamp {stamp_text(place.stamp_ns)}'


def _cells(field: FieldResult, start_ns: int) -> tuple[str, ...]:
    if field.unit == COUNT:
        numbers = (f'{field.n_beyond} of {field.n}', '', '', f'{field.tolerance.mismatches}')
    else:
        shown = (field.peak, field.p99, field.rms, field.tolerance.peak)
        texts = [amount(value, field.unit) for value in shown]
        texts[3] = 'any' if math.isinf(field.tolerance.peak) else texts[3]
        numbers = (texts[0], texts[1], texts[2], texts[3])
    first = '' if field.first is None else short_place(field.first, start_ns)
    worst = '' if field.worst is None else short_place(field.worst, start_ns)
    if field.worst is not None and field.worst.component:
        worst += f' {field.worst.component}'
    if field.note and (field.name == MESSAGES or field.worst is None):
        worst = field.note
    return (field.topic, field.name, *numbers, first, worst)


def short_place(place: Place, start_ns: int) -> str:
    """Return as in 0.592 s #71: time since the start, and frame."""
    return f'{(place.stamp_ns - start_ns) * 1e-9:.3f} s #{place.frame_index}'


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        '  '.join(
            cell.rjust(width) if 2 <= k <= 5 else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
