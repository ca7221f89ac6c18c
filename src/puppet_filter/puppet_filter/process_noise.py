# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Process noise of the constant-velocity model, printed and physical (kernel layer).

Shin2002 eq. 3.5 adds eight numbers q1..q8 once a step, whatever the step's length. The
physical form derives the same blocks from white acceleration of a given density: it depends
on the time step as it should when samples are late or missing, and its numbers mean something.

A body is at rest or in full swing, and one density suits only one of them: what follows a
swing without lag leaves a resting sensor as noisy as it was. The adaptive form keeps a density
per sensor: low while the samples agree with the prediction, raised at once to what explains a
residual that does not, and falling back within hundredths of a second. Residuals too small to
tell from noise one by one are found by their mean, once several point the same way.
"""

from puppet_core.math import Floats, kernel

PHYSICAL = 0
PRINTED = 1
ADAPTIVE = 2

# Positions of the six block factors in the arrays below.
XX_P, XV_P, VV_P, XX_R, XV_R, VV_R = range(6)


@kernel
def process_noise(model: int, values: Floats, dt: float, steps: float, out: Floats) -> None:
    """
    Write the factors of the identity blocks of Q, XX_P .. VV_R, for a step of length dt [s].

    `values` are the spectral densities of white acceleration, linear [m^2/s^3] and angular
    [rad^2/s^3]; for PRINTED q1, q2 = q3, q4, q5, q6 = q7, q8 of eq. 3.5, which are added once for
    each of the frames that the step spans.
    """
    if model == PRINTED:
        for k in range(6):
            out[k] = values[k] * steps
        return
    for part in range(2):
        density = values[part]
        # integral of A(s) G G' A(s)' over the step, G the acceleration's place
        out[3 * part] = density * dt * dt * dt / 3.0
        out[3 * part + 1] = density * dt * dt / 2.0
        out[3 * part + 2] = density * dt


@kernel
def follow_trend(trend: Floats, keep: float, y: Floats, out: Floats) -> None:
    """Write the running mean after one more whitened residual, shape (6,); may be `trend`."""
    for k in range(6):
        out[k] = keep * trend[k] + (1.0 - keep) * y[k]


@kernel
def find_surprise(y: Floats, trend: Floats, keep: float, limit: float, out: Floats) -> None:
    """
    Write how much there is to explain of a residual, position and rotation apart, shape (2,).

    That is a squared Mahalanobis distance, 3 on average; 0 for nothing. `y` is the whitened
    residual, unit normal numbers if all is as predicted, `trend` their running mean with this one,
    in which the previous mean has the weight `keep`: its variance is (1 - keep) / (1 + keep). Up
    to `limit`, a squared length of variance one, chance explains it.
    """
    weight = (1.0 + keep) / (1.0 - keep)
    for part in range(2):
        now, mean = 0.0, 0.0
        for k in range(3 * part, 3 * part + 3):
            now += y[k] * y[k]
            mean += trend[k] * trend[k]
        out[part] = now if now > limit else 0.0
        if mean * weight > limit:
            out[part] = max(out[part], 3.0 + mean)


@kernel
def raise_density(
    density: Floats, ceiling: Floats, surprise: Floats, p: Floats, noise: Floats, dt: float
) -> bool:
    """
    Raise the densities to what explains a residual; return whether any was raised.

    Linear and angular `density`, which `p` was predicted with over dt [s], are raised in place, to
    `ceiling` at most. `surprise` is as `find_surprise` writes it: nothing is changed below 3.
    """
    raised = False
    for part in range(2):
        if surprise[part] <= 3.0 or density[part] >= ceiling[part]:
            continue
        variance = 0.0
        for k in range(3 * part, 3 * part + 3):
            variance += (p[k, k] + noise[k, k]) / 3.0
        # the innovation's variance is to grow by surprise / 3, by way of density dt^3 / 3
        lack = (surprise[part] / 3.0 - 1.0) * variance
        density[part] = min(density[part] + 3.0 * lack / (dt * dt * dt), ceiling[part])
        raised = True
    return raised
