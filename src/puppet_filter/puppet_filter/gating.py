# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Outlier or true jump (kernel layer): what is made of samples far from the prediction.

The first sample after a jump looks like any outlier, so no causal filter can have both: what
is taken at once lets garbage through, what waits is late. An outlier is held back until more
of them agree; how many is `gate.jump_count`.
"""

import math

from puppet_core.math import Floats, kernel, quaternion
from puppet_filter.filter_state import Record

JUMP_SLACK_M = 0.02  # noise allowed between two samples of a true jump, with the next line
JUMP_SLACK_RAD = 0.1
AGREEMENT = 0.5  # how far apart outliers of one jump are, of how far they are from the prediction
LEAP_SIGMAS = 6.0  # of the measurement noise that the end of a gap may move the pose by, and
LEAP_M = 0.02  # what a body's motion may have added
LEAP_RAD = 0.1


@kernel
def is_jump(state: Record, tuning: Record, work: Record, distance_sq: float) -> bool:
    """
    Process a rejected sample: return whether enough of them in a row agree with each other.

    Outliers scatter, a sensor that truly jumped goes on from where it is: samples agree when
    some motion within the limits leads from one to the next, and when they are far nearer to
    each other than to where they were expected; the second for small outliers, which are all
    near each other. If it is a jump the outlier before remains as the candidate, else the
    sample takes its place.
    """
    if state['rejected'] > 0 and agrees(state, tuning, work, distance_sq):
        state['rejected'] += 1
    else:
        state['rejected'] = 1
    if state['rejected'] >= tuning['jump_count']:
        return True
    for k in range(3):
        state['candidate_position'][k] = work['sample_position'][k]
    for k in range(4):
        state['candidate_orientation'][k] = work['sample_orientation'][k]
    for k in range(6):
        state['candidate_residual'][k] = work['dz'][k]
    state['candidate_ns'] = work['sample_ns']
    return False


@kernel
def agrees(state: Record, tuning: Record, work: Record, distance_sq: float) -> bool:
    """Return whether the rejected sample goes on from the one rejected before, see is_jump."""
    dt = (work['sample_ns'] - state['candidate_ns']) * 1e-9
    apart_sq = 0.0
    for k in range(3):
        apart_sq += (work['sample_position'][k] - state['candidate_position'][k]) ** 2
    # the motion is bounded in a gap between the two as well
    way = min(tuning['jump_speed'] * dt, max(tuning['coast_reach_m'], JUMP_SLACK_M))
    if math.sqrt(apart_sq) > way + JUMP_SLACK_M:
        return False
    angle = quaternion.angle_between(state['candidate_orientation'], work['sample_orientation'])
    if angle > tuning['jump_rate'] * dt + JUMP_SLACK_RAD:
        return False
    # both residuals are from the same prediction, so their difference is free of its motion
    change_sq = 0.0
    for i in range(6):
        value = work['dz'][i] - state['candidate_residual'][i]
        for k in range(i):
            value -= work['lower'][i, k] * work['change'][k]
        work['change'][i] = value * work['lower'][i, i]
        change_sq += work['change'][i] ** 2
    return change_sq <= AGREEMENT * AGREEMENT * distance_sq


@kernel
def is_leap(dz: Floats, noise: Floats) -> bool:
    """Return whether a residual after a gap is larger than the noise R explains."""
    way_sq, turn_sq, place_variance, turn_variance = 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        way_sq += dz[k] * dz[k]
        turn_sq += dz[3 + k] * dz[3 + k]
        place_variance = max(place_variance, noise[k, k])
        turn_variance = max(turn_variance, noise[3 + k, 3 + k])
    way, turn = math.sqrt(way_sq), math.sqrt(turn_sq)
    return way > LEAP_M + LEAP_SIGMAS * math.sqrt(
        place_variance
    ) or turn > LEAP_RAD + LEAP_SIGMAS * math.sqrt(turn_variance)
