# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A channel of two bags as an SVG picture: its difference over all, both values near the worst."""

from collections.abc import Sequence
from html import escape

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.chart import even_ticks
from puppet_replay.compare_curves import ChannelCurve, highest_of, Points
from puppet_replay.compare_units import UNITS

WIDTH, HEIGHT = 900, 420
LEFT, RIGHT = 76, 20
TOPS, PANEL_HEIGHT = (44, 250), 130
MOST_POINTS = 900  # one a pixel
DASH_B, DASH_LIMIT = '5 3', '6 4'
COLOUR_A, COLOUR_B, COLOUR_APART, COLOUR_LIMIT = '#1f6fb4', '#d9722e', '#b3313c', '#8a9099'
STYLE = (
    'text{font:12px sans-serif;fill:#2d323a}.t{font-weight:600}.g{stroke:#dee1e5}'
    '.f{fill:none;stroke:#969ba0}.c{fill:none;stroke-width:1.6;stroke-linejoin:round}'
)


class _Panel:
    """A frame with axes; values are placed in it."""

    def __init__(self, top: float, times: tuple[float, float], values: Floats) -> None:
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        pad = 0.06 * (high - low) or max(abs(high), 1e-12) * 0.5
        self.top = top
        self.times = times if times[1] > times[0] else (times[0] - 0.5, times[0] + 0.5)
        self.low, self.high = low - pad, high + pad

    def x(self, t: Floats) -> Floats:
        share = (t - self.times[0]) / (self.times[1] - self.times[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: Floats) -> Floats:
        share = (value - self.low) / (self.high - self.low)
        return self.top + PANEL_HEIGHT * (1.0 - share)

    def frame(self, title: str) -> list[str]:
        parts = [_text(LEFT, self.top - 10, title, 'start', 't')]
        for tick in even_ticks(self.low, self.high):
            y = float(self.y(np.array(tick)))
            parts.append(_line(LEFT, y, WIDTH - RIGHT, y))
            parts.append(_text(LEFT - 6, y + 4, f'{tick:.6g}', 'end'))
        for tick in even_ticks(*self.times):
            x = float(self.x(np.array(tick)))
            parts.append(_line(x, self.top, x, self.top + PANEL_HEIGHT))
            parts.append(_text(x, self.top + PANEL_HEIGHT + 16, f'{tick:g}', 'middle'))
        box = f'x="{LEFT}" y="{self.top}" width="{WIDTH - LEFT - RIGHT}" height="{PANEL_HEIGHT}"'
        return [*parts, f'<rect class="f" {box}/>']

    def curve(self, t: Floats, values: Floats, colour: str, dash: str = '') -> list[str]:
        """Return polylines, with gaps where a value is no number."""
        good = np.isfinite(values)
        runs = np.split(np.arange(len(t)), np.flatnonzero(np.diff(good)) + 1)
        lines = []
        for run in runs:
            if len(run) and good[run[0]]:
                points = ' '.join(
                    f'{x:.1f},{y:.1f}' for x, y in zip(self.x(t[run]), self.y(values[run]))
                )
                dashed = f' stroke-dasharray="{dash}"' if dash else ''
                lines.append(
                    f'<polyline class="c" stroke="{colour}"{dashed} points="{points}"/>'
                )
        return lines


def picture(curve: ChannelCurve) -> str:
    """Return an SVG element; it needs nothing outside of it."""
    field = curve.field
    unit = UNITS[field.unit].text
    worst = field.worst
    component = worst.component if worst is not None else ''
    suffix = f' [{unit}]' if unit else ''
    parts = [f'<style>{STYLE}</style>']
    parts += _differences(curve, f'{field.topic} {field.name}: difference of {component}{suffix}')
    what = f'{component}: angle from the first one of A' if field.unit == 'deg' else component
    parts += _values(curve, f'{what}{suffix} near the worst frame')
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, 'time, s', 'middle'))
    title = escape(f'{field.topic} {field.name} {component}')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def _differences(curve: ChannelCurve, title: str) -> list[str]:
    whole = curve.whole
    kept = highest_of(whole.apart, MOST_POINTS)
    t, apart = whole.times_s[kept], whole.apart[kept]
    limit = curve.field.tolerance.peak
    shown = apart
    if np.isfinite(limit) and limit > 0.0:
        shown = np.append(apart, limit)
    panel = _Panel(TOPS[0], (float(t[0]), float(t[-1])), np.append(shown, 0.0))
    parts = panel.frame(title)
    if len(shown) > len(apart):
        parts += panel.curve(t[[0, -1]], np.full(2, limit), COLOUR_LIMIT, DASH_LIMIT)
        parts += _legend(TOPS[0], [('allowed', COLOUR_LIMIT, DASH_LIMIT)])
    parts += panel.curve(t, apart, COLOUR_APART)
    return parts + _no_numbers(panel, whole)


def _no_numbers(panel: _Panel, points: Points) -> list[str]:
    """Return a mark on the frame where one of two values is no number."""
    places = points.times_s[np.isinf(points.apart)]
    return [
        f'<circle cx="{float(panel.x(t)):.1f}" cy="{panel.top}" r="4" fill="{COLOUR_APART}"/>'
        for t in places[highest_of(places, 100)]
    ]


def _values(curve: ChannelCurve, title: str) -> list[str]:
    near = curve.near if len(curve.near.times_s) > 1 else curve.whole
    t = near.times_s
    panel = _Panel(TOPS[1], (float(t[0]), float(t[-1])), near.values)
    parts = panel.frame(title)
    parts += panel.curve(t, near.values[:, 0], COLOUR_A)
    parts += panel.curve(t, near.values[:, 1], COLOUR_B, DASH_B)
    worst = curve.field.worst
    if worst is not None and len(curve.near.times_s):
        parts += _marker(panel, near, curve)
    return parts + _legend(TOPS[1], [('A', COLOUR_A, ''), ('B', COLOUR_B, DASH_B)])


def _marker(panel: _Panel, near: Points, curve: ChannelCurve) -> list[str]:
    """Return a line at the worst frame."""
    x = float(panel.x(near.times_s[int(np.argmax(near.apart))]))
    top, bottom = panel.top, panel.top + PANEL_HEIGHT
    return [
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" '
        f'stroke="{COLOUR_APART}" stroke-dasharray="2 3"/>'
    ]


def _legend(top: float, names: Sequence[tuple[str, str, str]]) -> list[str]:
    parts = []
    x = float(WIDTH - RIGHT)
    for name, colour, dash in reversed(names):
        x -= 7.0 * len(name)
        parts.append(_text(x, top - 10, name, 'start'))
        x -= 30.0
        parts.append(
            f'<line x1="{x:.0f}" y1="{top - 14}" x2="{x + 24:.0f}" y2="{top - 14}" '
            f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        x -= 14.0
    return parts


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="g" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = '') -> str:
    named = f' class="{kind}"' if kind else ''
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'
    )
