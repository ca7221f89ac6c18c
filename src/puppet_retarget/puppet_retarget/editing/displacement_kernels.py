# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Displacement maps: one level of a multilevel B-spline, and its effect on a motion (kernel).

LeeShin1999 section 3.2. A curve of one level has uniform knots; control point j is at knot
j - 1, so that a frame t, at u = t / spacing knots, lies among control points floor(u) to
floor(u) + 3.

"""

import math

from puppet_core.arrays import Floats, Ints, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import exp, multiply, normalize
from puppet_core.skeleton import N_SEGMENTS
from puppet_core.work_array import work_array


@kernel
def basis(u: float, out: Floats) -> int:
    """Write the four cubic B-splines at u knots, shape (4,); return the first's number."""
    knot = math.floor(u)
    t = u - knot
    s = 1.0 - t
    out[0] = s * s * s / 6.0
    out[1] = (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0
    out[2] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0
    out[3] = t * t * t / 6.0
    return int(knot)


@kernel
def fit_control_points(
    frames: Ints, values: Floats, says: Floats, spacing: float, shares: Floats,
    control_points: Floats,
) -> None:  # fmt: skip
    """
    Write the control points that locally fit values at some frames best.

    LeeShin1999 eq. 2, where the denominator of beta is the sum of squares (SPEC 5.9): a single
    value then is interpolated. Each value has a weight besides. Control points that no value
    reaches are zero.

    Parameters
    ----------
    frames : ndarray, shape (k,)
        Frame indices.
    values : ndarray, shape (k, 3 g)
        What to fit, in groups of three.
    says : ndarray, shape (k, g)
        Weight of each group, 0 where it has no value.
    spacing : float
        Frames from knot to knot.
    shares : ndarray, shape (p, g)
        Working space.
    control_points : ndarray, shape (p, 3 g)
        Out; p is at least floor((n - 1) / spacing) + 4 for n frames.

    """
    weights = work_array(4)
    shares[:] = 0.0
    control_points[:] = 0.0
    for i in range(len(frames)):
        first = basis(frames[i] / spacing, weights)
        square = 0.0
        for k in range(4):
            square += weights[k] * weights[k]
        for k in range(4):
            omega = weights[k]
            share = omega * omega * omega / square
            for g in range(says.shape[1]):
                if says[i, g] > 0.0 and share > 0.0:
                    shares[first + k, g] += says[i, g] * omega * omega
                    for c in range(3 * g, 3 * g + 3):
                        control_points[first + k, c] += says[i, g] * share * values[i, c]
    for j in range(shares.shape[0]):
        for g in range(shares.shape[1]):
            if shares[j, g] > 0.0:
                for c in range(3 * g, 3 * g + 3):
                    control_points[j, c] /= shares[j, g]


@kernel
def evaluate(control_points: Floats, spacing: float, out: Floats) -> None:
    """Write the curves at all frames, shape (n, c)."""
    weights = work_array(4)
    for frame in range(len(out)):
        first = basis(frame / spacing, weights)
        for c in range(out.shape[1]):
            out[frame, c] = (
                weights[0] * control_points[first, c]
                + weights[1] * control_points[first + 1, c]
                + weights[2] * control_points[first + 2, c]
                + weights[3] * control_points[first + 3, c]
            )


@kernel
def displace(displacements: Floats, roots: Vec3s, rotations: Quats) -> None:
    """
    Apply a displacement map to a motion in place (LeeShin1999 eq. 1).

    What is displaced by nothing keeps its very numbers.

    Parameters
    ----------
    displacements : ndarray, shape (n, 51)
        Of the root [m] and the rotation vectors of all segments [rad].
    roots, rotations : ndarray, shapes (n, 3) and (n, 16, 4)
        In and out.

    """
    turn = work_array(4)
    for frame in range(len(roots)):
        for k in range(3):
            roots[frame, k] += displacements[frame, k]
        for segment in range(N_SEGMENTS):
            first = 3 + 3 * segment
            vector = displacements[frame, first:first + 3]
            if vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0:
                exp(vector, turn)
                multiply(rotations[frame, segment], turn, turn)
                normalize(turn, rotations[frame, segment])
