# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cubic splines through keyframes that are also the least-squares fit of measurements.

ChoiParkKo section 4. A cubic spline with two derivatives through n keyframes has two freedoms
left, its end derivatives, and depends on them linearly (eq. 2): they are fitted to what was
measured in between (eq. 3). Free knots add more such freedoms: the values of the curve there.
Here the curve is written in B-splines, whose matrices are sparse however long the motion is,
and the fit is one linear system with the keyframes as constraints; without free knots it is
eqs. 2 and 3.

The printed (X^T X)^-1 does not exist where f2 and f3 vanish at all measurements, as when
every frame is a keyframe. Of several best curves the one that bends least is taken.

"""

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.errors import ConfigError
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.sparse.linalg import splu

DEGREE = 3
BENDING_SHARE = 1e-11  # of the misfit's scale: decides only what measurements leave open
_GAUSS = 0.5 / np.sqrt(3.0)  # two points integrate the square of a piecewise linear function


def fit_spline(
    times: Floats, measured: Floats, key_times: Floats | None = None,
    key_values: Floats | None = None, free_knots: Floats | None = None,
) -> BSpline:  # fmt: skip
    """
    Return the curve through keyframes that is nearest to measurements.

    Parameters
    ----------
    times : ndarray, shape (n,)
        Of the measurements, rising; the first and the last are the ends of the curve.
    measured : ndarray, shape (n, c)
        Channels, each fitted for itself.
    key_times : ndarray, shape (k,), optional
        Rising, within the measurements; none for a curve that only fits.
    key_values : ndarray, shape (k, c), optional
        What the curve takes there.
    free_knots : ndarray, shape (m,), optional
        Further knots inside.

    Returns
    -------
    spline : BSpline
        Cubic, with two continuous derivatives over all of its length, joints of segments and
        free knots included.

    Raises
    ------
    ConfigError : if times do not rise, or keyframes or knots are not inside.

    """
    keys = np.empty(0) if key_times is None else np.asarray(key_times, dtype=np.float64)
    free = np.empty(0) if free_knots is None else np.asarray(free_knots, dtype=np.float64)
    for name, rising in (('times', times), ('key_times', keys)):
        if np.any(np.diff(rising) <= 0.0) or (name == 'times' and len(rising) < 2):
            raise ConfigError(f'{name}: expected rising ones, got {len(rising)} that do not')
    first, last = times[0], times[-1]
    inside = (free > first) & (free < last)
    if not inside.all() or np.any((keys < first) | (keys > last)):
        raise ConfigError(f'knots: expected all between {first:g} and {last:g}')
    inner = np.unique(np.concatenate((keys, free)))
    inner = inner[(inner > first) & (inner < last)]
    knots = np.concatenate(([first] * 4, inner, [last] * 4))
    design = BSpline.design_matrix(times, knots, DEGREE)
    bending = _bending_matrix(knots)
    normal = (design.T @ design).tocsc()
    share = BENDING_SHARE * normal.diagonal().sum() / bending.diagonal().sum()
    system, right = normal + share * bending, design.T @ measured
    if key_values is not None and len(keys):
        fixed = BSpline.design_matrix(keys, knots, DEGREE)
        system = sparse.bmat([[system, fixed.T], [fixed, None]], format='csc')
        right = np.concatenate((right, key_values))
    coefficients = splu(system).solve(right)[: len(knots) - DEGREE - 1]
    return BSpline(knots, coefficients, DEGREE)


def _bending_matrix(knots: Floats) -> sparse.csc_matrix:
    """Return the matrix of the integral of the squared second derivative of a cubic spline."""
    first = _derivative_matrix(knots, 3)
    second = _derivative_matrix(knots[1:-1], 2) @ first
    breaks = np.unique(knots)
    middles, widths = 0.5 * (breaks[1:] + breaks[:-1]), np.diff(breaks)
    points = np.concatenate((middles - _GAUSS * widths, middles + _GAUSS * widths))
    hats = BSpline.design_matrix(points, knots[2:-2], 1) @ second
    weights = sparse.diags(0.5 * np.concatenate((widths, widths)))
    return (hats.T @ weights @ hats).tocsc()


def _derivative_matrix(knots: Floats, degree: int) -> sparse.csr_matrix:
    """Return the matrix that makes coefficients of the derivative, of one degree less."""
    count = len(knots) - degree - 1
    scale = degree / (knots[degree + 1: degree + count] - knots[1:count])
    return sparse.diags([-scale, scale], [0, 1], shape=(count - 1, count), format='csr')
