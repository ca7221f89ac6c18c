# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TF frames: the URDF's tree, and forward kinematics that meets the posture."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.robots.description import urdf_text
from puppet_view.rviz.frames import LinkFrames
import pytest

CHARACTERS = Path(__file__).resolve().parents[4] / 'config' / 'characters'
EXACT_TOL = 1e-9


@pytest.fixture
def sally():
    return load_character(CHARACTERS / 'sally.yaml')


def _posture(seed: int, spread_rad: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=3), quaternion_batch.exp(rng.normal(size=(16, 3)) * spread_rad)


def _world(frames: LinkFrames, transforms: tuple) -> dict[str, tuple]:
    """Chain the transforms into world: an independent forward kinematics."""
    poses = {'world': (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
    for (parent, child), position, quaternion in zip(frames.frames, *transforms):
        p, q = poses[parent]
        poses[child] = (
            p + quaternion_batch.rotate(q, position),
            quaternion_batch.multiply(q, quaternion),
        )
    return poses


def test_tree_is_the_urdf_under_the_prefix(sally):
    robot = ElementTree.fromstring(urdf_text(sally).split('\n', 1)[1])
    joints = {
        (f'puppet/{j.find("parent").get("link")}', f'puppet/{j.find("child").get("link")}')
        for j in robot.iter('joint')
    }
    frames = LinkFrames('puppet/').frames
    assert set(frames) == joints | {('world', 'puppet/pelvis')}
    children = [child for _, child in frames]
    assert len(set(children)) == len(children) == 46


@pytest.mark.parametrize('seed', range(5))
def test_chained_frames_meet_the_posture(sally, seed):
    root, rotations = _posture(seed)
    q, p = world_segments(sally.skeleton, root[None], rotations[None])
    frames = LinkFrames('puppet/')
    poses = _world(frames, frames.step(root, rotations, p[0]))
    for i, segment in enumerate(SEGMENTS):
        position, quaternion = poses[f'puppet/{segment}']
        np.testing.assert_allclose(position, p[0, i], atol=EXACT_TOL)
        assert abs(quaternion @ q[0, i]) == pytest.approx(1.0, abs=EXACT_TOL)


def test_offsets_are_the_urdfs(sally):
    root, rotations = _posture(9)
    _, p = world_segments(sally.skeleton, root[None], rotations[None])
    positions, _ = LinkFrames('').step(root, rotations, p[0])
    np.testing.assert_allclose(positions[1::3], sally.skeleton.offsets[1:], atol=EXACT_TOL)
    assert np.all(positions[2::3] == 0.0)
