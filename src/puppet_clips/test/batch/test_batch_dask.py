# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A real scheduler and real workers on loopback, one killed: the files of the local run."""

from contextlib import ExitStack
import json
import os
import signal
import subprocess
import sys
from time import monotonic
from typing import NamedTuple

from batch_work import outputs, plan_of
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.runners import DaskRunner, LocalRunner
from puppet_clips.batch.task import DONE, FAILED, SKIPPED
from puppet_core.io import ConfigError
import pytest

distributed = pytest.importorskip('distributed', reason='pip install distributed')

DEADLINE_S = 120.0
N_CLIPS = 12


class Cluster(NamedTuple):
    address: str  # of the scheduler
    scheduler: subprocess.Popen
    workers: list[subprocess.Popen]


@pytest.fixture
def cluster(tmp_path):
    file, end = tmp_path / 'scheduler.json', monotonic() + DEADLINE_S
    with ExitStack() as stack:

        def start(words, *more):
            program, *options = words.split()
            process = subprocess.Popen(
                [sys.executable, '-m', f'distributed.cli.dask_{program}', *options]
                + [*map(str, more), '--no-dashboard'],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start('scheduler --host 127.0.0.1 --port 0 --scheduler-file', file)
        address = ''
        while not address:
            assert monotonic() < end and scheduler.poll() is None
            try:
                address = json.loads(file.read_text())['address']
            except (OSError, ValueError):
                pass
        workers = [
            start(f'worker {address} --nthreads 1 --no-nanny --local-directory', tmp_path / name)
            for name in ('w0', 'w1')
        ]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=DEADLINE_S)
        yield Cluster(address, scheduler, workers)


@pytest.fixture
def planned(walk_bvh, tmp_path, performer):
    return plan_of(walk_bvh, tmp_path, performer, [f'{i}.bvh' for i in range(N_CLIPS)])


@pytest.mark.slow
def test_a_killed_worker_changes_no_byte(cluster, planned, tmp_path):
    def kill(outcome):
        if cluster.workers[0].poll() is None:
            cluster.workers[0].send_signal(signal.SIGKILL)
            cluster.workers[0].wait()

    result = BatchResult()
    run_batch(planned('dask'), DaskRunner(cluster.address), result, kill)
    assert cluster.workers[0].returncode == -signal.SIGKILL and cluster.workers[1].poll() is None
    # of an outcome that was lost with its worker the output is found finished
    assert result.counts[DONE] + result.counts[SKIPPED] == N_CLIPS and not result.counts[FAILED]
    run_batch(planned('local'), LocalRunner(1), BatchResult())
    assert outputs(tmp_path / 'dask') == outputs(tmp_path / 'local')
    tables = [(tmp_path / out / 'summary.csv').read_bytes() for out in ('dask', 'local')]
    assert tables[0] == tables[1]
    again = BatchResult()
    run_batch(planned('dask'), DaskRunner(cluster.address), again)
    assert again.counts == {DONE: 0, SKIPPED: N_CLIPS, FAILED: 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ('lost', 'reason'), [('scheduler', 'the scheduler is gone'), ('workers', 'has had no worker')]
)
def test_a_lost_cluster_ends_the_run(cluster, planned, tmp_path, monkeypatch, lost, reason):
    monkeypatch.setattr('puppet_clips.batch.runners.LOOK_S', 0.1)
    monkeypatch.setattr('puppet_clips.batch.runners.NO_WORKER_S', 2.0)

    def kill(outcome):
        for process in [cluster.scheduler] if lost == 'scheduler' else cluster.workers:
            process.kill()

    result = BatchResult()
    with pytest.raises(RuntimeError, match=reason):
        run_batch(planned('dask'), DaskRunner(cluster.address), result, kill)
    assert 1 <= result.counts[DONE] < N_CLIPS
    assert (tmp_path / 'dask' / 'summary.csv').is_file()


@pytest.mark.parametrize('address', ['tcp://127.0.0.1:9', 'nowhere at all'])
def test_an_address_without_a_scheduler_is_refused(monkeypatch, address):
    monkeypatch.setattr('puppet_clips.batch.runners.CONNECT_S', 0.5)
    with pytest.raises(ConfigError, match='--dask: expected the address of a scheduler'):
        DaskRunner(address)
