# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Distances from bodies of capsules: against plain numpy, compiled and plain."""

import numpy as np
from puppet_core.body import capsules as body_shape_kernels
from puppet_core.body.capsules import Capsule, segment_distance, shape_arrays
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX
import pytest

TOL_M = 1e-12
CHEST = SEGMENT_INDEX['chest']


def _single(point, capsule):
    bone = capsule.end - capsule.start
    square = bone @ bone
    along = np.clip((point - capsule.start) @ bone / square, 0.0, 1.0) if square else 0.0
    return np.linalg.norm(point - capsule.start - along * bone) - capsule.radius


def _random_body(rng, n=40):
    ends = rng.normal(size=(n, 2, 3)) * 0.1
    ends[::6, 1] = ends[::6, 0]
    segments = rng.integers(0, N_SEGMENTS - 1, size=n)  # the last has none
    radii = rng.uniform(0.02, 0.1, size=n)
    return [Capsule(int(s), a, b, r) for s, (a, b), r in zip(segments, ends, radii)]


@pytest.fixture(params=[segment_distance, segment_distance.py_func], ids=['jit', 'py'])
def distance(request):
    """Return the kernel, compiled and plain."""
    return request.param


def test_distance_is_the_least_of_all_capsules(rng, distance):
    capsules = _random_body(rng)
    shape, normal = shape_arrays(capsules), np.empty(3)
    for point in rng.normal(size=(40, 3)) * 0.15:
        for segment in range(N_SEGMENTS):
            own = [_single(point, c) for c in capsules if c.segment == segment]
            got = distance(shape, segment, point, normal)
            assert got == pytest.approx(min(own, default=np.inf), abs=TOL_M)


def test_normal_is_unit_and_leads_to_the_surface(rng, distance):
    capsules = _random_body(rng, 160)
    shape, normal, other = shape_arrays(capsules), np.empty(3), np.empty(3)
    inside = 0
    for point in rng.normal(size=(200, 3)) * 0.1:
        depth = distance(shape, CHEST, point, normal)
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=TOL_M)
        reached = distance(shape, CHEST, point - depth * normal, other)
        inside += depth < 0.0
        # inside the surface of one capsule may be within another
        assert reached == pytest.approx(0.0, abs=TOL_M) if depth >= 0.0 else reached < TOL_M
    assert 20 < inside < 180


def test_normal_is_the_gradient_of_the_distance(rng, distance):
    shape = shape_arrays([Capsule(CHEST, np.zeros(3), np.array([0.0, 0.1, 0.3]), 0.05)])
    normal, other, step = np.empty(3), np.empty(3), 1e-6
    for point in rng.normal(size=(50, 3)) * 0.2:
        distance(shape, CHEST, point, normal)
        slopes = [
            (distance(shape, CHEST, point + e, other) - distance(shape, CHEST, point - e, other))
            / (2.0 * step)
            for e in step * np.eye(3)
        ]
        np.testing.assert_allclose(normal, slopes, atol=1e-6)


@pytest.mark.parametrize('bone', [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.1, -0.5]])
def test_on_the_core_line_the_normal_is_square_to_it(bone, distance):
    bone = np.array(bone, dtype=np.float64)
    start, normal = np.array([0.1, -0.2, 0.3]), np.empty(3)
    shape = shape_arrays([Capsule(CHEST, start, start + bone, 0.05)])
    assert distance(shape, CHEST, start + 0.5 * bone, normal) == pytest.approx(-0.05, abs=TOL_M)
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=TOL_M)
    assert normal @ bone == pytest.approx(0.0, abs=TOL_M)


def test_the_ball_of_a_segment_holds_its_capsules(rng):
    capsules = _random_body(rng)
    shape = shape_arrays(capsules)
    directions = rng.normal(size=(100, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for capsule in capsules:
        for end in (capsule.start, capsule.end):
            surface = end + capsule.radius * directions - shape.centres[capsule.segment]
            assert np.max(np.linalg.norm(surface, axis=1)) <= shape.bounds[capsule.segment] + TOL_M


def test_a_segment_without_capsules_is_infinitely_far(distance):
    shape, normal = shape_arrays([]), np.full(3, np.nan)
    assert distance(shape, CHEST, np.zeros(3), normal) == np.inf
    assert shape.bounds[CHEST] == -np.inf  # never the nearest when bounds are compared
    assert normal.tolist() == [1.0, 0.0, 0.0]


def test_shapes_of_all_bodies_have_one_layout(adult_character, tall_character):
    types = {
        tuple((a.dtype.str, a.ndim, a.flags.c_contiguous, a.flags.writeable) for a in shape)
        for shape in map(shape_arrays, ((), adult_character.capsules, tall_character.capsules))
    }
    assert len(types) == 1


def test_kernels_are_cached_on_disk():
    for name in ('segment_distance', '_away_from_core'):
        kernel = getattr(body_shape_kernels, name)
        assert type(kernel._cache).__name__ != 'NullCache'
