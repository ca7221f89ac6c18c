# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""All clips of the bench in a line for each character and solver, to compare with peers."""

from collections.abc import Callable, Sequence
import math
from typing import Any

from puppet_retarget.offline import number, table

Row = dict[str, Any]


def peer_table(rows: Sequence[Row]) -> str:
    """Return for each character and solver the means over the clips, and the worst clip's."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row['character'], row['solver']), []).append(row)
    lines = []
    for character, group in _by_character(groups):
        cells = [_cell(group, figures, digits) for figures, digits in _COLUMNS.values()]
        lines.append([character, group[0]['solver'], *cells])
    return table(['character', 'solver', *_COLUMNS], lines)


def _by_character(groups: dict[tuple[str, str], list[Row]]) -> list[tuple[str, list[Row]]]:
    characters = list(dict.fromkeys(key[0] for key in groups))
    in_order = sorted(groups.items(), key=lambda item: characters.index(item[0][0]))
    return [(key[0], group) for key, group in in_order]


def _cell(
    rows: Sequence[Row], figures: Callable[[Row], Sequence[float | None]], digits: int
) -> str:
    """Return the means and worst of one or several figures over clips that have them."""
    found = [
        [value for value in values if value is not None and math.isfinite(value)]
        for values in zip(*(figures(row) for row in rows))
    ]
    means = [sum(values) / len(values) if values else None for values in found]
    worst = [max(values, default=None) for values in found]
    texts = (' / '.join(number(value, digits) for value in column) for column in (means, worst))
    return '{} ({})'.format(*texts)


def _slide(row: Row) -> tuple[float, ...]:
    """Return by how much planted feet slide more than the performer's in the puppet's world."""
    slide = row['planted_foot_slide_mm_s']
    return (slide['puppet'] - row['world_scale'] * slide['performer'],)


def _touching(row: Row) -> tuple[float | None, ...]:
    figures = row['touching_error_mm'] or {}
    return figures.get('p50'), figures.get('p99')


def _percentiles(key: str) -> Callable[[Row], tuple[float, ...]]:
    return lambda row: (row[key]['p50'], row[key]['p99'])


_COLUMNS: dict[str, tuple[Callable[[Row], Sequence[float | None]], int]] = {
    "planted feet, mm/s beyond the performer's": (_slide, 0),
    'goal error, mm: p50 / p99': (_percentiles('goal_error_mm'), 1),
    'deepest, mm': (lambda row: (row['penetration_mm']['environment_max'],), 1),
    'deepest in itself, mm': (lambda row: (row['self_penetration_mm_max'],), 1),
    'touching error, mm: p50 / p99': (_touching, 1),
    'segment orientations, deg: p50 / p99': (_percentiles('orientation_deviation_deg'), 1),
    'jerk: root / feet / hands': (
        lambda row: tuple(row['jerk_ratio'][part] for part in ('root', 'feet', 'hands')),
        2,
    ),
    'solver alone, µs: median / p99': (
        lambda row: tuple(row['stages_us']['solver'][key] for key in ('median', 'p99')),
        0,
    ),
}
