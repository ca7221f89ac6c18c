# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames that come late: what they have to make up at once is eased if it is far."""

import numpy as np
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats, Vec3
from puppet_retarget.solvers.discontinuity import (
    EASE_RAD_S,
    FAR_PERIODS,
    HoldAndBlend,
    STEEPEST,
    WARY_RAD_S,
    WARY_S,
)
import pytest

DT_S, EASE_S = 0.01, 0.5
WALK_M_S = 1.4


def standing() -> tuple[Vec3, Quats]:
    """Return a root and rotations."""
    return np.zeros(3), np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))


def turn_of(angle: float) -> Quats:
    """Return turns of all joints by an angle [rad]."""
    return qb.exp(np.tile([0.0, 0.0, angle], (16, 1)))


def step(
    ease: HoldAndBlend, root: Vec3, rotations: Quats, dt_s: float = DT_S
) -> tuple[Quats, bool]:
    """Return what becomes of rotations, and whether they were changed."""
    rotations = rotations.copy()
    changed = ease.step(root.copy(), rotations, dt_s, EASE_S)
    return rotations, changed


def angle_between(a: Quats, b: Quats) -> float:
    """Return the largest angle [rad]."""
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


@pytest.mark.parametrize('late_s', [0.04, 0.1, 0.24])
def test_what_a_late_frame_has_to_make_up_is_eased(late_s: float) -> None:
    """From where the puppet was, in about the time that the frame was late."""
    ease = HoldAndBlend()
    root, rotations = standing()
    turn = turn_of(0.15)  # 15 rad/s, no leap
    for _ in range(20):
        rotations = qb.multiply(turn, rotations)
        assert not step(ease, root, rotations)[1]
    late = qb.multiply(turn_of(15.0 * late_s), rotations)
    last, is_eased = step(ease, root, late, dt_s=late_s)
    assert is_eased and angle_between(last, rotations) < 1e-7
    assert ease.late_frames == 1 and ease.leaps == 0
    eased = 1
    for _ in range(100):
        late = qb.multiply(turn, late)
        out, is_eased = step(ease, root, late)
        eased += is_eased
        assert angle_between(out, last) <= (15.0 + EASE_RAD_S) * DT_S + 1e-9
        last = out
    angle = 15.0 * late_s
    wanted_s = max(late_s, STEEPEST * min(angle, 2.0 * np.pi - angle) / EASE_RAD_S)
    assert eased == pytest.approx(wanted_s / DT_S + 1, abs=1.5) and not is_eased
    assert ease.late_frames == 1


@pytest.mark.parametrize('lost', [1, 9])
def test_lost_frames_of_a_slow_motion_are_not_eased(lost: int) -> None:
    """Nor those of a fast one if it is only one that is lost."""
    ease = HoldAndBlend()
    root, rotations = standing()
    rad_s = WARY_RAD_S if lost == 1 else 0.9 * WARY_RAD_S * FAR_PERIODS / (lost + 1)
    for k in range(100):
        frames = 1 + (lost if k % 20 == 19 else 0)
        turn = turn_of(rad_s * DT_S * frames)
        rotations = qb.multiply(turn, rotations)
        assert not step(ease, root, rotations, dt_s=DT_S * frames)[1]
    assert ease.late_frames == 0


@pytest.mark.parametrize(
    'intervals_s',
    [[1.0 / 10.0], [1.0 / 5.0], [1.0 / 120.0] * 3 + [0.1], [1.0 / 120.0, 0.2]],
    ids=['10 Hz', '5 Hz', 'a pause after three', 'a pause after one'],
)
def test_a_walker_whose_frames_go_on_coming_late_is_not_left_behind(
    intervals_s: list[float],
) -> None:
    """The puppet is behind by no more than the second, and what it needs to come back."""
    ease = HoldAndBlend()
    root, rotations = standing()
    behind = []
    for dt_s in [1.0 / 120.0] * 240 + intervals_s * 60:
        root = root + [WALK_M_S * dt_s, 0.0, 0.0]
        out = root.copy()
        ease.step(out, rotations.copy(), dt_s, EASE_S)
        behind.append(root[0] - out[0])
    assert max(behind[:240]) == 0.0
    assert 0.0 < max(behind) <= WALK_M_S * (WARY_S + 2.0 * max(intervals_s))
