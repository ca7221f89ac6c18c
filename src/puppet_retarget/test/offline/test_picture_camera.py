# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The camera: where points appear, and that everything fits."""

from pathlib import Path

import numpy as np
from puppet_core.character import load_character
from puppet_core.errors import ConfigError
from puppet_retarget.offline.picture_body import Body
from puppet_retarget.offline.picture_camera import Camera, camera_around
import pytest

SIZE_PX = (400, 300)
CHARACTERS = Path(__file__).resolve().parents[4] / 'config' / 'characters'


def test_the_target_is_in_the_middle():
    camera = Camera([3.0, -2.0, 1.5], [0.2, 0.1, 0.9])
    np.testing.assert_allclose(camera.project(camera.target, SIZE_PX), [[200.0, 150.0]])


def test_left_and_up_in_the_world_are_left_and_up_for_a_viewer_behind():
    camera = Camera([-4.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    left, up = camera.project(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 2.0]]), SIZE_PX)
    assert left[0] < 200.0 and left[1] == pytest.approx(150.0)
    assert up[1] < 150.0 and up[0] == pytest.approx(200.0)


def test_the_view_angle_spans_the_height():
    camera = Camera([-2.0, 0.0, 1.0], [0.0, 0.0, 1.0], 90.0)
    (edge,) = camera.project(np.array([0.0, 0.0, 3.0]), SIZE_PX)
    assert edge[1] == pytest.approx(0.0, abs=1e-9)


def test_axes_are_right_handed_and_level():
    right, up, forward = Camera([1.0, 2.0, 3.0], [0.0, 0.5, 0.1]).axes()
    np.testing.assert_allclose(np.cross(right, up), -forward, atol=1e-15)
    assert right[2] == 0.0 and up[2] > 0.0


def test_points_behind_the_camera_have_no_pixel():
    camera = Camera([2.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    assert np.all(np.isnan(camera.project(np.array([5.0, 0.0, 1.0]), SIZE_PX)))


@pytest.mark.parametrize('position', [(0.0, 0.0, 5.0), (0.0, 0.0, 1.0)])
def test_a_camera_straight_above_its_target_is_refused(position):
    with pytest.raises(ConfigError, match='camera: expected a target beside the position'):
        Camera(position, [0.0, 0.0, 1.0])


def test_a_view_angle_out_of_range_is_refused():
    with pytest.raises(ConfigError, match='view_angle_deg: expected 0.1 <= value <= 150'):
        Camera([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], 180.0)


@pytest.mark.parametrize('azimuth_deg', [0.0, 50.0, 90.0, 200.0])
@pytest.mark.parametrize('size_px', [(1600, 900), (300, 800)])
def test_all_bodies_fit_and_fill_the_picture(azimuth_deg, size_px):
    bodies = [
        Body.at_rest(load_character(CHARACTERS / f'{name}.yaml'), shift=np.array([0.0, y, 0.0]))
        for name, y in (('sally', 0.0), ('blubby', 2.0))
    ]
    camera = camera_around(bodies, size_px, azimuth_deg, margin=0.1)
    places, radii = [], []
    for body in bodies:
        starts, ends, radius, _ = body.capsules()
        places += [starts, ends]
        radii += [radius, radius]
    pixels = camera.project(np.concatenate(places), size_px)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    assert np.all(low >= 0.099 * np.array(size_px))
    assert np.all(high <= 0.901 * np.array(size_px))
    assert np.max((high - low) / size_px) > 0.6
