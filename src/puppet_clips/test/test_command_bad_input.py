# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input of puppet_clip: one clear line, exit code 2, nothing written, never a traceback."""

import re

import pytest

pytestmark = pytest.mark.ros

FLOOR = 'format: puppet-environment/1\nobjects:\n  - {name: floor, shape: plane}\n'


@pytest.fixture
def refused(run, tmp_path):
    def call(*words):
        before = sorted(tmp_path.rglob('*'))
        done = run(*words)
        assert done.code == 2, done
        assert done.out == ''
        assert len(done.err.splitlines()) == 1, done.err
        assert sorted(tmp_path.rglob('*')) == before
        return done.err

    return call


@pytest.fixture
def out(tmp_path):
    return tmp_path / 'out.bvh'


def test_broken_files_are_named_with_their_line(refused, walk_bvh, scaled_body, tmp_path, out):
    stump, scene = tmp_path / 'stump.yaml', tmp_path / 'scene.yaml'
    zero = re.sub(
        r'left_shank: \[.*\]', 'left_shank: [0.0, 0.0, 0.0]', scaled_body(1.0).read_text()
    )
    stump.write_text(zero)
    says = refused('retarget', walk_bvh, out, '--character', stump)
    assert re.search(r'stump\.yaml:\d+: .*left_shank.*expected', says)
    scene.write_text(FLOOR.replace('plane', 'torus'))
    says = refused('retarget', walk_bvh, out, '--environment', scene)
    assert re.search(r"scene\.yaml:3: .*shape: expected .*plane.*got 'torus'", says)


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('--character', 'nobody'), 'expected one of blubby, frog, performer, sally'),
        (('--environment', 'moon'), 'expected one of carry, demo, floor'),
        (('--solver', 'ik'), 'whole_body'),
        (('--world-scale', '-1'), "expected auto or 0 < value <= 100, got '-1'"),
        (('--set', 'rate_k1=7'), 'rate_k1: expected 0.0 < value <= 1.9, got 7.0'),
        (('--set', 'softness=0.1'), 'known: contact_margin_m'),
        (('--set', 'solver=position'), 'it has an option'),
        (('--unit-m', '0'), 'unit_m: expected'),
        (('--asf', 'x.asf'), 'asf: expected none with a .bvh file'),
        (('--no-such',), 'unrecognized arguments: --no-such; see ./puppet'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_arguments_are_refused_by_name(refused, walk_bvh, out, words, says):
    assert says in refused('retarget', walk_bvh, out, *words)


@pytest.mark.parametrize(
    ('name', 'says'),
    [
        ('absent.bvh', 'absent.bvh: expected a readable BVH file, got No such file'),
        ('broken.bvh', "broken.bvh:1: HIERARCHY: expected 'HIERARCHY', got"),
        ('walk.dae', 'walk.dae: expected a .bvh or .amc or .c3d or'),
        ('walk.mcap', 'walk.mcap: expected an MCAP file, got other bytes'),
        ('walk.amc', 'expected the .asf skeleton of this motion, got none; name it with --asf'),
        ('.', 'expected a .bvh or .amc or .c3d or .glb'),
    ],
)
def test_clips_of_no_use_are_named(refused, tmp_path, out, name, says):
    if name not in ('absent.bvh', '.'):
        (tmp_path / name).write_text('something\n')
    assert says in refused('retarget', tmp_path / name, out)


@pytest.mark.parametrize(
    ('name', 'says'),
    [
        ('out.fbx', 'OUT: expected a .bvh or .npz or .csv or .pkl or .mcap file'),
        ('plain/out.bvh', 'OUT: expected a writable folder'),
        ('folder.bvh', 'got the folder'),
        ('walk.bvh', 'OUT: expected a file other than IN'),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_work(
    refused, walk_bvh, tmp_path, name, says
):
    (tmp_path / 'plain').write_text('a file where a folder should be\n')
    (tmp_path / 'folder.bvh').mkdir()
    clip = tmp_path / 'walk.bvh'
    clip.write_bytes(walk_bvh.read_bytes())
    assert says in refused('retarget', clip, tmp_path / name)
    told = refused('retarget', clip, tmp_path / 'o.bvh', '--report', tmp_path)
    assert '--report: expected a file name, got the folder' in told


@pytest.mark.parametrize('words', [(), ('retarget',), ('dance',), ('retarget', 'a.bvh')])
def test_missing_arguments_are_named(refused, words):
    assert 'see ./puppet' in refused(*words)
