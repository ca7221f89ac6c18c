# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""End-effectors out of objects: never left inside, no jump at any surface."""

from collections.abc import Callable

import numpy as np
from puppet_core.math import quaternions
from puppet_core.math.arrays import Vec3, Vec3s
from puppet_retarget.importance.environment import Environment, ObjectArrays
from puppet_retarget.importance.objects import SHAPES
from puppet_retarget.solvers import penetration
import pytest

LEFT_INSIDE_M = 1e-8


def arrays(environment: Environment) -> ObjectArrays:
    """Return the kernels' view of an environment."""
    return environment.arrays(1.0, 0.0)


def pushed(objects: ObjectArrays, start: Vec3, p: Vec3) -> tuple[bool, Vec3]:
    """Return whether the point moved, and where to."""
    out = np.full(3, np.nan)
    moved = penetration.leave_objects(objects, np.array(start), np.array(p), False, out)
    return moved, out


def path_steps(objects: ObjectArrays, start: Vec3, path: Vec3s) -> float:
    """Return the largest step of the answers over the largest of the path."""
    answers = np.array([pushed(objects, start, p)[1] for p in path])
    own = np.linalg.norm(np.diff(path, axis=0), axis=1).max()
    return np.linalg.norm(np.diff(answers, axis=0), axis=1).max() / own


@pytest.fixture
def random_solid(scene: Callable, rng) -> Callable[[int], Environment]:
    """Return a maker of one object of a shape, any size, anywhere, any way round."""

    def make(shape: int) -> Environment:
        a, b, c = rng.uniform(0.1, 1.0, 3)
        size = {0: np.ones(3), 1: np.array([a, b, c]), 2: np.full(3, a)}.get(
            shape, np.array([a, a, c])
        )
        turn = quaternions.normalize(rng.normal(size=4))
        return scene(scene.thing(SHAPES[shape], 0.3 * rng.normal(size=3), size, orientation=turn))

    return make


@pytest.mark.parametrize('shape', range(5), ids=SHAPES)
def test_no_point_is_left_inside(shape: int, random_solid, rng) -> None:
    """The shoulder may be anywhere, in the object too."""
    moved = 0
    for _ in range(200):
        objects = arrays(random_solid(shape))
        start, p = rng.normal(size=3), 0.3 * rng.normal(size=3)
        was_inside = penetration.deepest(objects, p) < -penetration.TOUCH_TOL_M
        has_moved, out = pushed(objects, start, p)
        assert has_moved == was_inside
        assert penetration.deepest(objects, out) >= -LEFT_INSIDE_M
        moved += has_moved
    assert moved > 10


def test_thin_board_is_left_on_the_side_of_the_shoulder(scene: Callable) -> None:
    board = arrays(scene(scene.thing('box', np.array([0, 0, 0.99]), np.array([2, 2, 0.02]))))
    _, out = pushed(board, [0.0, 0.0, 1.5], [0.1, 0.0, 0.987])
    assert out[2] == pytest.approx(1.0, abs=1e-9)


def test_sliding_along_a_wall_is_continuous(scene: Callable) -> None:
    """The line from the shoulder grazes the wall, entering it decimetres away."""
    wall = arrays(scene(scene.thing('box', np.array([0.5, 0, 1]), np.array([3, 0.2, 4.0]))))
    path = np.linspace([0.6, 0.11, 1.0], [0.6, 0.09, 1.0], 400)
    assert path_steps(wall, np.array([0.0, 0.12, 1.0]), path) < 3.0


@pytest.mark.parametrize('shape', range(5), ids=SHAPES)
def test_entering_a_solid_is_continuous_everywhere(shape: int, random_solid, rng) -> None:
    """From any side and at any angle, the first millimetre inside moves the hand by little."""
    tried = 0
    while tried < 40:
        objects = arrays(random_solid(shape))
        start, p = 1.5 * rng.normal(size=3), rng.normal(size=3)
        local, normal = np.empty(3), np.empty(3)
        gap = penetration.puppet_distance(objects, 0, p, local, normal)
        if gap < 0.05 or penetration.deepest(objects, start) < 0.05:
            continue
        inward = -quaternions.rotate(objects.puppet_orientations[0], normal)
        path = p + np.linspace(gap - 1e-3, gap + 1e-3, 200)[:, None] * inward
        assert path_steps(objects, start, path) < 8.0
        tried += 1


def test_overlapping_objects_are_all_left(scene: Callable, rng) -> None:
    """A hand in the corner of table and wall."""
    table = scene.thing('box', np.array([0.5, 0.0, 0.4]), np.array([1.0, 1.0, 0.8]))
    wall = scene.thing('box', np.array([1.0, 0.0, 1.0]), np.array([0.4, 3.0, 2.0]))
    objects = arrays(scene(scene.floor, table, wall))
    for p in rng.uniform([0.6, -0.4, 0.6], [0.95, 0.4, 1.2], (200, 3)):
        out = pushed(objects, [0.0, 0.0, 1.4], p)[1]
        assert penetration.deepest(objects, out) >= -LEFT_INSIDE_M


def test_ray_only_enters_from_the_shoulder_however_far(scene: Callable) -> None:
    ball = arrays(scene(scene.thing('sphere', np.zeros(3), np.full(3, 0.5))))
    out = np.empty(3)
    assert penetration.leave_objects(
        ball, np.array([-2.0, 0.0, 0.0]), np.array([0.45, 0.0, 0.0]), True, out
    )
    np.testing.assert_allclose(out, [-0.5, 0.0, 0.0], atol=1e-9)
