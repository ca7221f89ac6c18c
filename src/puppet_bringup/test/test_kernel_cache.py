# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled once for a cache folder, by programs that end when they have."""

import os
from pathlib import Path
import sys
import threading

from puppet_bringup import compile_command, process_table
from puppet_bringup.compile_command import compile_kernels
from puppet_ros import program_start
from puppet_ros.program_start import CACHE_VARIABLE
import pytest

pytestmark = pytest.mark.slow

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
        for process in listed:  # before a thread forks: a file that is open then is busy
            self._write_program(process.name)
        return compile_kernels(listed, Path(), environ, self.stopping, self.said.append)

    def names(self):
        found = {path.name for path in self._notes.iterdir()}
        for name in found:
            assert (self._notes / name).read_text() == compile_command.COMPILE_ONLY
            (self._notes / name).unlink()
        return found

    def _write_program(self, name):
        text = f"""#!{sys.executable}
import pathlib, sys
pathlib.Path({str(self._notes / name)!r}).write_text(sys.argv[1])
sys.exit({self.codes.get(name, 0)})"""
        program = self._notes.parent / f'{name}.py'
        program.write_text(text)
        program.chmod(0o755)

    def _command(self, process, config_dir):
        return [str(self._notes.parent / f'{process.name}.py')]


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
    run.codes['importance'] = 3
    assert not run.compile()
    assert 'importance did not compile: it ended with 3' in run.said
    assert run.names() == set(NODES) - {'tracker_driver', 'visualization'}
    run.codes.clear()
    assert run.compile()
    assert run.names() == set(NODES)


def test_it_ends_early_when_told_so(run):
    """And is not taken for done."""
    run.stopping.set()
    assert not run.compile()
    run.stopping.clear()
    assert run.compile()


def test_programs_share_a_folder_that_is_new_for_a_changed_module(tmp_path, monkeypatch):
    """Unless the user chose one; old ones go."""
    monkeypatch.setattr(program_start, 'KERNELS', ('late_package',))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    module = tmp_path / 'late_package' / '__init__.py'
    module.parent.mkdir()
    folders = []
    for text in ('', '', 'a = 1', 'a = 22', 'a = 333'):
        monkeypatch.delenv(CACHE_VARIABLE, raising=False)
        module.write_text(text)
        os.utime(module, (1.0, 1.0))
        program_start.share_cache()
        folders.append(Path(os.environ[CACHE_VARIABLE]))
    assert folders[0] == folders[1] and len(set(folders)) == 4
    assert [folder.is_dir() for folder in folders[1:]] == [False, True, True, True]
    monkeypatch.setenv(CACHE_VARIABLE, '/own')
    program_start.share_cache()
    assert os.environ[CACHE_VARIABLE] == '/own'
