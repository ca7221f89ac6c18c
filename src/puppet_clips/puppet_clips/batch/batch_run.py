# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A run over a library: tasks to the runner, outcomes and times to tables, failures kept apart."""

from collections.abc import Callable, Sequence
from contextlib import closing
import csv
from dataclasses import dataclass, field, replace
import io
import math
from pathlib import Path
from time import perf_counter
from typing import Any

from puppet_clips.batch import ledger
from puppet_clips.batch.retarget_file import STAGES
from puppet_clips.batch.task import DONE, FAILED, failed, Outcome, Row, Runner, SKIPPED, Task
from puppet_core.io import check_writable, ConfigError, how_to_install, replacing, write_text

CSV, PARQUET = '.csv', '.parquet'
SUMMARY, FAILED_LIST, TIMES_LIST = OWN_FILES = 'summary.csv', 'failed.csv', 'times.csv'
# Those of every line; the figures of the retarget report follow.
FIRST = ('clip', 'character', 'solver', 'status', 'reason', 'output')
TEXTS = (*FIRST, 'names', 'notes', 'key', 'output_sha256')
COUNTS = tuple(
    'frames leaping_frames flips whips snaps pops lying_height_mm_frames limit_use_position '
    'limit_use_speed limit_use_acceleration body_iterations'.split()
)
FIGURES = tuple(
    'frames rate_hz seconds planted_foot_slide_mm_s_performer planted_foot_slide_mm_s_puppet '
    'planted_foot_slide_mm_s_joint_angles_baseline planted_impossible_share goal_error_mm_p50 '
    'goal_error_mm_p99 goal_error_mm_max penetration_mm_environment_max '
    'free_limb_deviation_deg_max leaping_frames flips whips snaps pops joint_jerk_ratio_median '
    'joint_jerk_ratio_worst jerk_ratio_root jerk_ratio_feet jerk_ratio_hands jerk_ratio_knees '
    'jerk_ratio_elbows surface_depth_mm_max surface_depth_mm_share_deeper_5_mm '
    'self_contact_error_mm_p50 self_contact_error_mm_p99 self_contact_error_mm_max '
    'self_contact_impossible_share self_penetration_mm segment_direction_deg_median '
    'segment_direction_deg_worst lying_height_mm_frames lying_height_mm_worst limit_use_position '
    'limit_use_speed limit_use_acceleration body_iterations names notes key output_sha256'.split()
)
COLUMNS = (*FIRST, *FIGURES)
FAILURES = ('clip', 'character', 'reason', 'detail')
TIMES = tuple(
    'clip character frames ms_per_frame_median ms_per_frame_p99 ms_per_frame_max cpu_hash_s '
    'cpu_read_s cpu_retarget_s cpu_quality_s cpu_write_s time_s'.split()
)
OTHER = 'other'  # records, and what failed
Told = Callable[[Outcome], object]


@dataclass
class BatchResult:
    rows: dict[int, Row] = field(default_factory=dict)  # lines of the table by number of the task
    counts: dict[str, int] = field(default_factory=lambda: {DONE: 0, SKIPPED: 0, FAILED: 0})
    """Tasks by what came of them."""

    frames: int = 0  # frames retargeted in this run
    cpu_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys((*STAGES, OTHER), 0.0))
    """Time of the cores in each stage [s]."""

    wall_s: float = 0.0  # time that passed [s]

    def add(self, task: Task, outcome: Outcome) -> None:
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
        return [self.rows[number] for number in sorted(self.rows)]

    @property
    def failures(self) -> list[Row]:
        return [row for row in self.table if row['status'] == FAILED]

    def figures(self) -> dict[str, Any]:
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
    Do tasks of one OUT_DIR with a runner, and write their tables, whatever ends it.

    `tell` is called with each outcome. Raises ConfigError if another run is writing to OUT_DIR,
    RuntimeError if the runner gave up.
    """
    start = perf_counter()
    with ledger.held(tasks[0].out_dir) as run:
        try:
            with closing(runner(replace(task, run=run) for task in tasks)) as outcomes:
                for outcome in outcomes:
                    task = tasks[outcome.number]
                    outcome = _if_seen(task, outcome)
                    result.add(task, outcome)
                    if tell is not None:
                        tell(outcome)
        finally:
            result.wall_s = perf_counter() - start
            write_tables(tasks[0].out_dir, result)


def write_tables(out_dir: Path, result: BatchResult) -> None:
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


def table_row(task: Task, outcome: Outcome) -> Row:
    """Return a line of all tables, all columns there; None where nothing is known."""
    is_failed = outcome.status == FAILED
    known = {
        **outcome.row,
        'clip': task.name,
        'character': task.job.character.name,
        'solver': task.job.solver,
        'status': 'failed' if is_failed else 'ok',
        'reason': outcome.reason,
        'detail': outcome.detail,
        'output': '' if is_failed else task.out_name,
    }
    return {name: _plain(known.get(name)) for name in (*COLUMNS, *FAILURES, *TIMES)}


def check_summary(path: Path) -> None:
    """Refuse, by a ConfigError, a table that could not be written, before the work is done."""
    suffix = path.suffix.lower()
    if suffix not in (CSV, PARQUET):
        raise ConfigError(f'--summary: expected a {CSV} or {PARQUET} file, got {str(path)!r}')
    if suffix == PARQUET:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as err:
            hint = how_to_install('cluster', 'pyarrow')
            raise ConfigError(f'--summary: pyarrow is not installed ({err}); {hint}') from err
    check_writable(path, '--summary')


def write_table(rows: Sequence[Row], path: Path, columns: Sequence[str] = COLUMNS) -> None:
    """Write lines as CSV or Parquet, by the suffix, all or nothing."""
    if path.suffix.lower() == PARQUET:
        _write_parquet(rows, path, columns)
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction='ignore', lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def printable(text: str) -> str:
    """Return a text with bytes of file names that are no UTF-8 spelt out."""
    return text.encode('utf-8', 'backslashreplace').decode()


def _plain(value: Any) -> Any:
    """Return a value of a table; None for what is no number, as in a record."""
    if isinstance(value, str):
        return printable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_parquet(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    kinds = {name: pyarrow.string() for name in TEXTS} | {name: pyarrow.int64() for name in COUNTS}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in columns])
    lines = [{name: row.get(name) for name in columns} for row in rows]
    table = pyarrow.Table.from_pylist(lines, schema)
    with replacing(path) as temporary:
        parquet.write_table(table, temporary)
