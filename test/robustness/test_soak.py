# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The soak as real processes: a run that is interrupted, an accelerated one, bad arguments."""

import json
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

pytestmark = [pytest.mark.ros, pytest.mark.slow]

SOAK = (sys.executable, '-m', 'robustness.soak.command')
DEADLINE_S = 370.0  # a first compilation of the kernels fits
WATCHED_S = 3.0
NODES = {'tracker_driver', 'pose_filter', 'performer', 'importance', 'retarget', 'visualization'}


def test_a_run_that_is_interrupted_tells_what_it_can_and_leaves_no_process(mark, tmp_path):
    path, lines = tmp_path / 'soak.json', []
    soak = subprocess.Popen(
        [*SOAK, '--minutes', '1', '--json', str(path)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    timers = [threading.Timer(DEADLINE_S, soak.kill)]
    timers.append(threading.Timer(WATCHED_S, soak.send_signal, [signal.SIGINT]))
    timers[0].start()
    for line in soak.stdout:
        lines.append(line)
        if 'watching' in line:
            timers[1].start()
    timers[0].cancel()
    told = ''.join(lines)
    assert soak.wait(DEADLINE_S) == 130, told
    found = json.loads(path.read_text())
    assert set(found['looks']['processes']) == NODES | {'monitor', 'tracker_emulator'}
    for name, process in found['looks']['processes'].items():
        assert 10.0 < min(process['heap_mb']) and min(process['threads']) >= 1.0, name
        for less, more in (('heap_mb', 'pss_mb'), ('uss_mb', 'pss_mb'), ('pss_mb', 'rss_mb')):
            assert max(process[less]) <= max(process[more]), (name, less)
    outcomes = {one['what']: one['outcome'] for one in found['evaluations']}
    assert outcomes['memory of retarget'] == outcomes['latency'] == 'too short to tell'
    frames = found['frames']
    assert frames['published'] == frames['solved'] + frames['lost']
    assert sum(frames['last_seen'].values()) == frames['lost']
    assert frames['solved'] > 0 and found['latency_ms']['p50'] > 0.0
    assert 'too short to tell' in told and 'lost' in told


def test_accelerated_run_loops_the_recorded_performance(mark, tmp_path):
    path = tmp_path / 'day.json'
    done = subprocess.run(
        [*SOAK, '--accelerated', '--hours', '0.002', '--rate', '20', '--json', str(path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, f'{done.stdout}\n{done.stderr}'
    found = json.loads(path.read_text())
    assert found['frames_in'] == found['frames_out'] > 60 and found['not_finite'] == 0


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--minutes', '0'), '--minutes: expected 0 < value <= 10080'),
        (('--minutes', 'nan'), '--minutes: expected 0 < value'),
        (('--accelerated', '--minutes', '5'), '--minutes: expected only without --accelerated'),
        (('--hours', '5'), '--hours: expected only with --accelerated'),
        (('--accelerated', '--hours', '-1'), '--hours: expected 0 < value <= 168'),
        (('--accelerated', '--composed'), '--composed: expected only without'),
        (('--rate', '500'), '--rate: expected 1.0 <= value <= 144.0'),
        (('--character', 'nobody'), 'character: expected one of blubby'),
        (('--json', '/proc/nowhere/x.json'), '--json: expected a writable folder'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else '',
)
def test_bad_arguments_are_refused(mark, arguments, message, capfd, monkeypatch):
    from robustness.soak import command as soak

    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    assert soak.main(arguments) == 2
    said = capfd.readouterr().err
    assert message in said and len(said.splitlines()) == 1
