# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A run over a library: tasks to the runner, outcomes to the tables, failures kept apart."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from puppet_clips.batch import ledger
from puppet_clips.batch.retarget_file import STAGES
from puppet_clips.batch.summary import (
    FAILED_LIST,
    FAILURES,
    SUMMARY,
    table_row,
    TIMES,
    TIMES_LIST,
    write_table,
)
from puppet_clips.batch.task import DONE, FAILED, failed, Outcome, Row, Runner, SKIPPED, Task

OTHER = 'other'  # records, and what failed
Told = Callable[[Outcome], object]


@dataclass
class BatchResult:
    """What came of a run so far."""

    rows: dict[int, Row] = field(default_factory=dict)
    """Lines of the table by number of the task."""

    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((DONE, SKIPPED, FAILED), 0)
    )
    """Tasks by what came of them."""

    frames: int = 0
    """Frames retargeted in this run."""

    cpu_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys((*STAGES, OTHER), 0.0))
    """Time of the cores in each stage [s]."""

    wall_s: float = 0.0
    """Time that passed [s]."""

    def add(self, task: Task, outcome: Outcome) -> None:
        """Take the outcome of a task."""
        self.rows[task.number] = table_row(task, outcome)
        self.counts[outcome.status] += 1
        self.cpu_s[OTHER] += outcome.cpu_s
        if outcome.status == DONE:
            self.frames += outcome.row['frames']
            for stage in STAGES:
                self.cpu_s[stage] += outcome.row[f'cpu_{stage}_s']
                self.cpu_s[OTHER] -= outcome.row[f'cpu_{stage}_s']

    @property
    def table(self) -> list[Row]:
        """Return the lines in the order of the tasks."""
        return [self.rows[number] for number in sorted(self.rows)]

    @property
    def failures(self) -> list[Row]:
        """Return the lines of what failed."""
        return [row for row in self.table if row['status'] == FAILED]

    def figures(self) -> dict[str, Any]:
        """Return counts, rates and times, for --json."""
        cpu_s = sum(self.cpu_s.values())
        return {
            **self.counts,
            'frames': self.frames,
            'wall_s': self.wall_s,
            'frames_per_s': self.frames / self.wall_s if self.wall_s else None,
            'frames_per_cpu_s': self.frames / cpu_s if cpu_s else None,
            'cpu_us_per_frame': {
                stage: 1e6 * seconds / self.frames if self.frames else None
                for stage, seconds in self.cpu_s.items()
            },
        }


def run_batch(
    tasks: Sequence[Task], runner: Runner, result: BatchResult, tell: Told | None = None
) -> None:
    """
    Do tasks with a runner, and write the tables of what came of them, whatever ends it.

    Parameters
    ----------
    tasks : sequence of Task
        All of one OUT_DIR; their numbers are their places.
    runner : Runner
        Who does them.
    result : BatchResult
        Filled; it has what was finished when the run is interrupted.
    tell : callable, optional
        Called with each outcome.

    Raises
    ------
    ConfigError : if another run is writing to OUT_DIR.
    RuntimeError : if the runner gave up.

    """
    start = perf_counter()
    with ledger.held(tasks[0].out_dir) as run:
        try:
            with closing(runner(replace(task, run=run) for task in tasks)) as outcomes:
                for outcome in outcomes:
                    task = tasks[outcome.number]
                    outcome = _if_seen(task, outcome)
                    if outcome.refused_key:
                        ledger.forget(task, outcome.refused_key)
                    result.add(task, outcome)
                    if tell is not None:
                        tell(outcome)
        finally:
            result.wall_s = perf_counter() - start
            write_tables(tasks[0].out_dir, result)


def write_tables(out_dir: Path, result: BatchResult) -> None:
    """Write the summary, the times, and the list of what failed if anything did."""
    write_table(result.table, out_dir / SUMMARY)
    write_table(result.table, out_dir / TIMES_LIST, TIMES)
    failures = result.failures
    if failures:
        write_table(failures, out_dir / FAILED_LIST, FAILURES)
    else:
        (out_dir / FAILED_LIST).unlink(missing_ok=True)


def _if_seen(task: Task, outcome: Outcome) -> Outcome:
    """Return the outcome, a failure if its output is not where this process sees it."""
    if outcome.status == FAILED or task.out.is_file():
        return outcome
    return failed(task, f'expected {task.out} from its worker, got nothing: is OUT_DIR shared?')
