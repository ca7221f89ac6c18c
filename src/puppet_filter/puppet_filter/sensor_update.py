# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of all sensors: each sample used, rejected, or taken as a new start (kernels).

A sensor is EMPTY until it has a sample, then TRACKING. Its state stays at its last accepted
sample; the output is predicted from there to the frame's stamp. The first sample after a jump
looks like any outlier: it is held back until `gate.jump_count` of them agree.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import copy, Floats, Ints, kernel, Quats, Vec3s, work_array, work_table
from puppet_core.math.values import (
    add,
    conjugate,
    log,
    multiply,
    norm,
    normalize,
    quat,
    rotate,
    scale,
    sub,
    vec3,
)
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
    SAMPLE_OK,
)
from puppet_filter import kalman
from puppet_filter.kalman import (
    ADAPTIVE,
    Factors,
    follow_trend,
    maneuver_distance_sq,
    process_noise,
    raised_density,
    Sample,
)

MIN_STEP_NS = 100_000  # samples nearer in time than this are the same one sent again
QUATERNION_NORM_TOL = 0.2  # devices round to 16 bits; far from one is garbage
POSITION_LIMIT_M = 1e4  # no tracker reaches that far; keeps sums of squares finite
JUMP_SLACK_M = 0.02  # noise allowed between two samples of a true jump, with the next line
JUMP_SLACK_RAD = 0.1
AGREEMENT = 0.5  # how far apart outliers of one jump are, of how far they are from the prediction
LEAP_SIGMAS = 6.0  # of the measurement noise that the end of a gap may move the pose by, and
LEAP_M = 0.02  # what a body's motion may have added
LEAP_RAD = 0.1

EMPTY, TRACKING = 0, 1  # phases

OUTCOMES = ('missing', 'invalid', 'repeated', 'rejected', 'reinitialised', 'lost', 'leapt')
MISSING, INVALID, REPEATED, REJECTED, REINITIALISED, LOST, LEAPT = range(7)  # counters

Record = Any  # one element of a structured array, in kernels
Records = NDArray[np.void]

# What the filter remembers of a sensor.
STATE = np.dtype(
    [
        ('position', 'f8', 3),  # [m]
        ('velocity', 'f8', 6),  # linear [m/s], angular in the sensor's axes [rad/s]
        ('orientation', 'f8', 4),  # q_e
        ('covariance', 'f8', (12, 12)),  # of (p, r, p', r')
        ('noise', 'f8', (6, 6)),  # R
        ('density', 'f8', 2),  # of linear and angular acceleration, adaptive process only
        ('trend', 'f8', 6),  # running mean of the whitened residuals, adaptive process only
        ('nis', 'f8'),  # normalised innovation squared of the last sample
        ('candidate_position', 'f8', 3),  # last rejected sample [m]
        ('candidate_orientation', 'f8', 4),
        ('candidate_residual', 'f8', 6),
        ('candidate_ns', 'i8'),
        ('time_ns', 'i8'),  # of the last accepted sample
        ('step_s', 'f8'),  # between the last two accepted ones; 0 after a start
        ('phase', 'i8'),  # EMPTY or TRACKING
        ('missed', 'i8'),  # frames without an accepted sample
        ('rejected', 'i8'),  # rejections in a row that agree; if any, the candidate is the last
    ]
)

# Parameters that the kernels take as they are; what they mean is said in `parameters`.
AS_GIVEN = (
    'process_surprise_limit',
    'process_trend_s',
    'process_settle_s',
    'gate_jump_count',
    'gate_jump_speed_m_s',
    'gate_jump_rate_rad_s',
    'gap_hold_s',
    'gap_decay_s',
    'gap_reach_m',
    'gap_lost_after_s',
    'lookahead_s',
)
TUNING = np.dtype(
    [
        ('process_model', 'i8'),  # of process_noise
        ('process', 'f8', 6),  # its numbers; densities, of gaps if adaptive
        ('quiet', 'f8', 2),  # lowest densities, adaptive
        ('highest', 'f8', 2),  # adaptive
        ('velocity_variance', 'f8', 2),  # of a new state, linear and angular
        ('gate_sq', 'f8'),  # squared Mahalanobis limit
        *((name, 'f8') for name in AS_GIVEN),
    ]
)

# The prediction that is compared with the sample in hand.
WORK = np.dtype(
    [
        ('density', 'f8', 2),  # with which it was made, adaptive
        ('covariance', 'f8', (12, 12)),
        ('residual', 'f8', 6),
        ('lower', 'f8', (6, 6)),  # of its covariance, by factor_innovation
        ('whitened', 'f8', 6),  # residual
        ('keep', 'f8'),  # weight of the running mean of these, adaptive
    ]
)


class Input(NamedTuple):
    stamp_ns: int
    positions: Vec3s
    quaternions: Quats
    ages_s: Floats
    status: NDArray[np.uint8]


class Output(NamedTuple):
    positions: Vec3s
    quaternions: Quats
    linear: Vec3s
    angular: Vec3s
    covariances: Floats
    status: NDArray[np.uint8]
    twist_covariances: Floats


@kernel
def step_frame(
    states: Records, tunings: Records, works: Records, counters: Ints, frame: Input, out: Output
) -> None:
    """Filter one frame: states (n,) in place; tuning and scratch have shape (1,)."""
    tuning, work, stamp_ns = tunings[0], works[0], frame.stamp_ns
    for i in range(len(states)):
        state = states[i]
        if frame.status[i] != SAMPLE_OK:
            status = skip(MISSING, state, counters)
        else:
            sample = Sample(vec3(frame.positions[i]), quat(frame.quaternions[i]), stamp_ns)
            status = take_sample(state, tuning, work, counters, sample, frame.ages_s[i])
        gap_s = (stamp_ns - state.time_ns) * 1e-9
        if state.phase == TRACKING and gap_s > tuning.gap_lost_after_s:
            state.phase = EMPTY
            counters[LOST] += 1
        if state.phase == EMPTY:
            status = FILTER_LOST
            emit_lost(i, out)
        else:
            emit(i, state, tuning, work.covariance, gap_s, out)
        out.status[i] = status


@kernel
def skip(outcome: int, state: Record, counters: Ints) -> int:
    counters[outcome] += 1
    state.missed += 1
    return FILTER_REJECTED if outcome == REJECTED else FILTER_PREDICTED


@kernel
def take_sample(
    state: Record, tuning: Record, work: Record, counters: Ints, sample: Sample, age_s: float
) -> int:
    """Process a sample of the frame's stamp less its age; return the sensor's status."""
    if not is_valid(sample, age_s):
        return skip(INVALID, state, counters)
    sample_ns = sample.time_ns - int(age_s * 1e9 + 0.5)
    # an outlier that is sent again does not confirm itself
    newest_ns = state.candidate_ns if state.rejected > 0 else state.time_ns
    if state.phase == TRACKING and sample_ns < newest_ns + MIN_STEP_NS:
        return skip(REPEATED, state, counters)
    sample = Sample(sample.position, normalize(sample.orientation), sample_ns)
    dt = (sample_ns - state.time_ns) * 1e-9
    if state.phase == EMPTY or dt > tuning.gap_lost_after_s:
        return initialise(state, tuning, counters, sample)
    return update(state, tuning, work, counters, sample, dt)


@kernel
def is_valid(sample: Sample, age_s: float) -> bool:
    """Return whether the sample is possible: its quaternion near unit, its age no future."""
    p, q = sample.position, sample.orientation
    length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    unit = abs(length - 1.0) < QUATERNION_NORM_TOL
    # false for NaN too
    near = abs(p[0]) + abs(p[1]) + abs(p[2]) < POSITION_LIMIT_M
    return near and unit and 0.0 <= age_s < 1e3


@kernel
def update(
    state: Record, tuning: Record, work: Record, counters: Ints, sample: Sample, dt: float
) -> int:
    """Correct the state with the sample, or reject it; return the sensor's status."""
    step, decay = coast(state, tuning, dt)
    kalman.residual(state, step, sample, work.residual)
    distance_sq = predict_innovation(state, tuning, work, dt)
    state.nis = distance_sq
    if math.isnan(distance_sq):
        # cannot happen with sane numbers; a state that is not positive definite is useless
        return initialise(state, tuning, counters, sample)
    # the gate: squared Mahalanobis distance of the residual (S of Shin2002 eq. 3.7)
    if distance_sq > tuning.gate_sq:
        if is_jump(state, tuning, work, sample, distance_sq):
            counters[REJECTED] += 1
            return restart(state, tuning, work, counters, sample)
        return skip(REJECTED, state, counters)
    has_gap = state.missed > 0 or dt > 2.0 * state.step_s > 0.0  # or frames are missing
    leapt = has_gap and is_leap(work.residual, state.noise)
    accept(state, tuning, work, sample.time_ns, step, decay)
    if leapt:
        counters[LEAPT] += 1
    return FILTER_REINITIALISED if leapt else FILTER_OK


@kernel
def is_leap(residual: Floats, noise: Floats) -> bool:
    """Return whether a residual after a gap is larger than the noise R explains."""
    place = max(noise[0, 0], noise[1, 1], noise[2, 2])
    turn = max(noise[3, 3], noise[4, 4], noise[5, 5])
    too_far = norm(vec3(residual)) > LEAP_M + LEAP_SIGMAS * math.sqrt(place)
    return too_far or norm(vec3(residual[3:])) > LEAP_RAD + LEAP_SIGMAS * math.sqrt(turn)


@kernel
def is_jump(
    state: Record, tuning: Record, work: Record, sample: Sample, distance_sq: float
) -> bool:
    """
    Process a rejected sample: return whether enough of them in a row agree with each other.

    They agree when some motion within the limits leads from one to the next, and when they are far
    nearer to each other than to where they were expected. Of a jump the outlier before remains.
    """
    if state.rejected > 0 and agrees(state, tuning, work, sample, distance_sq):
        state.rejected += 1
    else:
        state.rejected = 1
    if state.rejected >= tuning.gate_jump_count:
        return True
    copy(sample.position, state.candidate_position[:])
    copy(sample.orientation, state.candidate_orientation[:])
    copy(work.residual, state.candidate_residual)
    state.candidate_ns = sample.time_ns
    return False


@kernel
def agrees(
    state: Record, tuning: Record, work: Record, sample: Sample, distance_sq: float
) -> bool:
    """Return whether the rejected sample goes on from the one rejected before, see is_jump."""
    dt = (sample.time_ns - state.candidate_ns) * 1e-9
    # the motion is bounded in a gap between the two as well
    way = min(tuning.gate_jump_speed_m_s * dt, max(tuning.gap_reach_m, JUMP_SLACK_M))
    if norm(sub(sample.position, vec3(state.candidate_position))) > way + JUMP_SLACK_M:
        return False
    turn = multiply(conjugate(quat(state.candidate_orientation)), sample.orientation)
    if norm(log(turn)) > tuning.gate_jump_rate_rad_s * dt + JUMP_SLACK_RAD:
        return False
    # both residuals are from the same prediction, so their difference is free of its motion
    change, change_sq = work_array(6), 0.0
    for i in range(6):
        value = work.residual[i] - state.candidate_residual[i]
        for k in range(i):
            value -= work.lower[i, k] * change[k]
        change[i] = value * work.lower[i, i]
        change_sq += change[i] ** 2
    return change_sq <= AGREEMENT * AGREEMENT * distance_sq


@kernel
def restart(state: Record, tuning: Record, work: Record, counters: Ints, sample: Sample) -> int:
    """Start from the outlier before a jump, corrected with the sample; return the status."""
    dt = (sample.time_ns - state.candidate_ns) * 1e-9
    if state.rejected < 2 or dt > tuning.gap_lost_after_s:
        return initialise(state, tuning, counters, sample)
    position, orientation = vec3(state.candidate_position), quat(state.candidate_orientation)
    initialise(state, tuning, counters, Sample(position, orientation, sample.time_ns))
    kalman.residual(state, dt, sample, work.residual)
    predict_innovation(state, tuning, work, dt)
    accept(state, tuning, work, sample.time_ns, dt, 1.0)
    return FILTER_REINITIALISED


@kernel
def initialise(state: Record, tuning: Record, counters: Ints, sample: Sample) -> int:
    """Take the sample as the pose, at rest but with a wide velocity; return the status."""
    copy(sample.position, state.position[:])
    copy(sample.orientation, state.orientation[:])
    state.covariance[:] = 0.0
    for k in range(6):
        copy(state.noise[k], state.covariance[k, :6])
        state.covariance[6 + k, 6 + k] = tuning.velocity_variance[k // 3]
    state.velocity[:] = 0.0
    copy(tuning.quiet, state.density)
    state.trend[:] = 0.0
    state.time_ns = sample.time_ns
    state.step_s = 0.0
    state.phase = TRACKING
    state.missed = 0
    state.rejected = 0
    counters[REINITIALISED] += 1
    return FILTER_REINITIALISED


@kernel
def predict_innovation(state: Record, tuning: Record, work: Record, dt: float) -> float:
    """Predict the covariance over dt into `work`; return the residual's squared distance."""
    if tuning.process_model != ADAPTIVE:
        steps = state.missed + 1.0
        return innovate(
            state, work, dt, process_noise(tuning.process_model, tuning.process, dt, steps)
        )
    fall = math.exp(-dt / tuning.process_settle_s)
    for part in range(2):
        work.density[part] = max(fall * state.density[part], tuning.quiet[part])
    distance_sq = innovate(state, work, dt, process_noise(ADAPTIVE, work.density, dt, 1.0))
    if raise_densities(state, tuning, work, dt):
        distance_sq = innovate(state, work, dt, process_noise(ADAPTIVE, work.density, dt, 1.0))
    return distance_sq


@kernel
def innovate(state: Record, work: Record, dt: float, q: Factors) -> float:
    """Predict the covariance with a process noise; return the residual's squared distance."""
    kalman.predict_covariance(state.covariance, dt, q, work.covariance)
    return kalman.factor_innovation(
        work.covariance, state.noise, work.residual, work.lower, work.whitened
    )


@kernel
def raise_densities(state: Record, tuning: Record, work: Record, dt: float) -> bool:
    """Raise the densities to what explains the residual; return whether any was raised."""
    trend, y, raised = work_array(6), work.whitened, False
    work.keep = math.exp(-dt / tuning.process_trend_s)
    follow_trend(state.trend, work.keep, y, trend)
    for part in range(2):
        # what may have happened in a gap is what its published uncertainty covers, and no hard
        # landing besides: after gaps come damaged samples
        ceiling = tuning.highest[part]
        if state.missed > 0:
            ceiling = min(ceiling, tuning.process[part])
        first, variance, limit = 3 * part, 0.0, tuning.process_surprise_limit
        for k in range(first, first + 3):
            variance += (work.covariance[k, k] + state.noise[k, k]) / 3.0
        raised_by = maneuver_distance_sq(y[first:], trend[first:], work.keep, limit)
        density = raised_density(work.density[part], ceiling, raised_by, variance, dt)
        raised = raised or density > work.density[part]
        work.density[part] = density
    return raised


@kernel
def accept(
    state: Record, tuning: Record, work: Record, sample_ns: int, step: float, decay: float
) -> None:
    """Correct the state with the sample, as predict_innovation left things in `work`."""
    w, change = work_table(6, 12), work_array(12)
    # Shin2002 eqs. 3.7, 3.9
    kalman.correct(work.covariance, work.lower, work.whitened, w, state.covariance, change)
    kalman.keep_digits(work.covariance, state.covariance)
    kalman.advance(state, step, change)
    if decay < 1.0:
        for k in range(6):
            state.velocity[k] = decay * (state.velocity[k] - change[6 + k]) + change[6 + k]
    if tuning.process_model == ADAPTIVE:
        copy(work.density, state.density)
        follow_trend(state.trend, work.keep, work.whitened, state.trend)
    state.step_s = (sample_ns - state.time_ns) * 1e-9
    state.time_ns = sample_ns
    state.missed = 0
    state.rejected = 0


@kernel
def coast(state: Record, tuning: Record, dt: float) -> tuple[float, float]:
    """
    Return the step to predict over and the factor left of the velocity.

    After the hold time the velocity decays, the sooner the faster it is, so that the distance
    covered in a long gap stays bounded; it is a body's at most. The covariance takes the full dt.
    """
    if state.missed == 0:
        return dt, 1.0
    speed, rate = norm(vec3(state.velocity)), norm(vec3(state.velocity[3:]))
    time_s, share = tuning.gap_decay_s, 1.0
    if speed > tuning.gate_jump_speed_m_s:
        share = tuning.gate_jump_speed_m_s / speed
    if rate > tuning.gate_jump_rate_rad_s:
        share = min(share, tuning.gate_jump_rate_rad_s / rate)
    if dt <= tuning.gap_hold_s:
        return share * dt, share
    if share * speed * time_s > tuning.gap_reach_m:
        time_s = tuning.gap_reach_m / (share * speed)
    decay = math.exp(-(dt - tuning.gap_hold_s) / time_s)
    return share * (tuning.gap_hold_s + time_s * (1.0 - decay)), share * decay


@kernel
def emit(
    i: int, state: Record, tuning: Record, scratch: Floats, gap_s: float, out: Output
) -> None:
    """Write the output, predicted from the last sample to the stamp plus the look-ahead."""
    # a gap slows the motion down, the look-ahead does not: what was ahead would come back
    step, decay = coast(state, tuning, gap_s)
    step += tuning.lookahead_s
    dt = gap_s + tuning.lookahead_s
    position, orientation = vec3(state.position), quat(state.orientation)
    velocity, rate = vec3(state.velocity), vec3(state.velocity[3:])
    p = state.covariance
    if dt > 0.0:
        # without a sample any motion may begin, even if the sensor was at rest
        if tuning.process_model == ADAPTIVE and state.missed == 0:
            q = process_noise(ADAPTIVE, state.density, dt, 1.0)
        else:
            q = process_noise(tuning.process_model, tuning.process, dt, float(state.missed))
        p = scratch
        kalman.predict_covariance(state.covariance, dt, q, p)
        position = add(position, scale(velocity, step))
        orientation = kalman.turned(orientation, scale(rate, step))
    velocity, rate = scale(velocity, decay), scale(rate, decay)
    own, matrix = work_table(6, 6), work_table(3, 3)
    kalman.twist_covariance(p, rate, own)
    kalman.rotation_matrix(orientation, matrix)
    kalman.rotate_covariance(own, matrix, out.twist_covariances[i])
    kalman.rotate_covariance(p, matrix, out.covariances[i])
    copy(position, out.positions[i])
    copy(orientation, out.quaternions[i])
    copy(velocity, out.linear[i])
    copy(rotate(orientation, rate), out.angular[i])


@kernel
def emit_lost(i: int, out: Output) -> None:
    out.positions[i] = out.linear[i] = out.angular[i] = math.nan
    out.quaternions[i] = math.nan
    out.covariances[i] = out.twist_covariances[i] = math.nan
