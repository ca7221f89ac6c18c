# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors that come and go: held, faded, taken back, and never a jump."""

from typing import Any

import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.math import quaternions
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FilteredFrame,
)
from puppet_performer.posture.estimator import (
    PostureConfig,
    STATUS_INFERRED,
    STATUS_MEASURED,
    STATUS_STALE,
)
import pytest
from virtual_performer import random_posture

EXACT_TOL = 1e-9  # position [m] and rotation [rad], without noise
PERIOD_S = 8_333_333e-9
SETTLE_FRAMES = 200  # longer than hold, fade and return together


def _lose(frame: FilteredFrame, *names: str) -> FilteredFrame:
    for name in names:
        row = frame.sensors.index(name)
        frame.positions[row] = frame.quaternions[row] = np.nan
        frame.status[row] = FILTER_LOST
    return frame


def test_lost_sensor_holds_then_fades_without_a_jump(
    virtual: Any, rng: np.random.Generator
) -> None:
    pose = random_posture(rng, virtual.place)
    estimator, hand = virtual.estimator(), SEGMENT_INDEX['left_hand']
    last = np.array(estimator.step(virtual.frame(*pose)).posture.rotations[hand])
    held = last.copy()
    for step in range(SETTLE_FRAMES):
        estimate = estimator.step(_lose(virtual.frame(*pose), 'left_hand'))
        now = np.array(estimate.posture.rotations[hand])
        assert 2.0 * np.arccos(min(abs(now @ last), 1.0)) < 0.05
        if step * PERIOD_S < 0.2:
            assert abs(now @ held) > 1.0 - 1e-9
            assert estimate.status[hand] == STATUS_STALE
        last = now
    np.testing.assert_allclose(np.abs(now), [1.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert estimate.status[hand] == STATUS_INFERRED


@pytest.mark.parametrize(
    'names',
    [
        ('left_hand',),
        ('pelvis',),
        ('chest',),
        ('right_thigh',),
        ('left_foot', 'left_shank'),
        SEGMENTS,
    ],
)
def test_sensors_that_go_and_return_never_jump(
    virtual: Any, rng: np.random.Generator, names: tuple[str, ...]
) -> None:
    """A still body: nothing moves faster than easing needs, and all is exact in the end."""
    root, rotations = random_posture(rng, virtual.place)
    names = tuple(n for n in names if n in virtual.layout.sensors)
    estimator = virtual.estimator()
    _, p, points = virtual.truth(root, rotations)
    last = None
    for step in range(3 * SETTLE_FRAMES):
        frame = virtual.frame(root, rotations)
        if SETTLE_FRAMES <= step < 2 * SETTLE_FRAMES:
            _lose(frame, *names)
        elif step == 2 * SETTLE_FRAMES:  # as a filter says it
            frame.status[[frame.sensors.index(name) for name in names]] = FILTER_REINITIALISED
        estimate = estimator.step(frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        assert np.all(np.isfinite(now))
        assert last is None or np.max(np.linalg.norm(now - last, axis=1)) < 0.08
        last = now
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)
    np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=EXACT_TOL)


@pytest.mark.parametrize(
    'names',
    [('left_hand',), ('pelvis',), ('right_foot',), ('pelvis', 'left_upper_arm', 'right_foot')],
)
def test_loss_right_after_a_leap_does_not_carry_the_leap_on(
    virtual: Any, rng: np.random.Generator, names: tuple[str, ...]
) -> None:
    """A whole body that is elsewhere at once, then loses sensors, stays where it is."""
    names = tuple(n for n in names if n in virtual.layout.sensors)
    estimator, pose = virtual.estimator(), random_posture(rng, virtual.place)
    for _ in range(2):
        estimator.step(virtual.frame(*virtual.t_pose()))
    estimate = estimator.step(virtual.frame(*pose))
    last = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
    for step in range(2 * SETTLE_FRAMES):
        frame = virtual.frame(*pose)
        estimate = estimator.step(_lose(frame, *names) if step < SETTLE_FRAMES else frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        assert np.max(np.linalg.norm(now - last, axis=1)) < 0.02
        last = now


def test_lost_pelvis_does_not_turn_on(virtual: Any) -> None:
    """A trunk that twists at 3 rad/s loses the pelvis in its last frame of motion, and stands."""
    root, rotations = virtual.t_pose()
    estimator, twist = virtual.estimator(), 0.5 * 3.0 * PERIOD_S
    last = 30
    for step in range(last + SETTLE_FRAMES):
        now, half = np.array(rotations), 0.5 * twist * min(step, last)
        for segment in (SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest']):
            now[segment] = [np.cos(half), 0.0, 0.0, np.sin(half)]
        frame = virtual.frame(root, now)
        estimate = estimator.step(frame if step < last else _lose(frame, 'pelvis'))
        turned = 2.0 * np.arccos(min(abs(estimate.posture.rotations[0] @ now[0]), 1.0))
        assert turned < 2.0 * twist + EXACT_TOL


def test_lost_pelvis_is_carried_by_the_chest(virtual: Any) -> None:
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    estimator.step(virtual.frame(root, rotations))
    for step in range(60):
        moved = root + [0.01 * step, 0.0, 0.0]
        estimate = estimator.step(_lose(virtual.frame(moved, rotations), 'pelvis'))
    np.testing.assert_allclose(estimate.posture.root_position, moved, atol=EXACT_TOL)


@pytest.mark.parametrize('gap_ns', [2_000_000_000, -2_000_000_000], ids=['gap', 'back'])
def test_gap_in_the_stamps_is_eased(virtual: Any, gap_ns: int) -> None:
    """Far away, the body is what it was, elsewhere."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    before = np.array(estimator.step(virtual.frame(root, rotations)).p_world)
    near, far = np.array([0.05, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    frame = virtual.frame(root + near, rotations)
    estimate = estimator.step(frame._replace(stamp_ns=frame.stamp_ns + gap_ns))
    np.testing.assert_allclose(estimate.p_world, before, atol=EXACT_TOL)
    frame = virtual.frame(root + far, rotations)
    estimate = estimator.step(frame._replace(stamp_ns=frame.stamp_ns + 2 * gap_ns))
    np.testing.assert_allclose(estimate.p_world, before + far, atol=EXACT_TOL)


def test_status_says_how_a_segment_is_known(virtual: Any) -> None:
    estimator = virtual.estimator()
    frame = virtual.frame(*virtual.t_pose())
    frame.status[frame.sensors.index('left_foot')] = FILTER_PREDICTED
    status = estimator.step(frame).status
    assert status[SEGMENT_INDEX['pelvis']] == STATUS_MEASURED
    assert status[SEGMENT_INDEX['head']] == STATUS_INFERRED
    assert status[SEGMENT_INDEX['left_foot']] == STATUS_STALE


def test_new_times_apply_while_running(virtual: Any) -> None:
    root, rotations = virtual.t_pose()
    rotations[SEGMENT_INDEX['left_hand']] = quaternions.exp(np.array([1.0, 0.0, 0.0]))
    estimator = virtual.estimator()
    estimator.step(virtual.frame(root, rotations))
    estimator.configure(PostureConfig(hold_s=0.0, fade_s=0.01, return_s=0.0))
    for _ in range(4):
        estimate = estimator.step(_lose(virtual.frame(root, rotations), 'left_hand'))
    hand = estimate.posture.rotations[SEGMENT_INDEX['left_hand']]
    np.testing.assert_allclose(hand, [1.0, 0.0, 0.0, 0.0], atol=EXACT_TOL)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    'field', ['positions', 'quaternions', 'linear_velocities', 'angular_velocities']
)
def test_row_that_is_not_finite_counts_as_lost(virtual: Any, field: str, bad: float) -> None:
    estimator = virtual.estimator()
    estimator.step(virtual.frame(*virtual.t_pose()))
    frame = virtual.frame(*virtual.t_pose())
    getattr(frame, field)[frame.sensors.index('left_hand'), 1] = bad
    estimate = estimator.step(frame)
    assert estimate.status[SEGMENT_INDEX['left_hand']] == STATUS_STALE
    for values in (estimate.p_world, estimate.q_world, estimate.posture.end_effector_velocities):
        assert np.all(np.isfinite(values))
