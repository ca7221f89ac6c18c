# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/edit.md: its files, commands and tables are what the editor takes."""

from dataclasses import fields
from pathlib import Path
import re
import shlex
import shutil

from puppet_clips.cli import main
from puppet_edit import command_edit
from puppet_edit.edit_file import FRAME_KEYS, KINDS, STEPS
from puppet_edit.editor.constraints import EditConfig
from puppet_view.browser import view_command
import pytest
from source_tree import ROOT

pytestmark = pytest.mark.ros

SAMPLE = ROOT / 'data/clips/walk.bvh'
PAGE = (ROOT / 'doc/edit.md').read_text()
FILES = re.findall(r'```yaml\n(format: puppet-edit/.*?)```', PAGE, re.DOTALL)
VIEWS = re.findall(r'^\./puppet view ([^#\n]*)', PAGE, re.MULTILINE)


def test_the_example_is_the_file_that_ships():
    assert (SAMPLE.parent / 'reach.yaml').read_text().endswith(FILES[0])


@pytest.mark.parametrize('text', FILES, ids=['example', 'names', 'tasks'])
def test_files_of_the_page_are_met_on_the_sample(
    checkout_installed, outcome, tmp_path, monkeypatch, text
):
    monkeypatch.chdir(tmp_path)
    Path('e.yaml').write_text(text)
    shutil.copy(SAMPLE, 'second.bvh')
    done = outcome(main, 'edit', SAMPLE, 'e.yaml', 'out.bvh')
    assert done.code == 0, done.err
    assert Path('out.bvh').is_file()


@pytest.mark.parametrize('line', VIEWS)
def test_view_commands_of_the_page_open_a_session(monkeypatch, line):
    monkeypatch.chdir(ROOT)
    arguments = view_command.parser().parse_args(shlex.split(line))
    session, clips = view_command.open_session(arguments)
    assert len(clips) == len(arguments.clips)
    assert session.path.name in ('walk_edit.yaml', 'reach.yaml')


def test_tables_of_the_page_name_all_there_is():
    options = {field.name for field in fields(EditConfig)} - {'joint_limits', 'body_height_m'}
    for name in (*options, *KINDS, *FRAME_KEYS, *STEPS):
        assert f'`{name}`' in PAGE or f'`{name}: ' in PAGE, name
    assert command_edit.EXAMPLE.removeprefix('example: ') in PAGE.replace('data/clips/', '')
