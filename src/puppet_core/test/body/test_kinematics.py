# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics against a recursion over scipy rotations, and whole motions."""

import numpy as np
from puppet_core.body.kinematics import (
    causal_velocities,
    end_effector_positions,
    follow_chains,
    forward_kinematics,
)
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import GENERAL_END_EFFECTORS, PARENTS, SEGMENT_INDEX
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as batch
import pytest
from scipy.spatial.transform import Rotation

POSITION_TOL_M = 1e-12  # a body of metres in double precision


TREE = np.array([-1, 0, 1, 1, -1, 4, 0, 6])  # two roots, a fork, a chain that goes on later


def _scipy(q):
    return Rotation.from_quat(np.asarray(q)[[1, 2, 3, 0]])


def _chain(segment):
    chain = [segment]
    while PARENTS[chain[0]] >= 0:
        chain.insert(0, int(PARENTS[chain[0]]))
    return chain


def _walk_down(offsets, root, rotations, segment):
    """Return orientation and joint position of one segment, as 4 x 4 matrices multiply."""
    pose = np.eye(4)
    pose[:3, 3] = root
    for part in _chain(segment):
        step = np.eye(4)
        step[:3, 3] = offsets[part] if part else 0.0
        step[:3, :3] = _scipy(rotations[part]).as_matrix()
        pose = pose @ step
    return pose


def _posture(rng):
    root = rng.normal(size=3)
    rotations = batch.normalize(rng.normal(size=(16, 4)))
    return root, rotations


def test_segments_are_where_a_product_of_matrices_puts_them(rng, adult_character):
    offsets = adult_character.skeleton.offsets
    root, rotations = _posture(rng)
    q_world, p_world = np.empty((16, 4)), np.empty((16, 3))
    forward_kinematics(offsets, root, rotations, q_world, p_world)
    for segment in range(16):
        pose = _walk_down(offsets, root, rotations, segment)
        np.testing.assert_allclose(p_world[segment], pose[:3, 3], atol=POSITION_TOL_M)
        turned = batch.to_matrix(q_world[segment])
        np.testing.assert_allclose(turned, pose[:3, :3], atol=1e-13)


def test_end_effectors_are_palms_soles_elbows_and_knees(rng, adult_character):
    skeleton = adult_character.skeleton
    root, rotations = _posture(rng)
    q_world, p_world, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
    forward_kinematics(skeleton.offsets, root, rotations, q_world, p_world)
    end_effector_positions(skeleton.interaction_points, q_world, p_world, points)
    parts = {'elbow': 'forearm', 'knee': 'shank'}
    for row, name in enumerate(GENERAL_END_EFFECTORS):
        side, part = name.split('_')
        segment = SEGMENT_INDEX[f'{side}_{parts.get(part, part)}']
        pose = _walk_down(skeleton.offsets, root, rotations, segment)
        local = np.append(skeleton.interaction_points[row] if row < 4 else np.zeros(3), 1.0)
        np.testing.assert_allclose(points[row], (pose @ local)[:3], atol=POSITION_TOL_M)


def test_velocities_are_those_since_the_frame_before(rng):
    motion, last, out = rng.normal(size=(5, 8, 3)), np.zeros((8, 3)), np.empty((8, 3))
    for dt_s in (0.0, -0.1, np.nan, np.inf):
        causal_velocities(motion[0], dt_s, last, out)
        assert not out.any()
    for before, now in zip(motion, motion[1:]):
        causal_velocities(now, 0.008, last, out)
        np.testing.assert_array_equal(out, (now - before) / 0.008)


def test_joints_are_where_products_of_matrices_put_them(rng):
    shape = 6, len(TREE)
    turns = Rotation.random(6 * len(TREE), random_state=4)
    steps = np.zeros((*shape, 4, 4))
    steps[..., :3, :3] = turns.as_matrix().reshape(*shape, 3, 3)
    steps[..., :3, 3] = rng.normal(size=(*shape, 3))
    steps[..., 3, 3] = 1.0
    rotations = turns.as_quat()[:, [3, 0, 1, 2]].reshape(*shape, 4)
    q_world, p_world = np.empty((*shape, 4)), np.empty((*shape, 3))
    places = np.ascontiguousarray(steps[..., :3, 3])
    follow_chains(TREE, rotations, places, q_world, p_world)
    for joint, parent in enumerate(TREE):
        if parent >= 0:
            steps[:, joint] = steps[:, parent] @ steps[:, joint]
        turned = Rotation.from_quat(q_world[:, joint][:, [1, 2, 3, 0]]).as_matrix()
        np.testing.assert_allclose(turned, steps[:, joint, :3, :3], atol=1e-13)
        np.testing.assert_allclose(p_world[:, joint], steps[:, joint, :3, 3], atol=1e-13)


RATE_HZ = 120.0


@pytest.fixture
def motion(rng, adult_character):
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
