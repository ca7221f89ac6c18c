# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The tables of a run, a line for each clip and character: CSV, and Parquet if wanted.

The summary is the same whoever did the work and however often it was begun again; what differs
from run to run is in a table of times.

"""

from collections.abc import Sequence
import csv
import io
import math
from pathlib import Path
from typing import Any

from puppet_clips.batch.task import FAILED, Outcome, Row, Task
from puppet_core.io import check_writable, ConfigError, replacing, write_text

CSV, PARQUET = '.csv', '.parquet'
SUMMARY, FAILED_LIST, TIMES_LIST = OWN_FILES = 'summary.csv', 'failed.csv', 'times.csv'
# Those of every line; the figures of the retarget report follow.
FIRST = ('clip', 'character', 'solver', 'status', 'reason', 'output')
TEXTS = (*FIRST, 'names', 'notes', 'key', 'output_sha256')
COUNTS = ('frames', 'body_iterations')
FIGURES = (
    'frames',
    'rate_hz',
    'seconds',
    'planted_foot_slide_mm_s_performer',
    'planted_foot_slide_mm_s_puppet',
    'planted_foot_slide_mm_s_joint_angles_baseline',
    'planted_impossible_share',
    'goal_error_mm_p50',
    'goal_error_mm_p99',
    'goal_error_mm_max',
    'penetration_mm_environment_max',
    'free_limb_deviation_deg_max',
    'jerk_ratio_root',
    'jerk_ratio_feet',
    'jerk_ratio_hands',
    'body_iterations',
    'names',
    'notes',
    'key',
    'output_sha256',
)
COLUMNS = (*FIRST, *FIGURES)
FAILURES = ('clip', 'character', 'reason', 'detail')
TIMES = (
    'clip',
    'character',
    'frames',
    'ms_per_frame_median',
    'ms_per_frame_p99',
    'ms_per_frame_max',
    'cpu_hash_s',
    'cpu_read_s',
    'cpu_retarget_s',
    'cpu_quality_s',
    'cpu_write_s',
    'time_s',
)


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
    """
    Refuse a table that could not be written, before the work is done.

    Raises
    ------
    ConfigError : for another suffix, a missing package, or a place that cannot be written.

    """
    suffix = path.suffix.lower()
    if suffix not in (CSV, PARQUET):
        raise ConfigError(f'--summary: expected a {CSV} or {PARQUET} file, got {str(path)!r}')
    if suffix == PARQUET:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as err:
            raise ConfigError(
                f'--summary: pyarrow is not installed ({err}); pip install pyarrow'
            ) from err
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
    table = pyarrow.Table.from_pylist(
        [{name: row.get(name) for name in columns} for row in rows], schema
    )
    with replacing(path) as temporary:
        parquet.write_table(table, temporary)
