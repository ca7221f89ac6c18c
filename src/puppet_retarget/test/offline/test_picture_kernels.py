# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rays of the picture against distance fields: an independent way to the same surfaces."""

import math

import numpy as np
from puppet_core import quaternion_batch as batch
from puppet_retarget.importance import object_distance
from puppet_retarget.offline import picture_ray_kernels as rays
from puppet_retarget.offline.picture_body import Pill, scene_arrays, Solid
from puppet_retarget.offline.picture_light_kernels import light_share, openness
import pytest

HIT_TOL_M = 1e-6  # where marching along a distance field stops
RIGHT, AHEAD = np.array([0.0, 1.0, 0.0]), np.array([-1.0, 0.0, 0.0])


@pytest.fixture
def rng():
    """Return a seeded source of numbers."""
    return np.random.default_rng(7)


def _march(point, ray, distance):
    """Return the way along a ray to where a distance field ends, or infinity."""
    t = 0.0
    for _ in range(4000):
        gap = distance(point + t * ray)
        if gap < 1e-8:
            return t
        t += gap
        if t > 50.0:
            return math.inf
    return t


def _capsule_distance(start, end, radius):
    def distance(p):
        axis = end - start
        length_sq = axis @ axis
        share = np.clip((p - start) @ axis / length_sq, 0.0, 1.0) if length_sq > 0.0 else 0.0
        return np.linalg.norm(p - start - share * axis) - radius

    return distance


def _aimed_ray(rng, spread):
    """Return a ray from outside towards the neighbourhood of the origin."""
    direction = rng.normal(size=3)
    point = 5.0 * direction / np.linalg.norm(direction)
    ray = spread * rng.normal(size=3) - point
    return point, ray / np.linalg.norm(ray)


@pytest.mark.parametrize('plain', [False, True], ids=['jit', 'py'])
@pytest.mark.parametrize('length', [0.0, 1e-9, 0.3, 2.0])
def test_capsule_is_hit_where_its_distance_field_ends(rng, length, plain):
    kernel = rays.capsule_hit.py_func if plain else rays.capsule_hit
    hits = 0
    for _ in range(60):
        start = 0.3 * rng.normal(size=3)
        end = start + length * batch.normalize(rng.normal(size=3))
        point, ray = _aimed_ray(rng, 0.5)
        t = kernel(point, ray, start, end, 0.4)
        expected = _march(point, ray, _capsule_distance(start, end, 0.4))
        hits += np.isfinite(t)
        assert t == pytest.approx(expected, abs=HIT_TOL_M)
    assert 8 < hits < 60


def test_capsule_is_hit_from_ahead_and_behind_its_axis():
    point, up = np.array([0.0, 0.0, -3.0]), np.array([0.0, 0.0, 1.0])
    start, end = np.zeros(3), np.array([0.0, 0.0, 1.0])
    assert rays.capsule_hit(point, up, start, end, 0.25) == pytest.approx(2.75)
    assert rays.capsule_hit(-point, -up, start, end, 0.25) == pytest.approx(1.75)
    assert rays.capsule_hit(point, -up, start, end, 0.25) == math.inf


@pytest.mark.parametrize('is_cylinder', [False, True])
def test_solids_are_hit_where_their_distance_fields_end(rng, is_cylinder):
    shape = object_distance.CYLINDER if is_cylinder else object_distance.BOX
    kind = rays.CYLINDER_SOLID if is_cylinder else rays.BOX_SOLID
    size = np.array([0.4, 0.4, 1.2]) if is_cylinder else np.array([0.5, 0.9, 1.2])
    half = size * ([1.0, 1.0, 0.5] if is_cylinder else 0.5)
    hits, work, slope = 0, np.empty((2, 3)), np.empty(3)
    for _ in range(80):
        position, q = 0.2 * rng.normal(size=3), batch.normalize(rng.normal(size=4))
        point, ray = _aimed_ray(rng, 0.5)
        own_point = batch.rotate(batch.conjugate(q), point - position)
        own_ray = batch.rotate(batch.conjugate(q), ray)
        expected = _march(
            own_point,
            own_ray,
            lambda p: object_distance.signed_distance(shape, size, p, slope),
        )
        t = rays.solid_hit(point, ray, kind, position, q, half, work)
        assert t == pytest.approx(expected, abs=HIT_TOL_M)
        if np.isfinite(t):
            hits += 1
            normal = np.empty(3)
            rays.solid_normal(point + t * ray, kind, position, q, half, normal)
            outside = own_point + (t - 1e-3) * own_ray
            object_distance.signed_distance(shape, size, outside, slope)
            if np.max(np.abs(slope)) > 0.999 or is_cylinder and abs(slope[2]) < 1e-3:
                turned = batch.rotate(q, slope)
                np.testing.assert_allclose(normal, turned, atol=5e-3)
    assert 20 < hits < 80


def test_the_nearest_thing_is_met_first():
    things = [
        Pill([0.0, 0.0, 1.0], [0.0, 0.0, 1.0], 0.2),
        Solid([-1.0, 0.0, 1.0], [0.2, 1.0, 1.0]),
    ]
    scene = scene_arrays([], things, RIGHT, AHEAD)
    work = np.empty((6, 3))
    eye, level = np.array([3.0, 0.0, 1.0]), np.array([-1.0, 0.0, 0.0])
    assert rays.first_hit(eye, level, scene, work) == (pytest.approx(2.8), rays.CAPSULE, 0)
    above = np.array([3.0, 0.0, 1.4])
    assert rays.first_hit(above, level, scene, work) == (pytest.approx(3.9), rays.SOLID, 0)
    down = np.array([0.0, 0.0, -1.0])
    assert rays.first_hit(eye, down, scene, work) == (pytest.approx(1.0), rays.FLOOR, -1)
    assert rays.first_hit(eye, -level, scene, work)[1] == rays.NOTHING


@pytest.mark.parametrize('solid', [False, True])
def test_light_fades_in_from_the_middle_of_a_shadow_to_outside(solid):
    thing = (
        Solid([0.0, 0.0, 1.5], [0.6, 0.6, 0.1])
        if solid
        else Pill([0.0, 0.0, 1.5], [0.0, 0.0, 1.5], 0.3)
    )
    scene = scene_arrays([], [thing], RIGHT, AHEAD)
    centre = -1.5 * scene.light / scene.light[2] + [0.0, 0.0, 1.5]
    across = np.cross(scene.light, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    work = np.empty((6, 3))
    shares = [
        light_share(centre + step * across, scene, rays.FLOOR, -1, work)
        for step in np.linspace(0.0, 0.8, 60)
    ]
    assert shares[0] == 0.0 and shares[-1] == 1.0
    assert np.all(np.diff(shares) >= -1e-12)
    assert 3 < sum(0.0 < share < 1.0 for share in shares) < 40


def test_sky_is_hidden_under_a_ball_and_open_far_away():
    scene = scene_arrays([], [Pill([0.0, 0.0, 0.3], [0.0, 0.0, 0.3], 0.28)], RIGHT, AHEAD)
    up = np.array([0.0, 0.0, 1.0])
    shares = [
        openness(np.array([x, 0.0, 0.0]), up, scene, rays.FLOOR, -1)
        for x in np.linspace(0.0, 3.0, 200)
    ]
    assert shares[0] < 0.5 and shares[-1] == 1.0
    assert np.all(np.diff(shares) >= 0.0)
    assert np.max(np.diff(shares)) < 0.03
