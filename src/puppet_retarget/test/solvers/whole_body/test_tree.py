# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The tree of a body against forward kinematics, and its axes against finite differences."""

import numpy as np
from puppet_core.body import end_effector_positions, forward_kinematics, PARENTS
from puppet_core.math import pack_arrays, quaternions
from puppet_retarget.solvers.whole_body.tree import place, Pose, pose_tree, tree_of
import pytest

STEP = 1e-6


class Posed:
    """A body with random captured rotations and unknowns."""

    def __init__(self, character, rng):
        packed, self.tree = pack_arrays(tree_of(character))
        self.packed_tree = packed[0]
        packed, self.pose = pack_arrays(Pose())
        self.packed_pose = packed[0]
        self.captured = quaternions.exp(rng.normal(size=(16, 3)))
        self.x = 0.5 * rng.normal(size=54)
        self.root = rng.normal(size=3)

    def at(self, x):
        root = tuple(self.root)
        angles = np.zeros(51)
        pose_tree(self.packed_tree, self.captured, angles, root, x, self.packed_pose)
        return self.pose

    def place(self, x, segment, point):
        self.at(x)
        return np.array(place(self.packed_pose, segment, point))


@pytest.fixture(params=['adult_character', 'tall_character'])
def posed(request, rng):
    return Posed(request.getfixturevalue(request.param), rng)


def test_segments_and_ends_are_where_forward_kinematics_has_them(posed, adult_character, rng):
    posed = Posed(adult_character, rng)
    pose, skeleton = posed.at(posed.x), adult_character.skeleton
    turns = posed.x[posed.tree.first[:, None] + np.arange(3)]
    rotations = quaternions.multiply(posed.captured, quaternions.exp(turns))
    q, p, ends = np.zeros((16, 4)), np.zeros((16, 3)), np.zeros((8, 3))
    root = posed.root + posed.x[48:51]
    forward_kinematics(skeleton.offsets.copy(), root, rotations, q, p)
    end_effector_positions(skeleton.interaction_points.copy(), q, p, ends)
    np.testing.assert_allclose(pose.p, p, atol=1e-12)
    np.testing.assert_allclose(pose.ends, ends, atol=1e-12)
    np.testing.assert_allclose(pose.rotations, rotations, atol=1e-12)


@pytest.mark.parametrize('segment', [3, 6, 12])
def test_points_turn_about_the_axes_as_unknowns_grow(posed, segment):
    point = (0.1, -0.2, 0.05)
    pose = posed.at(posed.x)
    here, axes, origins = (
        np.array(place(posed.packed_pose, segment, point)),
        pose.axes.copy(),
        pose.origins.copy(),
    )
    path = segment
    while path >= 0:
        first = int(posed.tree.first[path])
        for i in range(first, first + 3):
            moved = posed.x.copy()
            moved[i] += STEP
            there = posed.place(moved, segment, point)
            turned = np.cross(axes[i], here - origins[i])
            np.testing.assert_allclose((there - here) / STEP, turned, atol=1e-5)
        path = int(PARENTS[path])


def test_unknowns_of_a_limb_come_before_those_of_what_carries_it(posed):
    first = posed.tree.first
    assert all(first[s] < first[PARENTS[s]] for s in range(1, 16))
