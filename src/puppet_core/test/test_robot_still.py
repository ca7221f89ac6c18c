# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Robots that cannot do what is asked: they come to rest where they are best, and stay there."""

import re

import numpy as np
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.robots.joints import RobotJoints
from puppet_core.robots.reach import bounded_step
import pytest
from scipy.optimize import lsq_linear
from urdf_make import five_axis_arms, seven_axis_arms
from urdf_walk import HUMANOID

STILL_M, STILL_RAD = 1e-4, 2e-3
FRAMES = 300


def bent_knees():
    text = HUMANOID.read_text()
    for side in ('left', 'right'):
        old = re.search(rf'<joint name="{side}_knee".*?</joint>', text, re.S).group()
        text = text.replace(old, old.replace('lower="0.0"', 'lower="0.12"'))
    return text


def stand(character, frames, arms=0.0):
    """Return what comes of standing upright, arms lowered: angles, ends, orientations, ask."""
    joints = RobotJoints(character.robot, character.skeleton)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
    for name, sign in (('left_upper_arm', -1.0), ('right_upper_arm', 1.0)):
        rotations[SEGMENT_INDEX[name]] = qb.exp(np.array([sign * arms, 0.0, 0.0]))
    root = np.array([0.0, 0.0, character.skeleton.rest_root_height])
    q, p = world_segments(character.skeleton, root[None], rotations[None])
    asked = general_end_effectors(character.skeleton, q, p)[0]
    rows = []
    for _ in range(frames):
        q_world, ends = q[0].copy(), asked.copy()
        angles = joints.step(root, rotations.copy(), q_world, p[0].copy(), ends)
        rows.append((angles.copy(), ends, q_world))
    return *(np.array(values) for values in zip(*rows)), asked


@pytest.mark.parametrize(
    'text, limbs',
    [
        (bent_knees(), [2, 3]),
        (seven_axis_arms().text(), [0, 1, 2, 3]),
        (seven_axis_arms(-0.4).text(), [2, 3]),
        (five_axis_arms().text(), [2, 3]),
    ],
    ids=['knees', 'elbows', 'elbows bent far', 'five axes'],
)
@pytest.mark.parametrize('arms', [0.0, 1.3])
def test_what_is_asked_for_without_change_is_answered_without_change(made, text, limbs, arms):
    """Of joints that do not get straight too: a limit that is in the way is no reason to drift."""
    angles, ends, _, asked = stand(made(text).character, FRAMES, arms)
    assert np.abs(ends - ends[0]).max() < STILL_M
    assert np.abs(angles - angles[0]).max() < STILL_RAD
    off = np.linalg.norm(ends[-1] - asked, axis=1)
    assert off[limbs].max() < 0.005


def test_no_arm_is_rolled_over_for_millimetres(made):
    """A shoulder that stops 14 degrees before the T-pose costs the arm little more than those."""
    character = made(five_axis_arms().text()).character
    _, ends, q_world, asked = stand(character, 2)
    off = np.degrees(np.linalg.norm(qb.log(q_world[-1]), axis=1))
    assert off[LIMB_SEGMENTS[:2, :2]].max() < 30.0
    assert np.linalg.norm(ends[-1] - asked, axis=1)[:2].max() < 0.05


@pytest.mark.parametrize('count', [1, 3, 6, 9])
def test_a_step_in_a_box_is_the_least_of_all(rng, count):
    """Compare with scipy's bounded least squares; of matrices that are nearly singular too."""
    for k in range(40):
        rows = rng.normal(size=(count + 2, count)) * 10.0 ** rng.uniform(-2, 0, count)
        target = rng.normal(size=count + 2)
        low, high = -rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        low[rng.random(count) < 0.3] = 0.0
        high[rng.random(count) < 0.1 * (k % 3)] = 0.0
        x = np.empty(count)
        bounded_step(rows.T @ rows, rows.T @ target, low, high, x)
        assert np.all(low <= x) and np.all(x <= high)
        room = (low - 1e-12, high + 1e-12)
        least = lsq_linear(rows, target, room, method='bvls', tol=1e-12)
        assert np.sum((rows @ x - target) ** 2) <= 2.0 * least.cost + 1e-9
