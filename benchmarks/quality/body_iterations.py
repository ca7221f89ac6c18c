# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Table 7.1 of Shin2002: iterations of the body's minimiser with and without root estimation.

Its conditions are the thesis': 30 frames a second, chapter 5 as printed, importance without
smoothing, conjugate gradients with neither preconditioner nor cap, from the captured posture in
every frame. Without root estimation the puppet's root is where the performer's is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion
from puppet_retarget.offline import retarget_motion, RetargetJob, table
from puppet_retarget.solvers import ImportanceBasedSolver

FRAME_RATE_HZ = 30.0  # Shin2002 ch. 5
PASSES_OF_A_JOB = 2
NO_CAP = 100_000  # iterations


class AsPrinted(ImportanceBasedSolver):
    """Its minimiser has converged when an iteration gains less than a hundredth."""

    name = 'as_printed'
    least_fall = 1e-2


class Count(NamedTuple):
    """What the body's minimiser did in one motion."""

    iterations: int
    frames: int
    """Frames in which it was needed."""

    def __str__(self) -> str:
        """Return the iterations, in brackets the frames that had any."""
        return f'{self.iterations} ({self.frames})' if self.frames else '0'


class ClipCounts(NamedTuple):
    """A line of the table: counts of each character."""

    clip: str
    n_frames: int
    without: list[Count]
    estimated: list[Count]


def at_frame_rate(motion: Motion) -> Motion:
    """Return the frames of a motion that a recording at the thesis' rate would have."""
    step = max(round(motion.rate_hz / FRAME_RATE_HZ), 1)
    return Motion(
        motion.skeleton,
        motion.rate_hz / step,
        motion.root_positions[::step],
        motion.rotations[::step],
        motion.end_effectors[::step],
    )


def count_iterations(
    name: str,
    motion: Motion,
    jobs: Sequence[RetargetJob],
    progress: Callable[[int], object] | None = None,
) -> ClipCounts:
    """Return the iterations on the characters of the jobs, of a motion at the thesis' rate."""
    columns: list[list[Count]] = []
    for estimates_root in (False, True):
        columns.append([])
        for job in jobs:
            form = 'projection' if estimates_root else 'reference'
            given = replace(job.tuning, errata=(), root_form=form, max_iterations=NO_CAP)
            leg = motion.skeleton.leg_length
            solver = AsPrinted(job.character, job.environment, leg, given)
            printed = replace(job, importance=replace(job.importance, smoothing_s=0.0))
            found = retarget_motion(motion, printed, progress, solver).body_iterations
            columns[-1].append(Count(int(found.sum()), int(np.count_nonzero(found))))
    return ClipCounts(name, motion.n_frames, *columns)


def iterations_table(names: Sequence[str], rows: Sequence[ClipCounts]) -> str:
    """Return clips in the form of table 7.1, the characters being of these names."""
    head = [
        'clip',
        'frames',
        *(f'{word}: {name}' for word in ('without', 'with') for name in names),
    ]
    lines = [[row.clip, row.n_frames, *row.without, *row.estimated] for row in rows]
    columns = zip(*((*row.without, *row.estimated) for row in rows))
    totals = [Count(*np.sum(column, axis=0)) for column in columns]
    clips = f'total ({len(rows)} clip{"s" if len(rows) > 1 else ""})'
    lines.append([clips, sum(row.n_frames for row in rows), *totals])
    return table(head, [[str(cell) for cell in line] for line in lines])
