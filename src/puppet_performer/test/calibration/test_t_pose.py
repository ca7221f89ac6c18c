# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Heading and place of a T-pose, and what cannot be one."""

from collections.abc import Callable
from typing import Any

import numpy as np
from puppet_core.io import CalibrationError
from puppet_core.math.quaternions import rotate
from puppet_performer.calibration.pose import fit_t_pose, require_t_pose
from puppet_performer.sensor_layout import SensorLayout
import pytest

EXACT_TOL = 1e-9
LIMIT_M = 0.2


def _sensors(virtual: Any) -> np.ndarray:
    q, p, _ = virtual.truth(*virtual.t_pose())
    segments = virtual.layout.segments
    return p[segments] + rotate(q[segments], virtual.mount_p)


@pytest.mark.parametrize('yaw', [0.0, 0.7, np.pi / 2, 3.14, -3.14, -1.9])
def test_any_heading_is_found(make_virtual: Callable, yaw: float) -> None:
    virtual = make_virtual(yaw)
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(np.angle(np.exp(1j * (pose.heading - yaw)))) < EXACT_TOL
    np.testing.assert_allclose(pose.pelvis, virtual.place, atol=EXACT_TOL)


def test_one_pair_mounted_askew_moves_nothing(make_virtual: Callable) -> None:
    virtual = make_virtual(0.4)
    virtual.mount_p[virtual.layout.sensors.index('left_thigh')] += [0.2, 0.0, 0.0]
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(pose.heading - 0.4) < EXACT_TOL


@pytest.mark.parametrize('seed', range(5))
def test_unequal_mountings_cost_little(make_virtual: Callable, seed: int) -> None:
    """2 cm RMS on every axis of every sensor: 2.5 degrees and 3 cm at most."""
    virtual = make_virtual(-2.0, asymmetry_m=0.02, seed=seed)
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(pose.heading + 2.0) < np.radians(2.5)
    assert np.linalg.norm(pose.pelvis - virtual.place) < 0.03


def test_exchanged_hands_are_named(make_virtual: Callable) -> None:
    virtual = make_virtual(1.0)
    positions = _sensors(virtual)
    i, j = (virtual.layout.sensors.index(f'{side}_hand') for side in ('left', 'right'))
    positions[[i, j]] = positions[[j, i]]
    with pytest.raises(CalibrationError, match='left_hand and right_hand.*exchanged'):
        fit_t_pose(virtual.layout, virtual.character.skeleton, positions)


def _refused(virtual: Any, positions: np.ndarray) -> str:
    skeleton = virtual.character.skeleton
    pose = fit_t_pose(virtual.layout, skeleton, positions)
    with pytest.raises(CalibrationError) as refusal:
        require_t_pose(virtual.layout, skeleton, pose, positions, LIMIT_M)
    return str(refusal.value)


def _moved(virtual: Any, name: str, inward: float, up: float) -> np.ndarray:
    positions = _sensors(virtual)
    for side in ('left', 'right'):
        sensor = virtual.layout.sensors.index(f'{side}_{name}')
        towards = virtual.place[:2] - positions[sensor, :2]
        positions[sensor, :2] += inward * towards / np.linalg.norm(towards)
        positions[sensor, 2] += up
    return positions


def test_bent_arms_are_an_arm_span_that_does_not_fit(make_virtual: Callable) -> None:
    virtual = make_virtual(0.3)
    text = _refused(virtual, _moved(virtual, 'hand', 0.25, 0.0))
    assert 'arm span between left_hand and right_hand: expected 1.65 m' in text
    assert 'got 1.1' in text


def test_lowered_hands_are_a_height_that_does_not_fit(make_virtual: Callable) -> None:
    virtual = make_virtual(0.3)
    text = _refused(virtual, _moved(virtual, 'hand', 0.0, -0.4))
    assert 'height of left_hand' in text or 'height of right_hand' in text
    assert 'expected 1.4' in text


def test_sensor_beside_its_segment_is_named(make_virtual: Callable) -> None:
    virtual = make_virtual(0.3)
    positions = _sensors(virtual)
    positions[virtual.layout.sensors.index('chest'), :2] += 0.4
    assert 'place of chest' in _refused(virtual, positions)


def test_right_t_pose_is_accepted(make_virtual: Callable, layout14: SensorLayout) -> None:
    virtual = make_virtual(0.3, asymmetry_m=0.02)
    positions, skeleton = _sensors(virtual), virtual.character.skeleton
    pose = fit_t_pose(layout14, skeleton, positions)
    require_t_pose(layout14, skeleton, pose, positions, LIMIT_M)
