# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The structured arrays of the frame kernels: state, tuning and scratch (kernel layer).

One record goes from function to function as one pointer, where tuples of arrays would cost a
reference count for each array at each call: that was half of a frame's time.
"""

import numpy as np
from numpy.typing import NDArray

EMPTY = 0
TRACKING = 1

# Rows of the counters.
MISSING, INVALID, REPEATED, REJECTED, REINITIALISED, LOST, LEAPT = range(7)
N_COUNTERS = 7

Record = np.void  # one element of a structured array
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
        ('surprise', 'f8'),  # squared Mahalanobis distance of the last sample processed
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

# What the parameters come to.
TUNING = np.dtype(
    [
        ('process_model', 'i8'),  # of process_noise
        ('process', 'f8', 6),  # its numbers; densities, of gaps if adaptive
        ('quiet', 'f8', 2),  # lowest densities, adaptive
        ('highest', 'f8', 2),  # adaptive
        ('surprise_limit', 'f8'),  # adaptive
        ('trend_s', 'f8'),  # memory of the running mean of residuals, adaptive
        ('settle_s', 'f8'),  # time constant of falling densities, adaptive
        ('velocity_variance', 'f8', 2),  # of a new state, linear and angular
        ('gate_sq', 'f8'),  # squared Mahalanobis limit
        ('jump_count', 'i8'),  # consistent rejections that make a jump
        ('jump_speed', 'f8'),  # [m/s] fastest motion that still counts as consistent
        ('jump_rate', 'f8'),  # [rad/s]
        ('coast_hold_s', 'f8'),  # a gap up to this is bridged at constant velocity
        ('coast_time_s', 'f8'),  # beyond it the velocity decays with this time constant
        ('coast_reach_m', 'f8'),  # and no further than about this
        ('lost_after_s', 'f8'),
        ('lookahead_s', 'f8'),
    ]
)

# Scratch, the sample in hand, and the output of the sensor in hand.
WORK = np.dtype(
    [
        ('q', 'f8', 6),
        ('density', 'f8', 2),
        ('ceiling', 'f8', 2),
        ('surprise', 'f8', 2),
        ('keep', 'f8'),
        ('p', 'f8', (12, 12)),
        ('dz', 'f8', 6),
        ('lower', 'f8', (6, 6)),
        ('y', 'f8', 6),
        ('w', 'f8', (6, 12)),
        ('gain', 'f8', (12, 6)),
        ('rest', 'f8', (12, 12)),
        ('change', 'f8', 12),
        ('quat', 'f8', 4),
        ('matrix', 'f8', (3, 3)),
        ('rate', 'f8', 3),
        ('own_covariance', 'f8', (6, 6)),  # of the twist, rate in the sensor's axes
        ('sample_position', 'f8', 3),
        ('sample_orientation', 'f8', 4),
        ('sample_ns', 'i8'),
        ('position', 'f8', 3),  # output, in the transmitter's axes like all below
        ('orientation', 'f8', 4),
        ('twist', 'f8', 6),
        ('covariance', 'f8', (6, 6)),
        ('twist_covariance', 'f8', (6, 6)),
    ]
)
