# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip retarget: files and report of good runs, and what follows from the geometry."""

from dataclasses import replace
import json
from pathlib import Path

import numpy as np
from puppet_core.body import Props, SEGMENT_INDEX
from puppet_core.body.character import load_character
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.clips import props_text
from puppet_core.clips.load import load_clip
from puppet_core.clips.options import ClipOptions
from puppet_core.procedural.carry import BOX_SIZE_M
from puppet_driver.emulator import cli as emulator
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob
from puppet_retarget.solvers.registry import SOLVER_NAMES
import pytest

pytestmark = pytest.mark.ros

CHARACTERS = Path(__file__).resolve().parents[3] / 'data/characters'
FILE_TOL_M = 1e-6  # what a BVH file's decimals lose over a chain of joints
SCHEMA = {
    'frames': None,
    'solver': None,
    'character': None,
    'ms_per_frame': {'median', 'p99', 'max'},
    'body_iterations': None,
    'planted_foot_slide_mm_s': {'performer', 'puppet', 'joint_angles_baseline'},
    'planted_impossible_share': None,
    'goal_error_mm': {'p50', 'p99', 'max'},
    'penetration_mm': {'environment_max'},
    'free_limb_deviation_deg_max': None,
    'limit_use': None,
    'leaping_frames': None,
    'flips': None,
    'whips': None,
    'snaps': None,
    'pops': None,
    'joint_jerk_ratio': {'median', 'worst'},
    'worst_joint': None,
    'joint_jerk_rad_s3': {'joint_angles', 'puppet'},
    'root_jerk_m_s3': {'performer', 'puppet'},
    'jerk_ratio': {'root', 'feet', 'hands', 'knees', 'elbows'},
    'surface_depth_mm': {'max', 'share_deeper_5_mm'},
    'self_contact_error_mm': None,
    'self_contact_impossible_share': None,
    'self_penetration_mm': None,
    'segment_direction_deg': None,
    'lying_height_mm': None,
}


def test_report_has_the_promised_keys(run, walk_bvh, tmp_path):
    """These keys and no others."""
    report = tmp_path / 'r.json'
    done = run('retarget', walk_bvh, tmp_path / 'out.bvh', '--report', report)
    assert done.code == 0, done.err
    figures = json.loads(report.read_text())
    assert list(figures) == list(SCHEMA)
    for key, inner in SCHEMA.items():
        assert inner is None or set(figures[key]) == inner
    first = [figures[key] for key in ('frames', 'solver', 'character')]
    assert first == [120, 'whole_body', 'blubby']


@pytest.mark.parametrize('solver', SOLVER_NAMES)
def test_written_clip_is_the_puppet(run, walk_bvh, walk, tmp_path, solver):
    """Y up, centimetres, joints named as our segments; read back it is the puppet."""
    out = tmp_path / 'out.bvh'
    done = run('retarget --character sally --solver', solver, walk_bvh, out)
    assert done.out.startswith(f'{out}: 120 frames of sally by {solver}; planted feet')
    text = out.read_text()
    assert all(f' {segment}\n' in text for segment in SEGMENTS)
    sally = load_character(CHARACTERS / 'sally.yaml')
    assert np.allclose(load_clip(out).skeleton.offsets, sally.skeleton.offsets, atol=FILE_TOL_M)
    environment = load_environment(CHARACTERS.parent / 'environments/floor.yaml')
    result = retarget_motion(walk, RetargetJob(sally, environment, solver))
    as_written = ClipOptions(correct=False)
    _, p_back = load_clip(out, options=as_written).world_segments()
    _, p_puppet = result.motion(sally, walk.rate_hz).world_segments()
    assert np.max(np.abs(p_back - p_puppet)) < FILE_TOL_M


def test_half_the_body_in_half_the_world_moves_half_as_far(run, walk_bvh, scaled_body, tmp_path):
    """World scale `auto` is the leg-length ratio."""
    outs = [tmp_path / f'{name}.bvh' for name in ('whole', 'half')]
    for out, factor in zip(outs, (1.0, 0.5)):
        run('retarget', walk_bvh, out, '--character', scaled_body(factor), '--world-scale', 'auto')
    whole, half = (load_clip(out).world_segments()[1] for out in outs)
    # weights are in units of length, so the bodies differ by half a millimetre
    assert np.max(np.abs(half - 0.5 * whole)) < 1e-3


def test_set_reaches_the_solver(run, walk_bvh, tmp_path):
    outs = [tmp_path / f'{k}.bvh' for k in range(2)]
    run('retarget', walk_bvh, outs[0])
    run('retarget', walk_bvh, outs[1], '--set', 'influence_distance_m=1e-3')
    feet = [load_clip(out).end_effectors[:, 2:4] for out in outs]
    assert np.max(np.abs(feet[1] - feet[0])) > 0.01


def test_an_object_follows_a_joint_of_the_clip_itself(run, walk, walk_bvh, tmp_path):
    """The end of the left hand, as a CSV of where it is has it; what is no joint is refused."""
    environment, table = tmp_path / 'ball.yaml', tmp_path / 'palm.csv'
    ball = '{name: ball, shape: sphere, radius_m: 0.1, position_m: [0.2, 0.0, 0.1], '
    ball += 'follows: {sensor: left_hand (end)}}'
    environment.write_text(f'format: puppet-environment/1\nobjects:\n- {ball}\n')
    q_hand = walk.world_segments()[0][:, [SEGMENT_INDEX['left_hand']]]
    palm = Props(('left_hand (end)',), walk.end_effectors[:, :1], q_hand)
    table.write_text(props_text(replace(walk, props=palm)))
    outs = [tmp_path / f'{k}.bvh' for k in range(3)]
    words = '--environment', environment, '--props'
    for out, options in zip(outs, ((*words, walk_bvh), (*words, table), ())):
        assert run('retarget', walk_bvh, out, *options).code == 0
    by_clip, by_table, without = (load_clip(out).end_effectors for out in outs)
    np.testing.assert_allclose(by_clip, by_table, atol=10.0 * FILE_TOL_M)
    assert np.abs(by_clip - without).max() > 0.01
    environment.write_text(environment.read_text().replace('left_hand', 'sword'))
    done = run('retarget', walk_bvh, outs[0], *words, walk_bvh)
    assert done.code == 2 and "'sword (end)', which ball follows, got pelvis, spine," in done.err


def test_a_clip_takes_the_box_of_its_props_file_along(run, tmp_path):
    clip, props, out = (tmp_path / name for name in ('carry.bvh', 'carry.csv', 'out.bvh'))
    assert emulator.main(['--script', 'carry', '--rate-hz', '30', '--export', str(clip)]) == 0
    words = ('retarget', clip, out, '--character', 'sally', '--environment', 'carry')
    assert run(*words, '--props', props).code == 0
    puppet, performer = load_clip(out), load_clip(clip)
    scale = load_character(CHARACTERS / 'sally.yaml').scale_for(performer.skeleton.leg_length)
    held = slice(9 * 30, 17 * 30)
    gaps = np.linalg.norm(np.diff(puppet.end_effectors[held, :2], axis=1), axis=2)
    np.testing.assert_allclose(gaps, scale * BOX_SIZE_M[1], atol=0.005)
    for wrong, says in (
        ((*words, '--props', tmp_path / 'no.csv'), 'no.csv: expected'),
        (('render', '--script', 'carry', '-o', 'x.png', '--props', props), '--props: expected'),
    ):
        done = run(*wrong)
        assert done.code == 2 and says in done.err
