# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A body that is elsewhere at once is carried there in one piece; what went is eased."""

from typing import Any

import numpy as np
from puppet_core.body.motion_measures import FASTEST_M_S, FASTEST_RAD_S, PERFORMER_RATIO
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions
from puppet_core.math.arrays import Floats, Quats, Vec3
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FilteredFrame,
)
from puppet_performer.posture.estimator import EstimatedPosture, LEAP_FRAMES
import pytest
from virtual_performer import random_posture

PERIOD_S = 8_333_333e-9
LEAP_M = PERFORMER_RATIO * FASTEST_M_S * LEAP_FRAMES * PERIOD_S
LEAP_RAD = PERFORMER_RATIO * FASTEST_RAD_S * LEAP_FRAMES * PERIOD_S
N_BEFORE, N_AFTER = 20, 80  # frames
N_LOST = 5, 30  # so many before the leap and after it
LOST = ('left_hand', 'right_foot')
OFF_M = 0.03  # of each sensor, so that lengths are not those of the skeleton
SLOW_M = 0.08  # in a frame: what easing needs
SINKS_M = 0.08  # as the segments are eased each by itself; the pelvis goes down by 0.2


def _moved(root: Vec3, rotations: Quats, way: Vec3, turn: Floats) -> tuple[Vec3, Quats]:
    """Return a pose seen from elsewhere."""
    rotations = rotations.copy()
    rotations[0] = quaternions.multiply(turn, rotations[0])
    return quaternions.rotate(turn, root) + way, rotations


def _motion(rng: np.random.Generator, pose: tuple[Vec3, Quats]) -> list[tuple[Vec3, Quats]]:
    """Return poses of a body on its way: the root and all joints turn and move."""
    root, rotations = pose
    speed, turning = rng.normal(size=3), rng.normal(size=(len(rotations), 3))
    times = PERIOD_S * np.arange(N_BEFORE + N_AFTER)
    return [
        (root + t * speed, quaternions.multiply(rotations, quaternions.exp(t * turning)))
        for t in times
    ]


def _lose(frame: FilteredFrame) -> FilteredFrame:
    for name in set(LOST) & set(frame.sensors):
        row = frame.sensors.index(name)
        frame.positions[row] = frame.quaternions[row] = np.nan
        frame.status[row] = FILTER_LOST
    return frame


def _displaced(frame: FilteredFrame) -> FilteredFrame:
    """Let all sensors but the pelvis' be elsewhere on their segments than calibrated."""
    offsets = OFF_M * np.sin(np.arange(3 * len(frame.sensors))).reshape(-1, 3)
    offsets[frame.sensors.index('pelvis')] = 0.0
    frame.positions[:] += quaternions.rotate(frame.quaternions, offsets)
    return frame


def _numbers(estimate: EstimatedPosture) -> tuple[Floats, ...]:
    posture = estimate.posture
    return (
        estimate.p_world,
        estimate.q_world,
        posture.root_position,
        posture.rotations,
        posture.end_effectors,
        posture.end_effector_velocities,
    )


@pytest.mark.parametrize(
    'way, angle',
    [
        ([2.0, -1.0, 0.0], 0.0),
        ([0.0, 0.0, 0.0], 2.5),
        ([-0.5, 0.3, 0.0], -1.0),
        ([1.3 * LEAP_M, 0.0, 0.0], 0.0),
        ([0.0, 0.0, 0.0], 1.3 * LEAP_RAD),
    ],
)
@pytest.mark.parametrize('has_lost', [False, True])
def test_a_leap_changes_nothing_but_the_place(
    virtual: Any, rng: np.random.Generator, way: list[float], angle: float, has_lost: bool
) -> None:
    """All that comes after is as if he had always been there, sensors missing or not."""
    turn = quaternions.exp(np.array([0.0, 0.0, angle]))
    leaping, steady = virtual.estimator(), virtual.estimator()
    poses = _motion(rng, random_posture(rng, virtual.place))
    # a turn is about the pelvis, which stays where it is
    pivot = poses[N_BEFORE][0] - quaternions.rotate(turn, poses[N_BEFORE][0])
    there = [_moved(*pose, np.array(way) + pivot, turn) for pose in poses]
    for k in range(N_BEFORE + N_AFTER):
        frame = _displaced(virtual.frame(*there[k]))
        virtual.frame_index -= 1
        before = _displaced(virtual.frame(*poses[k]))
        if k == N_BEFORE:
            frame.status[:] = FILTER_REINITIALISED
        if has_lost and -N_LOST[0] <= k - N_BEFORE < N_LOST[1]:
            _lose(frame)
            _lose(before)
        of_leaping = leaping.step(before if k < N_BEFORE else frame)
        of_steady = steady.step(frame)
        if k < N_BEFORE:
            continue
        for ours, theirs in zip(_numbers(of_leaping), _numbers(of_steady)):
            if ours.shape[-1] == 4:
                ours = ours * np.sign(np.sum(ours * theirs, axis=-1))[..., None]
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize('share', [0.1, 0.9])
def test_what_a_body_may_do_is_eased(virtual: Any, rng: np.random.Generator, share: float) -> None:
    """A pelvis whose pose does not go on, but near; and one that went far by itself."""
    pose = random_posture(rng, virtual.place)
    estimator = virtual.estimator()
    for _ in range(2):
        root = np.array(estimator.step(virtual.frame(*pose)).posture.root_position)
    near = pose[0] + [share * LEAP_M, 0.0, 0.0], pose[1]
    frame = virtual.frame(*near)
    frame.status[:] = FILTER_REINITIALISED
    np.testing.assert_allclose(estimator.step(frame).posture.root_position, root, atol=1e-9)
    for _ in range(N_AFTER):
        root = estimator.step(virtual.frame(*near)).posture.root_position
    np.testing.assert_allclose(root, near[0], atol=1e-9)
    far = pose[0] + [1.0, 0.0, 0.0], pose[1]
    root = estimator.step(virtual.frame(*far)).posture.root_position
    np.testing.assert_allclose(root, far[0], atol=1e-9)


def test_a_pelvis_that_is_back_is_eased(virtual: Any) -> None:
    """Its filter begins anew, however far from where the chest had carried it."""
    root, rotations = virtual.t_pose()
    estimator, pelvis = virtual.estimator(), virtual.layout.sensors.index('pelvis')
    chest = SEGMENT_INDEX['chest']
    before = root + [0.0, 0.0, 0.2]
    _, bent = virtual.t_pose()
    bent[0] = quaternions.multiply(bent[0], quaternions.exp(np.array([0.0, 0.0, 1.5])))
    # the chest as it was: only the pelvis turns, by more than a leap
    bent[chest] = quaternions.exp(np.array([0.0, 0.0, -1.5]))
    last = None
    for k in range(N_BEFORE + N_AFTER):
        frame = virtual.frame(before, rotations if k < N_BEFORE // 2 else bent)
        if N_BEFORE // 2 <= k < N_BEFORE:
            frame.positions[pelvis] = np.nan
            frame.status[pelvis] = FILTER_LOST
        elif k == N_BEFORE:
            frame.status[pelvis] = FILTER_REINITIALISED
        estimate = estimator.step(frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        if k >= N_BEFORE:
            assert np.linalg.norm(now - last, axis=1).max() < SLOW_M
        last = now


@pytest.mark.parametrize('name', ['left_hand', 'right_foot', 'pelvis'])
def test_a_body_is_not_torn(virtual: Any, name: str) -> None:
    """A sensor that is predicted for a frame where it was, while the others are elsewhere."""
    root, rotations = virtual.t_pose()
    estimator, row = virtual.estimator(), virtual.layout.sensors.index(name)
    away = [2.0, 0.0, 0.0]
    _, _, points = virtual.truth(root, rotations)
    reach = np.linalg.norm(points - root, axis=1).max()
    for k in range(N_BEFORE + N_AFTER):
        there = virtual.frame(root + (away if k >= N_BEFORE else 0.0), rotations)
        virtual.frame_index -= 1
        here = virtual.frame(root, rotations)
        if k == N_BEFORE:
            there.status[:] = FILTER_REINITIALISED
            there.positions[row] = here.positions[row]
            there.quaternions[row] = here.quaternions[row]
            there.status[row] = FILTER_PREDICTED
        elif k == N_BEFORE + 1:
            there.status[row] = FILTER_REINITIALISED
        posture = estimator.step(there).posture
        ways = np.linalg.norm(posture.end_effectors - posture.root_position, axis=1)
        assert ways.max() < 1.3 * reach
    np.testing.assert_allclose(posture.root_position, root + away, atol=1e-9)


@pytest.mark.parametrize('way', [0.0, 1.0])
def test_feet_stay_on_the_floor(virtual: Any, way: float) -> None:
    """A squat that nobody saw, on the spot or elsewhere, does not take the feet down."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    _, _, points = virtual.truth(root, rotations)
    floor = points[:, 2].min()
    squat = rotations.copy()
    for side in ('left', 'right'):
        for part, angle in (('thigh', -0.7), ('shank', 1.4), ('foot', -0.7)):
            squat[SEGMENT_INDEX[f'{side}_{part}']] = quaternions.exp([0.0, angle, 0.0])
    _, _, points = virtual.truth(root, squat)
    low = root + [way, 0.0, floor - points[:, 2].min()]
    for k in range(N_BEFORE + N_AFTER):
        pose = (root, rotations) if k < N_BEFORE else (low, squat)
        frame = virtual.frame(*pose)
        if k >= N_BEFORE:
            frame = frame._replace(stamp_ns=frame.stamp_ns + 600_000_000)
        estimate = estimator.step(frame)
        assert estimate.posture.end_effectors[:, 2].min() > floor - SINKS_M
    np.testing.assert_allclose(estimate.posture.root_position, low, atol=1e-9)


def test_the_first_frame_is_no_leap(virtual: Any, rng: np.random.Generator) -> None:
    """It is taken as it comes, also after a reset."""
    estimator = virtual.estimator()
    for _ in range(2):
        pose = random_posture(rng, virtual.place)
        frame = virtual.frame(*pose)
        frame.status[:] = FILTER_REINITIALISED
        _, joints, points = virtual.truth(*pose)
        estimate = estimator.step(frame)
        np.testing.assert_allclose(estimate.p_world, joints, atol=1e-9)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=1e-9)
        estimator.reset()
