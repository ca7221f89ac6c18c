# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Distances of all shapes against constrained minimisation, and the counterpart map."""

import numpy as np
from puppet_retarget.importance import objects as od
from puppet_retarget.importance.objects import SHAPES
import pytest
from scipy.optimize import minimize

POSITION_TOL_M = 1e-9
MINIMISER_TOL_M = 1e-6  # of the independent computation
SHAPE_IDS = pytest.mark.parametrize('shape', range(5), ids=SHAPES)


def random_size(rng, shape):
    """Return a size whose row has the form of the shape."""
    a, b, c = rng.uniform(0.1, 1.0, 3)
    return {od.PLANE: np.ones(3), od.BOX: np.array([a, b, c]), od.SPHERE: np.full(3, a)}.get(
        shape, np.array([a, a, c])
    )


def distance(shape, size, p):
    own, normal = od.signed_distance(shape, size, np.ascontiguousarray(p))
    return own, np.array(normal)


def nearest_point_by_minimiser(shape, size, p):
    """Return the point of a solid nearest to p, by its defining inequalities."""
    half = 0.5 * size
    inside = {
        od.PLANE: lambda x: [-x[2]],
        od.BOX: lambda x: [*(half - x), *(half + x)],
        od.SPHERE: lambda x: [size[0] ** 2 - x @ x],
        od.CYLINDER: lambda x: [size[0] ** 2 - x[:2] @ x[:2], half[2] - x[2], half[2] + x[2]],
    }
    if shape == od.CAPSULE:
        # a fourth unknown says from where on the core line
        inside[shape] = lambda x: [
            size[0] ** 2 - (x[:3] - [0, 0, x[3]]) @ (x[:3] - [0, 0, x[3]]),
            half[2] - x[3],
            half[2] + x[3],
        ]
    start = np.zeros(4 if shape == od.CAPSULE else 3)
    start[:3] = 0.1 * p
    result = minimize(
        lambda x: (x[:3] - p) @ (x[:3] - p),
        start,
        method='SLSQP',
        constraints={'type': 'ineq', 'fun': inside[shape]},
        options={'ftol': 1e-15, 'maxiter': 300},
    )
    return result.x[:3]


@SHAPE_IDS
def test_distance_outside_is_that_of_the_nearest_point(shape, rng):
    checked = 0
    while checked < 25:
        size, p = random_size(rng, shape), rng.normal(size=3)
        own, normal = distance(shape, size, p)
        if own > 0.05:
            nearest = nearest_point_by_minimiser(shape, size, p)
            assert own == pytest.approx(np.linalg.norm(p - nearest), abs=MINIMISER_TOL_M)
            np.testing.assert_allclose(p - own * normal, nearest, atol=1e-3)
            checked += 1


@SHAPE_IDS
def test_normal_is_the_gradient(shape, rng):
    step = 1e-6
    for _ in range(100):
        size, p = random_size(rng, shape), rng.normal(size=3) * 0.6
        own, normal = distance(shape, size, p)
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        slopes = np.array(
            [
                distance(shape, size, p + step * e)[0] - distance(shape, size, p - step * e)[0]
                for e in np.eye(3)
            ]
        ) / (2.0 * step)
        # the gradient jumps on an inner edge only
        if own > 1e-5 or np.linalg.norm(slopes) > 0.999:
            np.testing.assert_allclose(normal, slopes, atol=1e-4)


def counterpart(shape, size, other, p):
    """Return the same place near the other object."""
    p = np.ascontiguousarray(p)
    return np.array(od.counterpart_point(shape, size, other, p, *distance(shape, size, p)))


@SHAPE_IDS
def test_gap_to_the_counterpart_keeps_length_and_direction(shape, rng):
    for _ in range(100):
        size, other = random_size(rng, shape), random_size(rng, shape)
        p = rng.normal(size=3)
        gap, normal = distance(shape, size, p)
        if gap > 1e-6:
            mapped_gap, mapped_normal = distance(shape, other, counterpart(shape, size, other, p))
            assert mapped_gap == pytest.approx(gap, abs=POSITION_TOL_M)
            np.testing.assert_allclose(mapped_normal, normal, atol=1e-6)


@SHAPE_IDS
def test_touching_stays_touching_and_inside_comes_to_the_surface(shape, rng):
    for _ in range(100):
        size, other = random_size(rng, shape), random_size(rng, shape)
        p = rng.normal(size=3) * 0.5
        gap, normal = distance(shape, size, p)
        surface = distance(shape, other, counterpart(shape, size, other, p - gap * normal))[0]
        assert surface == pytest.approx(0.0, abs=POSITION_TOL_M)
        if gap < 0.0:
            inside = distance(shape, other, counterpart(shape, size, other, p))[0]
            assert inside == pytest.approx(0.0, abs=POSITION_TOL_M)
