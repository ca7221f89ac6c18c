# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Cameras over time: they follow, stay or go round, and every body stays in its frame."""

from dataclasses import replace

import numpy as np
from puppet_core.io import ConfigError
from puppet_view.render.actors import Actor, line_up
from puppet_view.render.camera import cameras_along, View
from puppet_view.render.strip import Texts
import pytest

SIZE_PX = (320, 180)
TIMES_S = np.linspace(0.0, 0.9, 10)


@pytest.fixture
def actors(performer, steps):
    return [Actor(performer, steps, 'one'), Actor(performer, steps, 'other')]


def _pixels(scenes, i):
    """Return pixels of spheres' outlines of all bodies at instant i, shape (n, 2)."""
    camera, found = scenes.cameras[i], []
    axes = camera.axes()
    for body in scenes.shots[i]:
        starts, ends, radii, _ = body.capsules()
        for angle in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False):
            aside = np.cos(angle) * axes[0] + np.sin(angle) * axes[1]
            for points in (starts, ends):
                found.append(camera.project(points + radii[:, None] * aside, SIZE_PX))
    return np.concatenate(found)


@pytest.mark.parametrize('kind', ['fixed', 'follow', 'orbit'])
@pytest.mark.parametrize('azimuth_deg', [0.0, -90.0, 35.0])
def test_bodies_keep_clear_of_the_margins_at_all_instants(actors, kind, azimuth_deg):
    texts = Texts(SIZE_PX, ('one', 'other'))
    scenes = line_up(actors, TIMES_S, View(azimuth_deg, 8.0, kind), texts)
    pixels = np.concatenate([_pixels(scenes, i) for i in range(len(TIMES_S))])
    left, top, right, bottom = texts.margins_px
    tol = 0.5
    assert np.all(pixels >= (left - tol, top - tol))
    assert np.all(pixels <= (SIZE_PX[0] - right + tol, SIZE_PX[1] - bottom + tol))
    spans = np.ptp(pixels, axis=0) / (SIZE_PX[0] - left - right, SIZE_PX[1] - top - bottom)
    assert spans.max() > 0.97  # as near as that allows


def test_bodies_stand_from_left_to_right_at_their_own_heights(performer, steps):
    low = replace(steps, root_positions=steps.root_positions - (3.0, 1.0, 0.2))
    cast = [Actor(performer, motion, name) for name, motion in zip('abc', (steps, low, steps))]
    times = np.array([60 / steps.rate_hz])
    scenes = line_up(cast, times, View(-60.0, 8.0), Texts(SIZE_PX, tuple('abc')))
    bodies = scenes.shots[0]
    one, two, three = (scenes.cameras[0].project(b.p_world, SIZE_PX)[:, 0] for b in bodies)
    assert one.max() < two.min() and two.max() < three.min()
    heights = [body.p_world[0, 2] for body in bodies]
    assert heights == pytest.approx(steps.root_positions[60, 2] + np.array([0.0, -0.2, 0.0]))


def test_a_fixed_camera_stays_and_one_that_follows_keeps_the_body_in_place(actors):
    columns = {}
    for kind in ('fixed', 'follow'):
        texts = Texts(SIZE_PX, ('one',))
        scenes = line_up(actors[:1], TIMES_S, View(-90.0, 8.0, kind), texts)
        places = np.array([camera.position for camera in scenes.cameras])
        assert np.ptp(places, axis=0).max() == pytest.approx(0.0, abs=1e-9) or kind == 'follow'
        pelvis = [
            camera.project(shot[0].p_world[0], SIZE_PX)[0, 0]
            for camera, shot in zip(scenes.cameras, scenes.shots)
        ]
        columns[kind] = np.ptp(pelvis)
    assert columns['fixed'] > 3.0 * columns['follow']


def test_a_picture_without_room_is_refused(actors):
    view = View(margins_px=(200, 0, 200, 0))
    with pytest.raises(ConfigError, match='size: expected room between the labels'):
        cameras_along([[actors[0].body(0)]], np.zeros((1, 3)), view, (320, 180))
