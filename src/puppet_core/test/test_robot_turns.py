# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A rotation as turns about any one to three axes: exact where it can be, else the nearest."""

import numpy as np
from puppet_core.robots.joints import refine_angles, turn_angles
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

COUNTS = pytest.mark.parametrize('count', [1, 2, 3])


def unit(rng, shape):
    values = rng.normal(size=shape)
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def product(axes, angles):
    """Return the turns one after the other, by scipy."""
    turned = Rotation.identity()
    for axis, angle in zip(axes, angles):
        turned = turned * Rotation.from_rotvec(angle * axis)
    return turned


def quat(rotation):
    return rotation.as_quat(scalar_first=True)


def left(q, axes, angles):
    """Return the angle between a rotation and the turns, by scipy."""
    back = product(axes, angles).inv() * Rotation.from_quat(q, scalar_first=True)
    return back.magnitude()


def best_angles(axes, q):
    """Return the better of the two solutions."""
    count, found = len(axes), []
    for family in range(2):
        angles = turn_angles(axes, 0, count, q, np.zeros(count), family)
        found.append(np.array(angles[:count]))
    return min(found, key=lambda angles: left(q, axes, angles))


@COUNTS
def test_turns_of_any_axes_are_found_again(rng, count):
    orders = [[0, 1, 2], [2, 0, 1], [0, 1, 0], [2, 0, 2], [1, 2, 1]]
    square = [np.eye(3)[order[:count]] * rng.choice([-1.0, 1.0], (count, 1)) for order in orders]
    for axes in (*square, *unit(rng, (200, count, 3))):
        q = quat(product(axes, rng.uniform(-np.pi, np.pi, count)))
        assert left(q, axes, best_angles(axes, q)) < 1e-7


@pytest.mark.parametrize('count', [1, 2])
def test_one_and_two_axes_come_nearest(rng, count):
    for _ in range(6):
        axes, q = unit(rng, (count, 3)), unit(rng, 4)
        grid = np.stack(np.meshgrid(*[np.linspace(-np.pi, np.pi, 13)] * count), -1)
        start = min(grid.reshape(-1, count), key=lambda angles: left(q, axes, angles))
        least = minimize(lambda angles: left(q, axes, angles) ** 2, start, tol=1e-12)
        ours = left(q, axes, best_angles(axes, q))
        assert ours <= np.sqrt(least.fun) + 1e-6


@COUNTS
def test_refined_angles_stay_in_limits_and_cannot_be_bettered_one_by_one(rng, count):
    for _ in range(30):
        axes, q = unit(rng, (count, 3)), unit(rng, 4)
        lower = rng.uniform(-1.5, 0.0, count)
        upper = lower + rng.uniform(0.0, 2.0, count)
        angles = rng.uniform(lower, upper)
        before = left(q, axes, angles)
        for _ in range(20):
            refine_angles(axes, 0, count, q, lower, upper, angles)
        assert np.all(lower <= angles) and np.all(angles <= upper)
        after = left(q, axes, angles)
        assert after <= before + 1e-12
        for i in range(count):
            for other in np.linspace(lower[i], upper[i], 9):
                trial = angles.copy()
                trial[i] = other
                assert after <= left(q, axes, trial) + 1e-5
