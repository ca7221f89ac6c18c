# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the bench as Markdown: the quality of each, and table 7.2 of the thesis."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from puppet_retarget.offline import number, table

Row = dict[str, Any]


def markdown(rows: Sequence[Row]) -> str:
    """Return the quality and the times of all runs, one line each."""
    cells = [[cell(row) for cell in _COLUMNS.values()] for row in rows]
    return table(list(_COLUMNS), cells)


def timing_table(rows: Sequence[Row]) -> str:
    """Return elapsed times in the form of Shin2002 table 7.2, of the first solver."""
    names, clips = _by_clip(rows)
    units = ('elapsed, ms', 'per frame, ms')
    head = ['clip', 'frames', *(f'{name}: {unit}' for name in names for unit in units)]
    lines = [
        [clip, _frames(runs), *(cell for run in runs for cell in _times([run]))]
        for clip, runs in clips
    ]
    by_character = _columns(clips, len(names))
    frames = str(sum(row['frames'] for row in by_character[0]))
    totals = [cell for runs in by_character for cell in _times(runs)]
    return table(head, [*lines, [_total(clips), frames, *totals]])


def numbers(figures: Mapping[str, float] | None, digits: int) -> str:
    """Return the values of figures with strokes between, a dash for none."""
    if figures is None:
        return '–'
    return ' / '.join(number(value, digits) for value in figures.values())


def _by_clip(rows: Sequence[Row]) -> tuple[list[str], list[tuple[str, list[Row]]]]:
    """Return the characters, and for each clip the runs of them with the first solver."""
    first = rows[0]
    chosen = [row for row in rows if row['solver'] == first['solver']]
    clips: dict[str, list[Row]] = {}
    for row in chosen:
        clips.setdefault(row['clip'], []).append(row)
    return [row['character'] for row in clips[first['clip']]], list(clips.items())


def _columns(clips: Sequence[tuple[str, list[Row]]], count: int) -> list[list[Row]]:
    return [[runs[n] for _, runs in clips] for n in range(count)]


def _times(runs: Sequence[Row]) -> tuple[str, str]:
    elapsed = sum(run['elapsed_ms'] for run in runs)
    return f'{elapsed:.1f}', f'{elapsed / sum(run["frames"] for run in runs):.4f}'


def _frames(runs: Sequence[Row]) -> str:
    return str(runs[0]['frames'])


def _total(clips: Sequence[tuple[str, list[Row]]]) -> str:
    return f'total ({len(clips)} clip{"s" if len(clips) > 1 else ""})'


def _surfaces(row: Row) -> str:
    found = row['surface_depth_mm']
    return f'{number(found["max"], 1)}; {number(100.0 * found["share_deeper_5_mm"], 1)}'


def _depths(row: Row) -> str:
    keys = ('performer_self_penetration_mm_max', 'self_penetration_mm_max')
    return ' / '.join(number(row[key], 1) for key in keys)


def _firm_goal_error(row: Row) -> str:
    found = row['full_importance_goal_error_mm']
    return ' / '.join(number(found[key], 1) for key in ('p99', 'max'))


def _times_of_a_frame(row: Row) -> str:
    has_path = len(row['stages_us']) > 1  # of a peer only the solver is timed
    return numbers(row['us_per_frame'], 0) + ('' if has_path else ' (solver)')


def _joint_jerk(row: Row) -> str:
    """Return the ratios, and how much the worst joint jerks: where little moves, it is little."""
    text, worst = numbers(row['joint_jerk_ratio'], 2), row['worst_joint']
    if worst is None:
        return text
    return f'{text} ({worst}: {row["joint_jerk_rad_s3"]["puppet"][worst]:.0f} rad/s³)'


def _directions(row: Row) -> str:
    found = row['segment_direction_deg'] or {}
    return ' / '.join(number(found.get(key), 1) for key in ('median', 'worst'))


def _lying(row: Row) -> str:
    """Return how much higher pelvis, chest and head lie in the median, and the worst of all."""
    found = row['lying_height_mm']
    if found is None:
        return '–'
    medians = (found.get(part, {}).get('median') for part in ('pelvis', 'chest', 'head'))
    parts = ' / '.join(number(value, 0) for value in medians)
    return f'{parts}; {number(found["worst"], 0)} ({found["frames"]} frames)'


def _limits(row: Row) -> str:
    found = row['limit_use']
    if found is None:
        return '–'
    return ' / '.join('–' if count is None else str(count) for count in found.values())


def _palms(row: Row) -> str:
    worst = number((row['self_contact_error_mm'] or {}).get('p99'), 1)
    return f'{worst}; {number(100.0 * row["self_contact_impossible_share"], 1)}'


_COLUMNS: dict[str, Callable[[Row], str]] = {
    'clip': lambda row: row['clip'],
    'frames': lambda row: str(row['frames']),
    'character': lambda row: row['character'],
    'solver': lambda row: row['solver'],
    'planted feet, mm/s: performer / puppet / joint angles': lambda row: numbers(
        row['planted_foot_slide_mm_s'], 0
    ),
    'out of reach, %': lambda row: number(100.0 * row['planted_impossible_share'], 1),
    'goal error, mm: p50 / p99 / max': lambda row: numbers(row['goal_error_mm'], 1),
    'goal error in reach at importance 1, mm: p99 / max': _firm_goal_error,
    'deepest, mm': lambda row: number(row['penetration_mm']['environment_max'], 2),
    'deepest surface, mm; deeper than 5 mm, %': _surfaces,
    'deepest in itself, mm: performer / puppet': _depths,
    "deeper in itself than the performer's, mm": lambda row: number(row['self_penetration_mm'], 1),
    'touching error, mm: p50 / p99 / max': lambda row: numbers(row['touching_error_mm'], 1),
    'palms in reach, mm: p99; out of reach, %': _palms,
    'free limb, deg': lambda row: number(row['free_limb_deviation_deg_max'], 3),
    'leaping frames': lambda row: str(row['leaping_frames']),
    'flips': lambda row: str(row['flips']),
    'whips': lambda row: str(row['whips']),
    'snaps': lambda row: str(row['snaps']),
    'pops': lambda row: str(row['pops']),
    'sensitivity: median / worst': lambda row: numbers(row['sensitivity'], 0),
    'free segments, deg: median / worst': _directions,
    'lies higher, mm: pelvis / chest / head; worst': _lying,
    'beyond limits: position / speed / acceleration': _limits,
    'joint jerk: median / worst': _joint_jerk,
    'root jerk, m/s³: performer / puppet': lambda row: numbers(row['root_jerk_m_s3'], 0),
    'jerk: root / feet / hands / knees / elbows': lambda row: numbers(row['jerk_ratio'], 2),
    'body iterations': lambda row: number(row['body_iterations'], 0),
    'path, µs: median / p99 / max': _times_of_a_frame,
}
