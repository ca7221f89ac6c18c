# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Lines through capsules: against distances measured along the lines."""

import numpy as np
from puppet_core.body.capsules import Capsule, crossings
import pytest

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


def test_misses_are_empty_intervals_and_no_capsule_is_no_column():
    line = np.array([[0.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])
    ball = Capsule(0, np.zeros(3), np.zeros(3), 1.0)
    enter, leave = crossings(*line, [ball])
    assert enter[0, 0] == np.inf and leave[0, 0] == -np.inf
    assert crossings(*line, [])[0].shape == (1, 0)


def test_a_line_along_the_axis_leaves_at_the_caps():
    capsule = Capsule(0, np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 0.5]), 0.2)
    enter, leave = crossings(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), [capsule])
    assert [enter[0, 0], leave[0, 0]] == pytest.approx([-0.7, 0.7], abs=SURFACE_TOL_M)
