# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What an edit came to: the columns of LeeShin1999 table 1, and how far off each entry is."""

from collections.abc import Mapping
from typing import Any

from puppet_core.posture import Motion
from puppet_retarget.editing.edit_config import body_height, EditConfig, EditResult
from puppet_retarget.editing.edit_file import EditPlan
from puppet_retarget.offline.bench_table import table

MET_PERCENT = 0.1  # of the body's height: below it an entry counts as met
MAX_LINES = 12  # of entries in the printed report


def edit_report(motion: Motion, plan: EditPlan, result: EditResult) -> dict[str, Any]:
    """
    Return the figures of an edit.

    Parameters
    ----------
    motion : Motion
        The clip.
    plan : EditPlan
        What was asked for.
    result : EditResult
        What came of it.

    """
    height = _height(plan.config, plan.prepared.motion)
    percent = 100.0 / height
    rows = [
        {
            'line': entry.line, 'kind': entry.kind, 'about': entry.about,
            'frames': [int(entry.constraint.frames[0]), int(entry.constraint.frames[-1])],
            'error_mm': 1e3 * float(error), 'error_percent': percent * float(error),
            'is_met': bool(percent * error < MET_PERCENT),
        }
        for entry, error in zip(plan.entries, result.constraint_errors_m)
    ]  # fmt: skip
    others = result.constraint_errors_m[len(plan.entries):]
    return {
        'frames': result.motion.n_frames, 'rate_hz': motion.rate_hz, 'body_height_m': height,
        'tasks': list(plan.prepared.notes),
        'frames_constrained': result.frames_constrained,
        'constraints': result.constraint_count,
        'initial_max_error_percent': result.initial_max_error_percent,
        'levels': [
            {
                'frames_per_knot': level.frames_per_knot, 'knots': level.knots,
                'time_s': level.time_s, 'max_error_percent': level.max_error_percent,
            }
            for level in result.levels
        ],
        'exact_max_error_percent': result.exact_max_error_percent,
        'total_time_s': result.total_time_s,
        'entries': rows,
        'tasks_max_error_mm': 1e3 * float(others.max()) if len(others) else None,
    }  # fmt: skip


def report_lines(figures: Mapping[str, Any]) -> str:
    """Return a report for a terminal: levels, then entries, the worst first."""
    head = ['level', 'frames per knot', 'knots', 'time, ms', 'max. error, % of height']
    rows = [
        [
            str(number), f'{level["frames_per_knot"]:g}', str(level['knots']),
            f'{1e3 * level["time_s"]:.1f}', f'{level["max_error_percent"]:.3f}',
        ]
        for number, level in enumerate(figures['levels'], start=1)
    ]  # fmt: skip
    if figures['exact_max_error_percent'] is not None:
        rows.append(['exact', '', '', '', f'{figures["exact_max_error_percent"]:.3f}'])
    parts = [*figures['tasks']]
    if rows:
        parts.append(table(head, rows))
    if figures['entries']:
        parts.append(_entries(figures['entries']))
    if figures['tasks_max_error_mm'] is not None:
        parts.append(f'constraints of the tasks: within {figures["tasks_max_error_mm"]:.2f} mm')
    return '\n\n'.join(parts)


def summary(figures: Mapping[str, Any]) -> str:
    """Return a report in a sentence."""
    last = figures['exact_max_error_percent']
    if last is None:
        errors = [level['max_error_percent'] for level in figures['levels']]
        last = errors[-1] if errors else figures['initial_max_error_percent']
    text = (
        f'{figures["frames"]} frames, {figures["frames_constrained"]} of them constrained; '
        f'max. error {figures["initial_max_error_percent"]:.2f} -> {last:.3f} % of the body\'s '
        f'height in {figures["total_time_s"]:.3f} s'
    )
    missed = [row for row in figures['entries'] if not row['is_met']]
    if missed:
        lines = ', '.join(str(row['line']) for row in missed[:5])
        more = ', ..' if len(missed) > 5 else ''
        text += f'; not met: {len(missed)} of {len(figures["entries"])} (line {lines}{more})'
    return text


def _entries(entries: list[Mapping[str, Any]]) -> str:
    worst = sorted(entries, key=lambda row: -row['error_mm'])[:MAX_LINES]
    rows = [
        [
            str(row['line']), f'{row["kind"].replace("_", " ")} {row["about"]}',
            '{} .. {}'.format(*row['frames']) if row['frames'][0] != row['frames'][1]
            else str(row['frames'][0]),
            f'{row["error_mm"]:.2f}', f'{row["error_percent"]:.3f}',
        ]
        for row in worst
    ]  # fmt: skip
    text = table(['line', 'constraint', 'frames', 'error, mm', '% of height'], rows)
    left = len(entries) - len(worst)
    return text if left <= 0 else f'{text}\n{left} more are nearer'


def _height(config: EditConfig, motion: Motion) -> float:
    return config.body_height_m or body_height(motion.skeleton)
