# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Marker descriptions: solids where the environment has them, goals as they matter."""

from body_fixtures import floor_only
import numpy as np
from puppet_core.math.quaternions import rotate
from puppet_retarget.importance.environment import load_environment
from puppet_view.rviz.markers import (
    body_names,
    environment_markers,
    goal_markers,
    LABEL_HEIGHT_M,
    label_markers,
    MIN_BALL_RADIUS_M,
    range_ball_markers,
    self_ball_markers,
)
import pytest

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
def scene(tmp_path):
    """Return one object of each shape, one with a counterpart of its own."""
    path = tmp_path / 'scene.yaml'
    path.write_text(SCENE)
    return load_environment(path)


def _of(namespace: str, markers: tuple) -> list:
    return [m for m in markers if m.namespace == namespace]


def test_floor_is_a_thin_slab_whose_top_is_the_floor():
    (slab,) = environment_markers(floor_only())
    assert slab.shape == 'cube'
    assert slab.position[2] + 0.5 * slab.size[2] == 0.0


def test_every_solid_is_drawn_as_large_as_it_is(scene):
    _, _, ball, pole, *_ = _of('environment', environment_markers(scene))
    sizes = {m.shape: m.size for m in (ball, pole)}
    np.testing.assert_allclose(sizes['sphere'], [0.4, 0.4, 0.4])
    np.testing.assert_allclose(sizes['cylinder'], [0.1, 0.1, 2.0])


def test_capsule_has_balls_at_the_ends_of_its_turned_axis(scene):
    core, *balls = _of('environment', environment_markers(scene))[-3:]
    assert [m.shape for m in (core, *balls)] == ['cylinder', 'sphere', 'sphere']
    axis = rotate(core.orientation, np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(balls[0].position - core.position, axis, atol=1e-12)
    assert abs(axis[1]) == pytest.approx(0.5)


def test_real_object_is_added_only_where_it_differs(scene):
    real = _of('real', environment_markers(scene))
    assert len(real) == 1
    np.testing.assert_allclose(real[0].size, [0.6, 1.2, 0.04])


def test_puppet_world_is_scaled_and_the_real_one_is_not(scene):
    markers = environment_markers(scene, 0.5)
    table = _of('environment', markers)[1]
    np.testing.assert_allclose(table.size, [0.15, 0.3, 0.02])
    np.testing.assert_allclose(table.position, [0.5, 0.0, 0.35])
    _, _, _, *bar = _of('real', markers)
    assert len(bar) == 3  # of three parts, after table, ball and pole


def test_identifiers_are_unique_within_their_namespace(scene):
    keys = [(m.namespace, m.identifier) for m in environment_markers(scene, 0.5)]
    assert len(set(keys)) == len(keys)
    names = [m.text for m in _of('environment', environment_markers(scene))]
    assert names == ['floor', 'table', 'ball', 'pole', 'bar', 'bar', 'bar']


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
    assert [m.text for m in labels] == ['right hand 0.50', 'left foot 1.00']
    for label, goal in zip(labels, goals):
        above = label.position - goal.position
        # clear of the ball, letters and all
        assert above[2] - 0.5 * LABEL_HEIGHT_M > 0.5 * goal.size[2] and not above[:2].any()
        assert label.size[2] == LABEL_HEIGHT_M and label.colour[3] > 0.9


def test_labels_of_a_pair_that_touches_do_not_overlap():
    labels = label_markers(np.ones(4), np.zeros((4, 3)))
    for left, right in (labels[:2], labels[2:]):
        assert abs(right.position[2] - left.position[2]) > LABEL_HEIGHT_M


def test_names_stand_over_the_heads_of_bodies_that_are_there(short_character):
    bodies = {'performer/': ('adult', 0.9), 'puppet/': ('blubby', 0.45)}
    names = body_names(bodies, short_character)
    frames = [(m.text, m.frame) for m in names]
    assert frames == [('adult', 'performer/head'), ('blubby', 'puppet/head')]
    crown = max(c.end[2] + c.radius for c in short_character.capsules if c.segment == 3)
    assert names[1].position[2] - 0.5 * names[1].size[2] > crown
    alone = body_names({**bodies, 'puppet/': ('', 0.0)}, short_character)
    assert [m.text for m in alone] == ['adult']


def test_eq_5_10_ball_shrinks_as_importance_grows():
    importances = np.array([0.1, 0.5, 0.9, 1.0])
    balls = range_ball_markers(importances, GOALS, np.full(4, 0.4))
    radii = [0.5 * m.size[0] for m in balls]
    np.testing.assert_allclose(radii, [0.36, 0.2, 0.04], atol=1e-12)


def test_balls_of_the_body_are_numbered_on_and_never_vanish():
    """Elbows and knees too; below the visible importance there is none."""
    importances = np.array([0.0, 0.5, 1.0, 0.04, 0.0, 0.9, 0.0, 0.06])
    centres = np.arange(24.0).reshape(8, 3)
    radii = np.array([0.1, 0.2, 0.0, 0.3, 0.1, 0.4, np.nan, 0.5])
    balls = self_ball_markers(importances, centres, radii)
    assert {m.namespace for m in balls} == {'range_balls'}
    assert [m.identifier for m in balls] == [4 + 1, 4 + 2, 4 + 5, 4 + 7]
    np.testing.assert_array_equal([m.position for m in balls], centres[[1, 2, 5, 7]])
    np.testing.assert_allclose(
        [0.5 * m.size[0] for m in balls], [0.2, MIN_BALL_RADIUS_M, 0.4, 0.5]
    )
