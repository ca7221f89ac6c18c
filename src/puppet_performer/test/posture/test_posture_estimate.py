# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors to posture: the truth without noise, position data first."""

from typing import Any

from motion_samples import ADULT, LAYOUT
import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.math import quaternions
from puppet_performer.posture.estimator import STATUS_INFERRED, step_posture, warm_up
from puppet_performer.sensor_layout import SensorLayout
import pytest
from virtual_performer import (
    make_virtual,
    random_character,
    random_posture,
    rotation_errors,
    VirtualPerformer,
)

EXACT_TOL = 1e-9  # position [m] and rotation [rad], without noise


@pytest.mark.parametrize('repeat', range(5))
def test_random_motion_of_a_random_skeleton_is_recovered(repeat: int) -> None:
    rng = np.random.default_rng(repeat)
    character = random_character(rng, ADULT) if repeat else ADULT
    virtual = VirtualPerformer(rng, character, LAYOUT, rng.uniform(-3.0, 3.0))
    estimator = virtual.estimator()
    for _ in range(4):
        root, rotations = random_posture(rng, virtual.place)
        estimate = estimator.step(virtual.frame(root, rotations))
        q, p, points = virtual.truth(root, rotations)
        assert np.max(rotation_errors(estimate.posture.rotations, rotations)) < EXACT_TOL
        assert np.max(rotation_errors(estimate.q_world, q)) < EXACT_TOL
        np.testing.assert_allclose(estimate.posture.root_position, root, atol=EXACT_TOL)
        np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=EXACT_TOL)


def test_flipped_quaternions_change_nothing(virtual: Any, rng: np.random.Generator) -> None:
    """Errata 11: -q is q, also in the signs that are published."""
    poses = [random_posture(rng, virtual.place) for _ in range(5)]
    results = []
    for flips in (False, True):
        estimator = virtual.estimator()
        for pose in poses:
            frame = virtual.frame(*pose)
            if flips:
                signs = rng.choice([-1.0, 1.0], size=(14, 1))
                frame = frame._replace(quaternions=frame.quaternions * signs)
            estimate = estimator.step(frame)
        results.append(np.array(estimate.posture.rotations))
    np.testing.assert_allclose(results[0], results[1], atol=EXACT_TOL)


def test_published_signs_are_continuous(virtual: Any) -> None:
    root, rotations = virtual.t_pose()
    estimator, last = virtual.estimator(), None
    for angle in np.linspace(0.0, 4.0 * np.pi, 200):
        rotations[0] = [np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)]
        now = np.array(estimator.step(virtual.frame(root, rotations)).posture.rotations)
        assert last is None or np.min(np.sum(now * last, axis=1)) > 0.99
        last = now


def test_noise_stays_of_its_own_size(virtual: Any, rng: np.random.Generator) -> None:
    """
    Sensor noise in, posture noise out: no amplification beyond the lever arms.

    2 mm and 0.5 degrees RMS an axis; a palm is at most 12 cm from its sensor (1 mm), a segment
    angle is its sensor's own.
    """
    estimator = virtual.estimator()
    root, rotations = random_posture(rng, virtual.place)
    _, _, points = virtual.truth(root, rotations)
    errors = []
    for _ in range(300):
        frame = virtual.frame(root, rotations, (0.002, np.radians(0.5)), rng)
        errors.append(estimator.step(frame).posture.end_effectors - points)
    rms = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    assert np.all(rms[:4] < 0.0025)
    assert np.all(rms < 0.005)


def test_velocities_are_those_of_the_rigid_segments(
    virtual: Any, rng: np.random.Generator
) -> None:
    """Independent computation: central differences of a body that turns and drifts as one."""
    root, rotations = random_posture(rng, virtual.place)
    omega, drift, h = rng.normal(size=3), rng.normal(size=3), 1e-5
    frame = virtual.frame(root, rotations)
    inverse = quaternions.conjugate(virtual.q_world_tracker)
    p_world = quaternions.rotate(virtual.q_world_tracker, frame.positions)
    p_world = p_world + virtual.p_world_tracker
    frame.linear_velocities[:] = quaternions.rotate(inverse, drift + np.cross(omega, p_world))
    frame.angular_velocities[:] = quaternions.rotate(inverse, omega)
    estimate = virtual.estimator().step(frame)
    _, _, points = virtual.truth(root, rotations)
    turn = quaternions.exp(h * omega)
    ahead = quaternions.rotate(turn, points) + h * drift
    back = quaternions.rotate(quaternions.conjugate(turn), points) - h * drift
    expected = (ahead - back) / (2.0 * h)
    np.testing.assert_allclose(estimate.posture.end_effector_velocities, expected, atol=1e-6)


def test_end_effectors_come_from_positions_not_angles(virtual: Any) -> None:
    """A shifted hand sensor moves the palm though no angle changed."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    before = np.array(estimator.step(virtual.frame(root, rotations)).posture.end_effectors)
    frame = virtual.frame(root, rotations)
    inverse = quaternions.conjugate(virtual.q_world_tracker)
    row = frame.sensors.index('left_hand')
    frame.positions[row] += quaternions.rotate(inverse, np.array([0.0, 0.0, 0.1]))
    estimate = estimator.step(frame)
    moved = estimate.posture.end_effectors - before
    np.testing.assert_allclose(moved[0], [0.0, 0.0, 0.1], atol=EXACT_TOL)
    np.testing.assert_allclose(moved[1:], 0.0, atol=EXACT_TOL)


def test_spine_is_halfway_and_head_follows(virtual: Any) -> None:
    """An evenly bent torso is recovered."""
    root, rotations = virtual.t_pose()
    even = quaternions.exp(np.array([0.15, 0.1, -0.2]))
    rotations[[SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest']]] = even
    estimate = virtual.estimator().step(virtual.frame(root, rotations))
    spine = estimate.posture.rotations[SEGMENT_INDEX['spine']]
    np.testing.assert_allclose(quaternions.log(spine), [0.15, 0.1, -0.2], atol=EXACT_TOL)
    assert estimate.status[SEGMENT_INDEX['spine']] == STATUS_INFERRED
    np.testing.assert_allclose(
        estimate.posture.rotations[SEGMENT_INDEX['head']], [1.0, 0.0, 0.0, 0.0], atol=EXACT_TOL
    )


def test_spine_leans_to_where_the_chest_is(virtual: Any, rng: np.random.Generator) -> None:
    """A torso that bends anywhere: all joints but none of the spine's twist are told."""
    root, rotations = virtual.t_pose()
    rotations[1:3] = quaternions.exp(rng.normal(size=(2, 3)) * 0.4)
    _, p, _ = virtual.truth(root, rotations)
    estimate = virtual.estimator().step(virtual.frame(root, rotations))
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)


def test_rows_may_come_in_another_order_and_with_strangers(
    virtual: Any, rng: np.random.Generator
) -> None:
    root, rotations = random_posture(rng, virtual.place)
    frame = virtual.frame(root, rotations)
    order = rng.permutation(14)
    shuffled = frame._replace(
        sensors=tuple(frame.sensors[i] for i in order),
        **{
            name: np.ascontiguousarray(getattr(frame, name)[order])
            for name in (
                'positions',
                'quaternions',
                'linear_velocities',
                'angular_velocities',
                'status',
            )
        },
    )
    estimate = virtual.estimator().step(shuffled)
    _, p, _ = virtual.truth(root, rotations)
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)


@pytest.mark.parametrize(
    'names',
    [('pelvis', 'left_hand', 'right_hand', 'left_foot', 'right_foot'), SEGMENTS],
    ids=['five', 'sixteen'],
)
def test_other_layouts_put_measured_segments_right(
    rng: np.random.Generator, names: tuple[str, ...]
) -> None:
    segments = np.array([SEGMENT_INDEX[n] for n in names])
    layout = SensorLayout('other', names, segments, np.zeros((len(names), 3)))
    virtual = make_virtual(yaw=0.5, layout=layout)
    root, rotations = random_posture(rng, virtual.place)
    estimate = virtual.estimator().step(virtual.frame(root, rotations))
    q, _, points = virtual.truth(root, rotations)
    products = np.abs(np.sum(estimate.q_world[segments] * q[segments], axis=1))
    np.testing.assert_allclose(products, 1.0, atol=1e-12)
    np.testing.assert_allclose(estimate.posture.end_effectors[:4], points[:4], atol=EXACT_TOL)


def test_frames_find_every_kernel_compiled(virtual: Any) -> None:
    """After the warm-up no frame of a live-like run compiles anything."""
    warm_up(virtual.character.skeleton)
    before = tuple(step_posture.signatures)
    estimator = virtual.estimator()
    for _ in range(20):
        estimator.step(virtual.frame(*virtual.t_pose()))
    assert tuple(step_posture.signatures) == before
