# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The surface around overlapping rods is closed, faces outwards, and is where the rods end."""

import numpy as np
from puppet_core.body.meshes import Rods, smooth_surface
import pytest

BALL = Rods(np.zeros((1, 3)), np.zeros((1, 3)), np.array([0.1]))
LIMB = Rods(
    np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -0.1], [0.01, 0.0, -0.2]]),
    np.array([[0.0, 0.0, -0.2], [0.0, 0.0, -0.3], [0.0, 0.0, -0.4]]),
    np.array([0.055, 0.050, 0.040]),
)
THIN = Rods(np.zeros((2, 3)), np.array([[0.2, 0.0, 0.0], [0.2, 0.1, 0.1]]), np.full(2, 0.006))


def _volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum('ij,ij->', a, np.cross(b, c)) / 6.0)


def _gap(vertices, rods):
    """Return the distance from the union, by a loop over rods and points."""
    gaps = []
    for start, end, radius in zip(*rods):
        line = start + np.linspace(0.0, 1.0, 401)[:, None] * (end - start)
        near = np.linalg.norm(vertices[:, None] - line[None], axis=2).min(axis=1)
        gaps.append(near - radius)
    return np.min(gaps, axis=0)


@pytest.mark.parametrize('rods', [BALL, LIMB, THIN], ids=['ball', 'limb', 'thin'])
def test_surface_is_closed_and_faces_outwards(rods):
    vertices, triangles = smooth_surface(rods)
    directed = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    there = set(map(tuple, directed.tolist()))
    assert all((b, a) in there for a, b in there)  # each edge both ways: no hole, no flip
    assert _volume(vertices, triangles) > 0.0
    assert np.array_equal(np.unique(triangles), np.arange(len(vertices)))


@pytest.mark.parametrize(
    ('rods', 'off_m'), [(BALL, 1e-3), (LIMB, 3e-3), (THIN, 3e-3)], ids=['ball', 'limb', 'thin']
)
def test_surface_is_where_the_rods_end(rods, off_m):
    vertices, _ = smooth_surface(rods)
    assert np.abs(_gap(vertices, rods)).max() < off_m
