# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rays of the picture against distance fields: an independent way to the same surfaces."""

import math

import numpy as np
from puppet_core import quaternion_batch as batch
from puppet_retarget.importance import object_distance
from puppet_retarget.offline import picture_cull_kernels as cull
from puppet_retarget.offline import picture_ray_kernels as rays
from puppet_retarget.offline.picture_body import Pill, scene_arrays, Solid
from puppet_retarget.offline.picture_light_kernels import (
    light_share,
    openness,
    sky_hiders,
    solids_light_share,
    SUN_SPREAD,
)
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


def _capsule_row(start, end, radius):
    core = end - start
    return np.array([[*start, *core, core @ core, radius]])


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
        row = _capsule_row(start, end, 0.4)
        point, ray = _aimed_ray(rng, 0.5)
        t = kernel(point, ray, row, 0)
        expected = _march(point, ray, _capsule_distance(start, end, 0.4))
        hits += np.isfinite(t)
        assert t == pytest.approx(expected, abs=HIT_TOL_M)
    assert 8 < hits < 60


def test_capsule_is_hit_from_ahead_and_behind_its_axis():
    point, up = np.array([0.0, 0.0, -3.0]), np.array([0.0, 0.0, 1.0])
    row = _capsule_row(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.25)
    assert rays.capsule_hit(point, up, row, 0) == pytest.approx(2.75)
    assert rays.capsule_hit(-point, -up, row, 0) == pytest.approx(1.75)
    assert rays.capsule_hit(point, -up, row, 0) == math.inf


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


def _all(rows):
    return np.arange(len(rows))


def test_the_nearest_thing_is_met_first():
    things = [
        Pill([0.0, 0.0, 1.0], [0.0, 0.0, 1.0], 0.2),
        Solid([-1.0, 0.0, 1.0], [0.2, 1.0, 1.0]),
    ]
    scene = scene_arrays([], things, RIGHT, AHEAD)
    near, work = _all(scene.capsules), np.empty((2, 3))

    def first(point, ray):
        return rays.first_capsule(point, ray, scene.capsules, near)

    eye, level = np.array([3.0, 0.0, 1.0]), np.array([-1.0, 0.0, 0.0])
    assert first(eye, level) == (pytest.approx(2.8), rays.CAPSULE, 0)
    above = np.array([3.0, 0.0, 1.4])
    solids = _all(scene.solid_kinds)
    assert rays.first_solid(above, level, scene, solids, work) == (pytest.approx(3.9), 0)
    assert rays.first_solid(above, -level, scene, solids, work) == (math.inf, -1)
    assert first(eye, np.array([0.0, 0.0, -1.0])) == (pytest.approx(1.0), rays.FLOOR, -1)
    assert first(eye, -level)[1] == rays.NOTHING


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
    near, work = np.array([0]), np.empty((3, 3))
    shares = [
        solids_light_share(centre + step * across, scene, -1, near, work)
        if solid
        else light_share(centre + step * across, scene.light, scene.capsules, -1, near)
        for step in np.linspace(0.0, 0.8, 60)
    ]
    assert shares[0] == 0.0 and shares[-1] == 1.0
    assert np.all(np.diff(shares) >= -1e-12)
    assert 3 < sum(0.0 < share < 1.0 for share in shares) < 40


def test_sky_is_hidden_under_a_ball_and_open_far_away():
    scene = scene_arrays([], [Pill([0.0, 0.0, 0.3], [0.0, 0.0, 0.3], 0.28)], RIGHT, AHEAD)
    up, near = np.array([0.0, 0.0, 1.0]), np.array([0])
    shares = [
        openness(np.array([x, 0.0, 0.0]), up, scene.capsules, scene.parts, -1, near)
        for x in np.linspace(0.0, 3.0, 200)
    ]
    assert shares[0] < 0.5 and shares[-1] == 1.0
    assert np.all(np.diff(shares) >= 0.0)
    assert np.max(np.diff(shares)) < 0.03


def test_what_is_left_out_of_a_piece_cannot_matter_there(rng):
    """Points and rays inside a region against every capsule, one by one."""
    pills = [
        Pill(start, start + 0.4 * rng.normal(size=3), float(rng.uniform(0.03, 0.2)))
        for start in rng.normal(size=(40, 3)) * (2.0, 2.0, 0.5) + (0.0, 0.0, 1.0)
    ]
    scene = scene_arrays([], pills, RIGHT, AHEAD)
    out, counts = np.empty(len(pills), dtype=np.int64), np.zeros(3)
    for _ in range(20):
        eye, axis = rng.normal(size=3) * 4.0, batch.normalize(rng.normal(size=3))
        seen = set(out[:cull.cone_meets(eye, axis, 0.1, scene.balls, out)].tolist())
        region = np.array([*rng.normal(size=2), 0.0, 0.15])
        lit = set(out[:cull.shades(region, scene.light, SUN_SPREAD, scene.balls, out)].tolist())
        sky = set(out[:sky_hiders(region, scene, out)].tolist())
        counts += [len(seen), len(lit), len(sky)]
        for _ in range(20):
            side = np.cross(axis, rng.normal(size=3))
            slope = 0.1 * rng.uniform() / np.linalg.norm(side)
            ray = batch.normalize(axis + slope * side)
            point = region[:3] + 0.15 * rng.uniform() * batch.normalize(rng.normal(size=3))
            up = batch.normalize(rng.normal(size=3))
            for i in range(len(pills)):
                alone = np.array([i])
                if i not in seen:
                    assert rays.capsule_hit(eye, ray, scene.capsules, i) == math.inf
                if i not in lit:
                    assert light_share(point, scene.light, scene.capsules, -1, alone) == 1.0
                if i not in sky:
                    share = openness(point, up, scene.capsules, scene.parts, -1, alone)
                    assert share == 1.0
    assert np.all(counts > 0) and np.all(counts[:2] < 20 * 30)
