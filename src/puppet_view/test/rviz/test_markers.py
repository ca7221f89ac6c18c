# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers: solids of the environment, goals and limbs as they matter, the solver's balls."""

from pathlib import Path
from xml.etree import ElementTree as Xml

from body_fixtures import floor_only
from continuity_runs import Stage
import numpy as np
from puppet_core.body.posture import general_end_effectors, Posture, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.marker_spec import importance_colour
from puppet_core.math import quaternions as qb
from puppet_core.robots.description import urdf_text
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE
from puppet_retarget.importance.self_interaction import (
    DISPLACEMENT,
    FIRST_CONTACT,
    N_SAMPLES,
    SAMPLE,
    SELF_IMPORTANCE,
    WEIGHT,
)
from puppet_retarget.solvers import make_solver, SolverConfig
from puppet_retarget.solvers.thesis.puppet import Pose, puppet_of, settings_of
from puppet_retarget.solvers.thesis.ranges import self_ball
from puppet_view.rviz.markers import (
    body_name,
    BodyTint,
    environment_markers,
    goal_markers,
    label_markers,
    range_ball_markers,
    SelfBallView,
    SKIN_M,
    TINTS,
)
import pytest
from scipy.spatial.transform import Rotation

SCENE = """\
format: puppet-environment/1
objects:
- {name: floor, shape: plane}
- {name: table, shape: box, position_m: [1, 0, 0.7], size_m: [0.6, 1.2, 0.04],
   puppet: {size_m: [0.3, 0.6, 0.04]}}
- {name: ball, shape: sphere, position_m: [0, 1, 1], radius_m: 0.2}
- {name: pole, shape: cylinder, position_m: [2, 0, 1], radius_m: 0.05, length_m: 2.0}
- {name: bar, shape: capsule, position_m: [0, 0, 2], rpy_deg: [90, 0, 0], radius_m: 0.03,
   length_m: 1.0}
"""
GOALS = np.arange(12.0).reshape(4, 3)


@pytest.fixture
def objects(tmp_path):
    path = tmp_path / 'scene.yaml'
    path.write_text(SCENE)
    return load_environment(path)


def _of(namespace, markers):
    return [m for m in markers if m.namespace == namespace]


def test_floor_is_a_thin_slab_whose_top_is_the_floor():
    (slab,) = environment_markers(floor_only())
    assert slab.shape == 'cube'
    assert slab.position[2] + 0.5 * slab.size[2] == 0.0


def test_every_solid_is_drawn_as_large_as_it_is(objects):
    _, _, ball, pole, *_ = _of('environment', environment_markers(objects))
    sizes = {m.shape: m.size for m in (ball, pole)}
    np.testing.assert_allclose(sizes['sphere'], [0.4, 0.4, 0.4])
    np.testing.assert_allclose(sizes['cylinder'], [0.1, 0.1, 2.0])


def test_capsule_has_balls_at_the_ends_of_its_turned_axis(objects):
    core, *balls = _of('environment', environment_markers(objects))[-3:]
    assert [m.shape for m in (core, *balls)] == ['cylinder', 'sphere', 'sphere']
    axis = qb.rotate(core.orientation, np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(balls[0].position - core.position, axis, atol=1e-12)
    assert abs(axis[1]) == pytest.approx(0.5)


def test_real_object_is_added_only_where_it_differs(objects):
    real = _of('real', environment_markers(objects))
    assert len(real) == 1
    np.testing.assert_allclose(real[0].size, [0.6, 1.2, 0.04])
    apart = _of('real', environment_markers(objects, is_apart=True))
    assert {m.text for m in apart} == {'table', 'ball', 'pole', 'bar'}  # one floor is enough


def test_puppet_world_is_scaled_and_the_real_one_is_not(objects):
    markers = environment_markers(objects, 0.5)
    table = _of('environment', markers)[1]
    np.testing.assert_allclose(table.size, [0.15, 0.3, 0.02])
    np.testing.assert_allclose(table.position, [0.5, 0.0, 0.35])
    _, _, _, *bar = _of('real', markers)
    assert len(bar) == 3  # of three parts, after table, ball and pole


def test_only_goals_that_matter_are_drawn():
    markers = goal_markers(np.array([0.0, 0.5, 1.0, 0.001]), GOALS)
    assert [m.identifier for m in markers] == [1, 2]
    np.testing.assert_array_equal(markers[0].position, GOALS[1])
    goals = GOALS.copy()
    goals[2] = np.nan  # without an object
    assert [m.identifier for m in goal_markers(np.ones(4), goals)] == [0, 1, 3]


def test_labels_stand_over_the_goals_that_matter_and_say_how_much():
    importances = np.array([0.0, 0.5, 1.0, 0.001])
    labels, goals = label_markers(importances, GOALS), goal_markers(importances, GOALS)
    assert [m.text for m in labels] == ['right hand', '0.50', 'left foot', '1.00']
    assert len({m.identifier for m in labels}) == 4
    for k, label in enumerate(labels):
        above = label.position - goals[k // 2].position
        # clear of the ball, letters and all
        assert above[2] - 0.5 * label.size[2] > 0.5 * goals[k // 2].size[2] and not above[:2].any()
        assert label.colour[3] > 0.9
    assert labels[1].size[2] < labels[0].size[2]  # small type


def test_elbows_and_knees_that_matter_are_drawn_and_named_too():
    importances = np.array([0.0] * 7 + [0.7])
    labels = label_markers(importances, np.ones((8, 3)))
    assert [m.text for m in labels] == ['right knee', '0.70']


def test_labels_of_a_pair_that_touches_do_not_overlap():
    """Seen from any side: their heights differ."""
    labels = label_markers(np.ones(4), np.zeros((4, 3)))
    for pair in (labels[:4], labels[4:]):
        rows = sorted((m.position[2], 0.5 * m.size[2]) for m in pair)
        assert all(a + ha < b - hb for (a, ha), (b, hb) in zip(rows, rows[1:]))


def test_names_stand_over_the_heads_of_bodies_that_are_there(short_character):
    (adult,) = body_name(0, 'performer/', 'adult', 0.9)
    (puppet,) = body_name(1, 'puppet_2/', 'blubby', 0.45, short_character)
    assert (adult.text, adult.frame) == ('adult', 'performer/head')
    assert (puppet.text, puppet.frame) == ('blubby', 'puppet_2/head')
    crown = max(c.end[2] + c.radius for c in short_character.capsules if c.segment == 3)
    assert puppet.position[2] - 0.5 * puppet.size[2] > crown
    assert body_name(1, 'puppet/', '', 0.0, short_character) == ()


def test_eq_5_10_ball_shrinks_as_importance_grows():
    importances = np.array([0.1, 0.5, 0.9, 1.0])
    balls = range_ball_markers(importances, GOALS, np.full(4, 0.4))
    radii = [0.5 * m.size[0] for m in balls]
    np.testing.assert_allclose(radii, [0.36, 0.2, 0.04], atol=1e-12)


HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'


def limbs(markers):
    return {marker.namespace for marker in markers}


def test_only_the_limb_that_matters_is_drawn(short_character):
    tint = BodyTint(short_character, 'puppet/')
    assert tint.step(np.zeros(4)) == ()
    markers = tint.step(np.array([0.0, 0.8, 0.0, np.nan]))
    assert limbs(markers) == {'right_arm'}
    assert {m.frame for m in markers} == {f'puppet/{SEGMENTS[i]}' for i in LIMB_SEGMENTS[1]}
    assert len({m.identifier for m in markers}) == len(markers)


def test_colour_is_nearly_the_capsules_own_until_it_matters(short_character):
    tint = BodyTint(short_character, 'puppet/')
    calm, last = (tint.step(np.array([w, 0.0, 0.0, 0.0])) for w in (0.051, 1.0))
    owns = np.array([short_character.colour_of(c) for c in short_character.capsules])
    assert all(np.abs(owns - m.colour[:3]).max(axis=1).min() < 0.05 for m in calm)
    hands = [m for m in last if m.frame == 'puppet/left_hand']
    uppers = [m for m in last if m.frame == 'puppet/left_upper_arm']
    red = np.array(importance_colour(1.0))
    off = [np.abs(np.array([m.colour[:3] for m in ms]) - red).max() for ms in (hands, uppers)]
    assert off[0] < 0.1 < off[1]
    assert list(TINTS) == sorted(TINTS) and all(m.colour[3] == 1.0 for m in last)


def test_solids_are_the_robot_models_and_a_skin_thicker(tall_character):
    """So the model below never shows through, and its parts are nowhere at the same depth."""
    markers = BodyTint(tall_character, 'puppet/').step(np.ones(4))
    robot = Xml.fromstring(urdf_text(tall_character).split('\n', 1)[1])
    drawn = []
    for segment in (SEGMENTS[i] for i in LIMB_SEGMENTS.ravel()):
        for visual in robot.find(f"link[@name='{segment}']").findall('visual'):
            pose = visual.find('origin')
            place = [float(word) for word in pose.get('xyz').split()]
            turn = Rotation.from_euler('xyz', [float(word) for word in pose.get('rpy').split()])
            (shape,) = visual.find('geometry')
            length = float(shape.get('length', 0.0))
            ends = place + np.outer((-0.5, 0.5), length * turn.as_matrix()[:, 2])
            drawn.append((f'puppet/{segment}', shape.tag, float(shape.get('radius')), ends))
    assert len(drawn) == len(markers)
    for frame, kind, radius, ends in drawn:
        assert any(
            m.frame == frame
            and m.shape == kind
            and abs(0.5 * m.size[0] - radius - SKIN_M) < 1e-9
            and _same_ends(m, ends)
            for m in markers
        ), (frame, kind)


def _same_ends(marker, ends):
    length = marker.size[2] if marker.shape == 'cylinder' else 0.0
    along = qb.rotate(marker.orientation, np.array([0.0, 0.0, 0.5 * length]))
    own = np.array([marker.position - along, marker.position + along])
    return min(np.abs(own - ends).max(), np.abs(own[::-1] - ends).max()) < 1e-9


def test_robot_has_no_coloured_limbs():
    tin = character_from_urdf(HUMANOID, RobotMap()).character
    assert BodyTint(tin, 'puppet/').step(np.ones(4)) == ()


PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])
# end-effector, what it is near, share of the way
NEAR = (
    (0, 'spine'),
    (1, 'left_forearm'),
    (2, 'right_shank'),
    (4, 'chest'),
    (5, 'left_thigh'),
    (7, 'left_thigh'),
)


def touching(stage, rng):
    script = stage.script(1)
    script.rotations[0] = qb.multiply(script.rotations[0], qb.exp(0.2 * rng.normal(size=(16, 3))))
    script.rows[0, :4, IMPORTANCE] = [0.3, 1.0, 0.5, 0.9]
    script.rows[0, 1, GOAL] += 5.0 * stage.reaches.max() / stage.scale
    for j, segment in NEAR:
        row = script.self_rows[0, j]
        row[SELF_IMPORTANCE] = rng.uniform(0.2, 0.9)
        contact = row[FIRST_CONTACT:]
        contact[SAMPLE] = SEGMENT_INDEX[segment] * N_SAMPLES + rng.integers(N_SAMPLES)
        contact[WEIGHT] = 1.0
        contact[DISPLACEMENT : DISPLACEMENT + 3] = rng.normal(size=3) * 0.05
    return script


@PUPPETS
def test_balls_are_those_of_the_thesis(adult_character, scene, puppet, request, rng):
    """Of a body as it was posed, with limbs as captured."""
    character = request.getfixturevalue(puppet)
    stage, view = Stage(character, adult_character), SelfBallView(character)
    leg = adult_character.skeleton.leg_length
    solver = make_solver('importance_based', character, scene(), leg, SolverConfig())
    own, settings = puppet_of(character), settings_of(SolverConfig(), character, leg)
    for _ in range(5):
        root, hips, rotations, rows, self_rows = (f[0] for f in touching(stage, rng))
        out = solver.solve(root, hips, rotations, rows, np.inf, self_rows)
        assert out.body_iterations > 0
        seen = Posture(out.root_position, out.rotations, out.end_effectors, np.zeros((8, 3)))
        balls = view.balls(seen, rotations, rows, self_rows, stage.scale)
        assert np.count_nonzero(balls.importances) == len(NEAR)
        captured = out.rotations.copy()
        captured[LIMB_SEGMENTS.ravel()] = rotations[LIMB_SEGMENTS.ravel()]
        q, p = world_segments(character.skeleton, out.root_position[None], captured[None])
        points = general_end_effectors(character.skeleton, q, p)[0]
        pose = Pose(out.root_position, captured, q[0], p[0], points)
        for j, _ in NEAR:
            ball = self_ball(own, settings, self_rows[j], j, pose)
            np.testing.assert_allclose(balls.centres[j], ball.centre, atol=1e-9)
            np.testing.assert_allclose(balls.radii[j], ball.outer, atol=1e-9)
            assert balls.importances[j] == self_rows[j, SELF_IMPORTANCE]


@PUPPETS
def test_missing_samples_have_no_balls(adult_character, puppet, request, rng):
    """A sample that does not exist would be read from beyond the arrays."""
    character = request.getfixturevalue(puppet)
    stage, view = Stage(character, adult_character), SelfBallView(character)
    _, _, rotations, rows, self_rows = (field[0] for field in touching(stage, rng))
    puppet_posture = Posture(stage.reference, rotations, np.zeros((8, 3)), np.zeros((8, 3)))
    arguments = (puppet_posture, rotations, rows, self_rows, stage.scale)
    assert view.balls(*arguments).importances.any()
    self_rows[0, FIRST_CONTACT + SAMPLE] = 16 * N_SAMPLES
    assert not view.balls(*arguments).importances.any()
