# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames turned row by row."""

import numpy as np
from puppet_core.math import quaternions as quaternion_batch
from puppet_driver.pose_topics import transform_poses


def test_poses_are_turned_row_by_row(rng: np.random.Generator) -> None:
    n = 5
    origins, turns = rng.normal(size=(n, 3)), quaternion_batch.exp(rng.normal(size=(n, 3)))
    positions, quaternions = rng.normal(size=(n, 3)), quaternion_batch.exp(rng.normal(size=(n, 3)))
    positions[2] = quaternions[2] = np.nan
    expected = origins + 0.001 * quaternion_batch.rotate(turns, positions)
    turned = quaternion_batch.multiply(turns, quaternions)
    quaternions[4] *= 1.1  # a device's rounding is taken out
    transform_poses(origins, turns, 0.001, positions, quaternions)
    np.testing.assert_allclose(positions, expected, atol=1e-15)
    np.testing.assert_allclose(quaternions, turned, atol=1e-12)
    assert np.isnan(positions[2]).all() and np.isnan(quaternions[2]).all()
