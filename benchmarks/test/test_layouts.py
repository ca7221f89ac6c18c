# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the layouts tell of known motions, and the table that says so."""

from pathlib import Path

from benchmarks.layouts import layout_errors
from puppet_core.body.posture import Motion
from puppet_performer.sensor_layout import load_layout
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FRAMES_OF_A_CLIP = 150  # a few short clips: `./puppet layouts CLIP` measures any


def _layout(name):
    return load_layout(REPOSITORY / f'data/layouts/{name}.yaml')


@pytest.mark.mocap
@pytest.mark.parametrize('name', ['02_01', '02_03', '03_01'])
def test_captured_joints_come_back_from_fourteen_sensors(captured, name):
    """Joint positions within 5 mm RMS through virtual sensors and back."""
    clip = captured(name)
    step = max(clip.n_frames // FRAMES_OF_A_CLIP, 1)
    motion = Motion.from_rotations(
        clip.skeleton, clip.rate_hz / step, clip.root_positions[::step], clip.rotations[::step]
    )
    error = layout_errors(motion, _layout('default14'))
    assert error.joints_m < 0.001
    assert error.ends_m < 0.001
    assert layout_errors(motion, _layout('six_point')).middles_m < 0.08


def test_example_runs_and_bad_input_is_refused(run, walk_bvh):
    done = run('layouts', walk_bvh, '--layouts', 'six_point,default14')
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 4
    for words, says in (
        (('--layouts', 'none'), 'layout: expected one of'),
        ((walk_bvh.with_name('no.bvh'),), 'no.bvh'),
    ):
        done = run('layouts', *words)
        assert done.code == 2
        assert says in done.err
        assert len(done.err.splitlines()) == 1
