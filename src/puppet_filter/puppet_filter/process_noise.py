# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Process noise of the constant-velocity model, printed and physical (kernel layer).

Shin2002 eq. 3.5 adds eight numbers q1..q8 once a step. The physical form derives the same blocks
from white acceleration of a given density. The adaptive form keeps a density per sensor: raised at
once to what explains a residual, and falling back within hundredths of a second; small residuals
show by their mean.
"""

from puppet_core.math import Floats, kernel
from puppet_filter.kalman import Factors

PHYSICAL, PRINTED, ADAPTIVE = 0, 1, 2
EXPECTED = 3.0  # mean of the squared length of three unit normal numbers


@kernel
def process_noise(model: int, values: Floats, dt: float, steps: float) -> Factors:
    """
    Return the factors of the identity blocks of Q for a step of length dt [s].

    They are of position, position and velocity, velocity; then of rotation likewise. `values` are
    the spectral densities of white acceleration, linear [m^2/s^3] and angular [rad^2/s^3]; for
    PRINTED q1, q2 = q3, q4, q5, q6 = q7, q8 of eq. 3.5, which are added once for each of the
    frames that the step spans.
    """
    if model == PRINTED:
        first = values[0] * steps, values[1] * steps, values[2] * steps
        return first + (values[3] * steps, values[4] * steps, values[5] * steps)
    return _white(values[0], dt) + _white(values[1], dt)


@kernel
def _white(density: float, dt: float) -> tuple[float, float, float]:
    """Return the integral of A(s) G G' A(s)' over the step, G the acceleration's place."""
    return density * dt * dt * dt / 3.0, density * dt * dt / 2.0, density * dt


@kernel
def follow_trend(trend: Floats, keep: float, y: Floats, out: Floats) -> None:
    """Write the running mean after one more whitened residual, shape (6,); may be `trend`."""
    for k in range(6):
        out[k] = keep * trend[k] + (1.0 - keep) * y[k]


@kernel
def maneuver_distance_sq(y: Floats, trend: Floats, keep: float, limit: float) -> float:
    """
    Return how much there is to explain of a residual of position or rotation.

    That is a squared Mahalanobis distance, EXPECTED on average; 0 for nothing. `y`, shape (3,), is
    the whitened residual, unit normal numbers if all is as predicted, `trend` their running mean
    with this one, in which the previous mean has the weight `keep`: its variance is (1 - keep) /
    (1 + keep). Up to `limit`, a squared length of variance one, chance explains it.
    """
    now, mean = 0.0, 0.0
    for k in range(3):
        now += y[k] * y[k]
        mean += trend[k] * trend[k]
    distance_sq = now if now > limit else 0.0
    if mean * (1.0 + keep) / (1.0 - keep) > limit:
        distance_sq = max(distance_sq, EXPECTED + mean)
    return distance_sq


@kernel
def raised_density(
    density: float, ceiling: float, distance_sq: float, variance: float, dt: float
) -> float:
    """
    Return a density raised to what explains a residual, to `ceiling` at most.

    `variance` is that of the innovation, which was predicted with `density` over dt [s];
    `distance_sq` is as `maneuver_distance_sq` returns it.
    """
    if distance_sq <= EXPECTED or density >= ceiling:
        return density
    # the innovation's variance is to grow by distance_sq / 3, by way of density dt^3 / 3
    lack = (distance_sq / EXPECTED - 1.0) * variance
    return min(density + 3.0 * lack / (dt * dt * dt), ceiling)
