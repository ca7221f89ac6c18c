# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A command of the set-up logs, counts, fails in a sentence, and stops when it is stopped."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import threading

from puppet_setup import process
from puppet_setup.process import last_lines, likely_cause, Runner, SetupError
import pytest


@pytest.fixture
def runner(tmp_path):
    """Return a runner with its logs in a new folder."""
    return Runner(tmp_path / 'log', tmp_path)


def run(runner: Runner, code: str, step: str = '', total: int = 0) -> None:
    """Run a line of Python as a step of the set-up."""
    runner.run('work', 'working', [sys.executable, '-c', code], os.environ, step, total)


def test_output_goes_to_the_log(runner, capfd):
    run(runner, 'print("many words")')
    assert (runner.logs / 'work.log').read_text() == 'many words\n'
    shown = capfd.readouterr()
    assert 'working: done' in shown.err
    assert 'many words' not in shown.err + shown.out


@pytest.mark.parametrize('on_terminal', [True, False])
def test_steps_are_counted(runner, capfd, monkeypatch, on_terminal):
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: on_terminal, raising=False)
    monkeypatch.setattr(process, 'PLAIN_INTERVAL_S', 0.1)
    monkeypatch.setattr(process, 'TERMINAL_INTERVAL_S', 0.1)
    run(
        runner,
        'import threading; print("step 1\\nother\\nstep 2", flush=True);'
        ' threading.Event().wait(1)',
        '^step',
        3,
    )
    shown = capfd.readouterr().err
    assert 'working: 2 of 3, ' in shown
    assert (shown.count('\n') == 1) == on_terminal


def test_failure_with_a_known_cause_is_a_sentence(runner):
    with pytest.raises(SetupError, match=r'working: the disk is full.*work\.log') as failure:
        run(runner, 'raise SystemExit("OSError: No space left on device")')
    assert '\n' not in str(failure.value)


def test_other_failure_shows_the_end_of_the_log(runner):
    with pytest.raises(SetupError, match='ended with status 3.*work.log'):
        run(runner, 'raise SystemExit(3)')
    output = "a\n\nWARNING: Location 'file:///x/' is ignored: it is neither ...\nb\n"
    assert last_lines(output) == 'a\nb'


def test_missing_command_is_a_sentence(runner):
    with pytest.raises(SetupError, match='No such file'):
        runner.run('build', 'building', ['/nowhere/colcon'], os.environ)


def test_interruption_stops_the_command(runner, monkeypatch):
    log = runner.logs / 'work.log'

    def interrupt_when_started(running: subprocess.Popen[bytes], timeout_s: float) -> bool:
        monkeypatch.undo()
        while not log.read_text().endswith('\n'):
            threading.Event().wait(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, '_wait', interrupt_when_started)
    with pytest.raises(KeyboardInterrupt):
        run(runner, 'import os, signal; print(os.getpid(), flush=True); signal.pause()')
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)


@pytest.mark.parametrize(
    ('output', 'words'),
    [
        ("OSError: [Errno 28] No space left on device: '/x'", 'disk is full'),
        ('NewConnectionError\nERROR: No matching distribution found for x', 'cannot be reached'),
        ('socket.gaierror: [Errno -3] Temporary failure in name resolution', 'cannot be reached'),
        ('SSLError(SSLCertVerificationError(1, ...))', 'PIP_CERT'),
        ('ERROR: No matching distribution found for ros-rclpy==7.1.6', 'have ros-rclpy==7.1.6'),
        ('the requirement setuptools==79.0.1 (from versions: none)', 'have setuptools==79.0.1'),
        ("PermissionError: [Errno 13] Permission denied: '/x'", 'cannot be written'),
        ('error: expected ; before }', ''),
    ],
)
def test_known_causes_are_named(output, words):
    sentence = likely_cause(f'some line\n{output}\nanother line')
    assert words in sentence and bool(words) == bool(sentence)
    assert '\n' not in sentence


HOLDER = f"""
import sys
sys.path.insert(0, {str(Path(process.__file__).parents[1])!r})
from pathlib import Path
from puppet_setup.checkout import exclusive
with exclusive(Path(sys.argv[1])):
    print('held', flush=True)
    sys.stdin.readline()
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    """Start a process that takes the lock and holds it until it is told to end."""
    return subprocess.Popen(
        [sys.executable, '-c', HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_set_up_at_a_time(tmp_path):
    first = start_holder(tmp_path / 'lock')
    assert first.stdout.readline() == 'held\n'
    second = start_holder(tmp_path / 'lock')
    assert 'waiting' in second.stderr.readline()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert second.stdout.readline() == 'held\n'
    second.communicate('\n')
    assert second.returncode == 0
