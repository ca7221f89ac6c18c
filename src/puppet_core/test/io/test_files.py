# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs are wholly old or wholly new."""

import os
import stat
import tempfile

from puppet_core.io import files
import pytest


def test_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / 'report.json'
    path.write_text('old')
    with pytest.raises(RuntimeError, match='half'):
        with files.replacing(path) as temporary:
            temporary.write_text('ne')
            raise RuntimeError('half way')
    assert path.read_text() == 'old'
    assert os.listdir(tmp_path) == ['report.json']


def test_success_leaves_only_the_target(tmp_path):
    files.write_bytes(tmp_path / 'a', b'1')
    files.write_bytes(tmp_path / 'a', b'2')
    assert os.listdir(tmp_path) == ['a'] and (tmp_path / 'a').read_bytes() == b'2'


def test_mode_of_an_old_file_is_kept_and_a_new_one_follows_the_umask(tmp_path):
    old = tmp_path / 'old'
    old.write_text('')
    old.chmod(0o640)
    files.write_text(old, 'x')
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    before = os.umask(0o022)
    try:
        files.write_text(tmp_path / 'new', 'x')
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / 'new').stat().st_mode) == 0o644


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / 'there').mkdir()
    target = tmp_path / 'there' / 'calibration.yaml'
    target.write_text('old')
    link = tmp_path / 'link.yaml'
    link.symlink_to(target)
    files.write_text(link, 'new')
    assert link.is_symlink() and target.read_text() == 'new'


def test_a_device_is_written_to_and_not_replaced():
    before = os.stat('/dev/null')
    files.write_text('/dev/null', 'report')
    after = os.stat('/dev/null')
    assert stat.S_ISCHR(after.st_mode) and after.st_ino == before.st_ino
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        files.write_text('/dev/full', 'report')


def test_folders_of_killed_runs_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    with files.run_folder('run') as own:
        (tmp_path / 'run_4194305_x').mkdir()  # no process has such a number
        with files.run_folder('run') as other:
            assert {own, other} == set(tmp_path.iterdir())
    assert not os.listdir(tmp_path)


def test_a_folder_is_refused_by_name(tmp_path):
    with pytest.raises(IsADirectoryError, match='expected a file name'):
        files.write_text(tmp_path, 'x')
