# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench enhance`: all conditions and methods, its tables, a clip for the truth."""

import json

from benchmarks import enhance, live_enhancement
import numpy as np
from PIL import Image
from puppet_core import named_files
from puppet_core.body import Motion
from puppet_core.clips import write_bvh
from puppet_performer.sensor_layout import load_layout


def _few(steps: Motion, rate_hz: float) -> Motion:
    few = slice(0, 24, 4)
    return Motion.from_rotations(
        steps.skeleton, rate_hz, steps.root_positions[few], steps.rotations[few]
    )


def test_fists_meet_in_truth_and_miss_each_other_as_measured(skeleton):
    fist = enhance.fist_motion(skeleton)
    gaps = fist.meeting.distances(fist.motion.end_effectors)
    assert np.allclose(gaps[fist.meetings], enhance.FIST_M, atol=1e-9)
    assert np.all(gaps >= enhance.FIST_M - 1e-9) and gaps.max() > 1.0
    measured = enhance.fist_take(fist, 1).motion.end_effectors[fist.meetings]
    assert np.max(np.abs(fist.meeting.distances(measured) - enhance.FIST_M)) > 0.01


def test_all_methods_are_compared_and_counted(steps):
    done: list[int] = []
    rows = enhance.study(_few(steps, 30.0), range(1), done.append)
    assert [row['condition'] for row in rows] == list(enhance.CONDITIONS)
    assert sum(done) == len(rows)
    for row in rows:
        assert all(
            {'end_effector_rms_mm', 'joint_rms_deg'} <= set(row[m]) for m in enhance.METHODS
        )
        assert row['online']['seeds_with_both_better'] == 1


def test_a_clip_is_the_truth(run, tmp_path, steps, monkeypatch):
    write_bvh(_few(steps, 30.0), tmp_path / 'truth.bvh')
    monkeypatch.setattr(enhance, 'fist_study', lambda *_: [])
    done = run('enhance', tmp_path / 'truth.bvh', '--seeds', '1', '--json', tmp_path / 'e.json')
    assert done.code == 0, done.err
    assert json.loads((tmp_path / 'e.json').read_text())['frames'] == 6


def test_prints_tables_and_writes_figures(run, tmp_path, steps, monkeypatch):
    made = enhance.fist_motion
    monkeypatch.setattr(enhance, 'WALK', (0, 24, 4))
    monkeypatch.setattr(enhance.clip_arguments, 'procedural_clip', lambda: steps)
    monkeypatch.setattr(enhance, 'fist_motion', lambda body: made(body, 20.0))
    done = run('enhance', '--seeds', '1', '--json', tmp_path / 'e.json')
    assert done.code == 0, done.err
    assert done.out.count('| online, exact |') == 5 and "| the paper's curve | " in done.out
    assert all(f'| {name} | ' in done.out for name in live_enhancement.CONDITIONS)
    figures = json.loads((tmp_path / 'e.json').read_text())
    assert list(figures) == ['seeds', 'frames', 'rate_hz', 'conditions', 'fists', 'live']


def test_figure_6_is_of_the_live_enhancement(run, skeleton, tmp_path, monkeypatch):
    """Without errors orientations alone give the truth; with them enhanced palms are nearer."""
    fist = enhance.fist_motion(skeleton, 20.0)
    layout = load_layout(named_files.layout_file(enhance.FIST_LAYOUT))
    with monkeypatch.context() as ideal:
        ideal.setattr(enhance, 'ASKEW', live_enhancement.SensorErrors())
        measured, postures = enhance.live_fists(fist, layout, 0)
    palms = fist.motion.end_effectors[:, :2]
    np.testing.assert_allclose(measured, palms, atol=1e-9)
    for motion in postures.values():
        np.testing.assert_allclose(motion.end_effectors[:, :2], palms, atol=2e-3)
    done = run('enhance', '--seeds', '3', '--figures', tmp_path)
    assert done.code == 0, done.err
    cells = [line.split('|')[1:-1] for line in done.out.splitlines()[2:5]]
    alone, _, enhanced = np.array([row[1:] for row in cells], dtype=float)
    assert (enhanced[:2] < 0.5 * alone[:2]).all() and enhanced[2] < alone[2]
    with Image.open(tmp_path / 'enhance_figure_6.png') as picture:
        assert picture.size == (1000, 720)


def test_fists_are_drawn_before_and_after(skeleton, performer, monkeypatch):
    drawn = {}
    monkeypatch.setattr(enhance, 'before_and_after', lambda *given: drawn.update(given=given))
    fist = enhance.fist_motion(skeleton, 20.0)
    enhance.fist_strip(fist, performer)
    _, (before, after), goals, frames = drawn['given']
    assert set(fist.meetings) < set(frames)
    apart = [
        np.linalg.norm(motion.end_effectors[frames, :2] - goals[frames, :2], axis=-1)
        for motion in (before, after)
    ]
    assert apart[0].max() > 0.02 and apart[1].max() < 1e-3


def test_no_seeds_are_refused(run):
    done = run('enhance', '--seeds', '0')
    assert done.code == 2 and '--seeds: expected 1 .. 1000, got 0' in done.err
