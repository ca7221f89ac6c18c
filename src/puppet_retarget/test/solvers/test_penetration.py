# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing is left inside objects or the own body, and nothing jumps."""

from pathlib import Path

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import pack_arrays
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.robots import character_from_urdf, RobotMap
from puppet_retarget.importance.environment import Environment, ObjectArrays
from puppet_retarget.importance.objects import SHAPES
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    RELEVANT,
    SELF_DISTANCE,
    SELF_ROW,
)
from puppet_retarget.solvers import penetration
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.penetration import (
    ALLOWED_M,
    bounding_centres,
    leave_body,
    self_depths,
)
from puppet_retarget.solvers.registry import ImportanceBasedSolver
from puppet_retarget.solvers.state import Frame, puppet_model
import pytest
from self_bodies import body_of_rotations, curled_up, plain_distances, random_arms

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
LEFT_INSIDE_M = 1e-8
LEFT_M = 2e-3
N_POSES = 400
REACHED_SHARE = 0.99  # of poses: few need a bend that arm and belly do not allow


def arrays(environment: Environment) -> ObjectArrays:
    """Return the kernels' view of an environment."""
    return environment.arrays(1.0, 0.0)


def pushed(objects: ObjectArrays, start: Vec3, p: Vec3) -> tuple[bool, Vec3]:
    """Return whether the point moved, and where to."""
    moved, out = penetration.leave_objects(objects, np.array(start), np.array(p), False)
    return moved, np.array(out)


def path_steps(objects: ObjectArrays, start: Vec3, path: Vec3s) -> float:
    """Return the largest step of the answers over the largest of the path."""
    answers = np.array([pushed(objects, start, p)[1] for p in path])
    own = np.linalg.norm(np.diff(path, axis=0), axis=1).max()
    return np.linalg.norm(np.diff(answers, axis=0), axis=1).max() / own


@pytest.fixture
def random_solid(scene, rng):
    """Return a maker of one object of a shape, any size, anywhere, any way round."""

    def make(shape: int) -> Environment:
        a, b, c = rng.uniform(0.1, 1.0, 3)
        size = {0: np.ones(3), 1: np.array([a, b, c]), 2: np.full(3, a)}.get(
            shape, np.array([a, a, c])
        )
        turn = qb.normalize(rng.normal(size=4))
        return scene(scene.thing(SHAPES[shape], 0.3 * rng.normal(size=3), size, orientation=turn))

    return make


@pytest.mark.parametrize('shape', range(5), ids=SHAPES)
def test_no_point_is_left_inside(shape, random_solid, rng):
    """The shoulder may be anywhere, in the object too."""
    moved = 0
    for _ in range(200):
        objects = arrays(random_solid(shape))
        start, p = rng.normal(size=3), 0.3 * rng.normal(size=3)
        was_inside = penetration.least_distance(objects, p) < -penetration.TOUCH_TOL_M
        has_moved, out = pushed(objects, start, p)
        assert has_moved == was_inside
        assert penetration.least_distance(objects, out) >= -LEFT_INSIDE_M
        moved += has_moved
    assert moved > 10


def test_thin_board_is_left_on_the_side_of_the_shoulder(scene):
    board = arrays(scene(scene.thing('box', np.array([0, 0, 0.99]), np.array([2, 2, 0.02]))))
    _, out = pushed(board, [0.0, 0.0, 1.5], [0.1, 0.0, 0.987])
    assert out[2] == pytest.approx(1.0, abs=1e-9)


def test_sliding_along_a_wall_is_continuous(scene):
    """The line from the shoulder grazes the wall, entering it decimetres away."""
    wall = arrays(scene(scene.thing('box', np.array([0.5, 0, 1]), np.array([3, 0.2, 4.0]))))
    path = np.linspace([0.6, 0.11, 1.0], [0.6, 0.09, 1.0], 400)
    assert path_steps(wall, np.array([0.0, 0.12, 1.0]), path) < 3.0


@pytest.mark.parametrize('shape', range(5), ids=SHAPES)
def test_entering_a_solid_is_continuous_everywhere(shape, random_solid, rng):
    """From any side and at any angle, the first millimetre inside moves the hand by little."""
    tried = 0
    while tried < 40:
        objects = arrays(random_solid(shape))
        start, p = 1.5 * rng.normal(size=3), rng.normal(size=3)
        gap, _, normal = penetration.puppet_distance(objects, 0, p)
        if gap < 0.05 or penetration.least_distance(objects, start) < 0.05:
            continue
        inward = -qb.rotate(objects.puppet_orientations[0], np.array(normal))
        path = p + np.linspace(gap - 1e-3, gap + 1e-3, 200)[:, None] * inward
        assert path_steps(objects, start, path) < 8.0
        tried += 1


def test_overlapping_objects_are_all_left(scene, rng):
    """A hand in the corner of table and wall."""
    table = scene.thing('box', np.array([0.5, 0.0, 0.4]), np.array([1.0, 1.0, 0.8]))
    wall = scene.thing('box', np.array([1.0, 0.0, 1.0]), np.array([0.4, 3.0, 2.0]))
    objects = arrays(scene(scene.floor, table, wall))
    for p in rng.uniform([0.6, -0.4, 0.6], [0.95, 0.4, 1.2], (200, 3)):
        out = pushed(objects, [0.0, 0.0, 1.4], p)[1]
        assert penetration.least_distance(objects, out) >= -LEFT_INSIDE_M


def test_ray_only_enters_from_the_shoulder_however_far(scene):
    ball = arrays(scene(scene.thing('sphere', np.zeros(3), np.full(3, 0.5))))
    start, p = np.array([-2.0, 0.0, 0.0]), np.array([0.45, 0.0, 0.0])
    inside, out = penetration.leave_objects(ball, start, p, True)
    assert inside
    np.testing.assert_allclose(out, [-0.5, 0.0, 0.0], atol=1e-9)


def arm_distances(character: Character, rotations: Quats) -> Floats:
    """Return distances of palms, elbows and two fingertips from the body, (4, 2) [m]."""
    body = body_of_rotations(character.skeleton, rotations)
    turns, fingers = body.q_world[LIMB_SEGMENTS[:2, 2]], puppet_model(character).fingers
    found = []
    for points in (body.points[:2], body.points[4:6], *fingers.swapaxes(0, 1)):
        if len(found) >= 2:
            points = body.points[:2] + qb.rotate(turns, points)
        moved = body._replace(points=np.vstack((points, body.points[2:])))
        distances = np.where(RELEVANT, plain_distances(moved, character.capsules), np.inf)
        found.append(distances[:2].min(axis=1))
    return np.array(found)


PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])


@pytest.fixture
def solve(scene):
    """Return a function that poses a puppet with captured rotations and no importance."""
    solvers: dict[tuple[str, bool], ImportanceBasedSolver] = {}

    def run(
        character: Character, rotations: Quats, push: bool = True, depths: Floats | None = None
    ) -> tuple[Quats, Floats, Floats]:
        if (character.name, push) not in solvers:
            config = SolverConfig(self_push_out=push)
            solvers[character.name, push] = ImportanceBasedSolver(character, scene(), 0.93, config)
        solver = solvers[character.name, push]
        self_rows = np.zeros((8, SELF_ROW))
        if depths is not None:
            self_rows[:, SELF_DISTANCE] = -depths
        out = solver.solve(
            np.array([0.0, 0.0, 1.0]),
            np.array([0.0, 0.0, 0.95]),
            rotations,
            np.zeros((4, 8)),
            np.inf,
            self_rows,
        )
        return out.rotations.copy(), out.self_depths.copy(), out.end_effectors.copy()

    return run


def depths_of(character: Character, rotations: Quats) -> Floats:
    """Return depths (8,) of a posture by definition [m]."""
    body = body_of_rotations(character.skeleton, rotations)
    distances = np.where(RELEVANT, plain_distances(body, character.capsules), np.inf)
    return np.maximum(-distances.min(axis=1), 0.0)


@PUPPETS
def test_depths_are_those_of_the_definition(solve, puppet, request, rng):
    character = request.getfixturevalue(puppet)
    for _ in range(10):
        rotations = random_arms(character.skeleton, rng).rotations
        got = solve(character, rotations, push=False)[1]
        np.testing.assert_allclose(got, depths_of(character, rotations), atol=1e-12)


@PUPPETS
def test_random_arms_end_outside_of_the_body(solve, puppet, request, rng):
    character = request.getfixturevalue(puppet)
    before, after = [], []
    for _ in range(N_POSES):
        rotations = random_arms(character.skeleton, rng).rotations
        before.append(solve(character, rotations, push=False)[1].max())
        after.append(solve(character, rotations)[1].max())
    inside = np.array(before) > ALLOWED_M + LEFT_M
    assert inside.sum() > 10
    left = np.array(after) > ALLOWED_M + LEFT_M
    assert np.mean(~left) >= REACHED_SHARE, np.round(1e3 * np.array(after)[left], 1)


def test_a_robots_arms_are_not_thinner_than_they_are(solve, rng):
    """Palms, elbows and fingertips are points in arms: the surface around them stays outside."""
    character = character_from_urdf(HUMANOID, RobotMap()).character
    model, lacks = puppet_model(character), []
    sizes = np.concatenate((model.sizes[[0, 1, 4, 5]], model.finger_sizes.T.ravel()))
    assert np.all(sizes > 0.005)
    for _ in range(N_POSES):
        rotations = random_arms(character.skeleton, rng).rotations
        for posed in (rotations, solve(character, rotations)[0]):
            lacks.append(np.max(sizes - arm_distances(character, posed).ravel()))
    inside, left = np.reshape(lacks, (-1, 2)).T > ALLOWED_M + LEFT_M
    assert inside.sum() > 10 and np.mean(left[inside]) < 0.1


def test_depth_of_the_performer_is_left(solve, short_character, rng):
    """What the performer's own body does, an elbow pressed into the side, may stay."""
    seen = 0
    for _ in range(40):
        rotations = random_arms(short_character.skeleton, rng).rotations
        depths = solve(short_character, rotations, push=False)[1]
        out, _, _ = solve(short_character, rotations, depths=depths)
        np.testing.assert_array_equal(out, rotations)
        seen += depths.max() > ALLOWED_M
    assert seen > 3


@PUPPETS
def test_a_point_leaves_the_body_or_stays_where_it_is(puppet, request, rng):
    character = request.getfixturevalue(puppet)
    shape = body_arrays(character.skeleton, character.capsules).shape
    left, stayed = 0, 0
    _, frame = pack_arrays(Frame())
    for _ in range(40):
        body = curled_up(character.skeleton, rng, 0.4)
        frame.q_world[:], frame.p_world[:] = body.q_world, body.p_world
        bounding_centres(shape, frame)
        starts = body.p_world[rng.integers(3, size=8)] + 0.3 * rng.normal(size=(8, 3))
        body.points[:] = starts
        distances = plain_distances(body, character.capsules)
        for j, start in enumerate(starts):
            moved, point = leave_body(shape, frame, j, 0.0, start)
            depth = -np.where(RELEVANT[j], distances[j], 9.0).min()
            if depth <= 0.0:
                np.testing.assert_array_equal(point, start)
                assert not moved
                stayed += 1
            else:
                frame.end_effectors[:] = point
                self_depths(shape, frame)
                assert frame.self_depths[j] < 0.25 * depth + 1e-3
                assert moved
                left += 1
    assert left > 10 and stayed > 50
