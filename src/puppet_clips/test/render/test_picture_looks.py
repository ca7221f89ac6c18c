# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a viewer relies on: sides are not swapped, soles touch the floor, texts are free."""

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math.quaternions import exp
from puppet_view.render.actors import Actor, limb_colours, line_up
from puppet_view.render.camera import View
from puppet_view.render.image import render_scene
from puppet_view.render.strip import Texts
import pytest

pytestmark = pytest.mark.slow

SIZE_PX = (320, 240)
GREEN = (0.05, 0.8, 0.05)


def _standing(performer, raised=''):
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (1, 16, 1))
    if raised:
        side = 1.0 if raised.startswith('left') else -1.0
        rotations[0, SEGMENT_INDEX[raised]] = exp(np.array([side * 0.5 * np.pi, 0.0, 0.0]))
    root = np.array([[0.0, 0.0, performer.skeleton.rest_root_height]])
    return Motion.from_rotations(performer.skeleton, 30.0, root, rotations)


@pytest.mark.parametrize('view', ['front', 'back'])
@pytest.mark.parametrize('raised', ['left_upper_arm', 'right_upper_arm'])
def test_a_raised_arm_is_on_its_side_of_the_picture(performer, raised, view):
    """From the front the left arm is on the right of the picture."""
    motion = _standing(performer, raised)
    colours = np.full((16, 3), np.nan)
    arm = SEGMENT_INDEX[raised]
    colours[arm : arm + 3] = GREEN
    texts, seen = Texts(SIZE_PX, has_scale=False), View(0.0 if view == 'front' else 180.0)
    scenes = line_up([Actor(performer, motion, '')], np.zeros(1), seen, texts)
    body = scenes.shots[0][0]._replace(segment_colours=colours)
    picture = render_scene([body], scenes.cameras[0], SIZE_PX).astype(int)
    rows, columns = np.nonzero(picture[..., 1] > 1.5 * picture[..., [0, 2]].max(axis=2))
    head = scenes.cameras[0].project(body.p_world[3], SIZE_PX)[0]
    on_right = raised.startswith('left') == (view == 'front')
    assert (np.mean(columns) > head[0] + 5) == on_right
    assert rows.min() < head[1]


@pytest.mark.parametrize('size_px', [(320, 240), (640, 200)])
def test_no_text_lies_over_a_body(performer, steps, size_px):
    actors = [Actor(performer, steps, name) for name in ('Performer', 'Another body', 'C')]
    texts = Texts(size_px, tuple(actor.title for actor in actors))
    times = np.linspace(0.0, 0.9, 4)
    scenes = line_up(actors, times, View(-60.0), texts)
    for i, camera in enumerate(scenes.cameras):
        mask = _mask(scenes.shots[i], camera, size_px)
        columns = camera.project(scenes.anchors[i], size_px)[:, 0]
        boxes = [box for _, box in texts.boxes(columns, '0.25 s')]
        assert len(boxes) == 5
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= size_px[0] and 0 <= top < bottom <= size_px[1]
            assert not mask[int(top) : int(bottom) + 1, int(left) : int(right) + 1].any()
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                beside = one[2] <= other[0] or other[2] <= one[0]
                assert beside or one[3] <= other[1] or other[3] <= one[1]


def _mask(bodies, camera, size_px=SIZE_PX):
    pictures = []
    for grey in (0.1, 0.9):
        painted = [b._replace(segment_colours=np.full((16, 3), grey)) for b in bodies]
        pictures.append(render_scene(painted, camera, size_px, samples=1).astype(int))
    return np.abs(pictures[0] - pictures[1]).max(axis=2) > 8


def test_the_body_between_two_frames_is_half_way_and_stands_in_a_gap(performer):
    one, other = _standing(performer), _standing(performer, 'left_upper_arm')
    roots = one.root_positions + [[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.0, 0.0]]
    rotations = np.concatenate((one.rotations, other.rotations, one.rotations))
    motion = Motion.from_rotations(performer.skeleton, 10.0, roots, rotations)
    actor = Actor(performer, motion, '', times_s=np.array([1.0, 1.1, 15.0]))
    arm = SEGMENT_INDEX['left_upper_arm']
    half = actor.body_at(1.05)
    np.testing.assert_allclose(half.p_world[0] - one.root_positions[0], [0.1, 0, 0], atol=1e-12)
    expected = exp(np.array([0.25 * np.pi, 0.0, 0.0]))
    assert abs(half.q_world[arm] @ expected) == pytest.approx(1.0, abs=1e-12)
    for time, frame in ((0.0, 0), (1.0, 0), (1.1, 1), (1.1 + 1e-9, 1), (14.99, 1), (15.0, 2)):
        np.testing.assert_array_equal(actor.body_at(time).p_world, actor.body(frame).p_world)


def test_limbs_have_the_colour_of_their_importance_and_the_trunk_its_own():
    colours = limb_colours(np.array([0.0, 1.0, 0.5, 1.0]))
    assert np.all(np.isnan(colours[:4])) and np.all(np.isfinite(colours[4:]))
    np.testing.assert_array_equal(colours[7:10], colours[13:16])
    assert colours[7, 0] > colours[7, 2] and colours[4, 2] > colours[4, 0]
