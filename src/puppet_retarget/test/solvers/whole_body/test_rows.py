# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of all sources: the right side of the equations is the slope of the cost, by differences.

A solver whose rows pass this has exact derivatives, so steps that lower the cost exist until the
posture is a minimum, and the minimum moves smoothly with the wishes.
"""

import numpy as np
from puppet_core.body import Motion
from puppet_core.math import Floats, kernel, quaternions
from puppet_retarget.importance import (
    BOX,
    Environment,
    GOAL,
    IMPORTANCE,
    no_rests,
    Placement,
    PLANE,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
    ROW,
    SceneObject,
)
from puppet_retarget.offline import retarget_motion, RetargetJob
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.whole_body import Weights, WholeBodySolver
from puppet_retarget.solvers.whole_body.step import _build
import pytest

STEP = 1e-6
ORIGIN, UP = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
NOTHING = Weights()._replace(
    root=0.0, pelvis=0.0, trunk=0.0, lateral=0.0, goal=0.0, turn=0.0, touch=0.0, along=0.0,
    inside=0.0, surface=0.0, rest=0.0, limit=0.0, rate=0.0,
)  # fmt: skip


@kernel
def _slope(packed: np.ndarray, x: Floats, right: Floats) -> float:
    """Return the cost of a frame at some unknowns, and write the equations' right side."""
    frame = packed[0]
    for i in range(frame.problem.n):
        frame.x[i] = x[i]
    _build(frame)
    for i in range(frame.problem.n):
        right[i] = frame.problem.right[i]
    return frame.problem.cost[0]


def floor_and_box():
    none = np.full(10, np.nan)
    place = Placement(ORIGIN, UP, np.ones(3))
    turned = quaternions.from_rpy(np.array([0.3, 0.2, 0.5]))
    box = Placement(np.array([0.2, 0.1, 0.2]), turned, np.array([0.7, 0.5, 0.4]))
    return Environment(
        (
            SceneObject('floor', PLANE, place, place, none, none[:8]),
            SceneObject('box', BOX, box, box, none, none[:8]),
        )
    )


def solved(character, weights, rng):
    """Return a solver's packed frame of a body that kneels askew, and a place near its answer."""
    skeleton = character.skeleton
    solver = WholeBodySolver(
        character, floor_and_box(), skeleton.leg_length, SolverConfig(), weights
    )
    vectors = 0.3 * rng.normal(size=(16, 3))
    rotations = quaternions.exp(vectors)
    root = np.array([0.1, 0.0, 0.6 * skeleton.leg_length])
    rows = np.zeros((8, ROW))
    rows[:, IMPORTANCE] = rng.uniform(0.3, 1.0, 8)
    rows[:, GOAL : GOAL + 3] = root + 0.5 * rng.normal(size=(8, 3))
    rests = no_rests()
    for i, segment in enumerate((0, 2, 3, 10)):
        rests[i, [REST_OBJECT, REST_SEGMENT, REST_IMPORTANCE]] = i % 2, segment, 0.7
        rests[i, REST_GAP] = 0.05
    for dt in (np.inf, 1 / 120.0):
        solver.solve(root, root - [0, 0, 0.05], rotations, rows, dt, rests=rests)
    packed = solver._packed
    n = int(packed['problem']['n'][0])
    return packed, packed['x'][0] + 0.1 * rng.normal(size=54), n


@pytest.mark.parametrize(
    ('source', 'weights'),
    [
        ('ends', {'goal': 100.0}),
        ('surfaces', {'surface': 1e4}),
        ('rests', {'rest': 100.0}),
        ('own body', {'inside': 1e4}),
        ('hinges', {'lateral': 10.0}),
        ('posture', {'pelvis': 30.0, 'trunk': 6.0, 'root': 40.0}),
    ],
)
@pytest.mark.parametrize('who', ['adult_character', 'short_character'])
def test_the_right_side_is_half_the_slope_of_the_cost(source, weights, who, request, rng):
    weights = NOTHING._replace(**weights)
    packed, x, n = solved(request.getfixturevalue(who), weights, rng)
    right, other = np.zeros(54), np.zeros(54)
    for _ in range(5):
        way = rng.normal(size=54)
        way[n:] = 0.0
        _slope(packed, x, right)
        ahead, behind = (_slope(packed, x + s * STEP * way, other) for s in (1.0, -1.0))
        slope = (ahead - behind) / (2.0 * STEP)
        assert -2.0 * right @ way == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_a_mirrored_performer_makes_a_mirrored_puppet(tall_character, steps, data_dir):
    from puppet_retarget.importance import load_environment

    job = RetargetJob(
        tall_character, load_environment(data_dir / 'environments' / 'floor.yaml'), 'whole_body'
    )
    mirrored = mirror(steps)
    one, other = retarget_motion(steps, job).puppet, retarget_motion(mirrored, job).puppet
    np.testing.assert_allclose(
        one.root_positions * [1.0, -1.0, 1.0], other.root_positions, atol=2e-4
    )


def mirror(motion):
    """Return a motion in a mirror, left and right exchanged."""
    sides = [0, 1, 2, 3, 7, 8, 9, 4, 5, 6, 13, 14, 15, 10, 11, 12]
    rotations = motion.rotations[:, sides] * [1.0, -1.0, 1.0, -1.0]
    roots = motion.root_positions * [1.0, -1.0, 1.0]
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)
