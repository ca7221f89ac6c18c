# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged files of every kind, a few; and that the command tells each way to fail."""

from collections.abc import Callable
import json
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_bringup import fuzz_command  # noqa: E402,I100
from puppet_bringup.fuzz_kinds import FileKind, KINDS  # noqa: E402
from puppet_bringup.fuzz_worker import (  # noqa: E402
    case_data,
    CRASH,
    HANG,
    judged,
    make_odd,
    MEMORY,
    NOT_FINITE,
    ODD,
    READ,
    REFUSED,
    UNNAMED,
)
from puppet_core.errors import InputFileError, PuppetError  # noqa: E402

pytestmark = pytest.mark.ros

SEED, LONG_S = 11, 1e3
N_DAMAGED = {'c3d': 1}  # each is read by a process of its own
N_OF_OTHERS = 8
# stands in for the worker: KIND SEED FIRST COUNT; of seed 1 case 7 ends it, case 8 never ends
STUB = """
import os, sys, threading
seed, first, count = map(int, sys.argv[2:5])
for i in range(first, first + count):
    print('{"begin": %d, "kind": "bvh", "what": "flip"}' % i, flush=True)
    if seed == 1 and i == 7:
        os.abort()
    if seed == 1 and i == 8:
        threading.Event().wait()
    outcome = 'crash' if i in (0, 6) else 'read'
    print('{"case": %d, "kind": "bvh", "what": "flip", "outcome": "%s", "text": "x.py:1: KeyError"'
          ', "s": 0.1, "mb": 1.0}' % (i, outcome), flush=True)
"""


class Content(NamedTuple):
    """What a reader returns."""

    places: np.ndarray


@pytest.mark.parametrize('name', KINDS)
def test_a_few_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """What stands in the place of a file is refused; the undamaged ones are read."""
    kind = KINDS[name]
    for i, good in enumerate(kind.seeds()[:1 if name in N_DAMAGED else None]):
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
def test_each_way_to_fail_is_told(read: Callable[[Path], Any], outcome: str) -> None:
    kind = FileKind('.bvh', True, lambda: [b''], read)
    assert judged(kind, Path('a.bvh'))[0] == outcome


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another program stand in for the one that reads."""
    monkeypatch.setattr(fuzz_command, 'WORKER', (sys.executable, '-I', '-S', '-c', STUB))


def test_a_reader_that_ends_or_hangs_is_told_and_the_rest_is_read(
    stub: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_command, 'CASE_LIMIT_S', 4.0)
    lines = list(fuzz_command.cases('bvh', 1, 5, 6, time.monotonic() + LONG_S))
    assert [line['case'] for line in lines] == [5, 6, 7, 8, 9, 10]
    assert [line['outcome'] for line in lines] == [READ, CRASH, CRASH, HANG, READ, READ]
    assert lines[2]['text'] == 'process: -6' and lines[3]['what'] == 'flip'


def test_failures_are_counted_reported_and_kept(
    stub: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    ['--kinds no', '--kinds bvh,', '--seed -1', '--minutes 0', '--minutes nan', '--json /',
     '--save /dev/null'],
)  # fmt: skip
def test_bad_arguments_are_named(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz_command.main(words.split()) == 2
    said = capsys.readouterr().err
    assert words.split()[0] in said and said.count('\n') == 1
