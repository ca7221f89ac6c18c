# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs are wholly old or wholly new; what is printed of texts and names from outside."""

import os
import stat
import tempfile

from puppet_core.io import files
from puppet_core.io.errors import brief, InputFileError, listed, printable
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


@pytest.mark.parametrize(
    'arguments, text',
    [
        (('walk.bvh', '96 values', '95', 41), 'walk.bvh:41: expected 96 values, got 95'),
        (('a.yaml', 'a number', "'x'"), "a.yaml: expected a number, got 'x'"),
        (('a.yaml', 'm', 'n', 3, 'radius_m'), 'a.yaml:3: radius_m: expected m, got n'),
        (('a.yaml', 'm', 'n', None, None, 'try k'), 'a.yaml: expected m, got n; try k'),
    ],
)
def test_input_file_error_reads_place_expected_got_hint(arguments, text):
    assert str(InputFileError(*arguments)) == text


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        ({None: 1, 3: 2, 9**9999: 3}, 'the keys None, 3, a very large integer'),
        ({'k' * 50: 1}, 'the keys ' + 'k' * 17 + '..'),
        ({9**9999}, 'a very large integer'),
        ([(1, 9**9999), 'x'], "[a very large integer, 'x']"),
    ],
)
def test_any_value_has_a_brief_text(value, text):
    assert brief(value) == text


def test_of_many_keys_the_first_are_listed():
    assert listed(('a', 'b')) == 'a, b'
    text = listed([f'{i}' * 99 for i in range(9999)])
    assert text.endswith(', ..') and len(text) < 4000


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('/tracker/raw: 5 mm, 3°\nnext', '/tracker/raw: 5 mm, 3°\nnext'),
        ('', ''),
        ('\x1b[31m', '\\x1b[31m'),
        ('a\rb\tc', 'a\\rb\\tc'),
        ('\x9b2J\x7f', '\\x9b2J\\x7f'),
        ('\u202eabc', '\\u202eabc'),
        ('\ud800', '\\ud800'),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert printable(text) == shown
