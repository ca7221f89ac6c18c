# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Means that a few wild samples cannot move: Tukey's biweight, by reweighted least squares.

Outliers get weight zero beyond CUTOFF robust standard deviations, so what is exact without
them stays exact with them.
"""

import numpy as np
from puppet_core.math import Floats, Quat, quaternions, Quats

CUTOFF = 4.685  # in standard deviations: 95 % efficient on Gaussian samples
MAD_TO_SIGMA = 1.4826  # median absolute deviation of a Gaussian to its standard deviation
ITERATIONS = 20
TOLERANCE = 1e-12


def robust_mean(points: Floats, scale_floor: float, weights: Floats | None = None) -> Floats:
    """
    Return the robust mean (k,) of points (n, k), at least one, of given trust (n,) > 0.

    Deviations below `scale_floor` count as good, however well the others agree.
    """
    prior = np.ones(len(points)) if weights is None else weights
    centre = np.median(points, axis=0)
    for _ in range(ITERATIONS):
        w = prior * tukey_weights(np.linalg.norm(points - centre, axis=1), scale_floor)
        moved = w @ points / np.sum(w) - centre
        centre = centre + moved
        if np.max(np.abs(moved)) < TOLERANCE:
            break
    return centre


def robust_mean_rotation(rotations: Quats, scale_floor: float) -> Quat:
    """
    Return the robust mean, w >= 0, of unit quaternions (n, 4), whatever their signs.

    Deviations below `scale_floor` count as good [rad].
    """
    # the sample nearest to all others starts the descent: a median for rotations
    dots = np.abs(rotations @ rotations.T)
    centre = rotations[np.argmax(np.sum(dots, axis=1))]
    for _ in range(ITERATIONS):
        errors = quaternions.log(quaternions.multiply(quaternions.conjugate(centre), rotations))
        w = tukey_weights(np.linalg.norm(errors, axis=1), scale_floor)
        moved = w @ errors / np.sum(w)
        centre = quaternions.multiply(centre, quaternions.exp(moved))
        if np.max(np.abs(moved)) < TOLERANCE:
            break
    centre = quaternions.normalize(centre)
    return centre if centre[0] >= 0.0 else -centre


def tukey_weights(deviations: Floats, scale_floor: float) -> Floats:
    """Return Tukey's biweight of deviations >= 0, shape (n,), scaled by their own median."""
    sigma = max(MAD_TO_SIGMA * float(np.median(deviations)), scale_floor)
    share = deviations / (CUTOFF * sigma)
    return np.where(share < 1.0, (1.0 - share**2) ** 2, 0.0)
