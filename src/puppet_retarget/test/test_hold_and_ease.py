# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Easing: begins where the puppet was, ends on the new motion, never takes the long way."""

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Quats, Vec3
from puppet_retarget.solvers.hold_and_ease import HoldAndEase
import pytest

DT_S, EASE_S = 0.01, 0.5
TOL = 1e-12


def random_posture(rng: np.random.Generator) -> tuple[Vec3, Quats]:
    """Return a root and rotations."""
    return rng.normal(size=3), qb.normalize(rng.normal(size=(16, 4)))


def turn_between(a: Quats, b: Quats) -> np.ndarray:
    """Return angles [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


def step(ease: HoldAndEase, root: Vec3, rotations: Quats, dt_s: float = DT_S,
         ease_s: float = EASE_S) -> tuple[Vec3, Quats, bool]:  # fmt: skip
    """Return what becomes of a posture, and whether it was changed."""
    root, rotations = root.copy(), rotations.copy()
    changed = ease.step(root, rotations, dt_s, ease_s)
    return root, rotations, changed


def test_without_start_postures_pass_unchanged(rng) -> None:
    ease = HoldAndEase()
    for _ in range(3):
        root, rotations = random_posture(rng)
        out = step(ease, root, rotations)
        np.testing.assert_array_equal(out[0], root)
        np.testing.assert_array_equal(out[1], rotations)
        assert not out[2]


def test_start_before_any_posture_does_nothing(rng) -> None:
    ease = HoldAndEase()
    ease.start()
    assert not step(ease, *random_posture(rng))[2]


def test_first_frame_is_where_the_puppet_was(rng) -> None:
    ease = HoldAndEase()
    root, rotations = random_posture(rng)
    step(ease, root, rotations)
    ease.start()
    assert ease.is_easing
    out = step(ease, *random_posture(rng), dt_s=np.inf)
    np.testing.assert_allclose(out[0], root, atol=TOL)
    assert turn_between(out[1], rotations).max() < 1e-7


def test_easing_ends_on_time_and_exactly(rng) -> None:
    ease = HoldAndEase()
    step(ease, *random_posture(rng))
    ease.start()
    new = random_posture(rng)
    changed = [step(ease, *new)[2] for _ in range(55)]
    assert sum(changed) == pytest.approx(EASE_S / DT_S + 1, abs=1)
    np.testing.assert_array_equal(step(ease, *new)[0], new[0])
    assert not ease.is_easing


def test_gap_does_not_count_towards_the_easing(rng) -> None:
    ease = HoldAndEase()
    step(ease, *random_posture(rng))
    ease.start()
    new = random_posture(rng)
    held, _, _ = step(ease, *new, dt_s=np.inf)
    np.testing.assert_allclose(step(ease, *new, dt_s=np.inf)[0], held, atol=TOL)


def test_no_easing_time_is_at_once(rng) -> None:
    ease = HoldAndEase()
    step(ease, *random_posture(rng))
    ease.start()
    new = random_posture(rng)
    np.testing.assert_allclose(step(ease, *new, ease_s=0.0)[0], new[0], atol=TOL)
    assert not step(ease, *new, ease_s=0.0)[2]


def test_easing_never_moves_faster_than_its_share(rng) -> None:
    """The ease 3 s^2 - 2 s^3 is at most half as fast again as a straight line."""
    ease = HoldAndEase()
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
    ease = HoldAndEase()
    root, rotations = random_posture(rng)
    step(ease, root, rotations)
    ease.start()
    step(ease, root + 1.0, rotations)
    before = step(ease, root + 1.0, rotations, dt_s=0.0)[0]
    after = step(ease, root + [1.0, 1.0, 1.5], rotations, dt_s=0.0)[0]
    np.testing.assert_allclose(after - before, [0.0, 0.0, 0.5], atol=TOL)


def test_turning_past_half_a_turn_does_not_flip() -> None:
    """A pelvis that spins on during the easing passes the point opposite to where it began."""
    ease, no_turn = HoldAndEase(), np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    step(ease, np.zeros(3), no_turn)
    ease.start()
    yaw = np.radians(120.0) + 4.0 * DT_S * np.arange(60)
    turned = [
        step(ease, np.zeros(3), qb.multiply(qb.exp(np.array([0.0, 0.0, a])), no_turn))[1]
        for a in yaw
    ]
    fastest = max(turn_between(a, b).max() for a, b in zip(turned, turned[1:]))
    assert fastest < 4.0 * DT_S + 1.6 * DT_S / EASE_S * np.radians(120.0)


def test_starting_again_while_easing_does_not_jump(rng) -> None:
    """A slider that is being dragged starts anew with every change."""
    ease = HoldAndEase()
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
