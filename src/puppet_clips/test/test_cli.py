# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip as a program: help, and runs that fail without the user's fault."""

import shutil

from puppet_clips import cli, command_retarget
from puppet_view.render import command_render
import pytest

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('word', list(cli.SUBCOMMANDS))
def test_help_ends_with_an_example(word, capsys):
    """That the examples run is tested with each command."""
    with pytest.raises(SystemExit) as ended:
        cli.main([word, '--help'])
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f'example: ./puppet {word} ')


@pytest.mark.parametrize(
    ('module', 'files'),
    [(command_retarget, {'out.bvh', 'report.json'}), (command_render, {'walk.png'})],
)
def test_example_of_the_help_runs(run, walk_bvh, tmp_path, monkeypatch, module, files):
    monkeypatch.setattr(command_render, 'PICTURE_PX', 400)
    monkeypatch.chdir(tmp_path)
    shutil.copy(walk_bvh, 'walk.bvh')
    done = run(module.EXAMPLE.removeprefix('example: ./puppet '))
    assert done.code == 0, done.err
    assert {path.name for path in tmp_path.iterdir()} == {'walk.bvh', *files}


@pytest.mark.parametrize(
    ('error', 'code'), [(OSError(28, 'No space left'), 1), (KeyboardInterrupt(), 130)]
)
def test_failed_run_leaves_no_file(run, walk_bvh, tmp_path, monkeypatch, error, code):
    def fail(*_):
        raise error

    monkeypatch.setattr(command_retarget, 'write_bytes', fail)
    done = run('retarget', walk_bvh, tmp_path / 'out.bvh')
    assert done.code == code and done.err.splitlines()[-1].startswith('puppet retarget: ')
    assert not list(tmp_path.glob('*out*'))
