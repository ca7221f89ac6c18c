# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison on the terminal, as JSON (puppet-comparison/1), JUnit XML, HTML and charts."""

from collections.abc import Sequence
from dataclasses import asdict
from glob import escape
from importlib import resources
import math
from pathlib import Path
import re
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from puppet_core.drawing import figures
from puppet_core.io import printable, write_text
from puppet_core.math import Floats
from puppet_replay.compare.channels import Channel, ROTATION
from puppet_replay.compare.comparison import (
    compare_bags,
    Comparison,
    FieldResult,
    stage,
    Stamped,
    TopicResult,
)
from puppet_replay.compare.differences import angles_deg, difference, Place
from puppet_replay.compare.reading import stamp_text
from puppet_replay.compare.tolerances import COUNT, Tolerances, UNITS
from puppet_retarget.offline import write_report

FORMAT = 'puppet-comparison/1'
TEMPLATE = 'page.html.jinja'
HEAD = ('topic', 'field', 'max', 'p99', 'rms', 'allowed', 'first', 'worst')
MOST_ROWS = 12
MOST_CURVES = 6
CANDIDATES = 4  # times as many are examined: texts, signs and missing messages have no curve
MOST_POINTS = 200_000  # of a curve while it is read
DRAWN_POINTS = 1_800  # two a pixel
AROUND_S = 1.0  # before and after the worst frame, in full
# What XML 1.0 cannot hold at all.
_FORBIDDEN = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


def write_reports(
    comparison: Comparison,
    tolerances: Tolerances,
    json: Path | None = None,
    junit: Path | None = None,
    html: Path | None = None,
    plots: Path | None = None,
) -> None:
    """Write what is asked for, each file all or nothing."""
    if json is not None:
        write_report(comparison_report(comparison), json)
    if junit is not None:
        write_text(junit, junit_text(comparison))
    if html is None and plots is None:
        return
    curves = worst_curves(comparison, tolerances)
    drawings = [draw_curve(curve) for curve in curves]
    if plots is not None:
        for number, (curve, drawing) in enumerate(zip(curves, drawings), 1):
            name = re.sub(r'\W+', '_', f'{curve.field.topic}_{curve.field.name}').strip('_')
            write_text(plots / f'{number}_{name}.svg', drawing)
    if html is not None:
        write_text(html, html_text(comparison, drawings))


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
        table = [HEAD, *((f.topic, *cells(f, comparison.start_ns)) for f in rows)]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines += [
            '',
            *(
                '  '.join(
                    cell.rjust(width) if 2 <= k <= 5 else cell.ljust(width)
                    for k, (cell, width) in enumerate(zip(row, widths))
                ).rstrip()
                for row in table
            ),
        ]
        if len(wrong) > len(rows):
            lines.append(f'.. and {len(wrong) - len(rows)} more; --all prints every field')
    return [printable(line) for line in lines]


def summary_lines(comparison: Comparison) -> list[str]:
    """Return the outcome: one line if nothing differs, the worst field and where it begins."""
    fields = comparison.fields()
    wrong = [field for field in fields if not field.within]
    count = f'{len(fields)} fields of {len(comparison.topics)} topics'
    if not fields:
        return ['nothing compared: no topic of that name']
    if not wrong:
        largest = f'largest {described(fields[0])}' if fields[0].peak else 'all equal'
        return [printable(f'within tolerance: {count}; {largest}')]
    lines = [f'differs: {len(wrong)} of {count}', f'worst: {described(wrong[0])}']
    origin = comparison.origin()
    before = [t.topic for t in comparison if t.within and stage(t.topic) < stage(origin)]
    before.sort(key=stage)
    tail = f'; equal before it: {", ".join(before)}' if before else ''
    lines.append(f'begins: {origin}{tail}')
    return [printable(line) for line in lines]


def described(field: FieldResult) -> str:
    """Return one line about the worst of a field: amount, component, frame and stamp."""
    place = ''
    if field.worst is not None:
        component = f'{field.worst.component}, ' if field.worst.component else ''
        stamp = stamp_text(field.worst.stamp_ns)
        place = f' at {component}frame {field.worst.frame_index}, stamp {stamp}'
    if field.unit == COUNT:
        what = field.note or f'{field.n_beyond} of {field.n} values unequal'
        return f'{field.topic} {field.name}: {what}{place}'
    allowed = amount(field.tolerance.max, field.unit)
    tail = f'; {field.note}' if field.note else ''
    peak = amount(field.peak, field.unit)
    return f'{field.topic} {field.name}: {peak}{place}, allowed {allowed}{tail}'


def amount(value: float, unit: str) -> str:
    """Return a difference with its unit."""
    if math.isinf(value):
        return 'no number'
    number = f'{value:.3g}' if value < 1000.0 or value >= 1e6 else f'{value:.0f}'
    return f'{number} {UNITS[unit].text}'.strip()


def cells(field: FieldResult, start_ns: int) -> tuple[str, ...]:
    """Return a row of the table, from the name of the field on."""
    if field.unit == COUNT:
        numbers = (f'{field.n_beyond} of {field.n}', '', '', str(field.tolerance.mismatches))
    else:
        allowed = ', '.join(
            f'{name}{amount(limit, field.unit)}'
            for name, limit in (
                ('', field.tolerance.max),
                ('99 % ', field.tolerance.p99),
                ('rms ', field.tolerance.rms),
            )
            if not math.isinf(limit)
        )
        found = [amount(value, field.unit) for value in (field.peak, field.p99, field.rms)]
        numbers = (found[0], found[1], found[2], allowed or 'any')

    def short(place: Place | None) -> str:
        if place is None:
            return ''
        return f'{(place.stamp_ns - start_ns) * 1e-9:.3f} s #{place.frame_index}'

    worst = f'{short(field.worst)} {field.worst.component if field.worst else ""}'.strip()
    return (field.name, *numbers, short(field.first), f'{worst} {field.note}'.strip())


def comparison_report(comparison: Comparison) -> dict[str, Any]:
    """Return all of it as plain data; what is no finite number becomes null in JSON."""
    worst = comparison.worst()
    return {
        'format': FORMAT,
        'a': comparison.paths[0],
        'b': comparison.paths[1],
        'within': comparison.within,
        'worst': None if worst is None else {'topic': worst.topic, 'field': worst.name},
        'origin': comparison.origin() or None,
        'start_ns': comparison.start_ns,
        'topics': [_topic_data(topic) for topic in comparison],
        'ignored': list(comparison.ignored),
        'warnings': list(comparison.warnings),
    }


def _topic_data(topic: TopicResult) -> dict[str, Any]:
    pairs = {
        'messages': topic.counts,
        'rate_hz': topic.rates_hz,
        'longest_gap_s': topic.longest_gaps_s,
    }
    return {
        'topic': topic.topic,
        'type': topic.msgtype,
        'within': topic.within,
        **{name: {'a': a, 'b': b} for name, (a, b) in pairs.items()},
        'fields': [_field_data(field) for field in topic.fields],
    }


def _field_data(field: FieldResult) -> dict[str, Any]:
    def place(found: Place | None) -> dict[str, Any] | None:
        if found is None:
            return None
        return {
            'stamp_ns': found.stamp_ns,
            'frame_index': found.frame_index,
            'component': found.component,
            'difference': found.amount,
        }

    allowed = asdict(field.tolerance)
    del allowed['ignored']
    return {
        'field': field.name,
        'unit': UNITS[field.unit].text or field.unit,
        'within': field.within,
        'severity': field.severity,
        'n': field.n,
        'n_beyond': field.n_beyond,
        'max': field.peak,
        'p99': field.p99,
        'rms': field.rms,
        'allowed': allowed,
        'first': place(field.first),
        'worst': place(field.worst),
        'note': field.note,
    }


def junit_text(comparison: Comparison) -> str:
    """Return JUnit XML: a suite for each topic, a case for each field."""

    def counted(fields: Sequence[FieldResult], **more: str) -> dict[str, str]:
        failures = sum(not field.within for field in fields)
        return {'tests': str(len(fields)), 'failures': str(failures), 'errors': '0', **more}

    def clean(text: str) -> str:
        return _FORBIDDEN.sub('?', text)

    root = ElementTree.Element('testsuites', counted(comparison.fields(), name='puppet compare'))
    for topic in comparison:
        name = clean(topic.topic)
        suite = ElementTree.SubElement(
            root, 'testsuite', counted(topic.fields, name=name, skipped='0', time='0')
        )
        for field in topic.fields:
            case = ElementTree.SubElement(
                suite, 'testcase', classname=name, name=clean(field.name), time='0'
            )
            if not field.within:
                failure = ElementTree.SubElement(case, 'failure', message=clean(described(field)))
                failure.text = clean(f'A: {comparison.paths[0]}\nB: {comparison.paths[1]}')
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding='unicode')
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def html_text(comparison: Comparison, drawings: Sequence[str]) -> str:
    """
    Return a page that needs nothing outside of it.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    drawings : sequence of str
        SVG of the worst channels.

    """
    from jinja2 import Environment, StrictUndefined

    source = resources.files(__package__).joinpath(TEMPLATE).read_text()
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.from_string(source).render(
        comparison=comparison,
        summary=summary_lines(comparison),
        start=stamp_text(comparison.start_ns),
        drawings=[drawing[drawing.index('<svg') :] for drawing in drawings],
        topics=sorted(comparison, key=lambda topic: (topic.within, topic.topic)),
        cells=lambda field: cells(field, comparison.start_ns),
        head=HEAD[1:],
    )


class ChannelCurve(NamedTuple):
    """The worst component of one field over time."""

    field: FieldResult
    """What it is."""

    whole: Floats
    """Time since the comparison's start [s], difference, values of A and B; shape (n, 4)."""

    near: Floats
    """The same around the worst frame, in full; of rotations the angle from A's first one."""


class _Recorder:
    """Keeps one component of a field while it is compared."""

    def __init__(self, field: FieldResult, worst: Place, start_ns: int) -> None:
        self._field = field
        self._worst = worst
        self._start_ns = start_ns
        self._reference: Floats | None = None
        self._whole = np.zeros((0, 4))
        self._near: list[Floats] = []

    def __call__(self, topic: str, name: str, a: Channel, b: Channel, at: Stamped) -> None:
        """Take a block of the field."""
        row = self._row_of(a)
        if (topic, name) != (self._field.topic, self._field.name) or row is None:
            return
        pair = [channel._replace(values=channel.values[:, row : row + 1]) for channel in (a, b)]
        block = np.column_stack(
            (
                (at.stamps_ns - self._start_ns) * 1e-9,
                difference(*pair).amounts[:, 0],
                *(self._value(channel) for channel in pair),
            )
        )
        self._near.append(block[np.abs(at.stamps_ns - self._worst.stamp_ns) <= AROUND_S * 1e9])
        self._whole = np.concatenate((self._whole, block))
        if len(self._whole) > MOST_POINTS:
            self._whole = _thinned(self._whole, MOST_POINTS)

    def curve(self) -> ChannelCurve:
        """Return what was taken."""
        near = np.concatenate((np.zeros((0, 4)), *self._near))
        return ChannelCurve(self._field, _thinned(self._whole, DRAWN_POINTS), _by_time(near))

    def _row_of(self, channel: Channel) -> int | None:
        """Return the row of the component: by its name, since the order may change, or number."""
        component, number = self._worst.component, self._worst.row
        fits = [
            row
            for row, label in enumerate(channel.labels)
            if label and f'{component} '.startswith(f'{label} ')
        ]
        if len(fits) == 1:
            return fits[0]
        return number if number < channel.values.shape[1] else None

    def _value(self, channel: Channel) -> Floats:
        values = np.asarray(channel.values[:, 0], np.float64)
        if channel.metric != ROTATION:
            return values[:, self._worst.axis]
        if self._reference is None:
            self._reference = values[0]
        return angles_deg(np.broadcast_to(self._reference, values.shape), values)


def worst_curves(
    comparison: Comparison, tolerances: Tolerances, count: int = MOST_CURVES
) -> list[ChannelCurve]:
    """
    Return the worst channels of two bags over time, read in a second pass.

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
    recorders = [
        _Recorder(field, field.worst, comparison.start_ns)
        for field in wrong or fields
        if field.worst is not None and field.peak > 0.0
    ][: CANDIDATES * count]
    if not recorders:
        return []
    topics = sorted({recorder.curve().field.topic for recorder in recorders})

    def observe(topic: str, name: str, a: Channel, b: Channel, at: Stamped) -> None:
        for recorder in recorders:
            recorder(topic, name, a, b, at)

    a, b = (Path(path) for path in comparison.paths)
    compare_bags(a, b, tolerances, [escape(topic) for topic in topics], observe=observe)
    curves = [recorder.curve() for recorder in recorders]
    return [curve for curve in curves if len(curve.whole) > 1][:count]


def _by_time(rows: Floats) -> Floats:
    return rows[np.argsort(rows[:, 0], kind='stable')]


def _thinned(rows: Floats, most: int) -> Floats:
    """Return at most so many rows: of two neighbours always the one that differs more."""
    rows = _by_time(rows)
    while len(rows) > most:
        even, odd = rows[:-1:2], rows[1::2]
        rows = np.where((odd[:, 1] > even[:, 1])[:, None], odd, even)
    return rows


def draw_curve(curve: ChannelCurve) -> str:
    """Return SVG: the difference over the whole time, and both values near the worst frame."""
    field, whole = curve.field, curve.whole
    unit = UNITS[field.unit].text
    suffix = f' [{unit}]' if unit else ''
    component = field.worst.component if field.worst is not None else ''
    near = curve.near if len(curve.near) > 1 else whole
    with figures.styled():
        figure, ((top,), (bottom,)) = figures.new_figure(
            (1.0, 1.0), 460, f'{field.topic} {field.name} {component}', is_shared=False
        )
        limit = field.tolerance.max
        if math.isfinite(limit) and limit > 0.0:
            top.axhline(limit, color=figures.GREY, linestyle='--', label='allowed')
        finite = np.where(np.isfinite(whole[:, 1]), whole[:, 1], np.nan)
        top.plot(whole[:, 0], finite, color=figures.RED, label='difference')
        none = whole[np.isinf(whole[:, 1]), 0]
        if len(none):
            top.plot(
                none,
                np.full(len(none), 0.97),
                linestyle='',
                marker='x',
                color=figures.DARK,
                transform=top.get_xaxis_transform(),
                label='no number',
            )
        top.set_ylim(bottom=0.0)
        top.set_title('difference of B from A')
        top.set_ylabel(f'difference{suffix}')
        for k, (name, colour, dash) in enumerate(
            (('A', figures.BLUE, '-'), ('B', figures.RED, '--'))
        ):
            bottom.plot(near[:, 0], near[:, 2 + k], color=colour, linestyle=dash, label=name)
        worst_s = near[int(np.argmax(near[:, 1])), 0]
        bottom.axvline(worst_s, color=figures.GREY, linestyle=':', label='worst frame')
        bottom.set_title(f'both bags near the worst frame, {worst_s:.3f} s')
        bottom.set_ylabel(
            f'angle from A at first{suffix}'
            if field.unit == 'deg'
            else f'{component or "value"}{suffix}'
        )
        for axes, rows in ((top, whole), (bottom, near)):
            axes.set_xlim(rows[0, 0], max(rows[-1, 0], rows[0, 0] + 1e-3))
            axes.ticklabel_format(useOffset=False)
            figures.legend_above(axes)
        return figures.svg_text(figure)
