# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip batch: restarts, failures kept apart, tables, and arguments that do not fit."""

from collections.abc import Callable
import csv
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
from time import monotonic

from batch_work import outputs
from puppet_retarget.offline.batch.summary import COLUMNS, FAILURES
import pytest

pytestmark = pytest.mark.ros

DEADLINE_S = 120.0


@pytest.fixture
def library(walk_bvh: Path, tmp_path: Path) -> Path:
    """Return a folder with two clips."""
    (tmp_path / 'in' / 'a').mkdir(parents=True)
    shutil.copy(walk_bvh, tmp_path / 'in' / 'one.bvh')
    shutil.copy(walk_bvh, tmp_path / 'in' / 'a' / 'two.bvh')
    return tmp_path / 'in'


@pytest.fixture
def batch(run: Callable) -> Callable:
    """Return a function that runs the command with one process."""
    def call(*words: object) -> object:
        return run('batch', *words, '--workers', 1)

    return call


def table(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV file."""
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def test_outputs_are_those_of_retarget(run: Callable, library: Path, tmp_path: Path) -> None:
    done = run('batch', library, tmp_path / 'out', '--character', 'sally', 'blubby')
    assert done.code == 0, done.err
    made = outputs(tmp_path / 'out')
    assert set(made) == {f'{c}/{n}.bvh' for c in ('sally', 'blubby') for n in ('one', 'a/two')}
    run('retarget', library / 'one.bvh', tmp_path / 'one.bvh', '--character', 'sally')
    assert made['sally/one.bvh'] == (tmp_path / 'one.bvh').read_bytes()
    assert '4 retargeted, 0 finished before' in done.out


def test_the_table_has_the_figures_of_the_report(
    run: Callable, library: Path, tmp_path: Path
) -> None:
    assert run('batch', library, tmp_path / 'out').code == 0
    run('retarget', library / 'one.bvh', tmp_path / 'o.bvh', '--report', tmp_path / 'r.json')
    report = json.loads((tmp_path / 'r.json').read_text())
    rows = table(tmp_path / 'out' / 'summary.csv')
    assert [row['clip'] for row in rows] == ['a/two.bvh', 'one.bvh']
    row = rows[1]
    assert tuple(row) == COLUMNS
    assert (row['status'], row['output'], row['frames']) == ('ok', 'blubby/one.bvh', '120')
    assert float(row['seconds']) == 1.0 and float(row['time_s']) > 0.0
    slide = report['planted_foot_slide_mm_s']['puppet']
    assert float(row['planted_foot_slide_mm_s_puppet']) == slide
    for group in ('goal_error_mm', 'jerk_ratio', 'penetration_mm'):
        for key, value in report[group].items():
            assert float(row[f'{group}_{key}']) == value


def test_parquet_has_the_same_table(batch: Callable, library: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip('pyarrow.parquet', reason='pip install pyarrow')
    shutil.copy(library / 'one.bvh', library / 'bad.bvh')
    (library / 'bad.bvh').write_text('no clip')
    path = tmp_path / 's.parquet'
    assert batch(library, tmp_path / 'out', '--summary', path).code == 1
    rows, texts = parquet.read_table(path).to_pylist(), table(tmp_path / 'out' / 'summary.csv')
    assert [tuple(row) for row in rows] == 3 * [COLUMNS]
    for row, text in zip(rows, texts):
        assert {k: '' if v is None else str(v) for k, v in row.items()} == text


def test_what_is_finished_is_skipped(run: Callable, library: Path, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    assert run('batch', library, out).code == 0
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob('*.bvh')}
    first = (out / 'summary.csv').read_bytes()
    again = run('batch', library, out, '--workers', 2)
    assert again.code == 0 and '0 retargeted, 2 finished before' in again.out
    assert {path: path.stat().st_mtime_ns for path in out.rglob('*.bvh')} == stamps
    assert (out / 'summary.csv').read_bytes() == first


def change_input(library: Path, out: Path) -> tuple[str, ...]:
    """Give one clip another number."""
    text = (library / 'one.bvh').read_text()
    (library / 'one.bvh').write_text(text.replace('Frame Time: 0.00833', 'Frame Time: 0.00834'))
    return ()


def truncate_output(library: Path, out: Path) -> tuple[str, ...]:
    """Cut one output off."""
    path = out / 'blubby' / 'one.bvh'
    path.write_bytes(path.read_bytes()[:-100])
    return ()


def delete_output(library: Path, out: Path) -> tuple[str, ...]:
    """Delete one output."""
    (out / 'blubby' / 'one.bvh').unlink()
    return ()


def spoil_record(library: Path, out: Path) -> tuple[str, ...]:
    """Cut one record off."""
    (out / '.batch' / 'blubby' / 'one.bvh.json').write_text('{"format": "pup')
    return ()


@pytest.mark.parametrize(
    'change', [change_input, truncate_output, delete_output, spoil_record],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_only_what_is_not_right_is_done_again(
    batch: Callable, library: Path, tmp_path: Path, change: Callable
) -> None:
    out = tmp_path / 'out'
    assert batch(library, out).code == 0
    words = change(library, out)
    again = batch(library, out, *words)
    assert '1 retargeted, 1 finished before' in again.out, again
    assert batch(library, tmp_path / 'fresh', *words).code == 0
    assert outputs(out) == outputs(tmp_path / 'fresh')


@pytest.mark.parametrize(
    'words',
    [('--environment', 'demo'), ('--solver', 'position'), ('--set', 'root_softness=0.5'),
     ('--unit', 'in'), ('--overwrite',)],
    ids=lambda words: words[0][2:],
)  # fmt: skip
def test_other_parameters_make_outputs_anew(
    batch: Callable, library: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert batch(library, tmp_path / 'out').code == 0
    again = batch(library, tmp_path / 'out', *words)
    assert again.code == 0 and '2 retargeted' in again.out


def test_failed_clips_are_listed_and_the_rest_is_done(
    batch: Callable, library: Path, tmp_path: Path
) -> None:
    (library / 'bad.bvh').write_text('HIERARCHY\nnonsense\n')
    (library / 'alone.amc').write_text(':FULLY-SPECIFIED\n:DEGREES\n1\n')
    out = tmp_path / 'out'
    done = batch(library, out)
    assert done.code == 1 and '2 of 4' in done.err and 'failed.csv' in done.err
    failures = table(out / 'failed.csv')
    assert [tuple(row) for row in failures] == 2 * [FAILURES]
    reasons = {row['clip']: row['reason'] for row in failures}
    assert 'bad.bvh:2' in reasons['bad.bvh'] and '--asf' in reasons['alone.amc']
    assert set(outputs(out)) == {'blubby/one.bvh', 'blubby/a/two.bvh'}
    for name in ('bad.bvh', 'alone.amc'):
        (library / name).unlink()
    assert batch(library, out).code == 0
    assert not (out / 'failed.csv').exists()


def test_an_output_of_a_clip_that_went_bad_does_not_stay(
    batch: Callable, library: Path, tmp_path: Path
) -> None:
    assert batch(library, tmp_path / 'out').code == 0
    (library / 'one.bvh').write_text('no clip any more')
    assert batch(library, tmp_path / 'out').code == 1
    assert set(outputs(tmp_path / 'out')) == {'blubby/a/two.bvh'}


def test_a_dry_run_writes_nothing(batch: Callable, library: Path, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    done = batch(library, out, '--dry-run')
    assert done.code == 0 and '2 to do, 0 finished' in done.out and not out.exists()
    assert batch(library, out, '--glob', 'one.bvh').code == 0
    done = batch(library, out, '--dry-run')
    assert '1 to do, 1 finished' in done.out and 'a/two.bvh -> blubby/a/two.bvh' in done.out


def test_json_has_counts_and_rates(run: Callable, library: Path, tmp_path: Path) -> None:
    assert run('batch', library, tmp_path / 'out', '--json', tmp_path / 'b.json').code == 0
    figures = json.loads((tmp_path / 'b.json').read_text())
    assert (figures['done'], figures['skipped'], figures['failed']) == (2, 0, 0)
    assert figures['frames'] == 240 and figures['frames_per_cpu_s'] > 0.0
    assert set(figures['cpu_us_per_frame']) == {'read', 'retarget', 'quality', 'write'}


@pytest.mark.parametrize(
    'words, named',
    [
        (('--workers', '0'), '--workers'),
        (('--workers', 'x'), '--workers'),
        (('--workers', '2', '--dask', 'tcp://127.0.0.1:1'), '--dask'),
        (('--character', 'nobody'), 'nobody'),
        (('--character', 'sally', 'sally'), 'twice'),
        (('--environment', 'nowhere'), 'nowhere'),
        (('--solver', 'x'), '--solver'),
        (('--set', 'nothing=1'), 'nothing'),
        (('--glob', '*.fbx'), '*.fbx'),
        (('--summary', 'x.xlsx'), '--summary'),
        (('--memory-gib', '0'), '--memory-gib'),
        (('--memory-gib', '1', '--dask', 'tcp://127.0.0.1:1'), '--memory-gib'),
    ],
)
def test_arguments_that_do_not_fit_are_named(
    run: Callable, library: Path, tmp_path: Path, words: tuple[str, ...], named: str
) -> None:
    done = run('batch', library, tmp_path / 'out', *words)
    assert done.code == 2 and named in done.err and len(done.err.splitlines()) == 1
    assert not (tmp_path / 'out').exists()


def test_missing_packages_are_named(
    run: Callable, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'distributed', None)
    monkeypatch.setitem(sys.modules, 'pyarrow.parquet', None)
    done = run('batch', library, tmp_path / 'out', '--dask', 'tcp://127.0.0.1:1')
    assert done.code == 2 and 'pip install distributed' in done.err
    done = run('batch', library, tmp_path / 'out', '--summary', tmp_path / 'x.parquet')
    assert done.code == 2 and 'pip install pyarrow' in done.err


def finished(out: Path) -> int:
    """Return how many clips have their record; folders come and go meanwhile."""
    try:
        return len(list(out.glob('.batch/*/*.json')))
    except FileNotFoundError:
        return 0


def test_ctrl_c_keeps_what_is_finished(library: Path, walk_bvh: Path, tmp_path: Path) -> None:
    for number in range(400):  # many more than are done until the signal comes
        shutil.copy(walk_bvh, library / f'{number}.bvh')
    out, end = tmp_path / 'out', monotonic() + DEADLINE_S
    process = subprocess.Popen(
        [sys.executable, '-m', 'puppet_retarget.cli', 'batch', library, out, '--workers', '2'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)},
    )  # fmt: skip
    # of three finished ones one process has two: it had told of the first
    while finished(out) < 3 and monotonic() < end:
        pass
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130 and 'Traceback' not in err, err
    rows = table(out / 'summary.csv')
    assert 1 <= len(rows) < 402 and all((out / row['output']).is_file() for row in rows)
    assert nobody_is_left(process.pid, end)


def nobody_is_left(group: int, end: float) -> bool:
    """Return whether all processes of a group have ended before a time."""
    while monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
    return False
