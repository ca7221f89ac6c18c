# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip bench: a row for each run, as a table and as JSON, and what it refuses."""

from collections.abc import Callable
import json
from pathlib import Path
import shlex

from puppet_retarget.offline import command_bench
import pytest

pytestmark = pytest.mark.ros


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of a Markdown table, without head and rule."""
    lines = text.splitlines()[2:]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def test_every_combination_has_a_row(run: Callable, walk_bvh: Path) -> None:
    done = run(
        'bench', walk_bvh, '--characters', 'blubby,sally', '--solvers', 'joint_angles,position',
        '--presets', 'default,as_printed',
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = table_rows(done.out)
    assert [row[2:4] for row in rows] == [
        [character, solver + preset]
        for character in ('blubby', 'sally')
        for solver in ('joint_angles', 'position')
        for preset in ('', ', as_printed')
    ]
    assert {len(row) for row in rows} == {len(done.out.splitlines()[0].strip('|').split('|'))}


def test_json_has_the_same_rows_and_the_machine(
    run: Callable, walk_bvh: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'bench.json'
    run('bench', '--clip', walk_bvh, '--characters', 'sally', '--json', path)
    bench = json.loads(path.read_text())
    assert set(bench['machine']) == {'processor', 'cores', 'python', 'numba', 'numpy'}
    (row,) = bench['rows']
    assert (row['clip'], row['character'], row['preset']) == ('walk', 'sally', 'default')
    assert set(row['path_us']) == {'posture', 'importance', 'solver', 'total'}
    assert 0.0 < row['path_us']['total']['median'] <= row['path_us']['total']['max']


def test_folders_stand_for_their_clips(run: Callable, walk_bvh: Path, tmp_path: Path) -> None:
    for name in ('b/two.bvh', 'a.bvh', 'notes.txt'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(walk_bvh.read_bytes())
    done = run('bench', tmp_path, '--characters', 'sally', '--solvers', 'joint_angles')
    assert [row[0] for row in table_rows(done.out)] == ['a', 'two']


def test_built_in_performer_needs_no_clip(run: Callable) -> None:
    done = run('bench', '--characters', 'sally', '--solvers', 'joint_angles')
    assert done.code == 0, done.err
    assert [row[0] for row in table_rows(done.out)] == ['procedural']


def test_example_of_the_help_runs(
    run: Callable, walk_bvh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'walk.bvh').write_bytes(walk_bvh.read_bytes())
    done = run(*shlex.split(command_bench.EXAMPLE.removeprefix('example: ./puppet ')))
    assert done.code == 0, done.err
    assert (tmp_path / 'bench.json').is_file()


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('--solvers', 'ik'), "of importance_based, joint_angles, position, got 'ik'"),
        (('--characters', 'sally,nobody'), "or the path of a YAML file, got 'nobody'"),
        (('--characters', 'sally,,frog'), "expected names with commas between, got 'sally,,frog'"),
        (('--presets', 'best'), "preset: expected one of default, as_printed, got 'best'"),
        (('--layout', 'none'), 'layout: expected one of default14'),
        (('--json', '.'), '--json: expected a file name, got the folder'),
        (('--clip', 'absent.bvh'), 'absent.bvh: expected a readable BVH file'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_what_does_not_fit_is_refused(
    run: Callable, walk_bvh: Path, words: tuple[str, ...], says: str
) -> None:
    done = run('bench', walk_bvh, *words)
    assert done.code == 2
    assert says in done.err.splitlines()[-1]


def test_folder_without_clips_is_refused(run: Callable, tmp_path: Path) -> None:
    done = run('bench', tmp_path)
    assert done.code == 2
    assert 'expected a folder with .bvh or .amc files, got none' in done.err


@pytest.mark.mocap
def test_skeleton_is_found_beside_the_motion(run: Callable, mocap_dir: Path) -> None:
    clip = mocap_dir / 'cmu_asfamc' / '02_03.amc'
    done = run('bench', clip, '--characters', 'sally', '--solvers', 'joint_angles')
    assert done.code == 0, done.err
    assert table_rows(done.out)[0][:2] == ['02_03', '173']
