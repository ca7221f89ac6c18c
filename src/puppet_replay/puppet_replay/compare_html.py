# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML file that needs nothing outside of it."""

from collections.abc import Sequence
from html import escape
import math

from puppet_replay.compare_result import Comparison, FieldResult, TopicResult
from puppet_replay.compare_table import amount, short_place, stamp_text, summary_lines
from puppet_replay.compare_tolerances import COUNT

STYLE = """\
body{font:15px/1.5 system-ui,sans-serif;color:#2d323a;background:#fff;max-width:1080px;\
margin:2em auto;padding:0 1em;overflow-wrap:break-word}
h1{font-size:1.4em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.8em 0 .4em}
.verdict{padding:.6em 1em;border-left:5px solid;margin:1em 0}.verdict::first-line{font-weight:600}
.good{border-color:#2f8f4e;background:#eef7f0}.bad{border-color:#b3313c;background:#fbeff0}
table{border-collapse:collapse;font-size:.88em;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.22em .6em;text-align:left;border-bottom:1px solid #e4e7ea;vertical-align:top}
td.n,th.n{text-align:right;white-space:nowrap}tr.bad td{background:#fbeff0;border-color:#f0d5d8}
code{font-size:.95em}summary{cursor:pointer}details{margin:.3em 0}
figure{margin:1em 0}svg{width:100%;height:auto;display:block}.wide{overflow-x:auto}
@media(max-width:600px){svg text{font-size:18px}}
.small{color:#68707a;font-size:.88em}"""
HEAD = (
    ('field', ''), ('values', 'n'), ('max', 'n'), ('99 %', 'n'), ('rms', 'n'), ('allowed', 'n'),
    ('first beyond', ''), ('worst', ''),
)  # fmt: skip


def html_text(comparison: Comparison, pictures: Sequence[str]) -> str:
    """
    Return the page.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    pictures : sequence of str
        SVG elements of the worst channels.

    """
    verdict = 'good' if comparison.within else 'bad'
    lines = '<br>'.join(escape(line) for line in summary_lines(comparison))
    body = [
        '<h1>Comparison of two bags</h1>',
        f'<p class="small">A <code>{escape(comparison.paths[0])}</code><br>'
        f'B <code>{escape(comparison.paths[1])}</code><br>'
        f'A begins at stamp {stamp_text(comparison.start_ns)}; times count from there.</p>',
        f'<p class="verdict {verdict}">{lines}</p>',
    ]
    if comparison.warnings:
        items = ''.join(f'<li>{escape(text)}</li>' for text in comparison.warnings)
        body.append(f'<ul class="small">{items}</ul>')
    if pictures:
        body.append('<h2>Worst channels</h2>')
        body += [f'<figure>{picture}</figure>' for picture in pictures]
    body.append('<h2>Topics</h2>')
    order = sorted(comparison, key=lambda topic: (topic.within, topic.topic))
    body += [_topic(topic, comparison.start_ns) for topic in order]
    if comparison.ignored:
        names = ', '.join(f'<code>{escape(name)}</code>' for name in comparison.ignored)
        body.append(f'<p class="small">Not compared: {names}</p>')
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>puppet compare</title><style>{STYLE}</style></head>\n<body>'
        + '\n'.join(body) + '</body></html>\n'
    )  # fmt: skip


def _topic(topic: TopicResult, start_ns: int) -> str:
    wrong = sum(not field.within for field in topic.fields)
    state = f'{wrong} of {len(topic.fields)} fields differ' if wrong else 'within tolerance'
    opened = ' open' if wrong else ''
    rates = ' and '.join(f'{rate:.4g} Hz' for rate in topic.rates_hz)
    counts = ' and '.join(map(str, topic.counts))
    head = ''.join(f'<th class="{kind}">{name}</th>' for name, kind in HEAD)
    rows = ''.join(_row(field, start_ns) for field in topic.fields)
    return (
        f'<details{opened}><summary><code>{escape(topic.topic)}</code> {state}</summary>'
        f'<p class="small">{escape(topic.msgtype)}; messages {counts}; {rates}</p>'
        f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div></details>'
    )


def _row(field: FieldResult, start_ns: int) -> str:
    if field.unit == COUNT:
        numbers = [str(field.n), f'{field.n_beyond} unequal', '', '']
        numbers.append(str(field.tolerance.mismatches))
    else:
        numbers = [str(field.n)]
        numbers += [amount(value, field.unit) for value in (field.peak, field.p99, field.rms)]
        numbers.append(_limits(field))
    first = '' if field.first is None else short_place(field.first, start_ns)
    worst = ''
    if field.worst is not None:
        worst = f'{short_place(field.worst, start_ns)} {field.worst.component}'
    if field.note:
        worst = f'{worst} {field.note}'.strip()
    cells = ''.join(f'<td class="n">{escape(text)}</td>' for text in numbers)
    kind = '' if field.within else ' class="bad"'
    return (
        f'<tr{kind}><td>{escape(field.name)}</td>{cells}'
        f'<td>{escape(first)}</td><td>{escape(worst)}</td></tr>'
    )


def _limits(field: FieldResult) -> str:
    named = (('', field.tolerance.peak), ('99 % ', field.tolerance.p99),
             ('rms ', field.tolerance.rms))
    texts = [f'{name}{amount(value, field.unit)}' for name, value in named
             if not math.isinf(value)]
    return ', '.join(texts) or 'any'
