# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies beside each other: in order, apart, and all of them in the picture."""

from dataclasses import replace
from typing import Any

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_view.render import actors
from puppet_view.render.actors import Actor, line_up
from puppet_view.render.camera import View
from puppet_view.render.strip import Texts
import pytest

SIZE_PX = (96, 54)


@pytest.fixture
def scene(performer: Character, steps: Motion, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return bodies, camera and size that would be drawn of three bodies in frame 60."""
    seen: dict[str, Any] = {}

    def note(bodies: Any, camera: Any, size_px: Any, *others: Any) -> Any:
        seen.update(bodies=bodies, camera=camera, size_px=size_px)
        return np.zeros((*size_px[::-1], 3), dtype=np.uint8)

    monkeypatch.setattr(actors, 'render_scene', note)
    low = replace(steps, root_positions=steps.root_positions - (3.0, 1.0, 0.2))
    cast = [Actor(performer, motion, name) for name, motion in zip('abc', (steps, low, steps))]
    texts = Texts(SIZE_PX, tuple('abc'), has_scale=False)
    times = np.array([60 / steps.rate_hz])
    seen['picture'] = line_up(cast, times, View(-60.0, 8.0), texts).picture(0)
    return seen


def columns(scene: dict[str, Any]) -> list[np.ndarray]:
    """Return the picture columns of each body's joints."""
    return [scene['camera'].project(b.p_world, SIZE_PX)[:, 0] for b in scene['bodies']]


def test_bodies_stand_from_left_to_right_without_touching(scene: dict[str, Any]) -> None:
    first, second, third = columns(scene)
    assert first.max() < second.min() and second.max() < third.min()


def test_all_are_in_the_picture(scene: dict[str, Any]) -> None:
    for body in scene['bodies']:
        pixels = scene['camera'].project(body.p_world, SIZE_PX)
        assert np.all((pixels >= 0.0) & (pixels <= SIZE_PX))


def test_heights_are_the_motions_own(scene: dict[str, Any], steps: Motion) -> None:
    heights = [body.p_world[0, 2] for body in scene['bodies']]
    assert heights == pytest.approx(steps.root_positions[60, 2] + np.array([0.0, -0.2, 0.0]))


def test_viewer_sees_the_walker_go_right(scene: dict[str, Any]) -> None:
    """From its right side (azimuth -60) the toes are to the right of the heels."""
    body = scene['bodies'][0]
    front = body.p_world[0] + np.array([0.0, 0.5, 0.0])  # the performer walks along +Y
    heel, toe = scene['camera'].project(np.array([body.p_world[0], front]), SIZE_PX)
    assert toe[0] > heel[0]


def test_titles_are_written_below(scene: dict[str, Any]) -> None:
    rows = np.nonzero(scene['picture'].any(axis=(1, 2)))[0]
    assert rows.min() > 0.7 * SIZE_PX[1]
