# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forms of the root's offset and of the importance's smoothing side by side (errata 12)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from puppet_core.body import Motion
from puppet_retarget.offline import (
    number,
    performer_arrays,
    quality,
    retarget_motion,
    RetargetJob,
    smoothness,
    table,
)
from puppet_retarget.solvers import ROOT_FORMS

Row = dict[str, Any]
COMPARED_FORMS = tuple(form for form in ROOT_FORMS if form != 'reference')


def form_jobs(job: RetargetJob) -> list[tuple[str, RetargetJob]]:
    """Return a job in all forms of root and smoothing, each with what it is called."""
    smoothings = dict.fromkeys((job.importance.smoothing_s, 0.0))
    return [
        (
            f'{form}, smoothing {smoothing_s:g} s',
            replace(
                job,
                importance=replace(job.importance, smoothing_s=smoothing_s),
                tuning=replace(job.tuning, root_form=form),
            ),
        )
        for form in COMPARED_FORMS
        for smoothing_s in smoothings
    ]


def form_rows(
    clip: str,
    motion: Motion,
    jobs: Sequence[tuple[str, RetargetJob]],
    progress: Callable[[int], object] | None = None,
) -> list[Row]:
    """Return slide and jerk of a clip in each of the forms."""
    performer = performer_arrays(motion)
    planted = quality.planted_feet(performer, motion.rate_hz)
    rows = []
    for name, job in jobs:
        puppet = retarget_motion(motion, job, progress).puppet
        scale = job.character.scale_for(motion.skeleton.leg_length)
        jerk = smoothness.jerk_ratios(puppet, performer, scale)
        rows.append(
            {
                'clip': clip,
                'character': job.character.name,
                'form': name,
                'slide_mm_s': quality.slide_mm_s(puppet, planted, motion.rate_hz),
                'performer_slide_mm_s': quality.slide_mm_s(performer, planted, motion.rate_hz),
                'root_jerk_ratio': jerk['root'],
                'foot_jerk_ratio': jerk['feet'],
            }
        )
    return rows


def forms_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    head = (
        'clip',
        'character',
        'root offset and smoothing of the importance',
        'planted feet, mm/s: performer / puppet',
        'root jerk',
        'foot jerk',
    )
    cells = [
        [
            row['clip'],
            row['character'],
            row['form'],
            f'{number(row["performer_slide_mm_s"], 0)} / {number(row["slide_mm_s"], 0)}',
            number(row['root_jerk_ratio'], 2),
            number(row['foot_jerk_ratio'], 2),
        ]
        for row in rows
    ]
    return table(head, cells)
