# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Progress: a bar on terminals, for who has not said --quiet."""

from io import StringIO
import re

from puppet_core.io import CommandParser, note, run_command
from puppet_core.io.progress_bar import progress


class Terminal(StringIO):
    """A stream that a person looks at."""

    def isatty(self):
        return True


def test_skipped_steps_do_not_count_in_the_remaining_time(monkeypatch):
    stream = Terminal()
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
    assert re.search('600.*06:40', last), last


def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr('time.time', lambda: now[0])
    monkeypatch.setattr('tqdm.std.time', lambda: now[0])
    return now


def test_notes_are_shown():
    stream = Terminal()
    with progress('edit', None, stream, unit='level') as advance:
        advance(1, note='level 1: 1.500 %', total=2)
        advance(1, note='exact: 0.000 %')
    assert 'edit' in stream.getvalue()


def test_logs_and_the_quiet_see_nothing(capsys):
    with progress('walk', 10) as advance:
        advance(10, note='all')
    CommandParser(prog='puppet walk').parse_args(['-q'])
    quiet = Terminal()
    with progress('walk', 10, quiet) as advance:
        note('read')
    assert capsys.readouterr() == ('', '') and quiet.getvalue() == ''
    assert run_command('puppet walk', lambda: note('read') or 0) == 0  # each begins anew
    assert capsys.readouterr().err == 'read\n'
