# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Gaze: the puppet looks at the counterpart of what its performer looks at, and nowhere else."""

import numpy as np
from puppet_core.body import ADULT_LEG_M
from puppet_core.io import InputFileError
from puppet_core.math import quaternions
from puppet_retarget.importance import load_environment, UNSEEN
from puppet_retarget.solvers import HEAD, make_solver, SOLVER_NAMES, SolverConfig
from puppet_retarget.solvers.whole_body.gaze import EYES_M, MOST_RAD
import pytest

HEAD_RAD_S = 16.0
ROOT, NECK = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.5])
BALL = """format: puppet-environment/1
objects:
- {name: ball, shape: sphere, radius_m: 0.1, position_m: [1.5, 0.4, 1.3], gaze_deg: 30,
   puppet: {position_m: [1.2, 0.7, 1.0], radius_m: 0.05}}
"""
BALL_PLACE, BALL_ANGLE, OTHER_PLACE, OTHER_RADIUS_M = [1.5, 0.4, 1.3], 30.0, [1.2, 0.7, 1.0], 0.05


@pytest.fixture
def make(tmp_path, tall_character):
    """Return a function that makes a solver for a tall puppet and the text of an environment."""

    def solver(text=BALL):
        path = tmp_path / 'world.yaml'
        path.write_text(text)
        environment = load_environment(path)
        return make_solver(SOLVER_NAMES[0], tall_character, environment, 0.9, SolverConfig())

    return solver


def aimed(place, off_deg=0.0):
    """Return joint rotations of a performer who looks past a place by an angle to the left."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    eyes = np.array(EYES_M) * 0.9 / ADULT_LEG_M
    for _ in range(20):
        line = place - NECK - quaternions.rotate(rotations[HEAD], eyes)
        yaw, pitch = np.arctan2(line[1], line[0]), -np.arctan2(line[2], np.hypot(*line[:2]))
        rotations[HEAD] = quaternions.from_rpy(np.array([0.0, pitch, yaw]))
    turn = quaternions.from_rpy(np.radians([0.0, 0.0, off_deg]))
    rotations[HEAD] = quaternions.multiply(turn, rotations[HEAD])
    return rotations


def head(solver, rotations, dt=np.inf, neck=NECK):
    out = solver.solve(ROOT, ROOT, rotations, np.zeros((4, 8)), dt, head=neck)
    return out.q_world[HEAD].copy(), out.p_world[HEAD].copy()


def miss(q, joint, character, place):
    """Return how far a line of sight passes a place [m]."""
    eye = joint + quaternions.rotate(
        q, np.array(EYES_M) * character.skeleton.leg_length / ADULT_LEG_M
    )
    ahead = quaternions.rotate(q, np.array([1.0, 0.0, 0.0]))
    assert (place - eye) @ ahead > 0.0
    return np.linalg.norm(np.cross(place - eye, ahead))


def turned(a, b):
    """Return the angle between two orientations [rad]."""
    return np.linalg.norm(quaternions.log(quaternions.multiply(quaternions.conjugate(a), b)))


def test_puppet_looks_at_the_counterpart(make, tall_character):
    solver, rotations = make(), aimed(BALL_PLACE)
    scale = tall_character.scale_for(0.9)
    found = head(solver, rotations)
    assert miss(*found, tall_character, scale * np.array(OTHER_PLACE)) < scale * OTHER_RADIUS_M
    unturned = rotations[HEAD], found[1]
    assert miss(*unturned, tall_character, scale * np.array(OTHER_PLACE)) > 0.3


def test_a_box_turned_and_resized_is_met(make, tall_character):
    box = 'position_m: [1.5, -0.7, 0.9], rpy_deg: [0, 0, 20], gaze_deg: 30'
    text = BALL.splitlines()[:2] + [
        f'- {{name: box, shape: box, size_m: [0.3, 0.4, 0.2], {box},',
        '   puppet: {size_m: [0.1, 0.2, 0.3], position_m: [1.0, -1.0, 0.7]}}',
    ]
    q, joint = head(make('\n'.join(text)), aimed([1.5, -0.7, 0.9]))
    scale = tall_character.scale_for(0.9)
    eyes = np.array(EYES_M) * tall_character.skeleton.leg_length / ADULT_LEG_M
    back = quaternions.conjugate(quaternions.from_rpy(np.radians([0.0, 0.0, 20.0])))
    eye = joint + quaternions.rotate(q, eyes) - scale * np.array([1.0, -1.0, 0.7])
    ahead = quaternions.rotate(back, quaternions.rotate(q, np.array([1.0, 0.0, 0.0])))
    # the line is between all pairs of faces somewhere
    half = 0.5 * scale * np.array([0.1, 0.2, 0.3])
    crossings = (np.array([-half, half]) - quaternions.rotate(back, eye)) / ahead
    assert 0.0 < crossings.min(axis=0).max() < crossings.max(axis=0).min()


@pytest.mark.parametrize('off_deg', [BALL_ANGLE + 10.0, 180.0])
def test_what_is_not_looked_at_changes_nothing(make, off_deg):
    rotations = aimed(BALL_PLACE, off_deg)
    np.testing.assert_array_equal(head(make(), rotations)[0], rotations[HEAD])
    assert turned(head(make(), aimed(BALL_PLACE))[0], aimed(BALL_PLACE)[HEAD]) > 0.1


def test_a_neck_does_not_turn_all_the_way_to_what_is_behind(make):
    behind = BALL.replace('[1.2, 0.7, 1.0]', '[-1.2, 0.7, 1.0]')
    rotations = aimed(BALL_PLACE)
    out = make(behind).solve(ROOT, ROOT, rotations, np.zeros((4, 8)), np.inf, head=NECK)
    neck = turned(out.rotations[HEAD], rotations[HEAD])
    assert 0.5 < neck < MOST_RAD + 0.05
    assert neck < turned(out.q_world[HEAD], rotations[HEAD]) < MOST_RAD + 0.5  # with the trunk


def test_without_a_head_or_a_gaze_nothing_changes(make):
    rotations = aimed(BALL_PLACE)
    np.testing.assert_array_equal(head(make(), rotations, neck=UNSEEN)[0], rotations[HEAD])
    plain = BALL.replace(', gaze_deg: 30', '')
    np.testing.assert_array_equal(head(make(plain), rotations)[0], rotations[HEAD])


def test_the_turn_fades_smoothly_with_the_angle(make):
    """Neither jumps nor kinks of importance as the line of sight moves off the ball."""
    solver, angles = make(), np.linspace(0.0, 50.0, 1001)
    poses = [aimed(BALL_PLACE, a) for a in angles]
    turns = np.array([turned(head(solver, p)[0], p[HEAD]) for p in poses])
    assert turns[0] > 0.1 and turns[-1] < 1e-12
    # the cubic is at most 1.5 / D steep, the turn asked for at most what it is straight on and D
    influence = np.radians(BALL_ANGLE)
    steepest = 1.0 + 1.5 * (turns[0] + influence) / influence
    assert np.abs(np.diff(turns)).max() < steepest * np.radians(angles[1])


def test_a_look_is_followed_without_a_jerk_and_alike_at_any_rate(make):
    """The performer turns by 60 degrees within half a second."""
    turns = {}
    for rate_hz in (60, 240):
        solver, found = make(), []
        for i in range(rate_hz):
            share = min(i / (0.5 * rate_hz), 1.0)
            pose = aimed(BALL_PLACE, 60.0 * (1.0 - share * share * (3.0 - 2.0 * share)))
            q, _ = head(solver, pose, 1.0 / rate_hz if i else np.inf)
            found.append(turned(q, pose[HEAD]))
        turns[rate_hz] = np.array(found)
    goal = turned(head(make(), aimed(BALL_PLACE))[0], aimed(BALL_PLACE)[HEAD])
    for rate_hz, found in turns.items():
        assert found[-1] == pytest.approx(goal, abs=0.01)
        assert found.max() < goal + 0.1
        assert np.abs(np.diff(found, prepend=0.0)).max() * rate_hz < HEAD_RAD_S
    np.testing.assert_allclose(turns[240][::4], turns[60], atol=0.1)


@pytest.mark.parametrize(
    ('entry', 'expected'),
    [
        ('{name: a, shape: plane, gaze_deg: 20}', 'a solid in the world'),
        (
            '{name: a, shape: sphere, radius_m: 0.1, follows: {segment: chest}, gaze_deg: 20}',
            'on chest',
        ),
        ('{name: a, shape: sphere, radius_m: 0.1, gaze_deg: 0}', 'gaze_deg'),
        ('{name: a, shape: sphere, radius_m: 0.1, gaze_deg: 61}', 'gaze_deg'),
    ],
)
def test_wrong_gazes_are_refused(make, entry, expected):
    with pytest.raises(InputFileError, match=expected):
        make(f'format: puppet-environment/1\nobjects:\n- {entry}\n')
