# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Progress: a bar on terminals, plain lines elsewhere, neither too many nor none."""

from io import StringIO
import re

from puppet_core.io.progress_bar import progress
import pytest


class Terminal(StringIO):
    """A stream that a person looks at."""

    def isatty(self):
        return True


def test_log_gets_a_line_now_and_then(monkeypatch):
    now = clock(monkeypatch)
    log = StringIO()
    with progress('walk', 1000, log) as advance:
        for _ in range(10):
            now[0] += 0.5
            advance(100)
    lines = log.getvalue().splitlines()
    assert lines[0].startswith('walk: 0 of 1000 frames')
    assert re.match('walk: 400 of 1000 frames, +200.*00:03 left', lines[1])  # 2 s later
    assert len(lines) < 6


@pytest.mark.parametrize('stream', [StringIO(), Terminal()], ids=['log', 'terminal'])
def test_skipped_steps_do_not_count_in_the_remaining_time(monkeypatch, stream):
    now = clock(monkeypatch)
    with progress('walk', 1000, stream) as advance:
        now[0] += 500.0
        advance(0, True)
        for _ in range(500):  # ten in each second
            now[0] += 0.1
            advance(1, True)
        for _ in range(100):  # one in each second
            now[0] += 1.0
            advance(1)
        last = re.split(r'[\r\n]', stream.getvalue().strip())[-1]
    assert re.search('(599|600).*06:4[01]', last), last  # of a log the last line may be older


def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr('time.time', lambda: now[0])
    monkeypatch.setattr('tqdm.std.time', lambda: now[0])
    return now


@pytest.mark.parametrize('stream', [StringIO(), Terminal()], ids=['log', 'terminal'])
def test_notes_are_shown(stream):
    """Each of them in a log."""
    with progress('edit', None, stream, unit='level') as advance:
        advance(1, note='level 1: 1.500 %', total=2)
        advance(1, note='exact: 0.000 %')
        assert 'level 1: 1.500 %' in stream.getvalue() or stream.isatty()
    assert 'edit' in stream.getvalue()


def test_a_log_has_no_line_of_nothing_out_of_an_unknown_number():
    log = StringIO()
    with progress('replay', None, log, unit='message') as advance:
        assert log.getvalue() == ''
        advance(0, total=40)


def test_stderr_is_the_place(capsys):
    with progress('walk', 10) as advance:
        advance(10)
    out, err = capsys.readouterr()
    assert out == '' and err.startswith('walk: 0 of 10 frames')
