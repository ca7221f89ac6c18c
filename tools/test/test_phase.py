# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A phase logs, counts, fails in a sentence, and stops its command when it is stopped."""

import io
import os
from pathlib import Path
import re
import sys

from puppet_setup.faults import SetupError
from puppet_setup.phase import PhaseRunner, Progress
import pytest


@pytest.fixture
def runner(tmp_path: Path) -> PhaseRunner:
    """Return a runner with its logs in a new folder."""
    return PhaseRunner(tmp_path / 'log', tmp_path)


def run(runner: PhaseRunner, code: str, progress: Progress) -> None:
    """Run a line of Python as a phase."""
    runner.run([sys.executable, '-c', code], os.environ, progress, 'work')


def test_output_goes_to_the_log(runner: PhaseRunner, capfd: pytest.CaptureFixture[str]) -> None:
    """The user sees only that it was done."""
    run(runner, 'print("many words")', Progress('working'))
    assert (runner.logs / 'work.log').read_text() == 'many words\n'
    shown = capfd.readouterr()
    assert 'working: done' in shown.err
    assert 'many words' not in shown.err + shown.out


def test_steps_are_counted(runner: PhaseRunner) -> None:
    """Lines that match, up to the expected number."""
    progress = Progress('working', re.compile('step'), 3)
    run(runner, 'print("step 1\\nother\\nstep 2")', progress)
    assert progress.seen == 2


def test_failure_with_a_known_cause_is_a_sentence(runner: PhaseRunner) -> None:
    """And says where the log is."""
    code = 'raise SystemExit("OSError: No space left on device")'
    with pytest.raises(SetupError, match=r'working: the disk is full.*work\.log') as failure:
        run(runner, code, Progress('working'))
    assert '\n' not in str(failure.value)


def test_other_failure_shows_the_end_of_the_log(runner: PhaseRunner) -> None:
    """With the exit status."""
    with pytest.raises(SetupError, match='ended with status 3'):
        run(runner, 'raise SystemExit(3)', Progress('working'))


def test_missing_command_is_a_sentence(runner: PhaseRunner) -> None:
    """Not a traceback."""
    with pytest.raises(SetupError, match='No such file'):
        runner.run(['/nowhere/colcon'], os.environ, Progress('building'), 'build')


def test_interruption_stops_the_command(runner: PhaseRunner) -> None:
    """Nothing goes on writing after the set-up has ended."""
    class Interrupting(Progress):
        """Interrupts at the first line of output, as a user would."""

        def feed(self, line: str) -> None:
            raise KeyboardInterrupt

    code = 'import os, signal; print(os.getpid(), flush=True); signal.pause()'
    with pytest.raises(KeyboardInterrupt):
        run(runner, code, Interrupting('working'))
    process = int((runner.logs / 'work.log').read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_terminal_shows_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn again in place, and removed at the end."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, 'stderr', screen)
    progress = Progress('working', re.compile('step'), 3, on_terminal=True)
    progress.shown -= 1.0
    progress.feed('step')
    progress.show()
    progress.end('done')
    assert 'working: 1 of 3, ' in screen.getvalue()
    assert screen.getvalue().count('\n') == 1
