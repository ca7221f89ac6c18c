# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Enhancement: nothing where sensors agree, the minimum of eq. 1, nearer to the truth, no jump."""

from dataclasses import replace

from benchmarks import live_enhancement as live
from benchmarks.synthetic_recording import known_calibration, sensor_frames, TRACKER_M
from motion_samples import ADULT, LAYOUT, plain_frame, walk_and_clap
import numpy as np
from puppet_core.body.skeleton import N_SEGMENTS, PARENTS, SEGMENTS
from puppet_core.math import quaternions
from puppet_core.sensor_frames import FILTER_LOST
from puppet_performer.calibration import Calibration
from puppet_performer.posture.enhancement import enhance_sensors
from puppet_performer.posture.estimator import PostureConfig, PostureEstimator
import pytest
from scipy.optimize import least_squares
from virtual_performer import random_posture, rotation_errors

WEIGHT = 0.97
ON = PostureConfig(enhance_weight=WEIGHT)
EXACT_TOL = 1e-6  # position [m] and rotation [rad], without errors


def _estimator(calibration, config, place=TRACKER_M):
    return PostureEstimator(ADULT.skeleton, calibration, (1.0, 0.0, 0.0, 0.0), place, config)


def _askew(rng, calibration, degrees):
    """Return a calibration that believes every sensor turned on its segment."""
    turns = quaternions.exp(np.radians(degrees) * rng.normal(size=(len(calibration.sensors), 3)))
    return replace(calibration, rotations=quaternions.multiply(turns, calibration.rotations))


def test_sensors_that_agree_are_left_as_they_are(virtual, rng):
    estimator = virtual.estimator(config=ON)
    for _ in range(5):
        root, rotations = random_posture(rng, virtual.place)
        estimate = estimator.step(virtual.frame(root, rotations))
        _, p, points = virtual.truth(root, rotations)
        assert np.max(rotation_errors(estimate.posture.rotations, rotations)) < EXACT_TOL
        np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=EXACT_TOL)


def test_off_nothing_is_touched(virtual, rng):
    estimator = virtual.estimator(_askew(rng, virtual.calibrate(), 3.0))
    estimator.step(virtual.frame(*random_posture(rng, virtual.place)))
    before = estimator._states.tobytes()
    enhance_sensors(estimator._states[0])
    assert estimator._states.tobytes() == before


@pytest.mark.parametrize(
    'errors', [live.ERRORS[name] for name in list(live.ERRORS)[1:5]], ids=list(live.ERRORS)[1:5]
)
def test_joints_come_nearer_to_the_truth(errors):
    """Of each kind of error, in the mean over four draws, angles and places both."""
    motion, found = walk_and_clap(240), []
    for seed in range(4):
        take = live.worn(motion, LAYOUT, errors, seed)
        pair = [live.posture_errors(motion, live.estimated(take, w)[0]) for w in (0.0, WEIGHT)]
        found.append([(one['joints_deg'], one['places_mm']) for one in pair])
    before, after = np.mean(found, axis=0)
    assert np.all(after < 0.99 * before), (before, after)


def test_one_step_comes_to_the_minimum_of_the_objective(rng):
    """By an independent minimiser of G (ChoiParkKo eq. 1), sixteen sensors on sixteen segments."""
    n, skeleton = N_SEGMENTS, ADULT.skeleton
    places = 0.1 * rng.normal(size=(n, 3))
    zeros = np.zeros(n)
    identities = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    worn = SEGMENTS, np.arange(n), identities, places, zeros, zeros
    estimator = _estimator(Calibration('', '', '', *worn), ON, np.zeros(3))
    measured_q = quaternions.normalize(rng.normal(size=(n, 4)))
    off = np.radians(0.3) * rng.normal(size=(n, 3))
    true_q = quaternions.multiply(quaternions.exp(off), measured_q)

    def sensors_at(root, q):
        p = [root]
        for segment in range(1, n):
            parent = PARENTS[segment]
            p.append(p[parent] + quaternions.rotate(q[parent], skeleton.offsets[segment]))
        return np.array(p) + quaternions.rotate(q, places)

    measured_p = sensors_at(np.ones(3), true_q)

    def rows(root, q):
        turns = quaternions.log(quaternions.multiply(q, quaternions.conjugate(measured_q)))
        away = sensors_at(root, q) - measured_p
        return np.concatenate(
            (np.sqrt(WEIGHT) * away.ravel(), np.sqrt(1.0 - WEIGHT) * turns.ravel())
        )

    def by_unknowns(x):
        q = quaternions.multiply(quaternions.exp(x[3:].reshape(n, 3)), measured_q)
        return rows(np.ones(3) + x[:3], q)

    least = 2.0 * least_squares(by_unknowns, np.zeros(3 + 3 * n)).cost
    estimate = estimator.step(plain_frame(0, SEGMENTS, measured_p, measured_q))
    reached = np.sum(rows(estimate.posture.root_position, estimate.q_world) ** 2)
    start = np.sum(by_unknowns(np.zeros(3 + 3 * n)) ** 2)
    assert least <= reached < 1.02 * least < 0.2 * start


def test_sensors_that_go_and_come_move_a_still_body_slowly(rng):
    """And switched off and on it follows within a second; nothing turns faster than 2 rad/s."""
    frame = sensor_frames(walk_and_clap(2), LAYOUT)[0]
    calibration = _askew(rng, known_calibration(LAYOUT), 3.0)
    estimator = _estimator(calibration, ON)
    q, results = [], []
    for phase in range(7):
        gone = [LAYOUT.sensors.index(name) for name in ('chest', 'left_foot') if phase in (1, 3)]
        estimator.configure(replace(ON, enhance_weight=0.0 if phase == 5 else WEIGHT))
        for _ in range(240):
            status = np.array(frame.status)
            status[gone] = FILTER_LOST
            stamp_ns = len(q) * 8_333_333
            estimate = estimator.step(frame._replace(stamp_ns=stamp_ns, status=status))
            q.append(estimate.q_world[[0, 4, 5, 7, 8, 10, 11, 13, 14]].copy())
        results.append(estimate.posture.rotations.copy())
    steps = rotation_errors(np.array(q[1:]), np.array(q[:-1]))
    assert 0.001 < steps.max() < 2.0 / 120.0
    plain = _estimator(calibration, PostureConfig()).step(frame).posture.rotations
    for result, wanted in zip(results[::2] + [results[5]], [results[0]] * 4 + [plain]):
        assert np.max(rotation_errors(result, wanted)) < 1e-3
