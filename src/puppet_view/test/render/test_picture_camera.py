# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The camera: where points appear, and that everything fits."""

import numpy as np
from puppet_view.render.camera import Camera
import pytest

SIZE_PX = (400, 300)


def test_the_target_is_in_the_middle():
    camera = Camera(np.array([3.0, -2.0, 1.5]), np.array([0.2, 0.1, 0.9]))
    np.testing.assert_allclose(camera.project(camera.target, SIZE_PX), [[200.0, 150.0]])


def test_left_and_up_in_the_world_are_left_and_up_for_a_viewer_behind():
    camera = Camera(np.array([-4.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    left, up = camera.project(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 2.0]]), SIZE_PX)
    assert left[0] < 200.0 and left[1] == pytest.approx(150.0)
    assert up[1] < 150.0 and up[0] == pytest.approx(200.0)


def test_the_view_angle_spans_the_height():
    camera = Camera(np.array([-2.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]), 90.0)
    (edge,) = camera.project(np.array([0.0, 0.0, 3.0]), SIZE_PX)
    assert edge[1] == pytest.approx(0.0, abs=1e-9)


def test_points_behind_the_camera_have_no_pixel():
    camera = Camera(np.array([2.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    assert np.all(np.isnan(camera.project(np.array([5.0, 0.0, 1.0]), SIZE_PX)))
