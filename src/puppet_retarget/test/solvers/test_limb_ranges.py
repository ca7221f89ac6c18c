# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A limb with self-interaction: what is wholly important is met, and nothing ever jumps."""

from limb_cases import ALL_LIMBS, Captured, forward, random_limb
import numpy as np
from puppet_core.body.character import Character
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3, Vec3s
from puppet_retarget.solvers.limbs import (
    ease,
    into_range_ball,
    into_reach,
    Range,
    solve_limb,
    solve_limb_in_ranges,
    swing_elbow,
)
import pytest

POSITION_TOL_M = 1e-9
STRETCH = 0.998
EASED = pytest.mark.parametrize('eased', [False, True], ids=['printed', 'eased'])


def bent_limb(rng: np.random.Generator, character: Character, limb: int) -> Captured:
    """Return a limb that bends as limbs do, anywhere."""
    vectors = 0.8 * rng.normal(size=(3, 3))
    axis = np.eye(3)[2 if limb < 2 else 1] * (-1.0 if limb == 0 else 1.0)
    vectors[1] = rng.uniform(0.4, 2.0) * axis
    return random_limb(rng, character, limb)._replace(captured=qb.exp(vectors))


def solved(
    limb: int,
    body: Captured,
    centres: Vec3s,
    radii: Floats,
    importances: Floats,
    eased: bool = True,
) -> Quats:
    """Return the rotations."""
    ranges = tuple(Range(tuple(c), *rw) for c, *rw in zip(centres, radii, importances))
    return np.array(solve_limb_in_ranges(body.limb(limb), STRETCH * body.full, eased, ranges))


def places(rng: np.random.Generator, body: Captured) -> Vec3s:
    """Return centres within reach: of wrist, of wrist, of elbow."""
    low = abs(float(np.subtract(*body.lengths)))
    ways = rng.normal(size=(3, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    ways[:2] *= rng.uniform(low + 0.03 * body.full, 0.95 * STRETCH * body.full, (2, 1))
    ways[2] *= body.lengths[0]
    return body.shoulder + ways


def largest_turn(a: Quats, b: Quats) -> float:
    """Return the largest angle between rotations [rad]."""
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


def without_self(
    limb: int, body: Captured, goal: Vec3, radius: float, w: float, eased: bool
) -> Quats:
    """Return the rotations of a limb that has the environment only."""
    own = body.limb(limb)
    target = into_range_ball(own.wrist, tuple(goal), radius, 1.0 - w if eased else 1.0)
    target = into_reach(own.shoulder, own.wrist, STRETCH * body.full, 1.0 - w, target)
    return np.array(solve_limb(own, target, 0.0, ease(w) if eased else w))


@EASED
@ALL_LIMBS
def test_without_self_importance_it_is_the_limb_of_the_environment(
    limb: int, eased: bool, adult_character, rng
) -> None:
    """And near it for little self importance: the two ways to solve a limb join."""
    for _ in range(30):
        body = bent_limb(rng, adult_character, limb)
        centres, w = places(rng, body), rng.uniform(0.2, 1.0)
        radii = np.append(0.6 * (1.0 - w), rng.uniform(0.0, 0.1, 2))
        wanted = without_self(limb, body, centres[0], radii[0], w, eased)
        got = solved(limb, body, centres, radii, np.array([w, 0.0, 0.0]), eased)
        assert largest_turn(got, wanted) < 1e-7
        for tiny in (1e-5, 1e-7):
            got = solved(limb, body, centres, radii, np.array([w, tiny, tiny]), eased)
            assert largest_turn(got, wanted) < 100.0 * tiny + 1e-7


@EASED
@ALL_LIMBS
def test_important_goal_is_met_whatever_the_body_wants(
    limb: int, eased: bool, adult_character, rng
) -> None:
    for _ in range(100):
        body = bent_limb(rng, adult_character, limb)
        centres, w = places(rng, body), rng.uniform(0.0, 1.0, 2)
        out = solved(
            limb, body, centres, np.append(0.0, rng.uniform(0.0, 0.1, 2)), np.append(1.0, w), eased
        )
        np.testing.assert_allclose(forward(body, out)[2], centres[0], atol=POSITION_TOL_M)


@EASED
@ALL_LIMBS
def test_hand_that_touches_its_body_is_at_the_centre_of_its_ball(
    limb: int, eased: bool, adult_character, rng
) -> None:
    for _ in range(100):
        body = bent_limb(rng, adult_character, limb)
        centres = places(rng, body)
        w = np.array([0.0, 1.0, rng.uniform()])
        out = solved(limb, body, centres, np.array([0.5, 0.0, 0.03]), w, eased)
        np.testing.assert_allclose(forward(body, out)[2], centres[1], atol=POSITION_TOL_M)


@ALL_LIMBS
def test_elbow_turns_into_its_ball_while_a_firm_hand_stays(
    limb: int, adult_character, rng
) -> None:
    """Up to a radian about the line from the shoulder to the hand, and no farther than square."""
    for _ in range(30):
        body = bent_limb(rng, adult_character, limb)
        centres = places(rng, body)
        free = solved(limb, body, centres, np.zeros(3), np.array([1.0, 0.0, 0.0]))
        elbow, wrist = forward(body, free)[1:]
        axis = (wrist - body.shoulder) / np.linalg.norm(wrist - body.shoulder)
        for angle in (*rng.uniform(-1.0, 1.0, 3), 3.0):
            turned = body.shoulder + qb.rotate(qb.exp(angle * axis), elbow - body.shoulder)
            centres[2] = turned + rng.uniform(-0.1, 0.1) * axis
            out = solved(limb, body, centres, np.zeros(3), np.array([1.0, 0.0, 1.0]))
            new_elbow, new_wrist = forward(body, out)[1:]
            np.testing.assert_allclose(new_wrist, wrist, atol=POSITION_TOL_M)
            if abs(angle) <= 1.0:
                np.testing.assert_allclose(new_elbow, turned, atol=1e-7)
            off = [
                p - body.shoulder - ((p - body.shoulder) @ axis) * axis for p in (elbow, new_elbow)
            ]
            assert off[0] @ off[1] >= 0.0


def test_swung_elbow_is_out_of_its_ball_and_a_firm_hand_stays(adult_character, rng) -> None:
    moved = 0
    for _ in range(100):
        body = bent_limb(rng, adult_character, 0)
        elbow, wrist = forward(body, body.captured)[1:]
        way = rng.normal(size=3)
        centre = elbow + 0.01 * way / np.linalg.norm(way)
        axis = (wrist - body.shoulder) / np.linalg.norm(wrist - body.shoulder)
        off = elbow - body.shoulder - ((elbow - body.shoulder) @ axis) * axis
        if np.linalg.norm(off) < 0.05:
            continue  # no room on the circle
        target = centre + 0.03 * (elbow - centre) / 0.01
        for firmness in (0.0, 1.0):
            out = swing_elbow(body.limb(0), tuple(target), tuple(centre), 0.03, firmness)
            new_elbow, new_wrist = forward(body, np.array(out))[1:]
            assert np.linalg.norm(new_elbow - centre) > 0.03 - 1e-4
            if firmness == 1.0:
                np.testing.assert_allclose(new_wrist, wrist, atol=1e-6)
        moved += 1
    assert moved > 50


def smooth_path(rng: np.random.Generator, n: int) -> Floats:
    """Return 0 to 1 to 0 of random phase and sharpness, with flat stretches at both, (n,)."""
    t = np.linspace(0.0, 1.0, n)
    wave = np.sin(2.0 * np.pi * (t * rng.uniform(0.7, 1.6) + rng.uniform()))
    level = np.clip(0.5 + rng.uniform(0.6, 1.5) * wave, 0.0, 1.0)
    return level * level * (3.0 - 2.0 * level)


def path_of(character: Character, limb: int, seed: int, n: int) -> Vec3s:
    """Return elbow and wrist (n, 2, 3) while every importance and centre moves for a second."""
    rng = np.random.default_rng(seed)
    body = bent_limb(rng, character, limb)
    elbow, wrist = forward(body, body.captured)[1:]
    w = np.stack([smooth_path(rng, n) for _ in range(3)], axis=1)
    t = np.linspace(0.0, 2.0 * np.pi, n)[:, None]
    around = np.array([wrist, wrist, elbow]) + 0.08 * rng.normal(size=(3, 3))
    centres = around + 0.06 * np.stack(
        [np.sin(t + rng.uniform(0.0, 6.0, 3)) for _ in range(3)], axis=1
    )
    radii = np.array([0.6, 0.06, 0.05]) * (1.0 - w)
    rotations = np.empty((n, 3, 4))
    for i in range(n):
        rotations[i] = body.captured
        if w[i].max() > 1e-6:
            rotations[i] = solved(limb, body, centres[i], radii[i], w[i])
    upper = qb.multiply(body.q_parent, rotations[:, 0])
    elbows = body.shoulder + qb.rotate(upper, body.offsets[0])
    lower = qb.multiply(upper, rotations[:, 1])
    return np.stack((elbows, elbows + qb.rotate(lower, body.offsets[1])), axis=1)


@pytest.mark.parametrize('limb', [0, 2], ids=['arm', 'leg'])
def test_limb_is_continuous_while_importances_come_go_and_cross(
    limb: int, adult_character
) -> None:
    """
    A jump of 1 mm would be 12 m/s at 12 kHz, and thrice the speed that is seen at 4 kHz.

    Centres and importances go through their range within half a second; near full stretch an
    elbow is up to forty times as fast as the wrist.
    """
    for seed in range(10):
        speeds = []
        for n in (4_000, 12_000):
            path = path_of(adult_character, limb, seed, n)
            speeds.append(np.linalg.norm(np.diff(path, axis=0), axis=2).max() * n)
        assert speeds[1] < 60.0, f'seed {seed}'
        assert speeds[1] < 1.2 * speeds[0] + 0.5, f'seed {seed}'
