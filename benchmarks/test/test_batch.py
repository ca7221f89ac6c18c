# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet bench batch: its figures belong together, and bad arguments are named."""

import json

import pytest

pytestmark = pytest.mark.ros


def test_the_table_and_the_figures_say_the_same(run, walk_bvh, tmp_path):
    path = tmp_path / 'b.json'
    words = ('--copies', 3, '--rounds', 1, '--json', path)
    done = run('batch', walk_bvh, *words)
    assert done.code == 0, done.err
    one, two = json.loads(path.read_text())
    assert (one['workers'], two['workers']) == (1, 2)
    for passed in (one, two):
        assert (passed['done'], passed['frames']) == (3, 360)
        together = sum(passed['cpu_us_per_frame'].values())
        assert passed['frames_per_cpu_s'] == pytest.approx(1e6 / together)
        assert min(passed['cpu_us_per_frame'].values()) >= 0.0
        assert f'{passed["frames_per_cpu_s"]:.0f} |' in done.out
    ratio = two['frames_per_cpu_s'] / one['frames_per_cpu_s']
    assert f'efficiency {ratio:.2f} of core time' in done.out


@pytest.mark.parametrize(
    'words, named',
    [
        (('--copies', '0'), '--copies'),
        (('--workers', '1'), '--workers'),
        (('--rounds', '0'), '--rounds'),
        (('walk.fbx',), 'CLIP'),
        (('gone.bvh',), 'gone.bvh'),
        (('--character', 'nobody'), 'nobody'),
    ],
)
def test_arguments_that_do_not_fit_are_named(run, words, named):
    done = run('batch', *words)
    assert done.code == 2 and named in done.err and len(done.err.splitlines()) == 1
