# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What `./puppet test` asks of pytest."""

import os
import sys

from puppet_setup import run_tests
import pytest

BY_FILE = ['--dist', 'loadfile', '--no-loadscope-reorder']


def test_an_older_xdist_is_not_asked_for_what_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0, 1})
    monkeypatch.setattr(run_tests, 'find_spec', lambda name: True)
    monkeypatch.setattr(run_tests, 'version', lambda name: '3.4.0')
    assert run_tests.side_by_side() == ['-n', '3', '--dist', 'loadfile']


@pytest.mark.parametrize(
    ('processors', 'module', 'arguments'),
    [({0}, 'os', []), ({0, 5}, 'os', ['-n', '3', *BY_FILE]),
     (set(range(64)), 'os', ['-n', '4', *BY_FILE]), ({0, 1}, 'nowhere', [])],
    ids=['one processor', 'two', 'many', 'no xdist'],
)  # fmt: skip
def test_processors_are_used_where_xdist_is(
    monkeypatch: pytest.MonkeyPatch, processors: set[int], module: str, arguments: list[str]
) -> None:
    """And no more than memory bears."""
    find = run_tests.find_spec
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: processors)
    monkeypatch.setattr(run_tests, 'find_spec', lambda name: find(module))
    monkeypatch.setattr(run_tests, 'version', lambda name: '3.10.1')
    assert run_tests.side_by_side() == arguments


@pytest.mark.parametrize(('given', 'passed'), [([], ['all']), (['-k', 'x'], ['-k', 'x'])])
def test_arguments_are_pytests_own(
    monkeypatch: pytest.MonkeyPatch, given: list[str], passed: list[str]
) -> None:
    """They replace ours."""
    monkeypatch.setattr(sys, 'argv', ['run_tests.py', *given])
    monkeypatch.setattr(sys, 'path', ['tools', *sys.path])
    monkeypatch.setattr(run_tests, 'side_by_side', lambda: ['all'])
    compiled = []
    monkeypatch.setattr(run_tests, 'compile_ahead', lambda: compiled.append(True))
    monkeypatch.setattr(pytest, 'console_main', lambda: 7)
    assert run_tests.main() == 7
    assert bool(compiled) == (passed == ['all'])
    assert sys.argv[1:] == passed and sys.path[0] != 'tools'
