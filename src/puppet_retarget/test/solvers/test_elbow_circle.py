# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The limb by its swivel angle: closed form against search, reach, degenerate limbs."""

from limb_cases import ALL_LIMBS, Captured, forward, goal_in_reach, random_limb
import numpy as np
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3
from puppet_retarget.solvers.limbs import solve_limb_on_circle, swivel_angle
import pytest

POSITION_TOL_M = 1e-9
COMPILED_AND_PLAIN = pytest.mark.parametrize(
    'swivel', [swivel_angle, swivel_angle.py_func], ids=['jit', 'py']
)


def solved(
    limb: int, body: Captured, goal: Vec3, weight: float = 1.0, current: float = 0.0
) -> Quats:
    """Return the rotations."""
    return np.array(solve_limb_on_circle(body.limb(limb), tuple(goal), current, weight))


def unit(v: Vec3) -> Vec3:
    """Return the direction of a vector."""
    return v / np.linalg.norm(v)


def turn_between(a: Quats, b: Quats) -> Floats:
    """Return angles of the rotations from a to b [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


def swivelled(axis: Vec3, angles: Floats, q: Quat) -> Quats:
    """Return orientations turned about an axis in world."""
    return qb.multiply(qb.exp(np.multiply.outer(angles, axis)), q)


@COMPILED_AND_PLAIN
def test_no_angle_of_ten_thousand_is_better_than_the_closed_form(swivel, rng) -> None:
    angles = np.linspace(-np.pi, np.pi, 10_001)
    for _ in range(50):
        start, captured = qb.normalize(rng.normal(size=(2, 4)))
        axis = unit(rng.normal(size=3))
        best = swivel(start, axis, captured)
        products = np.abs(swivelled(axis, angles, start) @ captured)
        assert -np.pi <= best <= np.pi
        reached = abs(swivelled(axis, best, start) @ captured)
        assert products.max() - 1e-12 <= reached
        nearest = angles[products.argmax()]
        assert abs((best - nearest + np.pi) % (2.0 * np.pi) - np.pi) <= np.pi / 5000 + 1e-9


@ALL_LIMBS
def test_wrist_reaches_and_hand_stays_oriented(limb: int, adult_character, rng) -> None:
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        q, _, wrist = forward(body, solved(limb, body, goal))
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)
        assert turn_between(q[2], body.q_end) < 1e-9


@ALL_LIMBS
def test_elbow_bends_only_about_the_axis_of_its_captured_bend(
    limb: int, adult_character, rng
) -> None:
    """What the elbow adds is a turn square to both segments; limbs bent enough to tell."""
    n_bent = 0
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        before = qb.rotate(body.captured[1], body.offsets[1])
        normal = np.cross(body.offsets[0], before)
        goal = goal_in_reach(rng, body)
        added = qb.log(qb.multiply(solved(limb, body, goal)[1], qb.conjugate(body.captured[1])))
        elbow, wrist = forward(body, body.captured)[1:]
        line = unit(wrist - body.shoulder)
        sine = np.linalg.norm(np.cross(elbow - body.shoulder, line)) / body.lengths[0]
        if sine > 0.25:
            n_bent += 1
            assert np.linalg.norm(np.cross(added, unit(normal))) < 1e-7
    assert n_bent > 15


@ALL_LIMBS
@pytest.mark.parametrize('bend', [0.0, 0.1, 1.0], ids=['straight', 'nearly', 'bent'])
def test_smooth_goals_give_smooth_rotations(limb: int, bend: float, adult_character, rng) -> None:
    """Speeds at two rates agree: a jump would be seen five times faster at the higher."""
    body = random_limb(rng, adult_character, limb)
    across = unit(np.cross(body.offsets[1], rng.normal(size=3)))
    body.captured[1] = qb.exp(bend * across)
    line = unit(forward(body, body.captured)[2] - body.shoulder)
    swing = rng.normal(size=(2, 3))
    swing -= np.outer(swing @ line, line)
    fastest = []
    for n in (4_000, 20_000):
        phase = 2.0 * np.pi * np.arange(n)[:, None] / n
        directions = line + np.sin(phase) * swing[0] + np.sin(2.0 * phase) * swing[1]
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        # from well bent to far out of reach and back
        reach = (0.7 - 0.5 * np.cos(phase + 1.0)) * body.lengths.sum()
        out = np.array([solved(limb, body, goal) for goal in body.shoulder + reach * directions])
        fastest.append(turn_between(out[:-1], out[1:]).max() * n)
    assert fastest[1] < 1.3 * fastest[0]
