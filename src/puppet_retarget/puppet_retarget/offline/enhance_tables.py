# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The error study of enhancement as Markdown tables and as figures for a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from puppet_core.io.progress import progress
from puppet_core.posture import Motion
from puppet_retarget.editing.enhance_study import (
    CONDITIONS,
    FIST_CURVES,
    fist_study,
    METHODS,
    of_angles,
    study,
    walking_truth,
)
from puppet_retarget.editing.fist_motion import fist_motion
from puppet_retarget.editing.online_enhance import SOFT_WEIGHT
from puppet_retarget.offline.bench_table import table

_NAMES = {
    'forward_kinematics': 'angles alone',
    'online': f'online, w1 = {SOFT_WEIGHT:g}',
    'online_exact': 'online, exact',
    'offline': 'keyframes, exact',
    'offline_soft': f'keyframes, w1 = {SOFT_WEIGHT:g}',
    'paper': "keyframes, the paper's curve",
}


def study_tables(
    performance: Motion, n_seeds: int, clip: Motion | None = None
) -> tuple[dict[str, Any], str]:
    """
    Return all figures of the study, and its tables.

    Parameters
    ----------
    performance : Motion
        The built-in one; it walks, and its body makes fists meet.
    n_seeds : int
        Takes of each condition.
    clip : Motion, optional
        What was really done, instead of that walk.

    """
    seeds = range(n_seeds)
    total = n_seeds * (len(CONDITIONS) + len(FIST_CURVES))
    truth = walking_truth(performance) if clip is None else of_angles(clip)
    with progress('study', total, unit='take') as advance:
        rows = study(truth, seeds, advance)
        fists = fist_study(fist_motion(performance.skeleton), seeds, advance)
    figures = {
        'seeds': n_seeds, 'frames': truth.n_frames, 'rate_hz': truth.rate_hz,
        'conditions': rows, 'fists': fists,
    }  # fmt: skip
    return figures, f'{error_table(rows)}\n\n{fist_table(fists)}'


def error_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return errors against the truth: a line for each condition and method."""
    head = ['measured with errors of', 'method', 'end-effectors, mm', 'joints, deg',
            'both better, takes']  # fmt: skip
    lines = []
    for row in rows:
        for method in METHODS:
            better = row[method].get('seeds_with_both_better')
            lines.append([
                str(row['condition']) if method == METHODS[0] else '',
                _NAMES[method],
                f'{row[method]["end_effector_rms_mm"]:.1f}',
                f'{row[method]["joint_rms_deg"]:.2f}',
                '–' if better is None else f'{better} of {row["seeds"]}',
            ])  # fmt: skip
    return table(head, lines)


def fist_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the fist-matching experiment: a line for each kind of curve."""
    head = ['curve', 'keyframes', 'fists miss each other by, mm', 'error at keyframes, mm (max)',
            'between them, mm (RMS)', 'joints, deg (RMS)']  # fmt: skip
    lines = [
        [
            str(row['curve']), f'{row["keyframes"]:.0f}',
            f'{row["meeting_before_mm_max"]:.1f} -> {row["meeting_after_mm_max"]:.4f}',
            f'{row["keyframe_error_mm_max"]:.4f}',
            f'{row["between_before_rms_mm"]:.1f} -> {row["between_after_rms_mm"]:.1f}',
            f'{row["joint_before_rms_deg"]:.2f} -> {row["joint_after_rms_deg"]:.2f}',
        ]
        for row in rows
    ]  # fmt: skip
    return table(head, lines)
