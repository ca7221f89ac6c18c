# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How fast a library goes through, with one process and with several, in turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import shutil
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from puppet_clips.batch import (
    BatchResult,
    FAILED,
    find_clips,
    LocalRunner,
    make_tasks,
    Reading,
    run_batch,
    warm_up,
)
from puppet_retarget.offline import RetargetJob


@dataclass(frozen=True, slots=True)
class Timing:
    """One pass over the library."""

    workers: int  # processes
    figures: dict[str, Any]  # as of `batch --json`
    parent_us: float  # core time of the process that gives the tasks, per frame [us]


def bench(
    clips: Sequence[Path], job: RetargetJob, copies: int, workers: int, rounds: int
) -> list[Timing]:
    """
    Retarget copies of clips with one process and with several, in turns.

    Parameters
    ----------
    clips : sequence of Path
        Clip files; an .asf beside an .amc file is taken along.
    job : RetargetJob
        What is done with each.
    copies : int
        How often each clip is in the library.
    workers : int
        Processes of every second pass.
    rounds : int
        How often both are timed.

    Returns
    -------
    timings : list of Timing
        In the order in which they were made.

    Raises
    ------
    RuntimeError : if a clip failed.

    """
    with TemporaryDirectory() as folder:
        library = Path(folder, 'in')
        for copy in range(copies):
            for i, clip in enumerate(clips):
                place = library / f'{copy:04d}-{i}'
                place.mkdir(parents=True)
                for path in (clip, *clip.parent.glob('*.asf')):
                    shutil.copy(path, place / path.name)
        return [
            _timing(library, Path(folder, 'out'), job, count)
            for _ in range(rounds)
            for count in (1, workers)
        ]


def best(timings: Sequence[Timing], workers: int) -> Timing:
    """Return the pass with so many processes that other work of the machine disturbed least."""
    own = [timing for timing in timings if timing.workers == workers]
    return max(own, key=lambda timing: float(timing.figures['frames_per_cpu_s']))


def efficiency(timings: Sequence[Timing], workers: int, key: str = 'frames_per_cpu_s') -> float:
    """
    Return what a process does beside others, in parts of what it does alone.

    Of core time with `frames_per_cpu_s`, which other work of the machine disturbs little; of
    time that passed with `frames_per_s`, with starting.
    """
    rates = [
        max(float(timing.figures[key]) for timing in timings if timing.workers == count)
        for count in (1, workers)
    ]
    return rates[1] / rates[0] / (workers if key == 'frames_per_s' else 1)


def _timing(library: Path, out: Path, job: RetargetJob, workers: int) -> Timing:
    tasks = make_tasks(library, out, find_clips(library, out), [job], Reading(), redo=True)
    warm_up(tasks)
    result, start = BatchResult(), process_time()
    run_batch(tasks, LocalRunner(workers), result)
    spent = process_time() - start
    if result.counts[FAILED]:
        first = result.failures[0]
        raise RuntimeError(f'{first["clip"]}: {first["reason"]}')
    return Timing(workers, result.figures(), 1e6 * spent / result.frames)
