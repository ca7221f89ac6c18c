# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of any tree, against products of 4 x 4 matrices."""

import numpy as np
from puppet_core.body.kinematics import follow_chains
import pytest
from scipy.spatial.transform import Rotation

N_FRAMES = 6
PARENTS = np.array([-1, 0, 1, 1, -1, 4, 0, 6])  # two roots, a fork, a chain that goes on later


@pytest.mark.parametrize('plain', [False, True], ids=['jit', 'py'])
def test_joints_are_where_products_of_matrices_put_them(rng, plain):
    shape = N_FRAMES, len(PARENTS)
    turns = Rotation.random(N_FRAMES * len(PARENTS), random_state=4)
    steps = np.zeros((*shape, 4, 4))
    steps[..., :3, :3] = turns.as_matrix().reshape(*shape, 3, 3)
    steps[..., :3, 3] = rng.normal(size=(*shape, 3))
    steps[..., 3, 3] = 1.0
    rotations = turns.as_quat()[:, [3, 0, 1, 2]].reshape(*shape, 4)
    q_world, p_world = np.empty((*shape, 4)), np.empty((*shape, 3))
    kernel = follow_chains.py_func if plain else follow_chains
    kernel(PARENTS, rotations, np.ascontiguousarray(steps[..., :3, 3]), q_world, p_world)
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            steps[:, joint] = steps[:, parent] @ steps[:, joint]
        turned = Rotation.from_quat(q_world[:, joint][:, [1, 2, 3, 0]]).as_matrix()
        np.testing.assert_allclose(turned, steps[:, joint, :3, :3], atol=1e-13)
        np.testing.assert_allclose(p_world[:, joint], steps[:, joint, :3, 3], atol=1e-13)
