# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Strips: one scale a row, one column an instant."""

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_view.render import strip
from puppet_view.render.camera import cameras_along, View
from puppet_view.render.scene import Body
from puppet_view.render.strip import even_instants, render_strip, StripRow
import pytest

pytestmark = pytest.mark.slow

CELL_PX = (60, 80)
CHARACTERS = named_files.DATA / 'characters'


@pytest.fixture(scope='module')
def rows():
    characters = [load_character(CHARACTERS / f'{name}.yaml') for name in ('sally', 'blubby')]
    return [
        StripRow(
            character.name,
            [[Body.at_rest(character, shift=np.array([0.0, y, 0.0]))] for y in (0.0, 0.7, 1.4)],
        )
        for character in characters
    ]


@pytest.mark.parametrize(
    'n_frames, count, expected',
    [(100, 5, [10, 30, 50, 70, 90]), (5, 5, [0, 1, 2, 3, 4]), (1, 3, [0, 0, 0]), (7, 1, [3])],
)
def test_instants_are_even_and_inside_the_clip(n_frames, count, expected):
    assert even_instants(n_frames, count).tolist() == expected


def test_a_strip_has_a_cell_for_each_row_and_instant(rows):
    picture = render_strip(rows, ['0 s', '1 s', '2 s'], CELL_PX)
    gutter = strip.GUTTER_PX
    without = render_strip(rows, (), CELL_PX)
    assert without.shape == (2 * CELL_PX[1] + gutter, 3 * CELL_PX[0] + 2 * gutter, 3)
    assert np.all(without[:, CELL_PX[0] : CELL_PX[0] + gutter] == 255)
    band = picture.shape[0] - without.shape[0]
    assert 0 < band < 0.4 * CELL_PX[1]
    np.testing.assert_array_equal(picture[band:], without)


def test_cells_of_a_row_have_one_scale_and_follow_the_body(rows, monkeypatch):
    cameras = []

    def note(*arguments):
        cameras.extend(cameras_along(*arguments))
        return cameras

    monkeypatch.setattr(strip, 'cameras_along', note)
    render_strip(rows[:1], (), CELL_PX)
    backs = [camera.position - camera.target for camera in cameras]
    np.testing.assert_allclose(backs[1:], backs[:-1], atol=1e-12)
    steps = np.diff([camera.target for camera in cameras], axis=0)
    np.testing.assert_allclose(steps, [[0.0, 0.7, 0.0]] * 2, atol=1e-12)


def test_the_direction_of_view_is_that_of_the_first_row_s_body(rows, monkeypatch):
    """Or a body that an edit turned would look as before."""
    body = rows[0].cells[0][0]
    q_world = body.q_world.copy()
    q_world[0] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]  # a quarter turn to the left
    turned = StripRow('', [[Body(body.character, q_world, body.p_world)]])
    ahead = StripRow('', [[body]])
    azimuths = []

    def note(shots, path, view, size_px):
        azimuths.append(view.azimuth_deg)
        return cameras_along(shots, path, view, size_px)

    monkeypatch.setattr(strip, 'cameras_along', note)
    render_strip([turned, ahead], (), CELL_PX, View(20.0))
    render_strip([ahead, turned], (), CELL_PX, View(20.0))
    np.testing.assert_allclose(azimuths, [110.0, 110.0, 20.0, 20.0], atol=1e-9)
