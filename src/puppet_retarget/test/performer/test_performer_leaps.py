# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A performer who is elsewhere at once is carried there in one piece; who went is eased."""

from collections.abc import Callable
from typing import Any

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.fastest_motion import FASTEST_M_S, FASTEST_RAD_S, PERFORMER_RATIO
from puppet_core.sensor_frames import FILTER_LOST, FILTER_REINITIALISED, FilteredFrame
from puppet_retarget.performer.posture_estimate import EstimatedPosture
import pytest

PERIOD_S = 8_333_333e-9
LEAP_M = PERFORMER_RATIO * FASTEST_M_S * PERIOD_S
LEAP_RAD = PERFORMER_RATIO * FASTEST_RAD_S * PERIOD_S
N_BEFORE, N_AFTER = 20, 80  # frames
N_LOST = 5, 30  # so many before the leap and after it
LOST = ('left_hand', 'right_foot')


def _moved(root: Vec3, rotations: Quats, way: Vec3, turn: Floats) -> tuple[Vec3, Quats]:
    """Return a pose seen from elsewhere."""
    rotations = rotations.copy()
    rotations[0] = quaternion_batch.multiply(turn, rotations[0])
    return quaternion_batch.rotate(turn, root) + way, rotations


def _motion(rng: np.random.Generator, pose: tuple[Vec3, Quats]) -> list[tuple[Vec3, Quats]]:
    """Return poses of a body on its way: the root and all joints turn and move."""
    root, rotations = pose
    speed, turning = rng.normal(size=3), rng.normal(size=(len(rotations), 3))
    times = PERIOD_S * np.arange(N_BEFORE + N_AFTER)
    return [
        (root + t * speed,
         quaternion_batch.multiply(rotations, quaternion_batch.exp(t * turning)))
        for t in times
    ]  # fmt: skip


def _lose(frame: FilteredFrame) -> FilteredFrame:
    for name in set(LOST) & set(frame.sensors):
        row = frame.sensors.index(name)
        frame.positions[row] = frame.quaternions[row] = np.nan
        frame.status[row] = FILTER_LOST
    return frame


def _numbers(estimate: EstimatedPosture) -> tuple[Floats, ...]:
    posture = estimate.posture
    return (
        estimate.p_world, estimate.q_world, posture.root_position, posture.rotations,
        posture.end_effectors,
    )  # fmt: skip


@pytest.mark.parametrize('way, angle', [
    ([2.0, -1.0, 0.0], 0.0), ([0.0, 0.0, 0.0], 2.5), ([-0.5, 0.3, 0.1], -1.0),
    ([1.3 * LEAP_M, 0.0, 0.0], 0.0), ([0.0, 0.0, 0.0], 1.3 * LEAP_RAD),
])  # fmt: skip
@pytest.mark.parametrize('has_lost', [False, True])
def test_a_leap_changes_nothing_but_the_place(
    virtual: Any, rng: np.random.Generator, pose_of: Callable, way: list[float], angle: float,
    has_lost: bool,
) -> None:  # fmt: skip
    """All that comes after is as if he had always been there, sensors missing or not."""
    axis = rng.normal(size=3)
    turn = quaternion_batch.exp(angle * axis / np.linalg.norm(axis))
    leaping, steady = virtual.estimator(), virtual.estimator()
    poses = _motion(rng, pose_of(rng, virtual.place))
    # a turn is about the pelvis, which stays where it is
    pivot = poses[N_BEFORE][0] - quaternion_batch.rotate(turn, poses[N_BEFORE][0])
    there = [_moved(*pose, np.array(way) + pivot, turn) for pose in poses]
    for k in range(N_BEFORE + N_AFTER):
        frame = virtual.frame(*there[k])
        virtual.frame_index -= 1
        before = virtual.frame(*poses[k])
        if k == N_BEFORE:
            frame.status[:] = FILTER_REINITIALISED
        if has_lost and -N_LOST[0] <= k - N_BEFORE < N_LOST[1]:
            _lose(frame)
            _lose(before)
        of_leaping = leaping.step(before if k < N_BEFORE else frame)
        if k == N_BEFORE:  # to those that were there, only the pelvis goes on
            frame.status[frame.sensors.index('pelvis')] = 0
        of_steady = steady.step(frame)
        if k < N_BEFORE:
            continue
        for ours, theirs in zip(_numbers(of_leaping), _numbers(of_steady)):
            if ours.shape[-1] == 4:
                ours = ours * np.sign(np.sum(ours * theirs, axis=-1))[..., None]
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize('share', [0.1, 0.9])
def test_what_a_body_may_do_is_eased(
    virtual: Any, rng: np.random.Generator, pose_of: Callable, share: float
) -> None:
    """A pelvis whose pose does not go on, but near; and one that went far by itself."""
    pose = pose_of(rng, virtual.place)
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


def test_the_first_frame_is_no_leap(
    virtual: Any, rng: np.random.Generator, pose_of: Callable
) -> None:
    """It is taken as it comes, also after a reset."""
    estimator = virtual.estimator()
    for _ in range(2):
        pose = pose_of(rng, virtual.place)
        frame = virtual.frame(*pose)
        frame.status[:] = FILTER_REINITIALISED
        _, joints, points = virtual.truth(*pose)
        estimate = estimator.step(frame)
        np.testing.assert_allclose(estimate.p_world, joints, atol=1e-9)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=1e-9)
        estimator.reset()
