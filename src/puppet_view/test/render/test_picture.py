# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures: what is drawn is where it projects, throws a shadow and hides what is behind."""

from pathlib import Path

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion
from puppet_core.math.arrays import read_only
from puppet_core.math.quaternions import exp
from puppet_retarget.importance.environment import Environment, Placement, SceneObject
from puppet_retarget.importance.objects import BOX, CAPSULE, CYLINDER, PLANE, SPHERE
from puppet_view.render.camera import Camera
from puppet_view.render.cast import objects_of
from puppet_view.render.image import light_direction, render_scene
from puppet_view.render.scene import Body, Capsule, Solid
import pytest

SIZE_PX = (160, 120)
RED, GREEN, BLUE = (0.8, 0.1, 0.1), (0.1, 0.7, 0.1), (0.1, 0.1, 0.8)


@pytest.fixture
def camera():
    return Camera(np.array([4.0, 1.0, 1.6]), np.array([0.0, 0.0, 0.7]), 35.0)


@pytest.fixture(scope='module')
def adult():
    data = Path(__file__).resolve().parents[4] / 'data'
    return load_character(data / 'characters' / 'performer.yaml')


def _ball(place, radius, colour):
    return Capsule(np.array(place), np.array(place), radius, colour)


def _pixel(picture, camera, place):
    column, row = camera.project(np.array(place), SIZE_PX)[0]
    return picture[int(row), int(column)].astype(int)


@pytest.mark.parametrize('place', [(0, 0, 0.7), (0.3, -0.8, 0.4), (-1.0, 0.9, 1.2)])
def test_a_ball_is_seen_where_it_projects(camera, place):
    picture = render_scene([], camera, SIZE_PX, [_ball(place, 0.1, RED)])
    red, green, blue = _pixel(picture, camera, place)
    assert red > 1.5 * green and red > 1.5 * blue
    aside = _pixel(picture, camera, np.add(place, [0.0, 0.3, 0.2]))
    assert aside[0] < 1.2 * aside[2]


@pytest.mark.parametrize('is_cylinder', [False, True])
def test_a_solid_is_seen_where_it_projects(camera, is_cylinder):
    solid = Solid(
        np.array([0.0, 0.3, 0.4]), np.array([0.3, 0.3, 0.8]), is_cylinder=is_cylinder, colour=GREEN
    )
    picture = render_scene([], camera, SIZE_PX, [solid])
    red, green, blue = _pixel(picture, camera, [0.0, 0.3, 0.4])
    assert green > 1.3 * red and green > 1.3 * blue


def test_a_ball_throws_its_shadow_on_the_floor(camera):
    ball = _ball((0.0, 0.3, 0.9), 0.25, RED)
    light = light_direction(camera)
    foot = ball.start - light * (ball.start[2] / light[2])
    lit = render_scene([], camera, SIZE_PX)
    shaded = render_scene([], camera, SIZE_PX, [ball])
    before, after = (_pixel(p, camera, foot) for p in (lit, shaded))
    assert np.all(after < 0.8 * before)
    far = foot + [0.0, -1.2, 0.0]
    np.testing.assert_allclose(_pixel(shaded, camera, far), _pixel(lit, camera, far), atol=2)


def test_more_rays_on_edges_come_nearer_to_a_large_picture_made_small(camera, adult):
    large = render_scene([Body.at_rest(adult)], camera, (960, 720), samples=1)
    exact = (large.astype(float) ** 2.2).reshape(120, 6, 160, 6, 3).mean(axis=(1, 3))
    small = (render_scene([Body.at_rest(adult)], camera, SIZE_PX, samples=n) for n in (1, 2, 4))
    errors = [np.mean(np.abs(picture**2.2 - exact)) for picture in small]
    assert errors[1] < 0.8 * errors[0] and errors[2] < errors[1]


def test_an_eye_inside_a_body_or_under_the_floor_still_gives_a_picture(adult):
    body = Body.at_rest(adult)
    for place in (body.p_world[2], np.array([1.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])):
        picture = render_scene([body], Camera(place, np.array([-1.0, 0.2, 1.0])), (40, 30))
        assert picture.shape == (30, 40, 3)


def test_segment_colours_replace_the_characters_own_where_given(camera, adult):
    colours = np.full((16, 3), np.nan)
    colours[2] = GREEN
    plain = Body.at_rest(adult)
    painted = plain._replace(segment_colours=colours)
    segments = np.array(sorted(c.segment for c in adult.capsules))
    before, after = plain.capsules()[3], painted.capsules()[3]
    np.testing.assert_array_equal(after[segments == 2], np.tile(GREEN, (sum(segments == 2), 1)))
    np.testing.assert_array_equal(after[segments != 2], before[segments != 2])


def test_capsules_of_a_body_are_where_its_segments_are(rng, adult):
    rotations = exp(0.4 * rng.normal(size=(3, 16, 3)))
    motion = Motion.from_rotations(adult.skeleton, 60.0, rng.normal(size=(3, 3)), rotations)
    body = Body.in_posture(adult, motion.posture(1), shift=np.array([0.0, 2.0, 0.0]))
    q_world, p_world = motion.world_segments()
    np.testing.assert_allclose(body.p_world, p_world[1] + [0.0, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(body.q_world, q_world[1], atol=1e-12)
    starts, ends, radii, _ = body.capsules()
    lengths = sorted(np.linalg.norm(c.end - c.start) for c in adult.capsules)
    np.testing.assert_allclose(sorted(np.linalg.norm(ends - starts, axis=1)), lengths, atol=1e-12)
    assert len(radii) == len(adult.capsules)


def _object(name, shape, size, at, puppet_at=None):
    place = Placement(at, [1.0, 0.0, 0.0, 0.0], size)
    other = Placement(at if puppet_at is None else puppet_at, [1.0, 0.0, 0.0, 0.0], size)
    nan = np.full(10, np.nan)
    return SceneObject(name, shape, place, other, read_only(nan), read_only(nan[:8]))


def test_an_environments_objects_are_drawn_as_they_are():
    given = (
        _object('floor', PLANE, np.ones(3), np.zeros(3)),
        _object('table', BOX, np.array([1.0, 0.6, 0.7]), np.array([1.0, 0.0, 0.35])),
        _object('ball', SPHERE, np.full(3, 0.2), np.array([0.0, 1.0, 0.2])),
        _object('post', CYLINDER, np.array([0.1, 0.1, 2.0]), np.array([0.0, 2.0, 1.0])),
        _object('rail', CAPSULE, np.array([0.1, 0.1, 2.0]), np.array([3.0, 0.0, 1.2])),
    )
    objects = objects_of(Environment(given))
    assert len(objects) == 4
    np.testing.assert_array_equal(objects[0].size, [1.0, 0.6, 0.7])
    assert objects[1].radius == 0.2
    assert objects[2].is_cylinder
    np.testing.assert_allclose(objects[3].end, [3.0, 0.0, 2.2])


def test_the_puppets_objects_are_its_own_and_scaled():
    table = _object('table', BOX, np.ones(3), np.array([1.0, 0, 0]), np.array([2.0, 0, 0]))
    environment = Environment((table,))
    (own,) = objects_of(environment, puppet=True, world_scale=0.5)
    np.testing.assert_array_equal(own.position, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(own.size, [0.5, 0.5, 0.5])
