# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Easing: begins where the puppet was, ends on the new motion, never takes the long way."""

import numpy as np
from puppet_core.body.motion_measures import FASTEST_M_S, FASTEST_RAD_S, LONGEST_S, SHORTEST_S
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats, Vec3
from puppet_retarget.solvers.discontinuity import (
    EASE_M_S,
    EASE_RAD_S,
    HoldAndBlend,
    PUPPET_RATIO,
    RESUME_S,
    STEEPEST,
    WARY_M_S,
    WARY_S,
)
import pytest

DT_S, EASE_S = 0.01, 0.5
TOL = 1e-12
LEAP_M_S, LEAP_RAD_S = PUPPET_RATIO * FASTEST_M_S, PUPPET_RATIO * FASTEST_RAD_S
MOST_M_S, MOST_RAD_S = LEAP_M_S + EASE_M_S, LEAP_RAD_S + EASE_RAD_S


def random_posture(rng: np.random.Generator) -> tuple[Vec3, Quats]:
    """Return a root and rotations; roots are so near that the easing takes its time."""
    return rng.uniform(-0.4, 0.4, size=3), qb.normalize(rng.normal(size=(16, 4)))


def turn_between(a: Quats, b: Quats) -> np.ndarray:
    """Return angles [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


def step(
    ease: HoldAndBlend, root: Vec3, rotations: Quats, dt_s: float = DT_S, ease_s: float = EASE_S
) -> tuple[Vec3, Quats, bool]:
    """Return what becomes of a posture, and whether it was changed."""
    root, rotations = root.copy(), rotations.copy()
    changed = ease.step(root, rotations, dt_s, ease_s)
    return root, rotations, changed


def test_without_start_postures_pass_unchanged(rng) -> None:
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    turn = qb.exp(rng.normal(size=(16, 3)) * 0.1)
    for _ in range(3):
        root, rotations = root + 0.02, qb.multiply(turn, rotations)
        out = step(ease, root, rotations)
        np.testing.assert_array_equal(out[0], root)
        np.testing.assert_array_equal(out[1], rotations)
        assert not out[2]


def test_start_before_any_posture_does_nothing(rng) -> None:
    ease = HoldAndBlend()
    ease.start()
    assert not step(ease, *random_posture(rng))[2]


def test_first_frame_is_where_the_puppet_was(rng) -> None:
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    step(ease, root, rotations)
    ease.start()
    assert ease.is_easing
    out = step(ease, *random_posture(rng), dt_s=np.inf)
    np.testing.assert_allclose(out[0], root, atol=TOL)
    assert turn_between(out[1], rotations).max() < 1e-7


def test_easing_ends_on_time_and_exactly(rng) -> None:
    ease = HoldAndBlend()
    step(ease, *random_posture(rng))
    ease.start()
    new = random_posture(rng)
    changed = [step(ease, *new)[2] for _ in range(55)]
    assert sum(changed) == pytest.approx(EASE_S / DT_S + 1, abs=1)
    np.testing.assert_array_equal(step(ease, *new)[0], new[0])
    assert not ease.is_easing


def test_gap_does_not_count_towards_the_easing(rng) -> None:
    ease = HoldAndBlend()
    step(ease, *random_posture(rng))
    ease.start()
    new = random_posture(rng)
    held, _, _ = step(ease, *new, dt_s=np.inf)
    np.testing.assert_allclose(step(ease, *new, dt_s=np.inf)[0], held, atol=TOL)


def test_no_easing_time_is_as_soon_as_a_body_can(rng) -> None:
    """A parameter of 0 s is no way to a jump."""
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    step(ease, *old)
    ease.start()
    out = [step(ease, *new, ease_s=0.0) for _ in range(60)]
    needed_s = STEEPEST * turn_between(old[1], new[1]).max() / EASE_RAD_S
    assert sum(o[2] for o in out) == pytest.approx(needed_s / DT_S + 1, abs=2)
    np.testing.assert_array_equal(out[-1][0], new[0])


def test_easing_never_moves_faster_than_its_share(rng) -> None:
    """The ease 3 s^2 - 2 s^3 is at most half as fast again as a straight line."""
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    step(ease, *old)
    ease.start()
    out = [step(ease, *new) for _ in range(52)]
    limit = 1.5 * DT_S / EASE_S + 1e-9
    roots = np.array([o[0] for o in out])
    assert np.linalg.norm(np.diff(roots, axis=0), axis=1).max() <= limit * np.linalg.norm(
        new[0] - old[0]
    )
    turns = [turn_between(a[1], b[1]).max() for a, b in zip(out, out[1:])]
    assert max(turns) <= limit * np.pi


def test_motion_goes_on_under_the_easing(rng) -> None:
    """A puppet whose new posture moves, moves with it from the first frame on."""
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    step(ease, root, rotations)
    ease.start()
    step(ease, root + 1.0, rotations)
    before = step(ease, root + 1.0, rotations, dt_s=0.0)[0]
    after = step(ease, root + [1.0, 1.0, 1.005], rotations, dt_s=0.0)[0]
    np.testing.assert_allclose(after - before, [0.0, 0.0, 0.005], atol=TOL)


def test_turning_past_half_a_turn_does_not_flip() -> None:
    """A pelvis that spins on during the easing passes the point opposite to where it began."""
    ease, no_turn = HoldAndBlend(), np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    step(ease, np.zeros(3), no_turn)
    ease.start()
    yaw = np.radians(120.0) + 4.0 * DT_S * np.arange(60)
    turned = [
        step(ease, np.zeros(3), qb.multiply(qb.exp(np.array([0.0, 0.0, a])), no_turn))[1]
        for a in yaw
    ]
    fastest = max(turn_between(a, b).max() for a, b in zip(turned, turned[1:]))
    assert fastest < 4.0 * DT_S + 1.6 * DT_S / EASE_S * np.radians(120.0)


def test_after_a_restart_it_is_held_until_listeners_have_found_the_node(rng) -> None:
    """Whoever hears the first frames late sees the puppet where it was nevertheless."""
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    ease.resume(*old)
    step(ease, *new, dt_s=np.inf)
    held = [np.abs(step(ease, *new)[0] - old[0]).max() < 1e-9 for _ in range(60)]
    assert sum(held) == pytest.approx(RESUME_S / DT_S + 1, abs=1) and not held[-1]
    for _ in range(100):
        last = step(ease, *new)
    assert not last[2]


def test_starting_again_while_easing_does_not_jump(rng) -> None:
    """A slider that is being dragged starts anew with every change."""
    ease = HoldAndBlend()
    step(ease, *random_posture(rng))
    last = None
    for k in range(40):
        if k % 5 == 0:
            ease.start()
            new = random_posture(rng)
        root, _, _ = step(ease, *new)
        if last is not None:
            assert np.linalg.norm(root - last) < 1.6 * DT_S / EASE_S * 10.0
        last = root


@pytest.mark.parametrize('seed', range(20))
def test_nothing_moves_faster_than_a_body_whatever_comes(seed: int) -> None:
    """Random motion, leaps, gaps, stamps that go back, starts, times of easing, restarts."""
    rng = np.random.default_rng(seed)
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    last = None
    for _ in range(400):
        dt_s = float(rng.choice([DT_S, 0.0, 0.004, 0.1, np.inf], p=[0.8, 0.05, 0.05, 0.05, 0.05]))
        within_s = min(max(dt_s, SHORTEST_S), LONGEST_S)
        fate = rng.random()
        if fate < 0.05:
            root, rotations = random_posture(rng)
            root = root * 10.0 ** rng.uniform(0.0, 4.0)
        else:
            way, turn = rng.normal(size=3), rng.normal(size=(16, 3))
            share = rng.uniform(0.0, 1.5)  # some are leaps too
            way *= share * LEAP_M_S * within_s / np.linalg.norm(way)
            turn *= share * LEAP_RAD_S * within_s / np.linalg.norm(turn, axis=1, keepdims=True)
            root, rotations = root + way, qb.multiply(qb.exp(turn), rotations)
        if fate > 0.98:
            ease.start()
        elif fate > 0.96 and last is not None:
            ease = HoldAndBlend()
            ease.resume(*last)
        out = step(ease, root, rotations, dt_s, float(rng.choice([0.0, 1e-3, 0.5, 10.0])))
        assert np.isfinite(out[0]).all() and np.isfinite(out[1]).all()
        if last is not None:
            # after a gap the posture is held; an easing that goes on does so by a frame at most
            assert np.linalg.norm(out[0] - last[0]) <= MOST_M_S * LONGEST_S + 1e-9
            assert turn_between(out[1], last[1]).max() <= MOST_RAD_S * LONGEST_S + 1e-6
            if dt_s <= LONGEST_S:
                assert np.linalg.norm(out[0] - last[0]) <= MOST_M_S * within_s + 1e-9
                assert turn_between(out[1], last[1]).max() <= MOST_RAD_S * within_s + 1e-6
        last = out[0].copy(), out[1].copy()


def test_a_leap_is_held_then_eased_and_counted(rng) -> None:
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    step(ease, *old)
    assert ease.leaps == 0
    np.testing.assert_allclose(step(ease, *new)[0], old[0], atol=TOL)
    assert ease.leaps == 1
    for _ in range(100):
        last = step(ease, *new)
    assert ease.leaps == 1 and not last[2]
    np.testing.assert_array_equal(last[0], new[0])


def test_input_that_leaps_to_and_fro_is_held(rng) -> None:
    """As of two trackers at once; when one is left the puppet eases to it."""
    ease = HoldAndBlend()
    a, b = random_posture(rng), random_posture(rng)
    step(ease, *a)
    for k in range(200):
        held = step(ease, *(b if k % 2 else a))
    np.testing.assert_allclose(held[0], a[0], atol=1e-9)
    for _ in range(60):
        last = step(ease, *b)
    np.testing.assert_array_equal(last[0], b[0])


@pytest.mark.parametrize('seed', range(5))
def test_what_follows_a_leap_is_waited_for(seed: int) -> None:
    """Smaller leaps, and a pelvis that is taken across the room, as in sensors' coming back."""
    rng = np.random.default_rng(seed)
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    step(ease, root, rotations)
    ease.start()
    last = root
    goes_for_s = rng.uniform(0.2, 0.4)
    way = rng.normal(size=3)
    for k in range(round(WARY_S / DT_S)):
        root = root + (way * DT_S / goes_for_s if k * DT_S < goes_for_s else 0.0)
        if rng.random() < 0.1:
            root = root + rng.normal(size=3) * 0.1
        out = step(ease, root, rotations)[0]
        assert np.linalg.norm(out - last) <= (WARY_M_S + EASE_M_S) * DT_S + TOL
        last = out


def test_the_puppet_of_a_runner_does_not_stay_behind(rng) -> None:
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    speed = np.array([3.0 * WARY_M_S, 0.0, 0.0])
    step(ease, root, rotations)
    ease.start()
    for _ in range(round(8.0 / DT_S)):
        root = root + speed * DT_S
        out = step(ease, root, rotations)
    assert not out[2]
    np.testing.assert_array_equal(out[0], root)


def test_a_fast_turn_that_goes_on_is_no_other_leap(rng) -> None:
    """A leap within a motion is one: what follows it goes on as what was before it."""
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    turn = qb.exp(np.tile([0.0, 0.0, 0.25], (16, 1)))
    eased = []
    for k in range(120):
        rotations = qb.multiply(turn, rotations)
        root = root + (0.6 if k == 20 else 0.0)
        eased.append(step(ease, root, rotations)[2])
    easing_s = STEEPEST * 0.6 * np.sqrt(3.0) / EASE_M_S
    assert sum(eased) == pytest.approx(easing_s / DT_S + 1, abs=1) and ease.leaps == 1
