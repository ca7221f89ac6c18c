# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip batch: restarts, failures kept apart, tables, and arguments that do not fit."""

import json
from pathlib import Path
import shutil
import sys

from batch_work import outputs, table
from puppet_clips.batch.batch_run import COLUMNS, FAILURES, TIMES
import pytest

pytestmark = pytest.mark.ros


@pytest.fixture
def batch(run):
    def call(*words):
        return run('batch', *words, '--workers', 1)

    return call


def test_outputs_and_figures_are_those_of_retarget(run, library, tmp_path):
    done = run('batch --json', tmp_path / 'b.json', library, tmp_path / 'out')
    assert done.code == 0 and '2 retargeted, 0 finished before' in done.out, done.err
    run('retarget', library / 'one.bvh', tmp_path / 'o.bvh', '--report', tmp_path / 'r.json')
    made = outputs(tmp_path / 'out')
    assert set(made) == {'blubby/one.bvh', 'blubby/a/two.bvh'}
    assert made['blubby/one.bvh'] == (tmp_path / 'o.bvh').read_bytes()
    report = json.loads((tmp_path / 'r.json').read_text())
    rows = table(tmp_path / 'out' / 'summary.csv')
    assert [row['clip'] for row in rows] == ['a/two.bvh', 'one.bvh']
    row = rows[1]
    assert tuple(row) == COLUMNS
    assert (row['status'], row['output'], row['frames']) == ('ok', 'blubby/one.bvh', '120')
    assert float(row['seconds']) == 1.0
    times = table(tmp_path / 'out' / 'times.csv')[1]
    assert tuple(times) == TIMES and float(times['time_s']) > 0.0
    slide = report['planted_foot_slide_mm_s']['puppet']
    assert float(row['planted_foot_slide_mm_s_puppet']) == slide
    for group in ('goal_error_mm', 'jerk_ratio', 'penetration_mm'):
        for key, value in report[group].items():
            assert float(row[f'{group}_{key}']) == value
    figures = json.loads((tmp_path / 'b.json').read_text())
    assert (figures['done'], figures['skipped'], figures['failed']) == (2, 0, 0)
    assert figures['frames'] == 240 and figures['frames_per_cpu_s'] > 0.0
    stages = {'hash', 'read', 'retarget', 'quality', 'write', 'other'}
    assert set(figures['cpu_us_per_frame']) == stages


def test_finished_clips_are_skipped(run, library, tmp_path):
    out = tmp_path / 'out'
    assert run('batch', library, out).code == 0
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob('*.bvh')}
    first = (out / 'summary.csv').read_bytes()
    again = run('batch', library, out, '--workers', 2)
    assert again.code == 0 and '0 retargeted, 2 finished before' in again.out
    assert {path: path.stat().st_mtime_ns for path in out.rglob('*.bvh')} == stamps
    assert (out / 'summary.csv').read_bytes() == first
    for words in ('--unit in', '--unit in --overwrite'):
        assert '2 retargeted' in run('batch', library, out, *words.split()).out


def test_only_what_is_not_right_is_done_again(batch, library, tmp_path):
    out = tmp_path / 'out'
    for name in ('new', 'short', 'gone'):
        shutil.copy(library / 'one.bvh', library / f'{name}.bvh')
    assert batch(library, out, '--glob', 'one.bvh').code == 0
    next(out.glob('.batch/records/*/*.json')).write_text('{"format": "pup')
    assert '4 retargeted' in batch(library, out, '--glob', '[!o]*.bvh').out
    clip, made = library / 'new.bvh', out / 'blubby'
    clip.write_text(clip.read_text().replace('Time: 0.00833', 'Time: 0.00834'))
    (made / 'short.bvh').write_bytes((made / 'short.bvh').read_bytes()[:-100])
    (made / 'gone.bvh').unlink()
    again = batch(library, out)
    assert '4 retargeted, 1 finished before' in again.out, again
    assert batch(library, tmp_path / 'fresh').code == 0
    assert outputs(out) == outputs(tmp_path / 'fresh')


def test_failed_clips_are_listed_and_the_rest_is_done(batch, library, tmp_path):
    read_table = pytest.importorskip('pyarrow.parquet', reason='pip install pyarrow').read_table
    (library / 'bad.bvh').write_text('HIERARCHY\nnonsense\n')
    (library / 'alone.amc').write_text(':FULLY-SPECIFIED\n:DEGREES\n1\n')
    out, path = tmp_path / 'out', tmp_path / 's.parquet'
    done = batch(library, out, '--summary', path)
    assert done.code == 1 and '2 of 4' in done.err and 'failed.csv' in done.err
    texts = table(out / 'summary.csv')
    for row, text in zip(read_table(path).to_pylist(), texts, strict=True):
        assert tuple(row) == COLUMNS
        assert {k: '' if v is None else str(v) for k, v in row.items()} == text
    failures = table(out / 'failed.csv')
    assert [tuple(row) for row in failures] == 2 * [FAILURES]
    reasons = {row['clip']: row['reason'] for row in failures}
    assert 'bad.bvh:2' in reasons['bad.bvh'] and '--asf' in reasons['alone.amc']
    assert set(outputs(out)) == {'blubby/one.bvh', 'blubby/a/two.bvh'}
    for name in ('bad.bvh', 'alone.amc'):
        (library / name).unlink()
    assert batch(library, out).code == 0
    assert not (out / 'failed.csv').exists()


def test_a_dry_run_writes_nothing(batch, library, tmp_path):
    out = tmp_path / 'out'
    (library / 'gone.bvh').symlink_to(tmp_path / 'nowhere.bvh')
    done = batch(library, out, '--dry-run')
    assert done.code == 0 and '2 to do, 0 finished, 1 unreadable' in done.out, done
    assert 'unreadable  gone.bvh: ' in done.out and not out.exists()
    assert batch(library, out, '--glob', 'one.bvh').code == 0
    done = batch(library, out, '--dry-run')
    assert '1 to do, 1 finished' in done.out and 'a/two.bvh -> blubby/a/two.bvh' in done.out


@pytest.mark.parametrize(
    'words, named',
    [
        (('--workers', '0'), '--workers'),
        (('--workers', '2', '--dask', 'tcp://127.0.0.1:1'), '--dask'),
        (('--character', 'nobody'), 'nobody'),
        (('--character', 'sally', 'sally'), 'twice'),
        (('--glob', '*.fbx'), '*.fbx'),
        (('--summary', 'x.xlsx'), '--summary'),
        (('--memory-gib', '0'), '--memory-gib'),
        (('--timeout', '-1'), '--timeout'),
        (('--memory-gib', '1', '--dask', 'tcp://127.0.0.1:1'), '--memory-gib'),
    ],
)
def test_arguments_that_do_not_fit_are_named(run, library, tmp_path, words, named):
    done = run('batch', library, tmp_path / 'out', *words)
    assert done.code == 2 and named in done.err and len(done.err.splitlines()) == 1
    assert not (tmp_path / 'out').exists()


def test_files_are_named_so_that_any_worker_finds_them(run, library, tmp_path, monkeypatch):
    given = []

    def note(tasks, *_):
        given.extend(tasks)

    monkeypatch.setattr('puppet_clips.batch.batch_run.run_batch', note)
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


def test_a_table_that_cannot_be_written_is_refused_first(run, library, tmp_path):
    out, name = tmp_path / 'out', 'times.csv'
    (out / name).mkdir(parents=True)
    done = run('batch', library, out)
    assert done.code == 2 and f'OUT_DIR/{name}' in done.err and 'folder' in done.err
    assert list(out.iterdir()) == [out / name]


@pytest.mark.parametrize('name', ['summary.csv', '.batch/lock', 'x/../.batch/a.csv'])
@pytest.mark.parametrize('option', ['--json', '--summary'])
def test_an_output_in_place_of_another_is_refused(run, library, tmp_path, option, name):
    if option == '--summary' and not name.endswith('.csv'):
        name += '.csv' if '/' in name else '/a.csv'
    done = run('batch', library, tmp_path / 'out', option, tmp_path / 'out' / name)
    assert done.code == 2 and option in done.err and 'OUT_DIR/' in done.err
    assert not (tmp_path / 'out').exists()


def test_missing_packages_are_named(run, library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    monkeypatch.setitem(sys.modules, 'pyarrow.parquet', None)
    done = run('batch', library, tmp_path / 'out', '--dask', 'tcp://127.0.0.1:1')
    assert done.code == 2 and 'pip install distributed' in done.err
    done = run('batch', library, tmp_path / 'out', '--summary', tmp_path / 'x.parquet')
    assert done.code == 2 and 'pip install pyarrow' in done.err


def test_clips_and_bags_of_all_kinds_are_done(run, library, tmp_path, mocap_dir):
    for name in ('02.asf', '02_03.amc'):
        shutil.copy(mocap_dir / 'cmu_asfamc' / name, library / name)
    assert run('retarget', library / 'one.bvh', library / 'take.mcap').code == 0
    (library / 'noise.mcap').write_bytes(b'no bag')
    out = tmp_path / 'out'
    done = run('batch', library, out, '--workers', 1)
    assert done.code == 1 and '1 of 5' in done.err, done.err
    assert [row['clip'] for row in table(out / 'failed.csv')] == ['noise.mcap']
    names = ('02_03', 'a/two', 'one', 'take')
    assert set(outputs(out)) == {f'blubby/{name}.bvh' for name in names}
    for name in ('02_03.amc', 'take.mcap'):
        words = ('--asf', library / '02.asf') if name.endswith('amc') else ()
        assert run('retarget', library / name, tmp_path / 'x.bvh', *words).code == 0
        made = out / 'blubby' / Path(name).with_suffix('.bvh')
        assert made.read_bytes() == (tmp_path / 'x.bvh').read_bytes()
    assert '4 finished before' in run('batch', library, out, '--workers', 1).err


def test_of_a_folder_only_the_files_of_the_bag_count(run, batch, library, tmp_path):
    bags = pytest.importorskip('puppet_ros.bags')
    bag, words = library / 'take', (library, tmp_path / 'out', '--glob', 'take')
    bag.mkdir()
    assert run('retarget', library / 'one.bvh', bag / 'take_0.mcap').code == 0
    (bag / 'metadata.yaml').write_text(bags.metadata_file_of([], 0, 1, 'take_0.mcap'))
    assert '1 retargeted' in batch(*words).out
    (bag / 'thumbnail.png').write_text('2')
    assert '1 finished before' in batch(*words).out
    with open(bag / 'metadata.yaml', 'a', encoding='utf-8') as file:
        file.write('# a remark\n')
    assert '1 retargeted' in batch(*words).out
