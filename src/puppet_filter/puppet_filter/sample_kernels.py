# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What happens to one sensor's sample (kernel layer): used, rejected, or taken as a new start.

Beyond Shin2002 ch. 3 (SPEC 3.2, second paragraph): samples may be late, repeated, impossible,
outliers, or the first after a true jump; between samples the motion coasts.

"""

import math

import numpy as np
from puppet_core import quaternion
from puppet_core.arrays import Ints
from puppet_core.kernel import kernel
from puppet_core.sensor_frames import (
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_filter.filter_records import (
    EMPTY,
    INVALID,
    Record,
    REINITIALISED,
    REJECTED,
    REPEATED,
    TRACKING,
)
from puppet_filter.kalman_kernels import (
    advance,
    correct,
    factor_innovation,
    predict_covariance,
    residual,
)
from puppet_filter.process_noise import (
    ADAPTIVE,
    find_surprise,
    follow_trend,
    process_noise,
    raise_density,
)

MIN_STEP_NS = 100_000  # samples nearer in time than this are the same one sent again
QUATERNION_NORM_TOL = 0.2  # devices round to 16 bits; far from one is garbage
JUMP_SLACK_M = 0.02  # noise allowed between two samples of a true jump, with the next line
JUMP_SLACK_RAD = 0.1


@kernel
def take_sample(
    state: Record, tuning: Record, work: Record, counters: Ints, stamp_ns: int, age_s: float
) -> int:
    """Look at the sample in `work`, use it or not, and return the sensor's status."""
    if not is_valid(work, age_s):
        counters[INVALID] += 1
        state['missed'] += 1
        return FILTER_PREDICTED
    sample_ns = stamp_ns - np.int64(age_s * 1e9 + 0.5)
    work['sample_ns'] = sample_ns
    if state['phase'] == TRACKING and sample_ns < state['time_ns'] + MIN_STEP_NS:
        counters[REPEATED] += 1
        state['missed'] += 1
        return FILTER_PREDICTED
    quaternion.normalize(work['sample_orientation'], work['sample_orientation'])
    dt = (sample_ns - state['time_ns']) * 1e-9
    if state['phase'] == EMPTY or dt > tuning['lost_after_s']:
        initialise(state, tuning, work, counters)
        return FILTER_REINITIALISED
    return update(state, tuning, work, counters, dt)


@kernel
def is_valid(work: Record, age_s: float) -> bool:
    """Return whether the sample is finite, its quaternion near unit and its age no future."""
    p, q = work['sample_position'], work['sample_orientation']
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    unit = abs(norm - 1.0) < QUATERNION_NORM_TOL
    return math.isfinite(p[0] + p[1] + p[2]) and unit and 0.0 <= age_s < 1e3


@kernel
def update(state: Record, tuning: Record, work: Record, counters: Ints, dt: float) -> int:
    """Correct the state with the sample, or reject it; return the sensor's status."""
    step, decay = coast(tuning, dt, state['missed'])
    residual(
        state['position'], state['velocity'], state['orientation'], step,
        work['sample_position'], work['sample_orientation'], work['dz'],
    )  # fmt: skip
    distance_sq = predict_innovation(state, tuning, work, dt)
    state['surprise'] = distance_sq
    if math.isnan(distance_sq):
        # cannot happen with sane numbers; a state that is not positive definite is useless
        initialise(state, tuning, work, counters)
        return FILTER_REINITIALISED
    if distance_sq > tuning['gate_sq']:
        counters[REJECTED] += 1
        if is_jump(state, tuning, work):
            initialise(state, tuning, work, counters)
            return FILTER_REINITIALISED
        state['missed'] += 1
        return FILTER_REJECTED
    correct(
        work['p'], work['lower'], work['y'], work['w'], state['covariance'], work['change']
    )
    advance(
        state['position'], state['velocity'], state['orientation'], step,
        work['change'], work['quat'],
    )  # fmt: skip
    if decay < 1.0:
        for k in range(6):
            change = work['change'][6 + k]
            state['velocity'][k] = decay * (state['velocity'][k] - change) + change
    if tuning['process_model'] == ADAPTIVE:
        for part in range(2):
            state['density'][part] = work['density'][part]
        follow_trend(state['trend'], work['keep'], work['y'], state['trend'])
    state['time_ns'] = work['sample_ns']
    state['missed'] = 0
    state['rejected'] = 0
    return FILTER_OK


@kernel
def predict_innovation(state: Record, tuning: Record, work: Record, dt: float) -> float:
    """Predict the covariance over dt into `work`; return the residual's squared distance."""
    model, density = tuning['process_model'], work['density']
    if model == ADAPTIVE:
        fall = math.exp(-dt / tuning['settle_s'])
        for part in range(2):
            density[part] = max(fall * state['density'][part], tuning['quiet'][part])
        process_noise(model, density, dt, 1.0, work['q'])
    else:
        process_noise(model, tuning['process'], dt, state['missed'] + 1.0, work['q'])
    predict_covariance(state['covariance'], dt, work['q'], work['p'])
    distance_sq = factor_innovation(
        work['p'], state['noise'], work['dz'], work['lower'], work['y']
    )
    if model != ADAPTIVE:
        return distance_sq
    work['keep'] = math.exp(-dt / tuning['trend_s'])
    follow_trend(state['trend'], work['keep'], work['y'], work['change'])
    find_surprise(
        work['y'], work['change'], work['keep'], tuning['surprise_limit'], work['surprise']
    )
    if raise_density(
        density, tuning['highest'], work['surprise'], work['p'], state['noise'], dt
    ):
        process_noise(model, density, dt, 1.0, work['q'])
        predict_covariance(state['covariance'], dt, work['q'], work['p'])
        distance_sq = factor_innovation(
            work['p'], state['noise'], work['dz'], work['lower'], work['y']
        )
    return distance_sq


@kernel
def coast(tuning: Record, dt: float, missed: int) -> tuple[float, float]:
    """
    Return the step to predict over and the factor left of the velocity.

    A person does not keep a hand's velocity for half a second: after the hold time it decays,
    and the distance covered in a long gap stays bounded. The covariance takes the full dt.

    """
    if missed == 0 or dt <= tuning['coast_hold_s']:
        return dt, 1.0
    decay = math.exp(-(dt - tuning['coast_hold_s']) / tuning['coast_time_s'])
    return tuning['coast_hold_s'] + tuning['coast_time_s'] * (1.0 - decay), decay


@kernel
def is_jump(state: Record, tuning: Record, work: Record) -> bool:
    """
    Remember a rejected sample; return whether enough of them in a row agree with each other.

    Outliers scatter, a sensor that truly jumped stays: samples agree when some motion within
    the speed limits leads from one to the next.

    """
    p, q = work['sample_position'], work['sample_orientation']
    dt = (work['sample_ns'] - state['candidate_ns']) * 1e-9
    distance_sq = 0.0
    for k in range(3):
        distance_sq += (p[k] - state['candidate_position'][k]) ** 2
    near = math.sqrt(distance_sq) <= tuning['jump_speed'] * dt + JUMP_SLACK_M
    angle = quaternion.angle_between(state['candidate_orientation'], q)
    agrees = near and angle <= tuning['jump_rate'] * dt + JUMP_SLACK_RAD
    state['rejected'] = state['rejected'] + 1 if state['rejected'] > 0 and agrees else 1
    for k in range(3):
        state['candidate_position'][k] = p[k]
    for k in range(4):
        state['candidate_orientation'][k] = q[k]
    state['candidate_ns'] = work['sample_ns']
    return state['rejected'] >= tuning['jump_count']


@kernel
def initialise(state: Record, tuning: Record, work: Record, counters: Ints) -> None:
    """Take the sample as the pose, at rest but with a wide velocity."""
    for k in range(3):
        state['position'][k] = work['sample_position'][k]
    for k in range(4):
        state['orientation'][k] = work['sample_orientation'][k]
    covariance = state['covariance']
    for a in range(12):
        for b in range(12):
            covariance[a, b] = state['noise'][a, b] if a < 6 and b < 6 else 0.0
    for k in range(6):
        state['velocity'][k] = 0.0
        covariance[6 + k, 6 + k] = tuning['velocity_variance'][k // 3]
    for part in range(2):
        state['density'][part] = tuning['quiet'][part]
    for k in range(6):
        state['trend'][k] = 0.0
    state['time_ns'] = work['sample_ns']
    state['phase'] = TRACKING
    state['missed'] = 0
    state['rejected'] = 0
    counters[REINITIALISED] += 1
