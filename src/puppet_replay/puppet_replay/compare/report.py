# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison on the terminal, as JSON (puppet-comparison/1), JUnit XML, HTML and charts."""

from collections.abc import Sequence
from importlib import resources
import math
from pathlib import Path
import re
from typing import Any

import numpy as np
from puppet_core import drawing
from puppet_core.io import printable, write_text
from puppet_replay.compare.comparison import Comparison, FieldResult, Place, stage
from puppet_replay.compare.reading import stamp_text
from puppet_replay.compare.tolerances import COUNT, UNITS
from puppet_retarget.offline import write_report

FORMAT = 'puppet-comparison/1'
PAGE, JUNIT = 'page.html.jinja', 'junit.xml.jinja'
HEAD = ('topic', 'field', 'max', 'p99', 'rms', 'allowed', 'first', 'worst')
ALIGNED = '<<>>>><<'
MOST_ROWS = 12
MOST_CURVES = 6
# What XML 1.0 cannot hold at all.
_FORBIDDEN = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


def write_reports(
    comparison: Comparison,
    json: Path | None = None,
    junit: Path | None = None,
    html: Path | None = None,
    plots: Path | None = None,
) -> None:
    """Write what is asked for, each file all or nothing."""
    if json is not None:
        write_report(comparison_report(comparison), json)
    if junit is not None:
        write_text(junit, _FORBIDDEN.sub('?', _rendered(JUNIT, comparison)))
    if html is None and plots is None:
        return
    fields = comparison.fields()
    drawn = [field for field in fields if field.curve is not None]
    worst = ([field for field in drawn if not field.within] or drawn)[:MOST_CURVES]
    drawings = [draw_curve(field, comparison.start_ns) for field in worst]
    if plots is not None:
        for number, (field, chart) in enumerate(zip(worst, drawings), 1):
            name = re.sub(r'\W+', '_', f'{field.topic}_{field.name}').strip('_')
            write_text(plots / f'{number}_{name}.svg', chart)
    if html is not None:
        write_text(html, _rendered(PAGE, comparison, drawings))


def report_lines(comparison: Comparison, everything: bool = False) -> list[str]:
    """Return what a terminal shows: a row of all fields, or of the worst that differ."""
    fields = comparison.fields()
    wrong = [field for field in fields if not field.within]
    rows = fields if everything else wrong[:MOST_ROWS]
    lines = summary_lines(comparison)
    if rows:
        table = [HEAD, *((f.topic, *cells(f, comparison.start_ns)) for f in rows)]
        sizes = [f'{side}{max(map(len, column))}' for side, column in zip(ALIGNED, zip(*table))]
        texts = ('  '.join(map(format, row, sizes)) for row in table)
        lines += ['', *(text.rstrip() for text in texts)]
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
    before = [t.topic for t in comparison.topics if t.within and stage(t.topic) < stage(origin)]
    before.sort(key=stage)
    tail = f'; equal before it: {", ".join(before)}' if before else ''
    lines.append(f'begins: {origin}{tail}')
    return [printable(line) for line in lines]


def described(field: FieldResult) -> str:
    """Return one line about the worst of a field: amount, component, frame and stamp."""
    place, tail = '', f'; {field.note}' if field.note else ''
    if field.worst is not None:
        stamp_ns, index, component, _ = field.worst
        row = f'{component}, ' if component else ''
        place = f' at {row}frame {index}, stamp {stamp_text(stamp_ns)}'
    if field.unit == COUNT:
        what = field.note or f'{field.n_beyond} of {field.n} values unequal'
        return f'{field.topic} {field.name}: {what}{place}'
    peak, allowed = (amount(x, field.unit) for x in (field.peak, field.tolerance.max))
    return f'{field.topic} {field.name}: {peak}{place}, allowed {allowed}{tail}'


def amount(value: float, unit: str) -> str:
    if math.isinf(value):
        return 'no number'
    number = f'{value:.0f}' if 1000.0 <= value < 1e6 else f'{value:.3g}'
    return f'{number} {UNITS[unit].text}'.strip()


def cells(field: FieldResult, start_ns: int) -> tuple[str, ...]:
    if field.unit == COUNT:
        numbers = [f'{field.n_beyond} of {field.n}', '', '', str(field.tolerance.mismatches)]
    else:
        limits = zip(('', '99 % ', 'rms '), field.tolerance)
        allowed = [f'{w}{amount(x, field.unit)}' for w, x in limits if not math.isinf(x)]
        found = [amount(value, field.unit) for value in (field.peak, field.p99, field.rms)]
        numbers = [*found, ', '.join(allowed) or 'any']

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
        'topics': [
            {
                'topic': topic.topic,
                'type': topic.msgtype,
                'within': topic.within,
                'messages': dict(zip('ab', topic.counts)),
                'rate_hz': dict(zip('ab', topic.rates_hz)),
                'longest_gap_s': dict(zip('ab', topic.longest_gaps_s)),
                'fields': [_field_data(field) for field in topic.fields],
            }
            for topic in comparison.topics
        ],
        'ignored': list(comparison.ignored),
        'warnings': list(comparison.warnings),
    }


def _field_data(field: FieldResult) -> dict[str, Any]:
    same = ('within', 'severity', 'n', 'n_beyond', 'p99', 'rms', 'note')
    places = {'first': field.first, 'worst': field.worst}
    return {
        'field': field.name,
        'unit': UNITS[field.unit].text or field.unit,
        **{name: getattr(field, name) for name in same},
        'max': field.peak,
        'allowed': dict(zip(('max', 'p99', 'rms', 'mismatches'), field.tolerance)),
        **{name: place and place._asdict() for name, place in places.items()},
    }


def _rendered(template: str, comparison: Comparison, drawings: Sequence[str] = ()) -> str:
    """Return the page, which needs nothing outside of it, or JUnit XML."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files(__package__).joinpath(template).read_text()
    blocks: dict[str, Any] = dict.fromkeys(
        ('trim_blocks', 'lstrip_blocks', 'keep_trailing_newline'), True
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined, **blocks)
    return environment.from_string(source).render(
        comparison=comparison,
        summary=summary_lines(comparison),
        start=stamp_text(comparison.start_ns),
        drawings=[drawing[drawing.index('<svg') :] for drawing in drawings],
        topics=sorted(comparison.topics, key=lambda topic: (topic.within, topic.topic)),
        cells=lambda field: cells(field, comparison.start_ns),
        described=described,
        head=HEAD[1:],
    )


def draw_curve(field: FieldResult, start_ns: int) -> str:
    """Return SVG: the difference over the whole time, and both values near the worst message."""
    curve, worst = field.curve, field.worst
    assert curve is not None and worst is not None
    unit, component = UNITS[field.unit].text, worst.component
    suffix = f' [{unit}]' if unit else ''
    times_s, near_s = (1e-9 * (stamps - start_ns) for stamps in (curve.stamps_ns, curve.near_ns))
    worst_s = 1e-9 * (worst.stamp_ns - start_ns)
    with drawing.styled():
        figure, ((top,), (bottom,)) = drawing.new_figure(
            (1.0, 1.0), 460, f'{field.topic} {field.name} {component}', is_shared=False
        )
        if math.isfinite(field.tolerance.max) and field.tolerance.max > 0.0:
            top.axhline(field.tolerance.max, color=drawing.GREY, linestyle='--', label='allowed')
        is_number = np.isfinite(curve.apart)
        apart = np.where(is_number, curve.apart, np.nan)
        top.plot(times_s, apart, color=drawing.RED, label='difference')
        if not is_number.all():
            none_s = times_s[~is_number]
            style: dict[str, Any] = {'color': drawing.DARK, 'clip_on': False, 'label': 'no number'}
            top.plot(none_s, np.zeros(len(none_s)), 'x', **style)
        top.set_ylim(bottom=0.0)
        top.set_title('difference of B from A')
        top.set_ylabel(f'difference{suffix}')
        bottom.plot(near_s, curve.values[0], color=drawing.BLUE, label='A')
        bottom.plot(near_s, curve.values[1], color=drawing.RED, linestyle='--', label='B')
        bottom.axvline(worst_s, color=drawing.GREY, linestyle=':', label='worst message')
        bottom.set_title(f'both bags near the worst difference, at {worst_s:.3f} s')
        name = 'angle from A at left' if field.unit == 'deg' else component or 'value'
        bottom.set_ylabel(f'{name}{suffix}')
        for axes, shown_s in ((top, times_s), (bottom, near_s)):
            axes.set_xlim(shown_s.min(), max(shown_s.max(), shown_s.min() + 1e-3))
            axes.ticklabel_format(useOffset=False)
            drawing.legend_above(axes)
        return drawing.svg_text(figure)
