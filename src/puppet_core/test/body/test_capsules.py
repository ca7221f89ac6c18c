# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Distances from bodies of capsules and lines through them, against plain numpy."""

import numpy as np
from puppet_core.body.capsules import (
    Capsule,
    crossings,
    nearest_capsule_within,
    segment_distance,
    shape_arrays,
)
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX
import pytest

TOL_M = 1e-12
CHEST = SEGMENT_INDEX['chest']


def _random_body(rng, n=40):
    ends = rng.normal(size=(n, 2, 3)) * 0.1
    ends[::6, 1] = ends[::6, 0]
    segments = rng.integers(0, N_SEGMENTS - 1, size=n)  # the last has none
    radii = rng.uniform(0.02, 0.1, size=n)
    return [Capsule(int(s), a, b, r) for s, (a, b), r in zip(segments, ends, radii)]


def test_distance_is_the_least_of_all_capsules(rng):
    capsules = _random_body(rng)
    shape = shape_arrays(capsules)
    for point in rng.normal(size=(40, 3)) * 0.15:
        for segment in range(N_SEGMENTS):
            own = [_distance(point, c) for c in capsules if c.segment == segment]
            got = segment_distance(shape, segment, point)
            assert got == pytest.approx(min(own, default=np.inf), abs=TOL_M)


def test_normal_is_the_gradient_of_the_distance(rng):
    shape = shape_arrays([Capsule(CHEST, np.zeros(3), np.array([0.0, 0.1, 0.3]), 0.05)])
    step = 1e-6
    for point in rng.normal(size=(50, 3)) * 0.2:
        _, _, normal = nearest_capsule_within(shape, CHEST, point, np.inf)
        slopes = [
            (segment_distance(shape, CHEST, point + e) - segment_distance(shape, CHEST, point - e))
            / (2.0 * step)
            for e in step * np.eye(3)
        ]
        np.testing.assert_allclose(normal, slopes, atol=1e-6)


@pytest.mark.parametrize('bone', [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.1, -0.5]])
def test_on_the_core_line_the_normal_is_square_to_it(bone):
    bone = np.array(bone, dtype=np.float64)
    start = np.array([0.1, -0.2, 0.3])
    shape = shape_arrays([Capsule(CHEST, start, start + bone, 0.05)])
    depth, _, normal = nearest_capsule_within(shape, CHEST, start + 0.5 * bone, np.inf)
    assert depth == pytest.approx(-0.05, abs=TOL_M)
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=TOL_M)
    assert np.dot(normal, bone) == pytest.approx(0.0, abs=TOL_M)


def test_the_ball_of_a_segment_holds_its_capsules(rng):
    capsules = _random_body(rng)
    shape = shape_arrays(capsules)
    directions = rng.normal(size=(100, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for capsule in capsules:
        for end in (capsule.start, capsule.end):
            surface = end + capsule.radius * directions - shape.centres[capsule.segment]
            assert np.max(np.linalg.norm(surface, axis=1)) <= shape.bounds[capsule.segment] + TOL_M


SURFACE_TOL_M = 1e-9
N_LINES = 400
STEPS = np.linspace(-4.0, 4.0, 1601)[:, np.newaxis, np.newaxis]


def _distance(points, capsule):
    """Return signed distances of points (..., 3) from a capsule, by its definition."""
    bone = capsule.end - capsule.start
    along = np.zeros(points.shape[:-1])
    if np.any(bone):
        along = np.clip((points - capsule.start) @ bone / (bone @ bone), 0.0, 1.0)
    core = capsule.start + along[..., np.newaxis] * bone
    return np.linalg.norm(points - core, axis=-1) - capsule.radius


def _lines(rng):
    directions = rng.normal(size=(N_LINES, 3))
    directions[::5] = np.array([0.0, 0.0, 1.0])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return rng.uniform(-1.0, 1.0, size=(N_LINES, 3)), directions


@pytest.mark.parametrize('bone', [[0.3, -0.2, 0.5], [0, 0, 0.7], [0.6, 0, 0], [0, 0, 0]])
def test_a_line_is_inside_just_between_entry_and_exit(rng, bone):
    capsule = Capsule(0, np.array([0.1, 0.0, -0.2]), np.array([0.1, 0.0, -0.2]) + bone, 0.4)
    origins, directions = _lines(rng)
    enter, leave = (a[:, 0] for a in crossings(origins, directions, [capsule]))
    hit = enter <= leave
    assert 0.1 < hit.mean() < 0.9
    for way in (enter[hit, np.newaxis], leave[hit, np.newaxis]):
        surface = origins[hit] + way * directions[hit]
        assert np.max(np.abs(_distance(surface, capsule))) < SURFACE_TOL_M
    depth = _distance(origins + STEPS * directions, capsule)
    inside = (STEPS[..., 0] > enter) & (STEPS[..., 0] < leave)
    assert np.max(depth[inside]) < SURFACE_TOL_M < SURFACE_TOL_M + np.max(-depth[inside])
    assert np.min(depth[~inside]) > -SURFACE_TOL_M


def test_a_line_along_the_axis_leaves_at_the_caps():
    capsule = Capsule(0, np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 0.5]), 0.2)
    enter, leave = crossings(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), [capsule])
    assert [enter[0, 0], leave[0, 0]] == pytest.approx([-0.7, 0.7], abs=SURFACE_TOL_M)
