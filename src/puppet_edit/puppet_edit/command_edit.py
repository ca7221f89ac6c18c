# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip edit`: a motion made to meet the constraints of a file, its detail kept."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
import sys
from typing import Any

from puppet_core.body import Character, Motion
from puppet_core.drawing import Picture
from puppet_core.io import progress, PuppetError
from puppet_edit import edit_session
from puppet_edit.edit_file import EditPlan, load_edit
from puppet_edit.editor import body_height, edit_motion, EditResult
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER, table

MET_PERCENT = 0.1  # of the body's height: below it an entry counts as met
MAX_LINES = 12  # of entries in the printed report

EXAMPLE = (
    'example: ./puppet edit walk.bvh reach.yaml out.bvh --report report.json --preview strip.png'
)
# Returns a strip of a body in a clip, in what an edit file prepared of it, and in the result.
Draw = Callable[[Character, Motion, EditPlan, Motion], Picture]


class UnmetError(PuppetError):
    is_bad_input = False


def edit_report(motion: Motion, plan: EditPlan, result: EditResult) -> dict[str, Any]:
    height = plan.config.body_height_m or body_height(plan.motion.skeleton)
    percent = 100.0 / height
    rows = [
        {
            'line': entry.line,
            'kind': entry.kind,
            'about': entry.about,
            'frames': [int(entry.constraint.frames[0]), int(entry.constraint.frames[-1])],
            'error_mm': 1e3 * float(error),
            'error_percent': percent * float(error),
            'is_met': bool(percent * error < MET_PERCENT),
        }
        for entry, error in zip(plan.entries, result.constraint_errors_m)
    ]
    others = result.constraint_errors_m[len(plan.entries) :]
    return {
        'frames': result.motion.n_frames,
        'rate_hz': motion.rate_hz,
        'body_height_m': height,
        'tasks': list(plan.notes),
        'frames_constrained': result.frames_constrained,
        'constraints': result.constraint_count,
        'initial_max_error_percent': result.initial_max_error_percent,
        'levels': [asdict(level) for level in result.levels],
        'exact_max_error_percent': result.exact_max_error_percent,
        'total_time_s': result.total_time_s,
        'entries': rows,
        'tasks_max_error_mm': 1e3 * float(others.max()) if len(others) else None,
    }


def report_lines(figures: Mapping[str, Any]) -> str:
    """Return a report for a terminal: levels, then entries, the worst first."""
    head = ['level', 'frames per knot', 'knots', 'time, ms', 'max. error, % of height']
    rows = [
        [
            str(number),
            f'{level["frames_per_knot"]:g}',
            str(level['knots']),
            f'{1e3 * level["time_s"]:.1f}',
            f'{level["max_error_percent"]:.3f}',
        ]
        for number, level in enumerate(figures['levels'], start=1)
    ]
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
    last = figures['exact_max_error_percent']
    if last is None:
        errors = [level['max_error_percent'] for level in figures['levels']]
        last = errors[-1] if errors else figures['initial_max_error_percent']
    text = (
        f'{figures["frames"]} frames, {figures["frames_constrained"]} of them constrained; '
        f"max. error {figures['initial_max_error_percent']:.2f} -> {last:.3f} % of the body's "
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
            str(row['line']),
            f'{row["kind"].replace("_", " ")} {row["about"]}',
            '{} .. {}'.format(*row['frames'])
            if row['frames'][0] != row['frames'][1]
            else str(row['frames'][0]),
            f'{row["error_mm"]:.2f}',
            f'{row["error_percent"]:.3f}',
        ]
        for row in worst
    ]
    text = table(['line', 'constraint', 'frames', 'error, mm', '% of height'], rows)
    left = len(entries) - len(worst)
    return text if left <= 0 else f'{text}\n{left} more are nearer'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('clip', metavar='CLIP', type=clip_arguments.clip_path, help='.bvh, .amc or .c3d')
    add('edit', metavar='EDIT.yaml', type=Path, help='constraints and options, puppet-edit/1')
    add('out', metavar='OUT', type=Path, help='.bvh, as retarget writes it')
    add(
        '--report',
        type=Path,
        metavar='JSON',
        help='write errors and times per level, and the result of each constraint',
    )
    add('--preview', type=Path, metavar='PNG', help='draw instants before and after')
    text = 'exit with 0 even if constraints are not met'
    add('--allow-unmet', action='store_true', help=text)
    edit_session.add_reading_arguments(parser)


def run(arguments: argparse.Namespace, draw: Draw) -> str:
    """Edit, write the files, return a report; raise PuppetError for bad input or what is unmet."""
    inputs = {'CLIP': arguments.clip, 'EDIT.yaml': arguments.edit}
    edit_session.check_outputs(arguments, inputs)
    motion = edit_session.read_clip(arguments.clip, arguments)
    plan = load_edit(arguments.edit, motion, edit_session.readers(arguments))
    edit_session.warm_up(plan.motion)
    steps = plan.config.levels + int(plan.config.exact)
    with progress(f'edit {arguments.clip.name}', steps, unit='level') as advance:

        def report_level(text: str, percent: float) -> None:
            advance(1, note=f'{text}: max. error {percent:.3f} %')

        result = edit_motion(plan.motion, plan.constraints, plan.config, report_level)
    figures: dict[str, Any] = {'clip': str(arguments.clip), 'edit': str(arguments.edit)}
    figures |= edit_report(motion, plan, result)
    picture = None
    if arguments.preview:
        performer = clip_arguments.find_character(PERFORMER)
        picture = draw(performer, motion, plan, result.motion)
    edit_session.write_outputs(arguments, result.motion, figures, picture)
    text, told = report_lines(figures), f'{arguments.out}: {summary(figures)}'
    if not arguments.allow_unmet and not all(row['is_met'] for row in figures['entries']):
        sys.stdout.write(f'{text}\n')
        raise UnmetError(f'{told}; --allow-unmet takes that')
    return f'{text}\n\n{told}' if text else told
