# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The limb by its swivel angle: closed form against search, reach, degenerate limbs."""

from typing import NamedTuple

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, LIMBS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_retarget.solvers.limbs import solve_limb_on_circle, swivel_angle
import pytest
from scipy.spatial.transform import Rotation

POSITION_TOL_M = 1e-9
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
ALL_LIMBS = pytest.mark.parametrize('limb', range(4), ids=LIMBS)
COMPILED_AND_PLAIN = pytest.mark.parametrize(
    'swivel', [swivel_angle, swivel_angle.py_func], ids=['jit', 'py']
)


class Limb(NamedTuple):
    """A captured limb on a body."""

    q_parent: Quat
    shoulder: Vec3
    captured: Quats
    q_end: Quat
    offsets: Vec3s
    lengths: Floats


def random_limb(rng: np.random.Generator, character: Character, limb: int) -> Limb:
    """Return a limb in any posture."""
    skeleton = character.skeleton
    return Limb(
        qb.normalize(rng.normal(size=4)),
        rng.normal(size=3),
        qb.exp(rng.normal(size=(3, 3))),
        qb.normalize(rng.normal(size=4)),
        skeleton.offsets[LIMB_SEGMENTS[limb, 1:]].copy(),
        skeleton.limb_lengths[limb],
    )


def solved(limb: int, body: Limb, goal: Vec3, weight: float = 1.0, current: float = 0.0) -> Quats:
    """Return the rotations."""
    out = np.empty((3, 4))
    solve_limb_on_circle(limb, *body[:5], *body.lengths, goal, current, weight, out)
    return out


def forward(body: Limb, rotations: Quats) -> tuple[Quats, Vec3, Vec3]:
    """Return the orientations in world, the elbow and the wrist."""
    upper = qb.multiply(body.q_parent, rotations[0])
    lower = qb.multiply(upper, rotations[1])
    elbow = body.shoulder + qb.rotate(upper, body.offsets[0])
    wrist = elbow + qb.rotate(lower, body.offsets[1])
    return np.stack((upper, lower, qb.multiply(lower, rotations[2]))), elbow, wrist


def unit(v: Vec3) -> Vec3:
    """Return the direction of a vector."""
    return v / np.linalg.norm(v)


def goal_in_reach(rng: np.random.Generator, body: Limb) -> Vec3:
    """Return a place that the wrist can get to."""
    low, full = abs(np.subtract(*body.lengths)), body.lengths.sum()
    reach = rng.uniform(low + 0.01 * full, 0.997 * full)
    return body.shoulder + reach * unit(rng.normal(size=3))


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


@COMPILED_AND_PLAIN
def test_signs_of_the_quaternions_do_not_matter(swivel, rng) -> None:
    start, captured = qb.normalize(rng.normal(size=(2, 4)))
    axis = unit(rng.normal(size=3))
    angles = [swivel(s * start, axis, t * captured) for s in (1, -1) for t in (1, -1)]
    np.testing.assert_allclose(angles, angles[0], atol=1e-12)


@COMPILED_AND_PLAIN
def test_no_swivel_where_every_angle_is_as_good(swivel) -> None:
    """A = 0: from q* to q0 half a turn about an axis square to k."""
    across, axis = np.array([0.0, 0.6, 0.8, 0.0]), np.array([0.0, 0.0, 1.0])
    assert swivel(across, axis, IDENTITY) == 0.0


@ALL_LIMBS
def test_wrist_reaches_and_hand_stays_oriented(limb: int, adult_character, rng) -> None:
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        q, _, wrist = forward(body, solved(limb, body, goal))
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)
        assert turn_between(q[2], body.q_end) < 1e-9


@ALL_LIMBS
def test_no_swivel_brings_the_solved_limb_nearer(limb: int, adult_character, rng) -> None:
    angles = np.linspace(-np.pi, np.pi, 10_001)
    for _ in range(20):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        upper = forward(body, solved(limb, body, goal))[0][0]
        captured = forward(body, body.captured)[0][0]
        axis = unit(goal - body.shoulder)
        products = np.abs(swivelled(axis, angles, upper) @ captured)
        assert products.max() <= abs(upper @ captured) + 1e-12


@ALL_LIMBS
def test_upper_segment_turns_least_of_all_that_point_the_bent_limb_at_its_goal(
    limb: int, adult_character, rng
) -> None:
    """Found another way: by scipy's alignment of the bent limb's line with the goal's."""
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        rotations = solved(limb, body, goal)
        before, after = forward(body, body.captured)[0][0], forward(body, rotations)[0][0]
        # the wrist's direction with the upper segment as captured and the elbow as solved
        line = qb.rotate(before, body.offsets[0] + qb.rotate(rotations[1], body.offsets[1]))
        axis, least = unit(goal - body.shoulder), np.cross(line, goal - body.shoulder)
        angle = np.arctan2(np.linalg.norm(least), line @ (goal - body.shoulder))
        turn = Rotation.from_rotvec(angle * unit(least)).as_quat(scalar_first=True)
        np.testing.assert_allclose(unit(qb.rotate(turn, line)), axis, atol=1e-9)
        assert turn_between(qb.multiply(turn, before), after) < 1e-7


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


def test_goal_at_the_captured_wrist_changes_nothing(adult_character, rng) -> None:
    for _ in range(100):
        body = random_limb(rng, adult_character, 2)
        q, _, wrist = forward(body, body.captured)
        current = float(np.linalg.norm(wrist - body.shoulder))
        out = solved(2, body._replace(q_end=q[2]), wrist, 1.0, current)
        assert turn_between(out, body.captured).max() < 1e-7


@ALL_LIMBS
def test_no_weight_leaves_the_captured_rotations(limb: int, adult_character, rng) -> None:
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        out = solved(limb, body, goal_in_reach(rng, body), 0.0)
        np.testing.assert_allclose(out, body.captured, atol=1e-15)


@ALL_LIMBS
def test_eq_5_14_blends_joints_in_proportion(limb: int, adult_character, rng) -> None:
    """Shoulder and elbow; the wrist turns by its share of what the blended arm leaves it."""
    body = random_limb(rng, adult_character, limb)
    goal = goal_in_reach(rng, body)
    whole = turn_between(body.captured, solved(limb, body, goal))
    part = solved(limb, body, goal, 0.3)
    kept = qb.multiply(qb.conjugate(forward(body, part)[0][1]), body.q_end)
    whole[2] = turn_between(body.captured[2], kept)
    np.testing.assert_allclose(turn_between(body.captured, part), 0.3 * whole, atol=1e-9)


def test_result_may_overwrite_the_captured_rotations(adult_character, rng) -> None:
    body = random_limb(rng, adult_character, 1)
    goal = goal_in_reach(rng, body)
    wanted, own = solved(1, body, goal, 0.7), body.captured.copy()
    solve_limb_on_circle(
        1,
        body.q_parent,
        body.shoulder,
        own,
        body.q_end,
        body.offsets,
        *body.lengths,
        goal,
        0.0,
        0.7,
        own,
    )
    np.testing.assert_array_equal(own, wanted)


def straight_leg(character: Character) -> Limb:
    """Return a left leg in the rest pose, its hip at the origin."""
    return Limb(
        IDENTITY,
        np.zeros(3),
        np.tile(IDENTITY, (3, 1)),
        IDENTITY,
        character.skeleton.offsets[[11, 12]].copy(),
        character.skeleton.limb_lengths[2],
    )


def test_straight_leg_shortens_by_a_forward_knee(adult_character) -> None:
    body = straight_leg(adult_character)
    _, knee, ankle = forward(body, solved(2, body, np.array([0.0, 0.0, -0.8])))
    assert knee[0] > 0.1
    assert abs(knee[1]) < 1e-9
    np.testing.assert_allclose(ankle, [0.0, 0.0, -0.8], atol=POSITION_TOL_M)


@ALL_LIMBS
def test_out_of_reach_points_at_the_goal(limb: int, adult_character, rng) -> None:
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        goal = body.shoulder + 5.0 * unit(rng.normal(size=3))
        step = forward(body, solved(limb, body, goal))[2] - body.shoulder
        assert np.linalg.norm(np.cross(step, goal - body.shoulder)) < 10 * POSITION_TOL_M
        assert 0.998 <= np.linalg.norm(step) / body.lengths.sum() <= 1.0


@ALL_LIMBS
def test_degenerate_goals_stay_finite(limb: int, adult_character, rng) -> None:
    """At the shoulder, on the captured line, exactly opposite, folded and at full stretch."""
    body = random_limb(rng, adult_character, limb)
    wrist = forward(body, body.captured)[2] - body.shoulder
    full = body.lengths.sum() / np.linalg.norm(wrist)
    for factor in (0.0, 1e-12, 1.0, -1.0, full, -full, 1e6):
        out = solved(limb, body, body.shoulder + factor * wrist)
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize('bend', [0.0, 1e-12, 1e-6, np.pi], ids=['0', '1e-12', '1e-6', 'pi'])
def test_straight_and_folded_limbs_reach(bend: float, adult_character) -> None:
    body = straight_leg(adult_character)
    body.captured[1] = qb.exp(np.array([0.0, bend, 0.0]))
    # equal lengths: folded altogether, the wrist is at the shoulder and has no direction
    body.offsets[1] = 0.999 * body.offsets[0]
    body = body._replace(lengths=np.linalg.norm(body.offsets, axis=1))
    for direction in ([0.0, 0.0, -1.0], [0.3, 0.2, 0.1], [0.0, 0.0, 1.0]):
        goal = 0.5 * unit(np.array(direction))
        np.testing.assert_allclose(forward(body, solved(2, body, goal))[2], goal, atol=1e-9)


def test_limb_folded_onto_its_shoulder_keeps_the_captured_angles(adult_character) -> None:
    body = straight_leg(adult_character)
    body.captured[1] = qb.exp(np.array([0.0, np.pi, 0.0]))
    body.offsets[1] = body.offsets[0]
    body = body._replace(lengths=np.linalg.norm(body.offsets, axis=1))
    out = solved(2, body, np.array([0.3, 0.1, -0.2]))
    np.testing.assert_allclose(turn_between(out[:2], body.captured[:2]), 0.0, atol=1e-9)


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
