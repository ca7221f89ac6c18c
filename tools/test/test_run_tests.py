# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What `./puppet test` asks of pytest."""

from itertools import groupby
import os
from pathlib import Path
import sys
from types import SimpleNamespace

from puppet_setup import run_tests
from puppet_setup.run_tests import spread
import pytest

BY_FILE = ['--dist', 'loadfile', '--no-loadscope-reorder']


@pytest.mark.parametrize(
    ('processors', 'module', 'arguments'),
    [
        ({0}, 'os', []),
        ({0, 5}, 'os', ['-n', '3', *BY_FILE]),
        (set(range(64)), 'os', ['-n', '4', *BY_FILE]),
        ({0, 1}, 'nowhere', []),
    ],
    ids=['one processor', 'two', 'many', 'no xdist'],
)
def test_processors_are_used_where_xdist_is(monkeypatch, processors, module, arguments):
    find = run_tests.find_spec
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: processors)
    monkeypatch.setattr(run_tests, 'find_spec', lambda name: find(module))
    assert run_tests.side_by_side() == arguments


QUICK = ['all', '-m', 'not (ros or slow or mocap)', 'src']


@pytest.mark.parametrize(
    ('given', 'passed'),
    [
        ([], ['all']),
        (['-k', 'x'], ['-k', 'x']),
        (['--quick'], QUICK),
        (['--quick', '-x'], [*QUICK, '-x']),
    ],
)
def test_arguments_are_pytests_own(monkeypatch, given, passed):
    monkeypatch.setattr(sys, 'argv', ['run_tests.py', *given])
    monkeypatch.setattr(sys, 'path', ['tools', *sys.path])
    monkeypatch.setattr(run_tests, 'side_by_side', lambda: ['all'])
    compiled = []
    monkeypatch.setattr(run_tests.subprocess, 'run', lambda *_, **__: compiled.append(True))
    monkeypatch.setattr(pytest, 'console_main', lambda: 7)
    assert run_tests.main() == 7
    assert bool(compiled) == ('all' in passed)
    assert sys.argv[1:] == passed and sys.path[0] != 'tools'


def test_programs_are_spread_and_files_stay_whole():
    programs = Path('/checkout/test')
    short = [Path(f'/checkout/src/test_{i}.py') for i in range(40)]
    long = [programs / f'test_{i}.py' for i in range(5)]
    items = [SimpleNamespace(path=path, k=k) for path in short + long for k in range(3)]
    found = spread(items, programs)
    files = [path for path, _ in groupby(found, key=lambda item: item.path)]
    assert sorted(files) == sorted(short + long)
    for path in files:
        assert [item.k for item in found if item.path == path] == [0, 1, 2]
    ends = [-1, *(files.index(path) for path in long), len(files)]
    assert min(b - a for a, b in zip(ends, ends[1:])) > 4
