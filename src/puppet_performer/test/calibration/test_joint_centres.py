# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint centres against scipy's least squares, against sampling, and where motion is missing."""

import numpy as np
from puppet_core.math import quaternions
from puppet_performer.calibration.joint_centres import (
    correlation_frames,
    fit_joint,
    residual_vectors,
    solve_joints,
)
from puppet_performer.calibration.recording import Joint, RelativePoses
import pytest
from scipy.optimize import least_squares

RATE_HZ = 100.0
CENTRE = np.array([0.1, -0.2, 0.05, -0.02, 0.15, 0.08])
NOISE_M = 0.003
EXACT = np.zeros((1, 2))  # noise of the rotations


NEAR, FAR = CENTRE, CENTRE * 1.5
JOINTS = [Joint(1, 0, 1), Joint(2, 1, 2), Joint(3, 3, 4), Joint(4, 4, 5)]


def _relative(rng, vectors, noise_m=0.0, centre=CENTRE):
    turns = quaternions.to_matrix(quaternions.exp(vectors))
    positions = centre[:3] - turns @ centre[3:]
    positions += rng.normal(size=positions.shape) * noise_m
    return RelativePoses(turns, positions, np.arange(len(vectors)))


def _ball(rng, n=400, spread=0.5):
    return rng.normal(size=(n, 3)) * spread


def test_fixed_point_is_that_of_scipy(rng):
    relative = _relative(rng, _ball(rng), NOISE_M)
    fit = fit_joint(relative)
    weights = np.sqrt(fit.weights)[:, None]
    told = least_squares(lambda x: (weights * residual_vectors(relative, x)).ravel(), np.zeros(6))
    np.testing.assert_allclose(fit.centre, told.x, atol=1e-7)


def test_outliers_do_not_count(rng):
    relative = _relative(rng, _ball(rng))
    relative.positions[::20] += 1.0
    fit = fit_joint(relative)
    np.testing.assert_allclose(fit.centre, CENTRE, atol=1e-9)
    assert fit.outliers == pytest.approx(0.05)


def test_hinge_gives_the_shortest_solution_on_its_axis(rng):
    """OBrien2000: along a hinge's axis the centre is open; the shortest one is taken."""
    axis = np.array([0.6, 0.0, 0.8])
    relative = _relative(rng, rng.uniform(-1.0, 1.0, (300, 1)) * axis)
    fit = fit_joint(relative)
    off = fit.centre - CENTRE
    np.testing.assert_allclose(np.cross(off[:3], axis), 0.0, atol=1e-9)
    np.testing.assert_allclose(off[:3], off[3:], atol=1e-9)
    assert np.linalg.norm(fit.centre) < np.linalg.norm(CENTRE)


def _solved(relatives, joints, pairs):
    expected = np.zeros((len(joints), 2, 3))
    return solve_joints(joints, relatives, expected, pairs, RATE_HZ, np.zeros((len(joints), 2)))


def test_covariance_is_that_of_many_samples(rng):
    vectors = _ball(rng, 200)
    joint = [Joint(1, 0, 1)]
    found = [_solved([_relative(rng, vectors, NOISE_M)], joint, []) for _ in range(150)]
    points = np.array([centres.points.reshape(6) for centres in found])
    spread = np.sqrt(np.diag(np.cov(points.T)))
    sds = np.sqrt(np.mean([np.diag(centres.covariance) for centres in found], axis=0))
    # never too small; what soft tissue may have done comes on top
    assert np.all(sds > 0.9 * spread)
    assert np.all(sds < 20.0 * spread)


def test_pose_fills_in_what_the_motion_leaves_open(rng):
    axis = np.array([0.0, 0.0, 1.0])
    relative = _relative(rng, rng.uniform(-1.0, 1.0, (300, 1)) * axis)
    expected = (CENTRE + [0.0, 0.0, 0.01, 0.0, 0.0, 0.01]).reshape(1, 2, 3)
    centres = solve_joints([Joint(1, 0, 1)], [relative], expected, [], RATE_HZ, EXACT)
    # along the axis rounding alone moves it, by far less than it is said to be known
    np.testing.assert_allclose(centres.points, expected, atol=5e-3)
    np.testing.assert_allclose(centres.points[..., :2], expected[..., :2], atol=1e-4)
    assert centres.sds_m()[0] > 0.02


def test_exact_data_are_stronger_than_both_priors(rng):
    relatives = [_relative(rng, _ball(rng), 0.0, c) for c in (NEAR, FAR, NEAR, FAR + 0.02)]
    centres = _solved(relatives, JOINTS, [((0, 1), (2, 3))])
    wanted = np.array([NEAR, FAR, NEAR, FAR + 0.02]).reshape(4, 2, 3)
    np.testing.assert_allclose(centres.points, wanted, atol=1e-8)


def test_left_and_right_are_alike_where_the_motion_hardly_tells(rng):
    spreads = (0.5, 0.5, 0.5, 0.002)
    relatives = [
        _relative(rng, _ball(rng, spread=s), NOISE_M, c)
        for s, c in zip(spreads, (NEAR, FAR, NEAR, FAR))
    ]
    bones = np.array([(0, 1), (2, 3)])
    alone = _solved(relatives, JOINTS, []).lengths(bones)
    both = _solved(relatives, JOINTS, [((0, 1), (2, 3))]).lengths(bones)
    true = np.linalg.norm(FAR[:3] - NEAR[3:])
    assert abs(alone[0][1] - true) > 0.02
    assert abs(both[0][1] - true) < 0.008
    assert both[1][1] < 0.5 * alone[1][1]


def test_correlated_residuals_count_as_fewer_frames(rng):
    white = rng.normal(size=(4000, 3))
    kernel = np.ones(20) / 20.0
    smooth = np.stack([np.convolve(column, kernel, 'same') for column in white.T], axis=1)
    ones = np.ones(len(white))
    assert correlation_frames(white, ones, RATE_HZ) < 1.3
    # the integrated correlation of a box of n frames is n
    assert correlation_frames(smooth, ones, RATE_HZ) == pytest.approx(20.0, rel=0.25)


def test_noise_of_rotations_does_not_seem_to_tell_where_on_its_hinge_a_centre_is(rng):
    noise_rad = np.radians(0.5)
    hinge = rng.uniform(-1.0, 1.0, (2000, 1)) * np.array([0.0, 0.0, 1.0])
    relative = _relative(rng, hinge, 0.002)
    shaken = quaternions.multiply(
        quaternions.from_matrix(relative.rotations),
        quaternions.exp(rng.normal(size=(2000, 3)) * noise_rad),
    )
    relative = relative._replace(rotations=quaternions.to_matrix(shaken))
    expected = (CENTRE + [0.0, 0.0, 0.2, 0.0, 0.0, 0.2]).reshape(1, 2, 3)
    joint = [Joint(1, 0, 1)]
    naive = solve_joints(joint, [relative], expected, [], RATE_HZ, EXACT)
    aware = solve_joints(joint, [relative], expected, [], RATE_HZ, np.array([[0.0, noise_rad]]))
    assert abs(naive.points[0, 0, 2] - expected[0, 0, 2]) > 0.05
    np.testing.assert_allclose(aware.points[0, 0, 2], expected[0, 0, 2], atol=0.01)
    assert aware.sds_m()[0] > 0.03 > naive.sds_m()[0]


def test_known_pose_can_put_a_centre_in_its_place(rng):
    axis = np.array([0.0, 0.0, 1.0])
    relative = _relative(rng, rng.uniform(-1.0, 1.0, (300, 1)) * axis)
    expected = (CENTRE + 0.05).reshape(1, 2, 3)
    row = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    centres = solve_joints(
        [Joint(1, 0, 1)], [relative], expected, [], RATE_HZ, EXACT, [(row, CENTRE[2:3])]
    )
    # the row is four times as strong as the two coordinates of the pose's prior
    assert abs(centres.points[0, 0, 2] - CENTRE[2]) < 0.005
