# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Two-segment limbs from their ends."""

import numpy as np
from puppet_core.math import quaternions
from puppet_core.procedural.curve import middle_joint, two_bone_rotations
import pytest

LENGTHS = np.array([0.43, 0.40])
LEG_BONES = np.array([[0.0, 0.0, -0.43], [0.0, 0.0, -0.40]])
Y_AXIS = np.array([0.0, 1.0, 0.0])


@pytest.fixture
def ends(rng):
    """Return hips, ankles within reach, and poles."""
    hips = rng.normal(size=(50, 3))
    way = rng.normal(size=(50, 3))
    way *= rng.uniform(0.05, 0.82, (50, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return hips, hips + way, rng.normal(size=(50, 3))


def test_middle_joint_points_towards_the_pole(ends):
    hips, ankles, poles = ends
    knees = middle_joint(hips, ankles, LENGTHS, poles)
    axis = (ankles - hips) / np.linalg.norm(ankles - hips, axis=1, keepdims=True)
    aside = knees - hips - np.sum((knees - hips) * axis, axis=1, keepdims=True) * axis
    assert np.all(np.sum(aside * poles, axis=1) > 0.0)


def test_out_of_reach_is_stretched_straight():
    knee = middle_joint(np.zeros((1, 3)), np.array([[0.0, 0.0, -2.0]]), LENGTHS, np.eye(3)[:1])
    np.testing.assert_allclose(knee, [[0.0, 0.0, -0.43]], atol=1e-5)


def test_rotations_carry_the_bones_from_end_to_end(ends):
    hips, ankles, poles = ends
    upper, lower = two_bone_rotations(hips, ankles, LEG_BONES, Y_AXIS, poles)
    reached = hips + quaternions.rotate(upper, LEG_BONES[0])
    reached += quaternions.rotate(lower, LEG_BONES[1])
    np.testing.assert_allclose(reached, ankles, atol=1e-9)


def test_limb_bends_about_its_hinge_only(ends):
    hips, ankles, poles = ends
    upper, lower = two_bone_rotations(hips, ankles, LEG_BONES, Y_AXIS, poles)
    knee = quaternions.log(quaternions.multiply(quaternions.conjugate(upper), lower))
    np.testing.assert_allclose(knee[:, [0, 2]], 0.0, atol=1e-9)
    assert np.all(knee[:, 1] > 0.0)
