# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged files of every kind, a few; and that the command tells each way to fail."""

from collections.abc import Callable
import itertools
import json
import os
from pathlib import Path
import signal
import sys
import tempfile
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.io import InputFileError, PuppetError  # noqa: E402
from robustness.fuzz import command as fuzz_command  # noqa: E402,I100
from robustness.fuzz import reader as fuzz_reader  # noqa: E402,I100
from robustness.fuzz.kinds import FileKind, KINDS  # noqa: E402
from robustness.fuzz.worker import (  # noqa: E402
    case_data,
    CRASH,
    HANG,
    judged,
    make_odd,
    MEMORY,
    NOT_FINITE,
    not_finite,
    ODD,
    READ,
    REFUSED,
    UNDAMAGED,
    UNNAMED,
)

pytestmark = pytest.mark.ros

SEED, LONG_S = 11, 1e3
N_DAMAGED = {'c3d': 1}  # each is read by a process of its own
N_OF_OTHERS = 8
# stands in for the worker. Of seed 1 case 7 ends it and case 8 never ends; of seed 2 the undamaged
# file ends it, of seed 4 all cases never end
STUB = """
import json, os, sys, threading
seed, folder = int(sys.argv[1]), sys.argv[2]
def say(**line):
    print(json.dumps(line), flush=True)
for turn in sys.stdin:
    name, first, count = turn.split()
    if seed == 2:
        say(begin=-1, kind=name, what='undamaged')
        os.abort()
    for i in range(int(first), int(first) + int(count)):
        open(os.path.join(folder, 'case.bvh'), 'w').close()
        say(begin=i, kind=name, what='flip')
        if seed == 1 and i == 7:
            os.abort()
        if seed == 4 or seed == 1 and i == 8:
            threading.Event().wait()
        outcome = 'crash' if i in (0, 6) else 'read'
        say(case=i, kind=name, what='flip', outcome=outcome, text='x.py:1', s=0.1, mb=1.0)
    say(end=name)
"""


class Content(NamedTuple):
    """What a reader returns."""

    places: np.ndarray


@pytest.mark.parametrize('name', KINDS)
def test_a_few_damaged_files_are_read_or_refused(name, tmp_path):
    """What stands in the place of a file is refused; the undamaged ones are read."""
    kind = KINDS[name]
    for i, good in enumerate(kind.seeds()[: 1 if name in N_DAMAGED else None]):
        path = tmp_path / f'good{i}{kind.suffix}'
        path.write_bytes(good)
        assert judged(kind, path) == (READ, '')
    for what in ODD:
        path = tmp_path / f'{what.replace(" ", "_")}{kind.suffix}'
        make_odd(what, path)
        assert judged(kind, path)[0] == REFUSED, what
    for index in range(len(ODD), len(ODD) + N_DAMAGED.get(name, N_OF_OTHERS)):
        path = tmp_path / f'case{index}{kind.suffix}'
        what, data = case_data(kind, name, SEED, index)
        path.write_bytes(data)
        outcome, text = judged(kind, path)
        assert outcome in (READ, REFUSED), (index, what, text)
        assert '\n' not in text


def _raises(err: Exception) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        raise err

    return read


@pytest.mark.parametrize(
    ('read', 'outcome'),
    [
        (_raises(KeyError('x')), CRASH),
        (_raises(RecursionError()), CRASH),
        (_raises(MemoryError()), MEMORY),
        (_raises(PuppetError('something is wrong')), UNNAMED),
        (_raises(InputFileError('a.bvh', 'a clip', 'none')), REFUSED),
        (lambda path: Content(np.array([1.0, np.nan])), NOT_FINITE),
        (lambda path: Content(np.ones(3)), READ),
    ],
)
def test_each_way_to_fail_is_told(read, outcome):
    kind = FileKind('.bvh', True, lambda: [b''], read)
    assert judged(kind, Path('a.bvh'))[0] == outcome


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """Let another program stand in for the one that reads; return where files are put."""
    monkeypatch.setattr(fuzz_reader, 'WORKER', (sys.executable, '-I', '-S', '-c', STUB))
    folder = tmp_path / 'temporary'
    folder.mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(folder))
    return folder


@pytest.fixture(autouse=True)
def _own_signals():
    """Put back what the command does on a signal."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _cases(seed: int, folder: Path, first: int, count: int) -> list[dict[str, Any]]:
    with fuzz_reader.Reader(seed, folder, threading.Event()) as reader:
        return list(reader.cases('bvh', first, count))


def test_a_reader_that_ends_or_hangs_is_told_and_the_rest_is_read(stub, monkeypatch):
    monkeypatch.setattr(fuzz_reader, 'CASE_LIMIT_S', 4.0)
    lines = _cases(1, stub, 5, 6)
    assert [line['case'] for line in lines] == [5, 6, 7, 8, 9, 10]
    assert [line['outcome'] for line in lines] == [READ, CRASH, CRASH, HANG, READ, READ]
    assert lines[2]['text'] == 'process: -6' and lines[3]['what'] == 'flip'


def test_an_undamaged_file_that_ends_the_reader_ends_the_turn(stub):
    lines = _cases(2, stub, 0, 10)
    assert [(line['case'], line['outcome']) for line in lines] == [(UNDAMAGED, CRASH)]


def test_a_reader_that_does_not_start_is_told_once_a_turn(stub, monkeypatch):
    ends = (sys.executable, '-I', '-S', '-c', 'raise SystemExit(3)')
    monkeypatch.setattr(fuzz_reader, 'WORKER', ends)
    lines = _cases(3, stub, 20, 10)
    assert [(line['case'], line['text']) for line in lines] == [(20, 'process: 3')]


def test_every_round_has_all_kinds_in_an_order_of_the_seed():
    names = list('abcdefgh')
    listed = [list(itertools.islice(fuzz_command.turns(names, seed), 16)) for seed in (1, 1, 2)]
    assert listed[0] == listed[1] != listed[2]
    for first, turns in ((0, listed[0][:8]), (fuzz_command.TURN, listed[0][8:])):
        assert sorted(turns) == [(name, first) for name in names]


@pytest.mark.parametrize(
    ('seed', 'limit_s', 'code'),
    [(3, 60.0, 1), (1, 0.3, 1), (2, 60.0, 1), (4, 0.3, 1)],
    ids=['end of time', 'hangs once', 'dies', 'hangs always'],
)
def test_nothing_is_left_however_a_run_ends(stub, monkeypatch, seed, limit_s, code):
    monkeypatch.setattr(fuzz_reader, 'CASE_LIMIT_S', limit_s)
    words = f'--seed {seed} --kinds bvh --minutes 0.02'
    assert fuzz_command.main(words.split()) == code
    assert not list(stub.iterdir())


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['Ctrl-C', 'SIGTERM'])
@pytest.mark.parametrize('seed', [3, 4], ids=['reads', 'hangs'])
def test_an_interrupted_run_reports_what_there_is_and_leaves_nothing(
    stub, tmp_path, capsys, number, seed
):
    report = tmp_path / 'r.json'
    words = f'--seed {seed} --kinds bvh,asf --minutes 100 --json {report}'
    timer = threading.Timer(1.0, os.kill, (os.getpid(), number))
    timer.start()
    code = fuzz_command.main(words.split())
    timer.join()
    said, figures = capsys.readouterr(), json.loads(report.read_text())
    assert 'interrupted' in said.err and f'{figures["cases"]} cases' in said.out
    assert code == (130 if number == signal.SIGINT else bool(figures['failures']))
    assert (figures['cases'] > 0) is (seed == 3)
    assert figures['kinds_without_case'] == ([] if seed == 3 else ['bvh', 'asf'])
    assert ('no case of bvh, asf' in said.out) is (seed == 4)
    assert not list(stub.iterdir())


def test_failures_are_counted_reported_and_kept(stub, tmp_path, monkeypatch):
    """Each file that failed is there again, whole; nothing else is in the folder."""
    monkeypatch.setattr(fuzz_command, 'ODD', ())
    report, kept = tmp_path / 'r.json', tmp_path / 'new' / 'kept'
    words = ['--seed', '3', '--kinds', 'bvh', '--minutes', '0.02', '--json', str(report)]
    assert fuzz_command.main([*words, '--save', str(kept)]) == 1
    figures = json.loads(report.read_text())
    assert [line['case'] for line in figures['failures']][0] == 0
    assert figures['kinds']['bvh'][CRASH] >= 1
    assert (kept / 'bvh_3_0.bvh').read_bytes() == case_data(KINDS['bvh'], 'bvh', 3, 0)[1]
    assert all(path.name.startswith('bvh_3_') for path in kept.iterdir())


@pytest.mark.parametrize(
    'words',
    [
        '--kinds no',
        '--kinds bvh,',
        '--kinds all,bvh',
        '--seed -1',
        '--minutes 0',
        '--minutes nan',
        '--json /',
        '--save /dev/null',
    ],
)
def test_bad_arguments_are_named(words, capsys):
    assert fuzz_command.main(words.split()) == 2
    said = capsys.readouterr().err
    assert words.split()[0] in said and said.count('\n') == 1


def test_numbers_that_are_none_are_found_wherever_they_are():
    """In mappings, sequences and records."""
    bad = np.array([0.0, np.nan])
    assert not_finite({'a': [np.zeros(2), (bad,)]}) == '.a.1.0'
    assert not_finite({'a': [np.zeros(2)], 'b': 'nan'}) == ''
    assert not_finite({'a': np.array([bad]), 'b': np.array([bad])}, ('a',)) == '.b'
