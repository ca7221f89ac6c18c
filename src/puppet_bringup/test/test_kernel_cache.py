# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled once for a cache folder, by programs that end when they have."""

from pathlib import Path
import sys
import threading

from puppet_bringup import compile_command, process_table
from puppet_bringup.compile_command import CACHE_VARIABLE, compile_kernels
import pytest

NODES = [name for row in compile_command.ROWS for name in row if name != process_table.PIPELINE]


class Run:
    """In the place of the nodes programs that note their names and end with a code."""

    def __init__(self, folder, monkeypatch):
        self.codes = {}
        self.said = []
        self.stopping = threading.Event()
        self._cache = folder / 'cache'
        self._cache.mkdir()
        self._notes = folder / 'notes'
        self._notes.mkdir()
        monkeypatch.setattr(process_table, 'command_line', self._command)

    def compile(self):  # noqa: A003
        environ = {CACHE_VARIABLE: str(self._cache)}
        listed = process_table.prepared('sim', {}, self._notes.parent)
        return compile_kernels(listed, Path(), environ, self.stopping, self.said.append)

    def names(self):
        found = {path.name for path in self._notes.iterdir()}
        for name in found:
            assert (self._notes / name).read_text() == compile_command.COMPILE_ONLY
            (self._notes / name).unlink()
        return found

    def _command(self, process, config_dir):
        text = f"""#!{sys.executable}
import pathlib, sys
pathlib.Path({str(self._notes / process.name)!r}).write_text(sys.argv[1])
sys.exit({self.codes.get(process.name, 0)})"""
        program = self._notes.parent / f'{process.name}.py'
        program.write_text(text)
        program.chmod(0o755)
        return [str(program)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    return Run(tmp_path, monkeypatch)


def test_each_node_compiles_and_none_again(run):
    """What one state of the sources has compiled is kept."""
    assert run.compile()
    assert run.names() == set(NODES)
    assert run.compile()
    assert run.names() == set()


def test_a_node_that_fails_is_named_and_all_is_done_again(run):
    """Those behind it in its row are not tried: they want the same."""
    run.codes['pose_filter'] = 3
    assert not run.compile()
    assert 'pose_filter did not compile: it ended with 3' in run.said
    assert run.names() == set(NODES) - {'performer'}
    run.codes.clear()
    assert run.compile()
    assert run.names() == set(NODES)


def test_it_ends_early_when_told_so(run):
    """And is not taken for done."""
    run.stopping.set()
    assert not run.compile()
    run.stopping.clear()
    assert run.compile()


def test_the_command_wants_a_folder(monkeypatch, capsys):
    """Without one each node compiles for itself."""
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert compile_command.main([]) == 2
    assert CACHE_VARIABLE in capsys.readouterr().err
