# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of all sensors at once, raw and filtered: what drivers, filter and performer share.

Poses are in the transmitter's axes (REP-103), quaternions Hamilton, unit, (w, x, y, z).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import Floats, Quats, read_only, Vec3s

SAMPLE_OK = 0
SAMPLE_MISSING = 1

FILTER_OK = 0
FILTER_PREDICTED = 1  # no sample: predicted, covariance grows
FILTER_REJECTED = 2  # the sample was an outlier: predicted
FILTER_REINITIALISED = 3  # does not continue the frame before: a new state, or a gap's end
FILTER_LOST = 4  # no pose: the row is NaN

UNKNOWN = read_only(np.zeros((0, 6, 6)))  # covariances that nobody has computed

# Which sensors of a frame a list of bare poses has: none is made, all with NaN where not
# measured, so that pose i is sensor i, or only the measured ones.
POSES_OFF, POSES_ALL, POSES_VALID = 'off', 'all', 'valid'
POSE_ARRAY_MODES = (POSES_OFF, POSES_ALL, POSES_VALID)


class SensorFrame(NamedTuple):
    """What a tracker measured, one row a sensor."""

    stamp_ns: int  # Acquisition time [ns]
    frame_index: int  # Counts frames at the driver, gaps included
    sensors: tuple[str, ...]  # Sensor names, n of them, in row order
    positions: Vec3s  # Shape (n, 3) [m]; NaN where not measured
    quaternions: Quats  # Shape (n, 4); NaN where not measured
    ages_s: Floats  # How much older than the stamp each sample is, shape (n,) [s]
    status: NDArray[np.uint8]  # SAMPLE_OK or SAMPLE_MISSING, shape (n,)


class FilteredFrame(NamedTuple):
    """Filtered poses with their velocities and uncertainty, one row a sensor."""

    stamp_ns: int  # The raw frame's stamp [ns]
    frame_index: int  # The raw frame's index
    sensors: tuple[str, ...]  # Sensor names, n of them, in row order
    positions: Vec3s  # Shape (n, 3) [m]
    quaternions: Quats  # Shape (n, 4)
    linear_velocities: Vec3s  # Shape (n, 3) [m/s]
    angular_velocities: Vec3s  # In the transmitter's axes, not the sensor's, shape (n, 3) [rad/s]
    # Of position [m] and rotation vector [rad], both in the transmitter's axes, (n, 6, 6)
    covariances: Floats
    status: NDArray[np.uint8]  # FILTER_OK .. FILTER_LOST, shape (n,).
    # Of linear [m/s] and angular velocity [rad/s], (n, 6, 6); or UNKNOWN
    twist_covariances: Floats = UNKNOWN
