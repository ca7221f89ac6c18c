# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulator as a program."""

from pathlib import Path
import signal
import subprocess
import sys

from puppet_core.body.character import load_character
from puppet_driver.emulator import cli
import pytest

pytestmark = pytest.mark.slow

EXIT_S = 20.0
HOST = '127.0.0.1'
MOTIONSTAR = ('--device', 'motionstar')


def run(*arguments):
    command = [sys.executable, '-m', 'puppet_driver.emulator.cli', *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def test_prints_ready_with_its_ports_and_ends_with_zero(tmp_path):
    body = tmp_path / 'body.yaml'
    program = run('--ports-dir', str(tmp_path), '--write-character', str(body))
    word, *ports = program.stdout.readline().split()
    assert word == 'ready' and ports == [str(tmp_path / f'line{i}') for i in range(3)]
    assert all(Path(port).is_symlink() for port in ports)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=EXIT_S)
    assert program.returncode == 0 and errors == ''
    assert not any(Path(port).is_symlink() for port in ports)
    assert load_character(body).skeleton.leg_length == pytest.approx(0.928)


def test_a_motionstar_prints_its_addresses_and_ends_when_terminated():
    program = run(*MOTIONSTAR, '--listen', f'{HOST}:0', f'{HOST}:0')
    word, *ports = program.stdout.readline().split()
    assert word == 'ready' and len(ports) == 2
    assert all(port.startswith(f'tcp://{HOST}:') for port in ports)
    program.terminate()
    _, errors = program.communicate(timeout=EXIT_S)
    assert program.returncode == 0 and errors == ''


@pytest.mark.parametrize(
    'arguments, text',
    [
        (['--clip', '/nowhere/walk.bvh'], '/nowhere/walk.bvh'),
        (['--sensors', 'tail'], "expected names of segments or props, got 'tail'"),
        (['--lines', '99'], 'expected 1 to 14 line(s)'),
        (['--rate-hz', 'nan'], 'rate_hz: expected'),
        (['--drop-out', '2'], 'drop_out: expected'),
        (['--t-pose-s', '-1'], 't_pose_s >= 0'),
        (['--character', '/nowhere.yaml'], '/nowhere.yaml'),
        (['--device', 'fastrak', '--lines', '3'], 'expected 4 or more for 14 sensors, 4 each'),
        ([*MOTIONSTAR, '--listen', 'host:port'], 'expected a port number from 0 to 65535'),
        ([*MOTIONSTAR, '--listen', '256.256.256.256:0'], '256.256.256.256:0: expected a free'),
        ([*MOTIONSTAR, '--rate-hz', '150'], 'rate_hz: expected 20.0 <= value <= 144.0'),
        ([*MOTIONSTAR, '--listen', *[f'{HOST}:0'] * 15], 'expected 1 to 14 line(s)'),
    ],
)
def test_bad_input_is_one_sentence_and_exit_two(tmp_path, capsys, arguments, text):
    assert cli.main(['--ports-dir', str(tmp_path / 'ports'), *arguments]) == 2
    said = capsys.readouterr().err
    assert text in said and said.count('\n') == 1 and 'Traceback' not in said
