# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs: where the wrist gets to, the elbow beside it, ranges, and how rotations are blended."""

from typing import NamedTuple

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, LIMBS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_core.math.values import between, IDENTITY
from puppet_retarget.solvers import limbs
from puppet_retarget.solvers.limbs import (
    bend_hint,
    Range,
    settle,
    solve_limb,
    solve_limb_in_ranges,
    solve_limb_on_circle,
    swivel_angle,
)
import pytest

POSITION_TOL_M = 1e-9
UPPER, LOWER = 0.3, 0.25
FULL = UPPER + LOWER
STRETCH = 0.998
ALL_LIMBS = pytest.mark.parametrize('limb', range(4), ids=LIMBS)


class Captured(NamedTuple):
    """A captured limb on a body."""

    q_parent: Quat
    shoulder: Vec3
    captured: Quats
    q_end: Quat
    offsets: Vec3s
    lengths: Floats

    @property
    def full(self) -> float:
        """Return its length [m]."""
        return float(self.lengths.sum())

    def limb(self, index: int) -> limbs.Limb:
        """Return it as kernels take it."""
        return limbs.limb_of(index, *self[:4], limbs.Bones(self.offsets, *self.lengths))


def random_limb(rng: np.random.Generator, character: Character, limb: int) -> Captured:
    """Return a limb in any posture."""
    skeleton = character.skeleton
    return Captured(
        qb.normalize(rng.normal(size=4)),
        rng.normal(size=3),
        qb.exp(rng.normal(size=(3, 3))),
        qb.normalize(rng.normal(size=4)),
        skeleton.offsets[LIMB_SEGMENTS[limb, 1:]].copy(),
        skeleton.limb_lengths[limb],
    )


def forward(body: Captured, rotations: Quats) -> tuple[Quats, Vec3, Vec3]:
    """Return the orientations in world (3, 4), the elbow and the wrist."""
    upper = qb.multiply(body.q_parent, rotations[0])
    lower = qb.multiply(upper, rotations[1])
    elbow = body.shoulder + qb.rotate(upper, body.offsets[0])
    wrist = elbow + qb.rotate(lower, body.offsets[1])
    return np.stack((upper, lower, qb.multiply(lower, rotations[2]))), elbow, wrist


def goal_in_reach(rng: np.random.Generator, body: Captured) -> Vec3:
    """Return a place that the wrist can get to."""
    low, away = abs(np.subtract(*body.lengths)), rng.normal(size=3)
    reach = rng.uniform(low + 0.01 * body.full, 0.997 * body.full)
    return body.shoulder + reach * unit(away)


def unit(v: Vec3) -> Vec3:
    """Return v at length one."""
    return v / np.linalg.norm(v)


def reaching(shoulder: Vec3, along: Vec3, side: Vec3, reach: float) -> tuple[Vec3, Vec3]:
    """Return elbow and wrist of a limb that reaches along one direction and bends to another."""
    cosine = (UPPER**2 + reach**2 - LOWER**2) / (2.0 * UPPER * reach)
    side = unit(side - (side @ along) * along)
    elbow = shoulder + UPPER * (cosine * along + np.sqrt(1.0 - cosine**2) * side)
    return elbow, shoulder + reach * along


def placed(
    shoulder: Vec3,
    elbow: Vec3,
    wrist: Vec3,
    goal: Vec3,
    current: float = 0.0,
    hint: Vec3 = np.array([0.0, 0.0, 1.0]),
) -> tuple[Vec3, Vec3]:
    """Return the solved elbow and wrist."""
    places = (tuple(map(float, p)) for p in (shoulder, elbow, wrist, goal, hint))
    shoulder, elbow, wrist, goal, hint = places
    # a leg whose middle of all directions is down, and whose knee bends to the hint
    q_parent = between(limbs.midway(2, IDENTITY), (0.0, 0.0, -1.0))
    q_upper = between((1.0, 0.0, 0.0), hint)
    leg = limbs.Limb(
        number=2,
        q_parent=q_parent,
        shoulder=shoulder,
        to_elbow=(0.0, 0.0, -UPPER),
        to_wrist=(0.0, 0.0, -LOWER),
        upper=UPPER,
        lower=LOWER,
        captured=(IDENTITY, IDENTITY, IDENTITY),
        q_end=IDENTITY,
        q_upper=q_upper,
        elbow=elbow,
        wrist=wrist,
    )
    found = limbs.bend_limb(leg, goal, current)
    return np.array(found[0]), np.array(found[1])


def test_knee_cannot_pass_through_the_straight_leg(rng):
    """A goal just behind a nearly straight leg's foot bends it to the captured side."""
    shoulder = np.zeros(3)
    elbow, wrist = reaching(shoulder, np.array([0, 0, -1.0]), np.array([1.0, 0, 0]), 0.54)
    for angle in np.linspace(-0.8, 0.8, 41):
        goal = 0.4 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
        new_elbow, _ = placed(shoulder, elbow, wrist, goal, hint=np.array([1.0, 0, 0]))
        forward = np.array([np.cos(angle), 0.0, np.sin(angle)])
        assert new_elbow @ forward > 0.1


@pytest.mark.parametrize('current', [0.0, 0.9995 * FULL], ids=['free', 'stretched'])
def test_reach_is_exact_in_between_and_soft_at_the_ends(current):
    d = np.linspace(0.0, 2.0 * FULL, 20_001)
    reached = np.array([limbs.soft_reach(x, current, UPPER, LOWER) for x in d])
    far = max(limbs.EXACT_SHARE * FULL, current)
    inside = (d > UPPER - LOWER + 0.002 * FULL) & (d <= far)
    np.testing.assert_array_equal(reached[inside], d[inside])
    assert np.all(reached[d > far] <= FULL)
    assert np.all(reached >= UPPER - LOWER)
    slopes = np.diff(reached) / (d[1] - d[0])
    assert np.all(slopes >= 0.0)
    assert slopes.max() <= 1.0 + 1e-6


def test_elbow_moves_continuously_with_goal_and_capture(rng):
    """Goals sweep from close by to far out of reach while the captured limb straightens."""
    n = 4000
    s = np.linspace(0.0, 1.0, n)
    for _ in range(10):
        hint, along = np.array([0.0, 0.0, 1.0]), unit(np.append(rng.normal(size=2), 0.0))
        goals = (0.1 + 0.8 * s)[:, None] * unit(rng.normal(size=3) + 2.0 * along)
        elbows = []
        for k in range(n):
            elbow, wrist = reaching(np.zeros(3), along, hint, FULL * (0.7 + 0.29999 * s[k]))
            elbows.append(placed(np.zeros(3), elbow, wrist, goals[k], hint=hint)[0])
        assert np.linalg.norm(np.diff(elbows, axis=0), axis=1).max() < 30.0 / n


@pytest.mark.parametrize('run', [limbs.into_reach, limbs.into_reach.py_func], ids=['jit', 'py'])
def test_goals_of_little_importance_are_slowed_before_they_leave_reach(run, rng):
    """Hardly past the reach, never farther than the goal, without a kink, exact where needed."""
    left, last = 0.5 * (1.0 - limbs.EXACT_SHARE) * FULL, None
    for slack in (0.0, 1e-9, 0.1, 0.7, 1.0):
        shoulder, towards = rng.normal(size=3), unit(rng.normal(size=3))
        captured = shoulder + 0.3 * FULL * unit(rng.normal(size=3))
        d = np.linspace(0.05, 2.0, 2001) * FULL
        ends = np.empty_like(d)
        for i, distance in enumerate(d):
            goal = shoulder + distance * towards
            ends[i] = (np.array(run(shoulder, captured, FULL, slack, goal)) - shoulder) @ towards
        assert np.all(ends <= np.minimum(d, FULL + left) + 1e-12)
        near = d < max(1.0 - limbs.REACH_ROOM * slack, 0.3) * FULL
        np.testing.assert_allclose(ends[near], d[near], atol=1e-12)
        if slack < 0.1:
            # the last of the slack goes without a jump
            np.testing.assert_allclose(ends, ends if last is None else last, atol=1e-8)
            last = ends
            continue
        slopes = np.diff(ends) / np.diff(d)
        assert np.abs(np.diff(slopes)).max() < 1.1 * (d[1] - d[0]) / (
            limbs.REACH_ROOM * slack * FULL
        )


def solved(limb: int, body: Captured, goal: Vec3, weight: float) -> Quats:
    """Return the rotations."""
    return np.array(solve_limb(body.limb(limb), tuple(goal), 0.0, weight))


def turn_between(a: Quats, b: Quats) -> Floats:
    """Return angles of the rotations from a to b [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


@ALL_LIMBS
def test_full_weight_takes_the_wrist_to_its_goal(limb, adult_character, rng):
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        wrist = forward(body, solved(limb, body, goal, 1.0))[2]
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)


@ALL_LIMBS
def test_no_weight_leaves_the_captured_rotations(limb, adult_character, rng):
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        out = solved(limb, body, goal_in_reach(rng, body), 0.0)
        np.testing.assert_allclose(out, body.captured, atol=1e-15)


def map_of(centre: Vec3, way: Vec3) -> Vec3:
    """Return a direction on the map about another: its angle, times the axis of the turn."""
    way = unit(way)
    axis = np.cross(centre, way)
    return np.arctan2(np.linalg.norm(axis), centre @ way) * unit(axis)


@ALL_LIMBS
def test_blend_is_straight_on_the_map_of_directions_and_in_the_bend(limb, adult_character, rng):
    """In place of eq. 5.14; of the wrist, what would keep the hand's orientation."""
    body = random_limb(rng, adult_character, limb)
    goal = goal_in_reach(rng, body)
    ways = []
    for weight in (0.0, 0.3, 1.0):
        rotations = solved(limb, body, goal, weight)
        ways.append(forward(body, rotations)[2] - body.shoulder)
        forearm = qb.multiply(qb.multiply(body.q_parent, rotations[0]), rotations[1])
        keeping = qb.multiply(qb.conjugate(forearm), body.q_end)
        part = turn_between(body.captured[2], rotations[2])
        assert part == pytest.approx(weight * turn_between(body.captured[2], keeping), abs=1e-9)
    centre = np.array(limbs.midway(limb, tuple(body.q_parent)))
    start, part, end = (map_of(centre, way) for way in ways)
    np.testing.assert_allclose(part - start, 0.3 * (end - start), atol=1e-9)
    squares = np.sum(np.square(ways), axis=1) - np.sum(body.lengths**2)
    start, part, end = np.arccos(squares / (2.0 * np.prod(body.lengths)))
    assert part - start == pytest.approx(0.3 * (end - start), abs=1e-7)


@ALL_LIMBS
def test_an_arm_or_leg_turns_on_past_the_opposite_of_where_it_was(limb, adult_character, rng):
    """A least rotation has no axis there; this turn is smooth but behind the back, or overhead."""
    body = bent_limb(rng, adult_character, limb)
    centre = np.array(limbs.midway(limb, tuple(body.q_parent)))
    wrist = forward(body, body.captured)[2] - body.shoulder
    side = unit(np.cross(wrist, centre))
    angles = np.linspace(0.97, 1.03, 2000) * np.pi
    rotations = []
    for angle in angles:
        way = qb.rotate(qb.exp(angle * unit(np.cross(wrist, side))), wrist)
        if centre @ unit(way) > -0.9:
            rotations.append(solved(limb, body, body.shoulder + way, 1.0))
    steps = turn_between(np.array(rotations[1:]), np.array(rotations[:-1]))
    assert len(rotations) > 500 and steps.max() < 12.0 * (angles[1] - angles[0])


@pytest.mark.parametrize('limb, forward_sign', [(0, -1), (1, -1), (2, 1), (3, 1)], ids=LIMBS)
def test_straight_knees_bend_forward_and_elbows_back(limb, forward_sign):
    assert bend_hint(limb, (1.0, 0.0, 0.0, 0.0)) == (forward_sign, 0.0, 0.0)


@ALL_LIMBS
def test_degenerate_goals_stay_finite(limb, adult_character, rng):
    """At the shoulder, on the captured line, exactly opposite, folded and at full stretch."""
    body = random_limb(rng, adult_character, limb)
    wrist = forward(body, body.captured)[2] - body.shoulder
    full = body.lengths.sum() / np.linalg.norm(wrist)
    for factor in (0.0, 1e-12, 1.0, -1.0, full, -full, 1e6):
        out = solved(limb, body, body.shoulder + factor * wrist, 1.0)
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, atol=1e-9)


def bent_limb(rng: np.random.Generator, character: Character, limb: int) -> Captured:
    """Return a limb that bends as limbs do, anywhere."""
    vectors = 0.8 * rng.normal(size=(3, 3))
    axis = np.eye(3)[2 if limb < 2 else 1] * (-1.0 if limb == 0 else 1.0)
    vectors[1] = rng.uniform(0.4, 2.0) * axis
    return random_limb(rng, character, limb)._replace(captured=qb.exp(vectors))


def solved_in_ranges(
    limb: int, body: Captured, centres: Vec3s, radii: Floats, w: Floats, held: float = 0.0
) -> Quats:
    """Return the rotations with ranges of wrist and elbow, the wrist held by the environment."""
    end, own = (Range(tuple(c), *rw) for c, *rw in zip(centres, radii, w))
    return np.array(solve_limb_in_ranges(body.limb(limb), STRETCH * body.full, held, end, own))


def places(rng: np.random.Generator, body: Captured) -> Vec3s:
    """Return centres within reach: of wrist, of elbow."""
    low = abs(float(np.subtract(*body.lengths)))
    ways = rng.normal(size=(2, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    ways[0] *= rng.uniform(low + 0.03 * body.full, 0.95 * STRETCH * body.full)
    ways[1] *= body.lengths[0]
    return body.shoulder + ways


@ALL_LIMBS
def test_without_self_importance_a_limb_stays_as_it_is(limb, adult_character, rng):
    """And near it for little self importance."""
    for _ in range(30):
        body = bent_limb(rng, adult_character, limb)
        centres, radii = places(rng, body), rng.uniform(0.0, 0.1, 2)
        for tiny in (0.0, 1e-5, 1e-7):
            got = solved_in_ranges(limb, body, centres, radii, np.array([tiny, tiny]))
            assert turn_between(got, body.captured)[:2].max() < 100.0 * tiny + 1e-7


@ALL_LIMBS
def test_a_held_wrist_stays_whatever_the_body_wants(limb, adult_character, rng):
    for _ in range(100):
        body = bent_limb(rng, adult_character, limb)
        wrist = forward(body, body.captured)[2]
        radii, w = rng.uniform(0.0, 0.1, 2), rng.uniform(0.0, 1.0, 2)
        out = solved_in_ranges(limb, body, places(rng, body), radii, w, 1.0)
        np.testing.assert_allclose(forward(body, out)[2], wrist, atol=POSITION_TOL_M)


@ALL_LIMBS
def test_hand_that_touches_its_body_is_at_the_centre_of_its_ball(limb, adult_character, rng):
    for _ in range(100):
        body = bent_limb(rng, adult_character, limb)
        centres = places(rng, body)
        w = np.array([1.0, rng.uniform()])
        out = solved_in_ranges(limb, body, centres, np.array([0.0, 0.03]), w)
        np.testing.assert_allclose(forward(body, out)[2], centres[0], atol=POSITION_TOL_M)


@ALL_LIMBS
def test_an_elbow_that_touches_takes_a_hand_that_only_comes_near_with_it(
    limb, adult_character, rng
):
    for _ in range(30):
        body = bent_limb(rng, adult_character, limb)
        elbow = forward(body, body.captured)[1] - body.shoulder
        turned = qb.rotate(qb.exp(0.3 * rng.normal(size=3)), elbow) + body.shoulder
        centres = np.array([forward(body, body.captured)[2], turned])
        left = []
        for w in (0.5, 0.9, 1.0):
            out = solved_in_ranges(limb, body, centres, np.zeros(2), np.array([w, 1.0]))
            left.append(np.linalg.norm(forward(body, out)[1] - turned))
        start = np.linalg.norm(elbow + body.shoulder - turned)
        assert left[0] < 0.1 * start + 1e-9 and left[1] < 0.35 * start + 1e-9
        assert left[0] <= left[1] <= left[2] + 1e-9


@pytest.mark.parametrize('degrees', [-60.0, -15.0, -5.0, -1.0, 0.0, 1.0, 30.0, 120.0])
@ALL_LIMBS
def test_knees_and_elbows_that_bend_backward_a_little_are_straightened(limb, degrees):
    along = np.array([0.0, 1.0, 0.0] if limb == 0 else [0.0, -1.0, 0.0])
    along = along if limb < 2 else np.array([0.0, 0.0, -1.0])
    axis = np.cross(bend_hint(limb, (1.0, 0.0, 0.0, 0.0)), along)
    lower = qb.rotate(qb.exp(np.radians(degrees) * axis), along)
    out = qb.rotate(np.array(limbs.unlock(limb, tuple(along), tuple(lower))), lower)
    found = np.degrees(np.arctan2(np.cross(along, out) @ axis, along @ out))
    if degrees >= 0.0 or degrees < -45.0:
        assert found == pytest.approx(degrees, abs=1e-9)
    else:
        assert degrees <= found <= 0.0 and found > -1.7


@ALL_LIMBS
def test_elbow_turns_into_its_ball_while_a_firm_hand_stays(limb, adult_character, rng):
    """Up to a radian about the line from the shoulder to the hand, and no farther than square."""
    for _ in range(30):
        body = bent_limb(rng, adult_character, limb)
        centres = places(rng, body)
        elbow, wrist = forward(body, body.captured)[1:]
        axis = unit(wrist - body.shoulder)
        for angle in (*rng.uniform(-1.0, 1.0, 3), 3.0):
            turned = body.shoulder + qb.rotate(qb.exp(angle * axis), elbow - body.shoulder)
            centres[1] = turned + rng.uniform(-0.1, 0.1) * axis
            out = solved_in_ranges(limb, body, centres, np.zeros(2), np.array([0.0, 1.0]), 1.0)
            new_elbow, new_wrist = forward(body, out)[1:]
            np.testing.assert_allclose(new_wrist, wrist, atol=POSITION_TOL_M)
            if abs(angle) <= 1.0:
                np.testing.assert_allclose(new_elbow, turned, atol=1e-7)
            off = [
                p - body.shoulder - ((p - body.shoulder) @ axis) * axis for p in (elbow, new_elbow)
            ]
            assert off[0] @ off[1] >= 0.0


def test_settled_elbow_is_at_its_place_and_a_firm_hand_stays(adult_character, rng):
    moved = 0
    for _ in range(100):
        body = bent_limb(rng, adult_character, 0)
        elbow, wrist = forward(body, body.captured)[1:]
        axis = unit(wrist - body.shoulder)
        off = elbow - body.shoulder - ((elbow - body.shoulder) @ axis) * axis
        if np.linalg.norm(off) < 0.05:
            continue  # no room on the circle
        target = Range(tuple(elbow + 0.03 * unit(rng.normal(size=3))), 0.0, 1.0)
        limb = body.limb(0)
        free, _ = settle(limb, limb.elbow, limb.wrist, target, 0.0, 1.0)
        on_sphere = body.shoulder + limb.upper * unit(np.array(target.centre) - body.shoulder)
        np.testing.assert_allclose(free, on_sphere, atol=1e-9)
        held, hand = settle(limb, limb.elbow, limb.wrist, target, 1.0, 1.0)
        np.testing.assert_allclose(hand, wrist, atol=1e-9)
        assert np.linalg.norm(np.subtract(held, body.shoulder)) == pytest.approx(limb.upper)
        gap = [np.linalg.norm(np.subtract(p, target.centre)) for p in (held, elbow)]
        assert gap[0] <= gap[1] + 1e-9
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
    around = np.array([wrist, elbow]) + 0.08 * rng.normal(size=(2, 3))
    centres = around + 0.06 * np.stack(
        [np.sin(t + rng.uniform(0.0, 6.0, 3)) for _ in range(2)], axis=1
    )
    radii = np.array([0.06, 0.05]) * (1.0 - w[:, 1:])
    rotations = np.empty((n, 3, 4))
    for i in range(n):
        rotations[i] = solved_in_ranges(limb, body, centres[i], radii[i], w[i, 1:], w[i, 0])
    upper = qb.multiply(body.q_parent, rotations[:, 0])
    elbows = body.shoulder + qb.rotate(upper, body.offsets[0])
    lower = qb.multiply(upper, rotations[:, 1])
    return np.stack((elbows, elbows + qb.rotate(lower, body.offsets[1])), axis=1)


@pytest.mark.parametrize('limb', [0, 2], ids=['arm', 'leg'])
def test_limb_is_continuous_while_importances_come_go_and_cross(limb, adult_character):
    """
    A jump of 1 mm would be 12 m/s at 12 kHz, and thrice the speed that is seen at 4 kHz.

    Centres and importances go through their range within half a second; near full stretch an
    elbow is up to forty times as fast as the wrist.
    """
    for seed in range(4):
        speeds = []
        for n in (4_000, 12_000):
            path = path_of(adult_character, limb, seed, n)
            speeds.append(np.linalg.norm(np.diff(path, axis=0), axis=2).max() * n)
        assert speeds[1] < 60.0, f'seed {seed}'
        assert speeds[1] < 1.2 * speeds[0] + 0.5, f'seed {seed}'


COMPILED_AND_PLAIN = pytest.mark.parametrize(
    'swivel', [swivel_angle, swivel_angle.py_func], ids=['jit', 'py']
)


def solved_on_circle(
    limb: int, body: Captured, goal: Vec3, weight: float = 1.0, current: float = 0.0
) -> Quats:
    """Return the rotations."""
    return np.array(solve_limb_on_circle(body.limb(limb), tuple(goal), current, weight))


def swivelled(axis: Vec3, angles: Floats, q: Quat) -> Quats:
    """Return orientations turned about an axis in world."""
    return qb.multiply(qb.exp(np.multiply.outer(angles, axis)), q)


@COMPILED_AND_PLAIN
def test_no_angle_of_ten_thousand_is_better_than_the_closed_form(swivel, rng):
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
def test_wrist_reaches_and_hand_stays_oriented(limb, adult_character, rng):
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        q, _, wrist = forward(body, solved_on_circle(limb, body, goal))
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)
        assert turn_between(q[2], body.q_end) < 1e-9


@ALL_LIMBS
def test_elbow_bends_only_about_the_axis_of_its_captured_bend(limb, adult_character, rng):
    """What the elbow adds is a turn square to both segments; limbs bent enough to tell."""
    n_bent = 0
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        before = qb.rotate(body.captured[1], body.offsets[1])
        normal = np.cross(body.offsets[0], before)
        goal = goal_in_reach(rng, body)
        added = qb.log(
            qb.multiply(solved_on_circle(limb, body, goal)[1], qb.conjugate(body.captured[1]))
        )
        elbow, wrist = forward(body, body.captured)[1:]
        line = unit(wrist - body.shoulder)
        sine = np.linalg.norm(np.cross(elbow - body.shoulder, line)) / body.lengths[0]
        if sine > 0.25:
            n_bent += 1
            assert np.linalg.norm(np.cross(added, unit(normal))) < 1e-7
    assert n_bent > 15


@ALL_LIMBS
@pytest.mark.parametrize('bend', [0.0, 0.1, 1.0], ids=['straight', 'nearly', 'bent'])
def test_smooth_goals_give_smooth_rotations(limb, bend, adult_character, rng):
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
        out = np.array(
            [solved_on_circle(limb, body, goal) for goal in body.shoulder + reach * directions]
        )
        fastest.append(turn_between(out[:-1], out[1:]).max() * n)
    assert fastest[1] < 1.3 * fastest[0]
