# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which clips go where: the tree is kept, nothing is written twice or over a clip."""

from dataclasses import replace

from body_fixtures import floor_only
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.task import Reading
from puppet_core.io import ConfigError
from puppet_retarget.offline.whole_motion import RetargetJob
import pytest

FILES = (
    'walk.bvh',
    'a/b/run.BVH',
    'a/02.asf',
    'a/02_01.amc',
    'a/note.txt',
    'c/jump.c3d',
    '.hidden.bvh',
    '.git/x.bvh',
)
CLIPS = ['a/02_01.amc', 'a/b/run.BVH', 'c/jump.c3d', 'walk.bvh']


@pytest.fixture
def clips(tmp_path):
    for name in FILES:
        path = tmp_path / 'in' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / 'in'


@pytest.fixture
def job(performer):
    return RetargetJob(performer, floor_only())


@pytest.mark.parametrize(
    'patterns, wanted',
    [
        ([], CLIPS),
        (['*.bvh'], ['walk.bvh']),
        (['*.amc', 'walk.*'], ['a/02_01.amc', 'walk.bvh']),
        (['a/*'], ['a/02_01.amc', 'a/b/run.BVH']),
    ],
)
def test_patterns_are_of_names_or_of_paths(clips, tmp_path, patterns, wanted):
    (clips / 'a' / 'loop').symlink_to(clips)  # links to folders are not followed
    assert find_clips(clips, tmp_path / 'out', patterns) == wanted


def test_outputs_below_the_input_are_no_clips(clips, tmp_path):
    out, other = clips / 'a' / 'out', clips / 'a' / 'other'
    (other / '.batch').mkdir(parents=True)
    for folder in (out, other):
        (folder / 'sally').mkdir(parents=True)
        (folder / 'sally' / 'walk.bvh').touch()
    assert find_clips(clips, out) == CLIPS
    assert find_clips(other, tmp_path / 'out') == ['sally/walk.bvh']  # asked for by its name


def test_the_tree_is_kept_for_each_character(clips, tmp_path, job):
    other = replace(job, character=replace(job.character, name='other'))
    tasks = make_tasks(clips, tmp_path / 'out', CLIPS, [job, other], Reading())
    assert [task.out_name for task in tasks] == [
        f'{character}/{name}.bvh'
        for name in ('a/02_01', 'a/b/run', 'c/jump', 'walk')
        for character in (job.character.name, 'other')
    ]
    assert [task.number for task in tasks] == list(range(8))


def test_a_skeleton_is_given_or_found_beside_its_motion(clips, tmp_path, job):
    for asf in (None, tmp_path / 'own.asf'):
        tasks = make_tasks(clips, tmp_path / 'out', CLIPS, [job], Reading(), asf)
        assert [task.asf for task in tasks] == [asf or clips / 'a/02.asf', None, None, None]


@pytest.mark.parametrize(
    ('case', 'match'),
    [
        ('one output', r'walk\.bvh and walk\.c3d'),
        ('link to clips', 'which is a clip'),
        ('folder', r'a/x\.amc, whose output .* is a folder of other outputs'),
    ],
)
def test_outputs_that_clash_are_refused(clips, tmp_path, job, case, match):
    out = tmp_path / 'out'
    if case == 'one output':
        (clips / 'walk.c3d').touch()
    elif case == 'folder':
        (clips / 'walk.bvh').rename(clips / 'a' / 'x.amc')
        (clips / 'a' / 'x.bvh').mkdir()
        (clips / 'a' / 'x.bvh' / 'y.bvh').touch()
    else:
        out.mkdir()
        (out / job.character.name).symlink_to(clips)
    with pytest.raises(ConfigError, match=match):
        make_tasks(clips, out, find_clips(clips, out), [job], Reading())


def test_bags_are_files_or_folders(clips, tmp_path, job):
    (clips / 'one.mcap').touch()
    (clips / 'rec').mkdir()
    for name in ('metadata.yaml', 'rec_0.mcap', 'rec_1.mcap'):
        (clips / 'rec' / name).touch()
    names = find_clips(clips, tmp_path / 'out')
    assert set(names) - set(CLIPS) == {'one.mcap', 'rec'}
    tasks = make_tasks(clips, tmp_path / 'out', ['one.mcap', 'rec'], [job], Reading())
    assert [task.out_name.partition('/')[2] for task in tasks] == ['one.bvh', 'rec.bvh']


@pytest.mark.parametrize('name', ['', 'a/b', '..', '/x', '.batch', 'summary.csv'])
def test_names_that_are_no_folder_are_refused(clips, tmp_path, job, name):
    odd = replace(job, character=replace(job.character, name=name))
    with pytest.raises(ConfigError, match='--character'):
        make_tasks(clips, tmp_path / 'out', CLIPS, [odd], Reading())


def test_arguments_that_do_not_fit_are_refused(clips, tmp_path, job):
    with pytest.raises(ConfigError, match='twice'):
        make_tasks(clips, tmp_path / 'out', CLIPS, [job, job], Reading())
    with pytest.raises(ConfigError, match='OUT_DIR'):
        find_clips(clips, clips / '..' / 'in')
    with pytest.raises(ConfigError, match=r'\*\.fbx'):
        find_clips(clips, tmp_path / 'out', ['*.fbx'])
    with pytest.raises(ConfigError, match='expected a folder'):
        find_clips(clips / 'walk.bvh', tmp_path / 'out')
