# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of samples, and runs of the filter over recordings."""

from typing import NamedTuple

import numpy as np
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_filter.parameters import PoseFilterConfig
import pytest

RATE_HZ = 120.0
STEP_NS = 8_333_333
STEP_S = 1e-9 * STEP_NS
CONFIG = PoseFilterConfig()
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
MODELS = pytest.mark.parametrize('model', ['adaptive', 'physical', 'printed'])


class Run(NamedTuple):
    """What a filter made of a recording, frame by frame."""

    positions: np.ndarray  # (frames, n, 3)
    quaternions: np.ndarray  # (frames, n, 4)
    linear: np.ndarray  # (frames, n, 3)
    angular: np.ndarray  # (frames, n, 3)
    covariances: np.ndarray  # (frames, n, 6, 6)
    status: np.ndarray  # (frames, n)


def make_frame(index, positions, quaternions=None, stamp_ns=None, ages_s=None):
    """Return a frame of samples; NaN rows are missing."""
    positions = np.ascontiguousarray(positions, dtype=float)
    n = len(positions)
    if quaternions is None:
        quaternions = np.tile(IDENTITY, (n, 1))
    return SensorFrame(
        (index + 1) * STEP_NS if stamp_ns is None else stamp_ns,
        index,
        tuple(f's{i}' for i in range(n)),
        positions,
        np.ascontiguousarray(quaternions, dtype=float),
        np.zeros(n) if ages_s is None else np.asarray(ages_s, dtype=float),
        np.where(np.isnan(positions[:, 0]), SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8),
    )


def tracker_message(frame):
    """Return the message of a frame; needs ROS 2."""
    from puppet_ros.messages import TrackerFrameWriter

    return TrackerFrameWriter('transmitter').fill(frame)


def still(n_frames, n_sensors=1):
    """Return a recording of sensors at rest at the origin, without noise."""
    return np.zeros((n_frames, n_sensors, 3)), np.tile(IDENTITY, (n_frames, n_sensors, 1))


def run_filter(pose_filter, positions, quaternions):
    """Run a filter over positions (f, n, 3) and quaternions (f, n, 4)."""
    frames = []
    for k, (p, q) in enumerate(zip(positions, quaternions)):
        out = pose_filter.step(make_frame(k, p, q))
        frames.append([np.array(v) for v in out[3:9]])  # the next step overwrites them
    return Run(*(np.array(values) for values in zip(*frames)))
