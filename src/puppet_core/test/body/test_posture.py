# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions: validation, causal velocities, and forward kinematics of whole clips."""

import numpy as np
from puppet_core.body.kinematics import end_effector_positions, forward_kinematics
from puppet_core.body.posture import Motion
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as batch
import pytest

RATE_HZ = 120.0


@pytest.fixture
def motion(rng, adult_character):
    """Return a smooth random motion of twenty frames."""
    rotvecs = np.cumsum(0.1 * rng.normal(size=(20, 16, 3)), axis=0)
    roots = np.cumsum(0.01 * rng.normal(size=(20, 3)), axis=0)
    return Motion.from_rotations(adult_character.skeleton, RATE_HZ, roots, batch.exp(rotvecs))


def test_clip_kinematics_are_those_of_the_kernels(motion):
    q_clip, p_clip = motion.world_segments()
    q_world, p_world, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
    skeleton = motion.skeleton
    for i in range(motion.n_frames):
        forward_kinematics(
            skeleton.offsets, motion.root_positions[i], motion.rotations[i], q_world, p_world
        )
        end_effector_positions(skeleton.interaction_points, q_world, p_world, points)
        np.testing.assert_allclose(q_clip[i], q_world, atol=1e-14)
        np.testing.assert_allclose(p_clip[i], p_world, atol=1e-14)
        np.testing.assert_allclose(motion.end_effectors[i], points, atol=1e-14)


def test_velocities_are_causal_differences(motion):
    later = motion.posture(7)
    step = motion.end_effectors[7] - motion.end_effectors[6]
    np.testing.assert_allclose(later.end_effector_velocities, step * RATE_HZ)
    np.testing.assert_allclose(motion.end_effector_velocities()[7], step * RATE_HZ)
    assert np.all(motion.posture(0).end_effector_velocities == 0.0)


@pytest.mark.parametrize(
    'change, text',
    [
        ({'rate_hz': 0.0}, 'rate_hz: expected a number > 0, got 0.0'),
        ({'rate_hz': np.nan}, 'rate_hz: expected a number > 0, got nan'),
        ({'root_positions': np.zeros((0, 3))}, 'motion: expected at least one frame'),
        ({'root_positions': np.zeros((19, 3))}, r'rotations: expected shape \(19, 16, 4\)'),
        ({'rotations': np.zeros((20, 16, 4))}, 'rotations: expected unit quaternions'),
        ({'end_effectors': np.full((20, 8, 3), np.inf)}, 'end_effectors: expected finite'),
    ],
)
def test_impossible_motions_are_refused(motion, change, text):
    fields = ('skeleton', 'rate_hz', 'root_positions', 'rotations', 'end_effectors')
    values = {name: getattr(motion, name) for name in fields} | change
    with pytest.raises(ConfigError, match=text):
        Motion(**values)
