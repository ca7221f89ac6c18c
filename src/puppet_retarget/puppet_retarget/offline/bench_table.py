# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the bench: the report of one run with the times of its path, and all as Markdown."""

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any

from puppet_core.posture import Motion
from puppet_retarget.offline.clip_retarget import report, retarget_motion, RetargetJob
from puppet_retarget.offline.path_timing import time_path
from puppet_retarget.performer.sensor_layout import SensorLayout

Row = dict[str, Any]


def bench_row(
    clip: str,
    motion: Motion,
    job: RetargetJob,
    layout: SensorLayout,
    progress: Callable[[int], object] | None = None,
) -> Row:
    """Return the retarget report of a run with `clip` before it and `path_us` after it."""
    result = retarget_motion(motion, job, progress)
    return {
        'clip': clip,
        **report(motion, job, result),
        'path_us': time_path(motion, job, layout).figures(),
    }


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    head = list(_COLUMNS)
    lines = [f'| {" | ".join(head)} |', '|' + '---|' * len(head)]
    for row in rows:
        lines.append(f'| {" | ".join(cell(row) for cell in _COLUMNS.values())} |')
    return '\n'.join(lines)


def _number(value: float, digits: int) -> str:
    return '–' if not math.isfinite(value) else f'{value:.{digits}f}'


def _trio(figures: Mapping[str, float], digits: int) -> str:
    return ' / '.join(_number(value, digits) for value in figures.values())


def _solver(row: Row) -> str:
    preset = row.get('preset', 'default')
    return row['solver'] if preset == 'default' else f'{row["solver"]}, {preset}'


_COLUMNS: dict[str, Callable[[Row], str]] = {
    'clip': lambda row: row['clip'],
    'frames': lambda row: str(row['frames']),
    'character': lambda row: row['character'],
    'solver': _solver,
    'planted feet, mm/s: performer / puppet / joint angles': lambda row: _trio(
        row['planted_foot_slide_mm_s'], 0
    ),
    'out of reach, %': lambda row: _number(100.0 * row['planted_impossible_share'], 1),
    'goal error, mm: p50 / p99 / max': lambda row: _trio(row['goal_error_mm'], 1),
    'deepest, mm': lambda row: _number(row['penetration_mm']['environment_max'], 2),
    'free limb, deg': lambda row: _number(row['free_limb_deviation_deg_max'], 3),
    'jerk: root / feet / hands': lambda row: _trio(row['jerk_ratio'], 2),
    'body iterations': lambda row: str(row['body_iterations']),
    'path, µs: median / p99 / max': lambda row: _trio(row['path_us']['total'], 0),
}
