# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""view_clip as a program: it serves until interrupted, and refuses what it cannot show."""

import os
from pathlib import Path
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request

from edit_samples import walk
from puppet_core.clips.bvh import write_bvh
import pytest

pytest.importorskip('viser', reason='viser is not installed')
pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_view.browser import live_page, view_command  # noqa: E402,I100

pytestmark = pytest.mark.ros

EXIT_S = 300.0  # a first start compiles meanwhile
PROGRAM = 'import sys; from puppet_view.browser.view_command import main; sys.exit(main())'
EDIT = (
    'format: puppet-edit/1\nconstraints:\n'
    '  - {position: left_hand, frame: 30, move_m: [0, 0, 0.1]}\n'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_bvh(walk(), tmp_path / 'walk.bvh')
    (tmp_path / 'reach.yaml').write_text(EDIT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_serves_until_interrupted(folder):
    words = ['walk.bvh', 'walk.bvh', '--edit', 'reach.yaml', '--port', '0']
    with subprocess.Popen(
        [sys.executable, '-c', PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=dict(os.environ),
    ) as process:
        line = process.stdout.readline()
        assert line.startswith('open http://127.0.0.1:'), process.communicate(timeout=EXIT_S)
        with urllib.request.urlopen(line.split()[1], timeout=10) as answer:
            assert b'<html' in answer.read().lower()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=EXIT_S)
    assert process.returncode == 130 and 'Traceback' not in err, err
    assert (folder / 'reach.yaml').read_text() == EDIT


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        ('no.bvh', 'no.bvh: expected a readable'),
        ('walk.bvh --edit no.yaml', 'no.yaml: expected a readable file'),
        ('walk.bvh --write reach.yaml', "--write: expected a new file, got 'reach.yaml'"),
        ('walk.bvh --write x.txt', '--write: expected a .yaml file'),
        ('walk.bvh --edit reach.yaml --write sub/x.yaml', '--write: expected a file beside'),
        ('walk.bvh --port 70000', '--port: expected 0 .. 65535, got 70000'),
        ('walk.bvh ' * 9, 'FILE: expected at most 8, got 9'),
        ('walk.bvh --edit walk.bvh', 'walk.bvh'),
        ('walk.bvh --characters nobody', 'character: expected one of'),
        ('walk.bvh --characters sally --edit reach.yaml', '--edit, --write: expected clips'),
        (
            'walk.bvh --environment demo',
            '--environment, --world-scale, --set: expected --characters',
        ),
        ('walk.bvh --characters sally --set x=1', 'x: expected a known parameter'),
        ('no.mcap', 'no.mcap: expected a bag'),
    ],
)
def test_bad_input_is_named(folder, capsys, words, says):
    names = {path.name for path in folder.iterdir()}
    assert view_command.main(shlex.split(words)) == 2
    err = capsys.readouterr().err
    assert says in err and 'Traceback' not in err
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize('command', [view_command.main, live_page.main])
def test_a_port_that_is_taken_is_refused(folder, capsys, command):
    clips = ['walk.bvh'] * (command is view_command.main)
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        assert command([*clips, '--port', str(port)]) == 2
    assert f'--port: expected a free port, got {port}: ' in capsys.readouterr().err


def test_bad_edit_file_is_named_with_its_line(folder, capsys):
    # as it stands there, not as it would be written
    text = EDIT.replace('frame: 30', 'frame: 300').replace('constraints', '\nconstraints')
    (folder / 'bad.yaml').write_text(text)
    assert view_command.main(['walk.bvh', '--edit', 'bad.yaml']) == 2
    assert 'bad.yaml:4: constraints[0].frame: expected a frame 0 .. 59' in capsys.readouterr().err


def test_session_goes_on_with_a_file_and_writes_another(folder):
    arguments = view_command.parser().parse_args(
        ['walk.bvh', '--as-is', '--edit', 'reach.yaml', '--write', 'more.yaml']
    )
    session, clips = view_command.open_session(arguments)
    session.drag('head', 10, session.place('head', 10))
    session.save()
    assert [clip.name for clip in clips] == ['walk'] and len(session.entries) == 2
    assert (folder / 'reach.yaml').read_text() == EDIT
    again = view_command.parser().parse_args(['walk.bvh', '--as-is', '--edit', 'more.yaml'])
    assert len(view_command.open_session(again)[0].entries) == 2


def test_new_file_is_named_after_the_clip(folder):
    arguments = view_command.parser().parse_args(['walk.bvh'])
    assert view_command.open_session(arguments)[0].path == Path('walk_edit.yaml')
