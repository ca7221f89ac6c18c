# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip as a program: help, and exit codes of runs that fail without the user's fault."""

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
    monkeypatch.chdir(tmp_path)
    shutil.copy(walk_bvh, 'walk.bvh')
    done = run(module.EXAMPLE.removeprefix('example: ./puppet '))
    assert done.code == 0, done.err
    assert {path.name for path in tmp_path.iterdir()} == {'walk.bvh', *files}


@pytest.mark.parametrize(
    ('error', 'code', 'says'),
    [
        (
            OSError(28, 'No space left on device', 'out.bvh'),
            1,
            'puppet retarget: out.bvh: No space',
        ),
        (
            RuntimeError('frame 3: expected a finite posture'),
            1,
            'puppet retarget: frame 3: expected',
        ),
        (
            ZeroDivisionError('our\nmistake'),
            1,
            'puppet retarget: ZeroDivisionError: our mistake (',
        ),
        (KeyboardInterrupt(), 130, 'puppet retarget: interrupted'),
    ],
    ids=['disk full', 'unusable outcome', 'mistake', 'interrupt'],
)
def test_failed_runs_say_why_in_one_line(run, walk_bvh, tmp_path, monkeypatch, error, code, says):
    """Exit code 1 for a failed run."""

    def fail(*_):
        raise error

    monkeypatch.setattr(command_retarget, 'write_bvh', fail)
    done = run('retarget', walk_bvh, tmp_path / 'out.bvh')
    assert done.code == code
    assert says in done.err.splitlines()[-1]
    assert not list(tmp_path.glob('*out*'))
