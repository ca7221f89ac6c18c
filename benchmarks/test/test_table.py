# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Puppets at a table: palms lie on it as flat as their performer's, elbows lean on it."""

import numpy as np
from puppet_core.body import Motion
from puppet_core.body.character import load_character
from puppet_core.math import quaternions
from puppet_core.procedural import SCRIPTS
from puppet_retarget.importance import IMPORTANCE, load_environment
from puppet_retarget.offline import retarget_motion, RetargetJob
from puppet_retarget.offline.motion_report import report
import pytest

RATE_HZ = 60.0
ELBOW_M = 0.07  # of a joint above what it leans on
HANDS, ELBOWS = (6, 9), slice(4, 6)


@pytest.fixture(scope='module')
def stage(characters_dir):
    return load_environment(characters_dir.parent / 'environments' / 'demo.yaml')


@pytest.mark.parametrize('name', ['sally', 'blubby', 'frog'])
def test_palm_lies_on_a_table_as_flat_as_the_performers(performer, stage, characters_dir, name):
    motion = SCRIPTS['show'].motion(performer, RATE_HZ)
    job = RetargetJob(load_character(characters_dir / f'{name}.yaml'), stage)
    result = retarget_motion(motion, job)
    backs, puppets = (
        quaternions.rotate(q[:, HANDS], np.array([0.0, 0.0, 1.0]))
        for q in (motion.world_segments()[0], result.q_world)
    )
    lies = (result.rows[:, :2, IMPORTANCE] > 0.99) & (backs[..., 2] > 0.999)
    assert (lies.sum(axis=0) > RATE_HZ).all()
    cosines = np.sum(backs * puppets, axis=2)[lies]
    # orientation is a soft wish beside the place
    assert np.degrees(np.arccos(cosines.min().clip(max=1.0))) < 18.0
    assert result.goal_errors[:, :2][result.rows[:, :2, IMPORTANCE] > 0.9999].max() < 4e-3


BAR = """format: puppet-environment/1
objects:
  - {{name: floor, shape: plane}}
  - name: bar
    shape: box
    position_m: [0.69, 0.0, {0}]
    size_m: [0.9, 1.6, {1}]
    influence_distance_m: {{left_elbow: {2}, right_elbow: {2}}}
"""


def leaning(skeleton):
    """Return who bends over a table, chin on hands, and comes up again; 4 s."""
    n = round(4.0 * RATE_HZ)
    phase = 0.8 * np.pi * np.arange(n) / RATE_HZ
    bend = 0.25 - 0.12 * np.cos(phase)
    turns = np.zeros((n, 16, 3))
    turns[:, 1, 1], turns[:, 2, 1] = bend, 0.1
    rotations = quaternions.exp(turns)
    ahead = quaternions.exp(np.multiply.outer(-bend - 0.9, [0.0, 1.0, 0.0]))
    for start, mirror in ((4, -1.0), (7, 1.0)):
        hanging = quaternions.exp(np.array([1.45 * mirror, 0.0, 0.0]))
        rotations[:, start] = quaternions.multiply(ahead, hanging)
        rotations[:, start + 1] = quaternions.exp(np.array([0.0, 0.0, 2.0 * mirror]))
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    return Motion.from_rotations(skeleton, RATE_HZ, roots, rotations)


@pytest.mark.parametrize('name', ['sally', 'blubby', 'frog'])
def test_elbows_lean_on_a_table(performer, characters_dir, tmp_path, name):
    motion, puppet = leaning(performer.skeleton), load_character(characters_dir / f'{name}.yaml')
    scale = puppet.scale_for(performer.skeleton.leg_length)
    top = motion.end_effectors[:, ELBOWS, 2].min() - ELBOW_M
    misses = []  # of elbows, up or down, as if the puppet were as large [m]
    for influence_m in (1e-9, 0.2):
        (tmp_path / 'bar.yaml').write_text(BAR.format(0.5 * top, top, influence_m))
        job = RetargetJob(puppet, load_environment(tmp_path / 'bar.yaml'))
        result = retarget_motion(motion, job)
        heights = result.puppet.end_effectors[:, ELBOWS, 2] - scale * top
        misses.append(heights / scale - motion.end_effectors[:, ELBOWS, 2] + top)
    important = result.joint_importances[:, :2] > 0.99
    assert (important.sum(axis=0) > RATE_HZ).all()
    assert heights[important].min() > 0.0
    without, with_them = (np.abs(m[important]).max() for m in misses)
    assert with_them < min(0.5 * without, 0.07)
    figures = report(motion, job, result)
    assert figures['flips'] == figures['whips'] == 0
