# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Table 7.1 of Shin2002: iterations of the body's minimiser with and without root estimation.

Its conditions are the thesis': 30 frames a second, formulas as printed, conjugate gradients from
the captured posture in every frame, until one lowers the objective by less than a hundredth.
Without root estimation the puppet's root is where the performer's is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.quality.as_printed import AS_PRINTED, printed_job
import numpy as np
from puppet_core.body import Motion
from puppet_retarget.offline import retarget_motion, RetargetJob, table
from puppet_retarget.solvers import ImportanceBasedSolver

FRAME_RATE_HZ = 30.0  # Shin2002 ch. 5
PASSES_OF_A_JOB = 2
CAP = 200  # of the iterations in a frame, which none reaches


class Counted(ImportanceBasedSolver):
    """The thesis' solver with a minimiser that stops as early as it may have done there."""

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
    for root_form in ('reference', 'mean'):
        columns.append([])
        for job in jobs:
            printed = printed_job(AS_PRINTED, job)
            tuning = replace(printed.tuning, root_form=root_form, max_iterations=CAP)
            leg_length = motion.skeleton.leg_length
            solver: Any = Counted(job.character, job.environment, leg_length, tuning)
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
