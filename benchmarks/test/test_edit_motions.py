# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of the editor's bench: grips of climbs that hold, bodies that change."""

from benchmarks.edit.morph import (
    bodies_between,
    morphed,
    morphed_segments,
    MorphedMotion,
    proportioned,
)
from benchmarks.edit.rope import carried_to, climb, grip_constraints, Rope
from benchmarks.edit.walks import square_walk
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.io import ConfigError
from puppet_edit.editor import edit_motion
from puppet_edit.scene import cut, detect_contacts, firm_poses, foot_constraints
import pytest


@pytest.fixture(scope='module')
def source(skeleton):
    """Return a little more than one cycle of a climb."""
    return climb(skeleton, 30.0, 90)


@pytest.fixture(scope='module')
def walk(skeleton):
    """Return two seconds of walking."""
    return cut(square_walk(skeleton, 30.0).motion, 10, 72)


def test_holds_are_still_and_evenly_spaced(skeleton):
    long = climb(skeleton, 30.0, 200)
    for end in range(4):
        held = long.motion.end_effectors[long.holds[:, end], end]
        heights = np.unique(held[:, 2].round(9))
        assert len(heights) == 4 and np.allclose(np.diff(heights, 2), 0.0, atol=1e-8)
        assert np.allclose(held[:, :2], held[0, :2], atol=1e-9)


def test_at_least_two_ends_hold_and_one_at_a_time_moves_of_the_hands(source):
    assert source.holds.sum(axis=1).min() >= 2
    assert source.holds[:, :2].any(axis=1).all()


def test_grips_stay_where_they_are_from_the_rope(source):
    """On a rope that leans, hands and feet are as far from it and from its point as before."""
    rope = Rope(np.array([0.5, 0.2, 0.1]), np.array([0.3, -0.2, 1.0]))
    other = proportioned(source.motion.skeleton, 1.15, 0.9, 0.95)
    constraints = grip_constraints(source, rope)
    result = edit_motion(carried_to(source, other, rope), constraints)
    assert result.exact_max_error_percent <= 0.1
    for end in range(4):
        before = _from_rope(source.motion, source.rope, source.holds[:, end], end)
        after = _from_rope(result.motion, rope, source.holds[:, end], end)
        assert np.allclose(after, before, atol=1e-4)


def _from_rope(motion: Motion, rope: Rope, held: np.ndarray, end: int) -> np.ndarray:
    """Return how far along a rope and from it an end-effector is, shape (2, k) [m]."""
    way = motion.end_effectors[held, end] - rope.point
    along = way @ rope.direction
    return np.stack((along, np.linalg.norm(way - along[:, None] * rope.direction, axis=1)))


def test_rope_needs_a_direction():
    with pytest.raises(ConfigError, match='rope: expected a direction'):
        Rope(np.zeros(3), np.zeros(3))


def test_proportions_are_factors_of_lengths(skeleton):
    other = proportioned(skeleton, 1.3, 0.8, 0.9)
    assert np.allclose(other.limb_lengths[2:], 1.3 * skeleton.limb_lengths[2:])
    assert np.allclose(other.limb_lengths[:2], 0.9 * skeleton.limb_lengths[:2])
    assert np.allclose(other.offsets[1:4], 0.8 * skeleton.offsets[1:4])


def test_bodies_are_the_given_ones_in_their_frames(skeleton):
    shapes = [skeleton, proportioned(skeleton, 1.4, 0.75), proportioned(skeleton, 0.75, 1.3)]
    bodies = bodies_between(shapes, (0, 30, 60), 62)
    for frame, shape in zip((0, 30, 60, 61), [*shapes, shapes[-1]]):
        assert np.allclose(bodies.offsets[frame], shape.offsets, atol=1e-12)
    steps = np.abs(np.diff(bodies.offsets, 2, axis=0)).max()
    assert steps < 0.01 * np.abs(bodies.offsets).max()
    with pytest.raises(ConfigError, match='expected a rising frame for each body'):
        bodies_between(shapes, (0, 30), 62)


def test_morph_walks_with_the_same_stride(walk):
    n = walk.n_frames
    legs = (walk.skeleton, proportioned(walk.skeleton, 1.3, 0.8))
    start = morphed(walk, bodies_between(legs, (0, n - 1), n))
    contacts = detect_contacts(walk)
    goals = firm_poses(walk, contacts)
    result = edit_motion(start.motion, foot_constraints(goals, swings=False), bodies=start.bodies)
    assert result.exact_max_error_percent <= 0.1
    done = MorphedMotion(result.motion, start.bodies)
    assert np.allclose(done.skeleton(n - 1).offsets, legs[1].offsets)
    soles = result.motion.end_effectors[:, 2:4]
    planted = contacts.planted
    assert np.abs(soles - goals.soles)[planted].max() < 1e-3
    q_world, p_world = done.world_segments()
    lengths = np.linalg.norm(p_world[:, 12] - p_world[:, 11], axis=1)
    assert np.allclose(lengths, np.linalg.norm(start.bodies.offsets[:, 12], axis=1))


def test_constant_bodies_change_nothing(walk):
    bodies = bodies_between([walk.skeleton], [0], walk.n_frames)
    start = morphed(walk, bodies)
    assert np.allclose(start.motion.root_positions, walk.root_positions)
    for ours, theirs in zip(morphed_segments(walk, bodies), walk.world_segments()):
        assert np.allclose(ours, theirs)
