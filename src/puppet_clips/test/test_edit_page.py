# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/edit.md: its files are edit files, its commands run, its tables name what there is."""

from dataclasses import fields
from pathlib import Path
import re
import shlex

from edit_samples import walk
from puppet_core.clips.bvh import write_bvh
from puppet_edit.edit_file import FRAME_KEYS, KINDS, STEPS
from puppet_edit.editor.constraints import EditConfig
from puppet_view.browser import view_command
import pytest

pytestmark = pytest.mark.ros

PAGE = (Path(__file__).resolve().parents[3] / 'doc/edit.md').read_text()
FILES = re.findall(r'```yaml\n(.*?)```', PAGE, re.DOTALL)
COMMANDS = [
    line.partition('#')[0].strip()
    for block in re.findall(r'```sh\n(.*?)```', PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ('walk', 'run', 'second'):
        write_bvh(walk(), tmp_path / f'{name}.bvh')
    (tmp_path / 'reach.yaml').write_text(FILES[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('puppet_clips.edit_pictures.INSTANTS', 1)
    return tmp_path


@pytest.mark.parametrize('text', FILES, ids=['example', 'names', 'tasks'])
def test_files_are_edited_by(run, folder, text):
    (folder / 'e.yaml').write_text(text)
    done = run('edit', 'walk.bvh', 'e.yaml', 'out.bvh')
    assert done.code == 0, done.err
    assert (folder / 'out.bvh').is_file()


def test_edit_commands_run(run, folder):
    (words,) = [shlex.split(line)[1:] for line in COMMANDS if line.startswith('./puppet edit ')]
    done = run(*words)
    assert done.code == 0, done.err
    assert 'not met' not in done.out
    assert all((folder / name).is_file() for name in ('report.json', 'strip.png'))


@pytest.mark.parametrize('line', [line for line in COMMANDS if ' view ' in line])
def test_view_commands_open_a_session(folder, line):
    arguments = view_command.parser().parse_args(shlex.split(line)[2:])
    session, clips = view_command.open_session(arguments)
    assert len(clips) == len(arguments.clips)
    assert session.path.name in ('walk_edit.yaml', 'reach.yaml')


def test_tables_name_all_there_is():
    options = {field.name for field in fields(EditConfig)} - {'joint_limits', 'body_height_m'}
    for name in (*options, *KINDS, *FRAME_KEYS, *STEPS):
        assert f'`{name}`' in PAGE or f'`{name}: ' in PAGE, name
