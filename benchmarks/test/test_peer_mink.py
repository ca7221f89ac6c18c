# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The peer on mink and MuJoCo: its model moves as ours, and it reaches what can be reached."""

from importlib import import_module

from benchmarks.quality.peer_mjcf import mjcf_text, site_name
from body_fixtures import floor_only
import numpy as np
from puppet_core.body import (
    END_EFFECTORS,
    general_end_effectors,
    load_character,
    Motion,
    SEGMENTS,
    world_segments,
)
from puppet_core.math import quaternions
from puppet_retarget.offline import retarget_motion, RetargetJob
import pytest

pytest.importorskip('mink', reason='mink is not installed')
mujoco = pytest.importorskip('mujoco', reason='mujoco is not installed')
MinkSolver = import_module('benchmarks.quality.peer_mink').MinkSolver


@pytest.mark.parametrize('name', ['sally', 'blubby'])
def test_mujoco_moves_the_model_as_our_kinematics(name, data_dir):
    skeleton = load_character(data_dir / f'characters/{name}.yaml').skeleton
    rng = np.random.default_rng(20)
    rotations = quaternions.normalize(rng.normal(size=(50, 16, 4)))
    roots = rng.uniform(-2.0, 2.0, (50, 3))
    q_world, p_world = world_segments(skeleton, roots, rotations)
    points = general_end_effectors(skeleton, q_world, p_world)
    model = mujoco.MjModel.from_xml_string(mjcf_text(skeleton, name))
    data = mujoco.MjData(model)
    bodies = [model.body(segment).id for segment in SEGMENTS]
    sites = [model.site(site_name(end)).id for end in END_EFFECTORS]
    for i in range(len(roots)):
        data.qpos[:3], data.qpos[3:] = roots[i], rotations[i].ravel()
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(data.xpos[bodies], p_world[i], atol=1e-9)
        np.testing.assert_allclose(data.site_xpos[sites], points[i, :4], atol=1e-9)
        along = np.sum(data.xquat[bodies] * q_world[i], axis=1)
        np.testing.assert_allclose(np.abs(along), 1.0, atol=1e-9)


def test_a_body_of_the_performers_size_takes_its_pose(steps, performer):
    job = RetargetJob(performer, floor_only(), 'mink')
    result = retarget_motion(steps, job, solver=MinkSolver(job, steps.skeleton))
    q_world, p_world = steps.world_segments()
    np.testing.assert_allclose(result.p_world, p_world, atol=1e-4)
    turn = quaternions.multiply(quaternions.conjugate(q_world), result.q_world)
    assert np.degrees(np.linalg.norm(quaternions.log(turn), axis=-1)).max() < 0.1


def test_feet_of_other_legs_are_near_their_targets(steps, data_dir):
    sally = load_character(data_dir / 'characters/sally.yaml')
    job = RetargetJob(sally, floor_only(), 'mink')
    result = retarget_motion(steps, job, solver=MinkSolver(job, steps.skeleton))
    missed = np.linalg.norm(result.puppet.end_effectors - steps.end_effectors, axis=-1)
    assert missed[:, 2:4].max() < 0.02
    copied = RetargetJob(sally, floor_only(), 'joint_angles')
    assert missed[:, 2:4].max() < 0.1 * copied_miss(steps, copied)


def copied_miss(steps: Motion, job: RetargetJob) -> float:
    """Return how far the soles are off with copied angles at most [m]."""
    ends = retarget_motion(steps, job).puppet.end_effectors
    return float(np.linalg.norm(ends - steps.end_effectors, axis=-1)[:, 2:4].max())


@pytest.mark.ros
def test_bench_shows_the_peer_beside_ours(run, walk_bvh):
    done = run(
        'quality',
        walk_bvh,
        '--characters',
        'sally',
        '--solvers',
        'joint_angles',
        '--peers',
        'mink',
    )
    assert done.code == 0, done.err
    runs, beside = done.out.split('\n\n')[0], done.out.split('\n\n')[-2]
    assert [line.split(' | ')[3] for line in runs.splitlines()[2:]] == ['joint_angles', 'mink']
    lines = [line.strip('| ').split(' | ')[:2] for line in beside.splitlines()[2:]]
    assert lines == [['sally', 'joint_angles'], ['sally', 'mink']]
