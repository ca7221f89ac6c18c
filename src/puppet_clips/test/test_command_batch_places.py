# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip batch: files named from here, places that cannot be written, a look ahead."""

from collections.abc import Callable
from pathlib import Path

from puppet_clips.batch.task import Task
import pytest

pytestmark = pytest.mark.ros


def test_files_are_named_so_that_any_worker_finds_them(
    run: Callable, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Task] = []

    def note(tasks: list[Task], *_: object) -> None:
        given.extend(tasks)

    monkeypatch.setattr('puppet_clips.batch.command_batch.run_batch', note)
    monkeypatch.setattr('puppet_clips.batch.command_batch.warm_up', note)
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'cmu').touch()  # a file that has the name of a built-in map
    for names, markers in (('own.yaml', 'x/own.YML'), ('cmu', 'plug_in_gait')):
        given.clear()
        run('batch', library, 'out', '--name-map', names, '--markers', markers)
        reading = given[0].reading
        if names == 'cmu':
            assert (reading.name_map, reading.options.marker_set) == (names, markers)
        else:
            assert reading.name_map == str(tmp_path / names)
            assert reading.options.marker_set == str(tmp_path / markers)


@pytest.mark.parametrize('name', ['summary.csv', 'times.csv', 'failed.csv'])
def test_a_table_that_cannot_be_written_is_refused_first(
    run: Callable, library: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / 'out'
    (out / name).mkdir(parents=True)
    done = run('batch', library, out)
    assert done.code == 2 and f'OUT_DIR/{name}' in done.err and 'folder' in done.err
    assert list(out.iterdir()) == [out / name]


@pytest.mark.parametrize(
    'name',
    ['summary.csv', 'times.csv', 'failed.csv', '.batch/lock', '.batch', 'x/../.batch/a.csv'],
)
@pytest.mark.parametrize('option', ['--json', '--summary'])
def test_an_output_in_place_of_another_is_refused(
    run: Callable, library: Path, tmp_path: Path, option: str, name: str
) -> None:
    if option == '--summary' and not name.endswith('.csv'):
        name += '.csv' if '/' in name else '/a.csv'
    done = run('batch', library, tmp_path / 'out', option, tmp_path / 'out' / name)
    assert done.code == 2 and option in done.err and 'OUT_DIR/' in done.err
    assert not (tmp_path / 'out').exists()


def test_a_dry_run_takes_what_the_run_takes(run: Callable, library: Path, tmp_path: Path) -> None:
    (library / 'gone.bvh').symlink_to(tmp_path / 'nowhere.bvh')
    (library / 'pipe.bvh').symlink_to('/dev/null')
    done = run('batch', library, tmp_path / 'out', '--dry-run')
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line for line in lines if line.startswith('unreadable  gone.bvh: ')]
    assert [line for line in lines if line.startswith('unreadable  pipe.bvh: ')]
    assert '2 to do, 0 finished, 2 unreadable; nothing was written' in done.out
    assert not (tmp_path / 'out').exists()
