# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Progress: a bar on terminals, plain lines elsewhere, neither too many nor none."""

from io import StringIO

from puppet_retarget.offline import terminal_progress
from puppet_retarget.offline.terminal_progress import progress
import pytest


class Terminal(StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1000))
    monkeypatch.setattr(terminal_progress, 'monotonic', lambda: 0.5 * next(seconds))
    log = StringIO()
    with progress('walk', 1000, log) as advance:
        for _ in range(10):
            advance(100)
    lines = log.getvalue().splitlines()
    assert lines[0] == 'walk: 1000 frames'
    assert lines[1] == 'walk: 400 of 1000 frames, 160 frames/s, 00:03 left'  # 2 s later
    assert len(lines) < 6


def test_terminal_gets_a_bar() -> None:
    terminal = Terminal()
    with progress('walk', 1000, terminal) as advance:
        advance(1000)
    assert 'walk' in terminal.getvalue() and '\r' in terminal.getvalue()


def test_stderr_is_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    with progress('walk', 10) as advance:
        advance(10)
    assert capsys.readouterr() == ('', 'walk: 10 frames\n')
