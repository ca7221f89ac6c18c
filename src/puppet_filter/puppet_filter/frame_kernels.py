# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of all sensors in one call (kernel layer).

A sensor is EMPTY until it has a sample, then TRACKING. Its state stays at its last accepted
sample; the output is predicted from there to the frame's stamp, so that late, missing and
rejected samples need nothing special, and a sensor that stays silent gets lost.

"""

import math

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion
from puppet_core.arrays import Floats, Ints, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_core.sensor_frames import FILTER_LOST, FILTER_PREDICTED, SAMPLE_OK
from puppet_filter.filter_records import EMPTY, LOST, MISSING, Record, Records, TRACKING
from puppet_filter.kalman_kernels import (
    advance,
    predict_covariance,
    rotate_covariance,
    rotation_matrix,
    twist_covariance,
)
from puppet_filter.process_noise import ADAPTIVE, process_noise
from puppet_filter.sample_kernels import coast, take_sample


@kernel
def step_frame(
    states: Records, tunings: Records, works: Records, counters: Ints,
    stamp_ns: int, positions: Vec3s, quaternions: Quats, ages_s: Floats,
    sample_status: NDArray[np.uint8],
    out_positions: Vec3s, out_quaternions: Quats, out_linear: Vec3s, out_angular: Vec3s,
    out_covariances: Floats, out_twist_covariances: Floats, out_status: NDArray[np.uint8],
) -> None:  # fmt: skip
    """
    Filter one frame.

    Parameters
    ----------
    states : ndarray of STATE, shape (n,)
        Updated in place.
    tunings, works : ndarray of TUNING and of WORK, shape (1,)
        Parameters and scratch.
    counters : ndarray, shape (N_COUNTERS,)
        Samples by fate, counted up.
    stamp_ns : int
        The frame's stamp [ns].
    positions, quaternions, ages_s, sample_status : ndarray, shape (n, ..)
        As in SensorFrame.
    out_positions, out_quaternions, out_linear, out_angular : ndarray, shape (n, ..)
        As in FilteredFrame.
    out_covariances, out_twist_covariances, out_status : ndarray, shape (n, ..)
        As in FilteredFrame.

    """
    tuning, work = tunings[0], works[0]
    for i in range(len(states)):
        state = states[i]
        for k in range(3):
            work['sample_position'][k] = positions[i, k]
        for k in range(4):
            work['sample_orientation'][k] = quaternions[i, k]
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
        for k in range(3):
            out_positions[i, k] = work['position'][k]
            out_linear[i, k] = work['twist'][k]
            out_angular[i, k] = work['twist'][3 + k]
        for k in range(4):
            out_quaternions[i, k] = work['orientation'][k]
        for a in range(6):
            for b in range(6):
                out_covariances[i, a, b] = work['covariance'][a, b]
                out_twist_covariances[i, a, b] = work['twist_covariance'][a, b]


@kernel
def emit(state: Record, tuning: Record, work: Record, stamp_ns: int) -> None:
    """Write the output, predicted from the last sample to the stamp plus the look-ahead."""
    gap_s = (stamp_ns - state['time_ns']) * 1e-9
    missed = state['missed']
    # a gap slows the motion down, the look-ahead does not: what was ahead would come back
    step, decay = coast(state, tuning, gap_s)
    step += tuning['lookahead_s']
    dt = gap_s + tuning['lookahead_s']
    for k in range(3):
        work['position'][k] = state['position'][k]
    for k in range(4):
        work['orientation'][k] = state['orientation'][k]
    if dt > 0.0:
        # without a sample any motion may begin, even if the sensor was at rest
        if tuning['process_model'] == ADAPTIVE and missed == 0:
            process_noise(ADAPTIVE, state['density'], dt, 1.0, work['q'])
        else:
            process_noise(
                tuning['process_model'], tuning['process'], dt, float(missed), work['q']
            )
        predict_covariance(state['covariance'], dt, work['q'], work['p'])
        for k in range(12):
            work['change'][k] = 0.0
        # a zero change leaves the velocity as it is, so the state's own may be passed
        advance(
            work['position'], state['velocity'], work['orientation'], step,
            work['change'], work['quat'],
        )  # fmt: skip
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
    for k in range(6):
        work['twist'][k] = math.nan
    for k in range(3):
        work['position'][k] = math.nan
    for k in range(4):
        work['orientation'][k] = math.nan
    for a in range(6):
        for b in range(6):
            work['covariance'][a, b] = math.nan
            work['twist_covariance'][a, b] = math.nan
