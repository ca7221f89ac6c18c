# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The command itself, interrupted or killed: what is finished stays, the rest is done later."""

import os
import shutil
import signal
import subprocess
import sys
from time import monotonic

from batch_work import finished, outputs, table
import psutil
import pytest

pytestmark = pytest.mark.ros

DEADLINE_S = 120.0


def started(library, out):
    return subprocess.Popen(
        [sys.executable, '-m', 'puppet_clips.cli', 'batch', library, out, '--workers', '2'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)},
    )


def test_ctrl_c_keeps_what_is_finished(library, walk_bvh, tmp_path):
    for number in range(400):  # many more than are done until the signal comes
        shutil.copy(walk_bvh, library / f'{number}.bvh')
    out, end = tmp_path / 'out', monotonic() + DEADLINE_S
    process = started(library, out)
    # of three finished ones one process has two: it had told of the first
    while finished(out) < 3 and monotonic() < end:
        pass
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130 and 'Traceback' not in err, err
    rows = table(out / 'summary.csv')
    assert 1 <= len(rows) < 402 and all((out / row['output']).is_file() for row in rows)
    assert nobody_is_left(process.pid, monotonic() + DEADLINE_S)


def nobody_is_left(group, end):
    """Return whether all processes of a group have ended before a time, reaped or not."""
    while monotonic() < end:
        if not any(_is_of(process, group) for process in psutil.process_iter()):
            return True
    return False


def _is_of(process, group):
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.Error):
        return False


def test_a_killed_run_is_ended_by_the_next(run, library, walk_bvh, tmp_path):
    """With SIGKILL nothing is put in order, and processes are left over."""
    for number in range(20):
        shutil.copy(walk_bvh, library / f'{number}.bvh')
    out, end = tmp_path / 'out', monotonic() + DEADLINE_S
    process = started(library, out)
    while finished(out) < 3 and monotonic() < end:
        pass
    process.kill()
    process.communicate(timeout=DEADLINE_S)
    assert finished(out) >= 3
    again = run('batch', library, out, '--workers', 2)
    assert again.code == 0, again.err
    assert nobody_is_left(process.pid, monotonic() + DEADLINE_S)
    assert run('batch', library, tmp_path / 'fresh', '--workers', 1).code == 0
    assert outputs(out) == outputs(tmp_path / 'fresh')
    tables = [(folder / 'summary.csv').read_bytes() for folder in (out, tmp_path / 'fresh')]
    assert tables[0] == tables[1] and not list(out.glob('.batch/parts/*/*'))
