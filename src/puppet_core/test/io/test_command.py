# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The edge of commands: exit codes, what they say, and progress on terminals."""

import errno
from io import StringIO
import re
import subprocess
import sys

from puppet_core.io import CalibrationError, CommandParser, ConfigError, note, run_command
from puppet_core.io.command import progress
import pytest

PRINTS = """
import sys
from puppet_core.io import run_command
sys.exit(run_command('name', lambda: print('x' * 1_000_000) or 0))
"""
# a signal at every line of a wait, and of what that calls
INTERRUPTED_WAIT = """
import signal, sys
from puppet_core.io import run_command, stop_on_signals
def interrupt(frame, event, argument):
    if frame.f_code.co_name in ('wait', '__enter__', '__exit__'):
        signal.raise_signal(signal.SIGINT)
    return interrupt
def command():
    stopping = stop_on_signals(len(sys.argv) > 1)
    sys.settrace(interrupt)
    return stopping.is_set() or not stopping.wait()
sys.exit(run_command('name', command))
"""


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ('error', 'code', 'said'),
    [
        (ConfigError('a.yaml:3: expected x'), 2, 'a.yaml:3: expected x'),
        (ConfigError('expected x, got \x1b[2J'), 2, r'expected x, got \x1b[2J'),
        (ConfigError('name: expected x'), 2, 'expected x'),
        (CalibrationError('moved'), 1, 'moved'),
        (FileNotFoundError(errno.ENOENT, 'No such file', '/a/b'), 1, '/a/b: No such file'),
        (OSError(errno.ENAMETOOLONG, 'Too long', 'x' * 300), 2, f'{"x" * 300}: Too long'),
        (RuntimeError("Symlink loop from '/a'"), 2, "Symlink loop from '/a'"),
        (OSError(errno.ENOSPC, 'No space left'), 1, 'No space left'),
        (TimeoutError('no answer\nwithin 5 s'), 1, 'no answer within 5 s'),
        (TimeoutError(), 1, 'TimeoutError'),
        (RuntimeError('no context'), 1, 'no context'),
        (KeyboardInterrupt(), 130, 'interrupted; nothing'),
    ],
)
def test_what_goes_wrong_is_a_line_and_a_code(error, code, said, capsys):
    assert run_command('name', raising(error), 'nothing') == code
    assert capsys.readouterr().err == f'name: {said}\n'


def test_a_mistake_of_ours_says_where(capsys):
    assert run_command('name', raising(ZeroDivisionError('our\nmistake'))) == 1
    said = capsys.readouterr().err
    assert said.startswith(f'name: ZeroDivisionError: our mistake ({__file__}:')


def test_what_goes_well_returns_its_code():
    assert run_command('name', lambda: 7) == 7


def test_bad_arguments_are_a_line_without_usage(capsys):
    parser = CommandParser(prog='puppet new')
    assert run_command('puppet new', lambda: parser.parse_args(['--nonsense'])) == 2
    said = 'puppet new: unrecognized arguments: --nonsense; see ./puppet new --help\n'
    assert capsys.readouterr().err == said


def test_a_reader_that_ends_is_a_failed_run_without_a_word():
    with subprocess.Popen(
        [sys.executable, '-c', PRINTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        program.stdout.close()
        assert program.stderr.read() == b'' and program.wait() == 1


@pytest.mark.parametrize(('words', 'code'), [((), 130), (('of the graph',), 0)])
def test_signals_inside_a_wait_end_it(words, code):
    done = subprocess.run((sys.executable, '-c', INTERRUPTED_WAIT, *words), timeout=60.0)
    assert done.returncode == code


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
