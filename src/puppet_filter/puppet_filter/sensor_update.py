# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of all sensors: each sample used, rejected, or taken as a new start (kernels).

A sensor is EMPTY until it has a sample, then TRACKING. Its state stays at its last accepted
sample; the output is predicted from there to the frame's stamp, so that late, missing and rejected
samples need nothing special, and a sensor that stays silent gets lost. Beyond Shin2002 ch. 3,
samples may be late, repeated, impossible, outliers, or the first after a true jump; between
samples the motion coasts.
"""

import math

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import copy, Floats, Ints, kernel, quaternion, Quats, Vec3s
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
    SAMPLE_OK,
)
from puppet_filter.filter_state import (
    EMPTY,
    INVALID,
    LEAPT,
    LOST,
    MISSING,
    Record,
    Records,
    REINITIALISED,
    REJECTED,
    REPEATED,
    TRACKING,
)
from puppet_filter.gating import is_jump, is_leap
from puppet_filter.kalman import (
    advance,
    correct,
    correct_joseph,
    factor_innovation,
    has_lost_digits,
    predict_covariance,
    residual,
    rotate_covariance,
    rotation_matrix,
    twist_covariance,
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
POSITION_LIMIT_M = 1e4  # no tracker reaches that far; keeps sums of squares finite


@kernel
def take_sample(
    state: Record, tuning: Record, work: Record, counters: Ints, stamp_ns: int, age_s: float
) -> int:
    """Process the sample in `work`, use it or not, and return the sensor's status."""
    if not is_valid(work, age_s):
        counters[INVALID] += 1
        state['missed'] += 1
        return FILTER_PREDICTED
    sample_ns = stamp_ns - np.int64(age_s * 1e9 + 0.5)
    work['sample_ns'] = sample_ns
    newest_ns = state['time_ns']
    if state['rejected'] > 0:
        # an outlier that is sent again does not confirm itself
        newest_ns = state['candidate_ns']
    if state['phase'] == TRACKING and sample_ns < newest_ns + MIN_STEP_NS:
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
    """Return whether the sample is possible: its quaternion near unit, its age no future."""
    p, q = work['sample_position'], work['sample_orientation']
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    unit = abs(norm - 1.0) < QUATERNION_NORM_TOL
    # false for NaN too
    near = abs(p[0]) + abs(p[1]) + abs(p[2]) < POSITION_LIMIT_M
    return near and unit and 0.0 <= age_s < 1e3


@kernel
def update(state: Record, tuning: Record, work: Record, counters: Ints, dt: float) -> int:
    """Correct the state with the sample, or reject it; return the sensor's status."""
    step, decay = coast(state, tuning, dt)
    residual(
        state['position'],
        state['velocity'],
        state['orientation'],
        step,
        work['sample_position'],
        work['sample_orientation'],
        work['dz'],
    )
    distance_sq = predict_innovation(state, tuning, work, dt)
    state['surprise'] = distance_sq
    if math.isnan(distance_sq):
        # cannot happen with sane numbers; a state that is not positive definite is useless
        initialise(state, tuning, work, counters)
        return FILTER_REINITIALISED
    # the gate: squared Mahalanobis distance of the residual (S of Shin2002 eq. 3.7)
    if distance_sq > tuning['gate_sq']:
        counters[REJECTED] += 1
        if is_jump(state, tuning, work, distance_sq):
            restart(state, tuning, work, counters)
            return FILTER_REINITIALISED
        state['missed'] += 1
        return FILTER_REJECTED
    status = FILTER_OK
    has_gap = state['missed'] > 0 or dt > 2.0 * state['step_s'] > 0.0  # or frames are missing
    if has_gap and is_leap(work['dz'], state['noise']):
        counters[LEAPT] += 1
        status = FILTER_REINITIALISED
    accept(state, tuning, work, step, decay)
    return status


@kernel
def accept(state: Record, tuning: Record, work: Record, step: float, decay: float) -> None:
    """Correct the state with the sample, as predict_innovation left things in `work`."""
    # Shin2002 eqs. 3.7, 3.9
    correct(work['p'], work['lower'], work['y'], work['w'], state['covariance'], work['change'])
    if has_lost_digits(work['p'], state['covariance']):
        correct_joseph(
            work['p'],
            state['noise'],
            work['lower'],
            work['w'],
            work['gain'],
            work['rest'],
            state['covariance'],
        )
    advance(
        state['position'],
        state['velocity'],
        state['orientation'],
        step,
        work['change'],
        work['quat'],
    )
    if decay < 1.0:
        for k in range(6):
            change = work['change'][6 + k]
            state['velocity'][k] = decay * (state['velocity'][k] - change) + change
    if tuning['process_model'] == ADAPTIVE:
        copy(work['density'], state['density'])
        follow_trend(state['trend'], work['keep'], work['y'], state['trend'])
    state['step_s'] = (work['sample_ns'] - state['time_ns']) * 1e-9
    state['time_ns'] = work['sample_ns']
    state['missed'] = 0
    state['rejected'] = 0


@kernel
def restart(state: Record, tuning: Record, work: Record, counters: Ints) -> None:
    """
    Take a jump over: start from the outlier before, corrected with the sample.

    Both count as much as their noise and the time between them make of them, and tell the
    velocity, as with any two samples.
    """
    dt = (work['sample_ns'] - state['candidate_ns']) * 1e-9
    if state['rejected'] < 2 or dt > tuning['lost_after_s']:
        initialise(state, tuning, work, counters)
        return
    copy(work['sample_position'], work['position'])
    copy(state['candidate_position'], work['sample_position'])
    copy(work['sample_orientation'], work['orientation'])
    copy(state['candidate_orientation'], work['sample_orientation'])
    initialise(state, tuning, work, counters)
    copy(work['position'], work['sample_position'])
    copy(work['orientation'], work['sample_orientation'])
    residual(
        state['position'],
        state['velocity'],
        state['orientation'],
        dt,
        work['sample_position'],
        work['sample_orientation'],
        work['dz'],
    )
    predict_innovation(state, tuning, work, dt)
    accept(state, tuning, work, dt, 1.0)


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
    # what may have happened in a gap is what its published uncertainty covers, and no hard
    # landing besides: after gaps come damaged samples
    for part in range(2):
        highest = tuning['highest'][part]
        if state['missed'] > 0:
            highest = min(highest, tuning['process'][part])
        work['ceiling'][part] = highest
    if raise_density(density, work['ceiling'], work['surprise'], work['p'], state['noise'], dt):
        process_noise(model, density, dt, 1.0, work['q'])
        predict_covariance(state['covariance'], dt, work['q'], work['p'])
        distance_sq = factor_innovation(
            work['p'], state['noise'], work['dz'], work['lower'], work['y']
        )
    return distance_sq


@kernel
def coast(state: Record, tuning: Record, dt: float) -> tuple[float, float]:
    """
    Return the step to predict over and the factor left of the velocity.

    A person does not keep a hand's velocity for half a second: after the hold time it decays,
    the sooner the faster it is, as movements have about the same length and not the same time.
    So the distance covered in a long gap stays bounded. Nothing is carried on faster than a body
    moves: damaged samples can make a state seem to. The covariance takes the full dt.
    """
    if state['missed'] == 0:
        return dt, 1.0
    velocity, time_s = state['velocity'], tuning['coast_time_s']
    speed = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
    rate = math.sqrt(velocity[3] ** 2 + velocity[4] ** 2 + velocity[5] ** 2)
    share = 1.0
    if speed > tuning['jump_speed']:
        share = tuning['jump_speed'] / speed
    if rate > tuning['jump_rate']:
        share = min(share, tuning['jump_rate'] / rate)
    if dt <= tuning['coast_hold_s']:
        return share * dt, share
    if share * speed * time_s > tuning['coast_reach_m']:
        time_s = tuning['coast_reach_m'] / (share * speed)
    decay = math.exp(-(dt - tuning['coast_hold_s']) / time_s)
    return share * (tuning['coast_hold_s'] + time_s * (1.0 - decay)), share * decay


@kernel
def initialise(state: Record, tuning: Record, work: Record, counters: Ints) -> None:
    """Take the sample as the pose, at rest but with a wide velocity."""
    copy(work['sample_position'], state['position'])
    copy(work['sample_orientation'], state['orientation'])
    covariance = state['covariance']
    for a in range(12):
        for b in range(12):
            covariance[a, b] = state['noise'][a, b] if a < 6 and b < 6 else 0.0
    for k in range(6):
        state['velocity'][k] = 0.0
        covariance[6 + k, 6 + k] = tuning['velocity_variance'][k // 3]
    copy(tuning['quiet'], state['density'])
    state['trend'][:] = 0.0
    state['time_ns'] = work['sample_ns']
    state['step_s'] = 0.0
    state['phase'] = TRACKING
    state['missed'] = 0
    state['rejected'] = 0
    counters[REINITIALISED] += 1


@kernel
def step_frame(
    states: Records,
    tunings: Records,
    works: Records,
    counters: Ints,
    stamp_ns: int,
    positions: Vec3s,
    quaternions: Quats,
    ages_s: Floats,
    sample_status: NDArray[np.uint8],
    out_positions: Vec3s,
    out_quaternions: Quats,
    out_linear: Vec3s,
    out_angular: Vec3s,
    out_covariances: Floats,
    out_twist_covariances: Floats,
    out_status: NDArray[np.uint8],
) -> None:
    """
    Filter one frame.

    States, shape (n,), are updated in place, samples counted by fate; tuning and scratch have
    shape (1,). Input is as in SensorFrame, output as in FilteredFrame.
    """
    tuning, work = tunings[0], works[0]
    for i in range(len(states)):
        state = states[i]
        copy(positions[i], work['sample_position'])
        copy(quaternions[i], work['sample_orientation'])
        status = FILTER_PREDICTED
        if sample_status[i] != SAMPLE_OK:
            counters[MISSING] += 1
            state['missed'] += 1
        else:
            status = take_sample(state, tuning, work, counters, stamp_ns, ages_s[i])
        gap_s = (stamp_ns - state['time_ns']) * 1e-9
        if state['phase'] == TRACKING and gap_s > tuning['lost_after_s']:
            state['phase'] = EMPTY
            counters[LOST] += 1
        if state['phase'] == EMPTY:
            status = FILTER_LOST
            fill_lost(work)
        else:
            emit(state, tuning, work, stamp_ns)
        out_status[i] = status
        copy(work['position'], out_positions[i])
        copy(work['orientation'], out_quaternions[i])
        copy(work['twist'][:3], out_linear[i])
        copy(work['twist'][3:], out_angular[i])
        for a in range(6):
            copy(work['covariance'][a], out_covariances[i, a])
            copy(work['twist_covariance'][a], out_twist_covariances[i, a])


@kernel
def emit(state: Record, tuning: Record, work: Record, stamp_ns: int) -> None:
    """Write the output, predicted from the last sample to the stamp plus the look-ahead."""
    gap_s = (stamp_ns - state['time_ns']) * 1e-9
    missed = state['missed']
    # a gap slows the motion down, the look-ahead does not: what was ahead would come back
    step, decay = coast(state, tuning, gap_s)
    step += tuning['lookahead_s']
    dt = gap_s + tuning['lookahead_s']
    copy(state['position'], work['position'])
    copy(state['orientation'], work['orientation'])
    if dt > 0.0:
        # without a sample any motion may begin, even if the sensor was at rest
        if tuning['process_model'] == ADAPTIVE and missed == 0:
            process_noise(ADAPTIVE, state['density'], dt, 1.0, work['q'])
        else:
            process_noise(tuning['process_model'], tuning['process'], dt, float(missed), work['q'])
        predict_covariance(state['covariance'], dt, work['q'], work['p'])
        work['change'][:] = 0.0
        # a zero change leaves the velocity as it is, so the state's own may be passed
        advance(
            work['position'],
            state['velocity'],
            work['orientation'],
            step,
            work['change'],
            work['quat'],
        )
        spread(state, decay, work['p'], work)
    else:
        spread(state, decay, state['covariance'], work)


@kernel
def spread(state: Record, decay: float, p: Floats, work: Record) -> None:
    """Write the output's twist and both covariances, for its orientation and P."""
    for k in range(3):
        work['twist'][k] = decay * state['velocity'][k]
        work['rate'][k] = decay * state['velocity'][3 + k]
    twist_covariance(p, work['rate'], work['own_covariance'])
    rotation_matrix(work['orientation'], work['matrix'])
    rotate_covariance(work['own_covariance'], work['matrix'], work['twist_covariance'])
    rotate_covariance(p, work['matrix'], work['covariance'])
    quaternion.rotate(work['orientation'], work['rate'], work['rate'])
    for k in range(3):
        work['twist'][3 + k] = work['rate'][k]


@kernel
def fill_lost(work: Record) -> None:
    """Write the output of a sensor without a pose."""
    work['twist'][:] = math.nan
    work['position'][:] = math.nan
    work['orientation'][:] = math.nan
    work['covariance'][:] = math.nan
    work['twist_covariance'][:] = math.nan
