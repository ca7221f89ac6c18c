# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The Kalman filter of one sensor, Shin2002 eqs. 3.1-3.10 (kernels).

State of Shin2002 eq. 3.1 in the order (p, r, p', r'), so that pose and velocity are blocks of six,
and the orientation q_e outside of it. Positions are in the transmitter's axes, rotation vectors in
the sensor's own, as in eq. 3.2. The covariance stays symmetric to the last bit: every product
below forms (a, b) and (b, a) from the same numbers.
"""

import math
from typing import Any, NamedTuple

from puppet_core.math import add, copy, Floats, kernel, norm, quat, scale, sub, vec3, work_array
from puppet_core.math.values import conjugate, exp, log, multiply, normalize, Quat, Vec3

TWO_PI = 2.0 * math.pi

LEAST_SHARE = 1e-8  # of a variance that a difference leaves with half of its digits

State = Any  # position (3,) [m], velocity (6,) [m/s], [rad/s], orientation (4,)
Factors = tuple[float, float, float, float, float, float]  # as process_noise returns them


class Sample(NamedTuple):
    position: Vec3  # [m]
    orientation: Quat
    time_ns: int


@kernel
def predict_covariance(p: Floats, dt: float, q: Factors, out: Floats) -> None:
    """Write P^- = A P A' + Q (Shin2002 eq. 3.4) of P (12, 12) over dt [s]; `out` is not `p`."""
    for a in range(6):
        for b in range(6):
            velocity = p[6 + a, 6 + b]
            out[a, b] = p[a, b] + dt * (p[a, 6 + b] + p[6 + a, b]) + dt * dt * velocity
            out[a, 6 + b] = p[a, 6 + b] + dt * velocity
            out[6 + a, b] = p[6 + a, b] + dt * velocity
            out[6 + a, 6 + b] = velocity
    for a in range(6):
        pose, both, velocity = q[:3] if a < 3 else q[3:]
        out[a, a] += pose
        out[a, 6 + a] += both
        out[6 + a, a] += both
        out[6 + a, 6 + a] += velocity


@kernel
def residual(state: State, dt: float, sample: Sample, out: Floats) -> None:
    """
    Write the residual z - H x^- (Shin2002 eqs. 3.2, 3.6, 3.8), by the shorter rotation.

    The state is that before a step of `dt` [s], 0 if it is predicted already. `out`, shape (6,):
    [m], rotation vector [rad].
    """
    step, turn = scale(vec3(state.velocity), dt), scale(vec3(state.velocity[3:]), dt)
    rotation = log(multiply(conjugate(quat(state.orientation)), sample.orientation))
    # the same rotation the other way round, if that is nearer to the predicted r
    angle = norm(rotation)
    if angle > 1e-9:
        other = scale(rotation, (angle - TWO_PI) / angle)
        if norm(sub(other, turn)) < norm(sub(rotation, turn)):
            rotation = other
    copy(sub(sub(sample.position, vec3(state.position)), step), out[:3])
    copy(sub(rotation, turn), out[3:])


@kernel
def factor_innovation(p: Floats, noise: Floats, dz: Floats, lower: Floats, y: Floats) -> float:
    """
    Factor S = H P^- H' + R = L L'; return the squared Mahalanobis distance dz' S^-1 dz.

    S is the innovation covariance in Shin2002 eq. 3.7; the distance is what the gate tests, NaN if
    S is not positive definite. `lower` takes L with the reciprocals of its diagonal, `y` L^-1 dz.
    """
    distance_sq = 0.0
    for i in range(6):
        for j in range(i):
            value = p[i, j] + noise[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = value * lower[j, j]
        pivot = p[i, i] + noise[i, i]
        value = dz[i]
        for k in range(i):
            pivot -= lower[i, k] * lower[i, k]
            value -= lower[i, k] * y[k]
        if not pivot > 0.0:
            return math.nan
        lower[i, i] = 1.0 / math.sqrt(pivot)
        y[i] = value * lower[i, i]
        distance_sq += y[i] * y[i]
    return distance_sq


@kernel
def correct(p: Floats, lower: Floats, y: Floats, w: Floats, out: Floats, change: Floats) -> None:
    """
    Apply the Kalman gain: P = (I - K H) P^- and K dz (Shin2002 eqs. 3.7, 3.9).

    The gain is K = P^- H' S^-1 with S = L L'. With W = L^-1 H P^- the corrected covariance is P^-
    - W'W and the change of state K dz = W'y: the gain itself is never formed, nothing is inverted,
    and symmetry is exact. `out` takes P, `change`, shape (12,), K dz, `w`, shape (6, 12), W; `out`
    may be `p`.
    """
    row = work_array(12)
    for b in range(12):
        change[b] = 0.0
    for i in range(6):
        for b in range(12):
            row[b] = p[i, b]
        for k in range(i):
            factor = lower[i, k]
            for b in range(12):
                row[b] -= factor * w[k, b]
        for b in range(12):
            row[b] *= lower[i, i]
            change[b] += row[b] * y[i]
            w[i, b] = row[b]
    for a in range(12):
        for b in range(12):
            row[b] = p[a, b]
        for k in range(6):
            factor = w[k, a]
            for b in range(12):
                row[b] -= factor * w[k, b]
        for b in range(12):
            out[a, b] = row[b]


@kernel
def advance(state: State, dt: float, change: Floats) -> None:
    """Move the state by prediction plus change, r back to zero (Shin2002 eqs. 3.3, 3.9, 3.10)."""
    step = add(scale(vec3(state.velocity), dt), vec3(change))
    turn = add(scale(vec3(state.velocity[3:]), dt), vec3(change[3:]))
    copy(add(vec3(state.position), step), state.position[:])
    copy(turned(quat(state.orientation), turn), state.orientation[:])
    for k in range(6):
        state.velocity[k] += change[6 + k]


@kernel
def turned(orientation: Quat, rotvec: Vec3) -> Quat:
    """Return an orientation turned by a rotation vector in its own axes [rad] (eq. 3.10)."""
    return normalize(multiply(orientation, exp(rotvec)))


@kernel
def rotate_covariance(p: Floats, m: Floats, out: Floats) -> None:
    """
    Write a covariance of two vectors with the second turned into the transmitter's axes.

    `p` is that of one in the transmitter's axes and one in the sensor's, `m` the sensor's rotation
    matrix; `out`, shape (6, 6), must not be `p`.
    """
    for a in range(3):
        for b in range(3):
            out[a, b] = p[a, b]
            cross = p[a, 3] * m[b, 0] + p[a, 4] * m[b, 1] + p[a, 5] * m[b, 2]
            out[a, 3 + b] = out[3 + b, a] = cross
        for b in range(a + 1):
            value = 0.0
            for i in range(3):
                for j in range(3):
                    value += m[a, i] * p[3 + i, 3 + j] * m[b, j]
            out[3 + a, 3 + b] = out[3 + b, 3 + a] = value


@kernel
def twist_covariance(p: Floats, rate: Vec3, out: Floats) -> None:
    """
    Write the covariance of the twist, shape (6, 6), angular part in the axes of the sensor.

    An error r of the orientation turns the rate w [rad/s] as well: R exp(r) (w + e) is to first
    order R (w + e - w x r), whose error e - w x r is taken here.
    """
    for a in range(3):
        for b in range(3):
            out[a, b] = p[6 + a, 6 + b]
            out[3 + a, b] = out[b, 3 + a] = _with_rate_error(p, rate, a, 6 + b)
        for b in range(a + 1):
            k, m = (b + 1) % 3, (b + 2) % 3
            # (e - w x r) with the m-th and k-th of r
            with_m = _with_rate_error(p, rate, a, 3 + m)
            with_k = _with_rate_error(p, rate, a, 3 + k)
            value = _with_rate_error(p, rate, a, 9 + b) + (rate[m] * with_k - rate[k] * with_m)
            out[3 + a, 3 + b] = out[3 + b, 3 + a] = value


@kernel
def _with_rate_error(p: Floats, rate: Vec3, axis: int, column: int) -> float:
    """Return the covariance of one axis of e - w x r with a number of the state."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    return p[9 + axis, column] - rate[i] * p[3 + j, column] + rate[j] * p[3 + i, column]


@kernel
def rotation_matrix(q: Quat, m: Floats) -> None:
    """Write the rotation matrix of a unit quaternion, shape (3, 3)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    m[0, 0], m[0, 1], m[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    m[1, 0], m[1, 1], m[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    m[2, 0], m[2, 1], m[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@kernel
def keep_digits(before: Floats, after: Floats) -> None:
    """Keep variances from falling to where rounding matters; P^- and P, shape (12, 12)."""
    for k in range(12):
        after[k, k] = max(LEAST_SHARE * before[k, k], after[k, k])


# ADAPTIVE: a density that rises at once to what explains a residual, and falls back
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
