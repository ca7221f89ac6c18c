# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint centres from motion: the points that stay fixed in both neighbouring sensors' frames.

For a joint between sensors a and b, with the child's pose (R, t) in the parent's frame,
c_a = R c_b + t in every frame: linear in the six unknowns (OBrien2000; Bodenheimer1997
minimise the same movement). All joints are solved together by robust least squares, because
two priors couple them or fill in what the motion does not show: limbs are as long on the left
as on the right, and a joint is not far from where the known pose has it. Both priors are
weighed against the data by the residual that the data leave, so that exact data give exact
centres.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Ints, Vec3s
from puppet_performer.calibration.pose import MeanPose, tukey_weights
from puppet_performer.calibration.recording import Joint, RelativePoses
from puppet_performer.sensor_layout import SensorLayout

SCALE_FLOOR_M = 1e-7  # residuals below it are rounding
# Deviations below it count as good however still the joint was held otherwise: a joint that
# moves for a fifth of the time only must not have its motion taken for outliers.
GOOD_M = 0.008
OUTLIER_WEIGHT = 0.1
POSE_PRIOR_M = 0.06  # of a joint's place in the known pose, from an ordinary body's proportions
STRAIGHT_M = 0.012  # of elbows and knees from the line between their neighbours, in the pose
SYMMETRY_M = 0.004  # how much a person's left and right limb segments differ
NOISE_MARGIN = 1.2  # by which the estimate of the rotations' noise may be too small
IRLS_ITERATIONS = 12
ITERATIONS = 12  # of the joint solution; the lengths make it slightly non-linear
MAX_LAG_S = 2.0  # over which residuals may be correlated
MIN_CORRELATION = 0.05
# Soft tissue moves a sensor by about this at the largest angle of its joint. A centre in the wrong
# place explains most of it, so the residual does not show it; it is counted as uncertainty.
SOFT_TISSUE_M = 0.005


class Fit(NamedTuple):
    """The fixed point of one joint by itself."""

    centre: Floats  # In the parent's sensor frame, then in the child's, shape (6,) [m]
    weights: Floats  # Of the frames, 0 .. 1, shape (n,).
    # RMS distance of the two sensors' ideas of the centre, outliers left out [m]
    residual_m: float
    outliers: float  # Fraction of the frames that were left out or nearly so


class Centres(NamedTuple):
    # In the frames of the parents' and the children's sensors, shape (joints, 2, 3) [m]
    points: Vec3s
    covariance: Floats  # Of all coordinates in that order, shape (6 joints, 6 joints) [m^2]
    residuals_m: Floats  # RMS movement of each centre between its two sensors, shape (joints,) [m]
    outliers: Floats  # Fraction of each joint's frames that were left out, shape (joints,)

    def sds_m(self) -> Floats:
        """Return the standard deviation of each joint's worst direction, shape (joints,) [m]."""
        n = len(self.points)
        blocks = self.covariance.reshape(n, 6, n, 6)[np.arange(n), :, np.arange(n)]
        worst = np.array(
            [
                np.linalg.eigvalsh(block[k : k + 3, k : k + 3])[-1]
                for block in blocks
                for k in (0, 3)
            ]
        )
        return np.sqrt(np.maximum(worst.reshape(n, 2).max(axis=1), 0.0))

    def lengths(self, bones: Ints) -> tuple[Floats, Floats]:
        """Return lengths between joints (k, 2) and their standard deviations, shapes (k,) [m]."""
        lengths, sds = np.empty(len(bones)), np.empty(len(bones))
        for i, (near, far) in enumerate(bones):
            row, lengths[i] = length_row(self.points, int(near), int(far))
            sds[i] = np.sqrt(max(float(row @ self.covariance @ row), 0.0))
        return lengths, sds


class Solution(NamedTuple):
    """What a known pose and a motion show together."""

    layout: SensorLayout
    means: MeanPose  # The sensors in the known pose
    joints: Sequence[Joint]
    relatives: Sequence[RelativePoses]  # Of each joint, in the motion
    centres: Centres


def plain_residual(relative: RelativePoses) -> float:
    """Return the RMS distance that the best fixed point leaves, no frame left out [m]."""
    matrix, right, square = normal_equations(relative, np.ones(len(relative.positions)))
    centre = _shortest(matrix, right)
    return float(np.sqrt(max(square - float(right @ centre), 0.0) / len(relative.positions)))


def _shortest(matrix: Floats, right: Floats) -> Floats:
    """Return the shortest solution where the motion leaves a direction open (OBrien2000)."""
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-12, hermitian=True) @ right)


def residual_vectors(relative: RelativePoses, centre: Floats) -> Vec3s:
    """Return c_a - R c_b - t of every frame, shape (n, 3) [m]."""
    return centre[:3] - relative.rotations @ centre[3:] - relative.positions


def fit_joint(relative: RelativePoses) -> Fit:
    """Return the robust least-squares fixed point of one joint, the shortest if not unique."""
    weights = np.ones(len(relative.positions))
    centre = np.zeros(6)
    for _ in range(IRLS_ITERATIONS):
        matrix, right, _ = normal_equations(relative, weights)
        centre = _shortest(matrix, right)
        distances = np.linalg.norm(residual_vectors(relative, centre), axis=1)
        weights = tukey_weights(distances, GOOD_M)
    total = np.sum(weights * distances**2) / np.sum(weights)
    return Fit(centre, weights, float(np.sqrt(total)), float(np.mean(weights < OUTLIER_WEIGHT)))


def normal_equations(relative: RelativePoses, weights: Floats) -> tuple[Floats, Floats, float]:
    """Return matrix (6, 6), right side (6,) and sum of squares of one joint's equations."""
    mean_turn = np.einsum('n,nij->ij', weights, relative.rotations)
    total = float(np.sum(weights))
    matrix = np.block([[total * np.eye(3), -mean_turn], [-mean_turn.T, total * np.eye(3)]])
    back = np.einsum('nji,nj->ni', relative.rotations, relative.positions)
    right = np.concatenate((weights @ relative.positions, -(weights @ back)))
    return matrix, right, float(weights @ np.sum(relative.positions**2, axis=1))


def solve_joints(
    joints: Sequence[Joint],
    relatives: Sequence[RelativePoses],
    expected: Vec3s,
    pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]],
    rate_hz: float,
    noise: Floats,
    straight: Sequence[tuple[Floats, Floats]] = (),
) -> Centres:
    """
    Return all joint centres.

    They are `expected` by the known pose in both sensors' frames, shape (joints, 2, 3) [m]. Pairs
    are the joints (near, far) at the ends of a left segment and of the same on the right. The rate
    is for the correlation of neighbouring frames' residuals; `noise`, shape (joints, 2), the white
    noise of both sensors' rotations per axis [rad]. `straight` are rows (k, 6 joints) and values
    (k,) that the known pose implies for several centres together: rows @ x = values, within
    STRAIGHT_M.
    """
    n = len(joints)
    data, right = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    residuals, outliers, pulls = np.empty(n), np.empty(n), []
    for j, relative in enumerate(relatives):
        fit = fit_joint(relative)
        matrix, vector, known = _without_noise(relative, fit.weights, noise[j])
        # of the residual's three components; independent samples count, neighbours repeat
        variance = max(fit.residual_m**2 / 3.0, SCALE_FLOOR_M**2)
        vectors = residual_vectors(relative, fit.centre)
        information = 1.0 / (variance * correlation_frames(vectors, fit.weights, rate_hz))
        rows = slice(6 * j, 6 * j + 6)
        data[rows, rows] = information * matrix
        right[rows] = information * vector
        pulls.append(information * known @ _soft_tissue(relative, fit.weights))
        residuals[j], outliers[j] = fit.residual_m, fit.outliers
    data += np.eye(6 * n) / POSE_PRIOR_M**2
    right += expected.reshape(-1) / POSE_PRIOR_M**2
    for row, values in straight:
        data += row.T @ row / STRAIGHT_M**2
        right += row.T @ values / STRAIGHT_M**2
    points, hessian = _with_symmetry(data, right, pairs, n)
    covariance = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    for j, pull in enumerate(pulls):
        moved = covariance[:, 6 * j : 6 * j + 6] @ pull
        size = min(SOFT_TISSUE_M, residuals[j])
        covariance = covariance + moved @ moved.T * size**2 / 3.0
    return Centres(points, covariance, residuals, outliers)


def correlation_frames(vectors: Vec3s, weights: Floats, rate_hz: float) -> float:
    """Return how many frames are worth no more than a single one, >= 1: the correlation time."""
    used = vectors * np.sqrt(weights)[:, None]
    energy = float(np.sum(used**2))
    total = 1.0
    for lag in range(1, min(round(MAX_LAG_S * rate_hz), len(used) - 1)):
        correlation = float(np.sum(used[lag:] * used[:-lag])) / max(energy, 1e-300)
        if correlation < MIN_CORRELATION:
            break
        total += 2.0 * correlation
    return total


def _without_noise(
    relative: RelativePoses, weights: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats]:
    """
    Return the normal equations without what the rotations' noise adds to them.

    Noise of variance s^2 per axis turns a centre c by n x c, which adds 2 s^2 |c|^2 to the
    squares of each frame: a hinge would seem to show where on its axis the centre is, and
    show it wrong. Directions of which nothing is left are dropped; the third matrix projects
    on those that are kept.
    """
    matrix, right, _ = normal_equations(relative, weights)
    added = np.repeat(2.0 * np.sum(weights) * noise**2, 3)
    values, axes = np.linalg.eigh(matrix - NOISE_MARGIN * np.diag(added))
    kept = values > 0.5 * NOISE_MARGIN * np.max(added)
    known = (axes * kept) @ axes.T
    return (axes * np.where(kept, values, 0.0)) @ axes.T, known @ right, known


def _soft_tissue(relative: RelativePoses, weights: Floats) -> Floats:
    """
    Return how a sensor that moves with the joint's angle pulls at the equations, shape (6, 6).

    Columns: the child's sensor by one metre at the largest angle along its three axes, then
    the parent's.
    """
    cosine = 0.5 * (np.trace(relative.rotations[0].T @ relative.rotations, axis1=1, axis2=2) - 1.0)
    angles = np.arccos(np.clip(cosine, -1.0, 1.0))
    share = weights * angles / max(float(np.max(angles)), 1e-6)
    turn = np.einsum('n,nij->ij', share, relative.rotations)
    total = float(np.sum(share)) * np.eye(3)
    return np.block([[turn, total], [-total, -turn.T]])


def length_row(points: Vec3s, near: int, far: int) -> tuple[Floats, float]:
    """Return the derivative of a segment's length by all coordinates, and the length [m]."""
    row = np.zeros(points.size)
    # both centres in the frame of the segment's own sensor: near's child is far's parent
    bone = points[far, 0] - points[near, 1]
    length = float(np.linalg.norm(bone))
    direction = bone / max(length, 1e-9)
    row[6 * far : 6 * far + 3] = direction
    row[6 * near + 3 : 6 * near + 6] = -direction
    return row, length


def _with_symmetry(
    data: Floats, right: Floats, pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]], n: int
) -> tuple[Vec3s, Floats]:
    """Return the points that also make left and right alike, and the matrix of the solution."""
    x = np.asarray(np.linalg.solve(data, right), dtype=np.float64)
    hessian = data
    for _ in range(ITERATIONS):
        points = x.reshape(n, 2, 3)
        hessian, gradient = data.copy(), right - data @ x
        for left, other in pairs:
            left_row, left_length = length_row(points, *left)
            other_row, other_length = length_row(points, *other)
            row = left_row - other_row
            hessian += np.outer(row, row) / SYMMETRY_M**2
            gradient -= row * (left_length - other_length) / SYMMETRY_M**2
        step = np.linalg.solve(hessian, gradient)
        x = x + step
        if np.max(np.abs(step)) < 1e-12:
            break
    return x.reshape(n, 2, 3), hessian
