# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_filter: seeded numbers, frames of samples, and runs over a motion."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from puppet_core.sensor_frames import FilteredFrame, SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_filter.pose_filter import PoseFilter
import pytest

RATE_HZ = 120.0
STEP_NS = 8_333_333


class Run(NamedTuple):
    """What a filter made of a recording, frame by frame."""

    positions: np.ndarray  # (frames, n, 3)
    quaternions: np.ndarray  # (frames, n, 4)
    linear: np.ndarray  # (frames, n, 3)
    angular: np.ndarray  # (frames, n, 3)
    covariances: np.ndarray  # (frames, n, 6, 6)
    status: np.ndarray  # (frames, n)


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded generator."""
    return np.random.default_rng(20261120)


@pytest.fixture
def ros_context() -> Iterator[Any]:
    """Yield an initialised context of its own, on a domain of this process."""
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from puppet_ros.testing import isolated_context

    with isolated_context() as context:
        yield context


@pytest.fixture(scope='session')
def make_frame() -> Callable[..., SensorFrame]:
    """Return a function that makes a frame of samples; NaN rows are missing."""

    def make(
        index: int,
        positions: np.ndarray,
        quaternions: np.ndarray | None = None,
        stamp_ns: int | None = None,
        ages_s: np.ndarray | None = None,
    ) -> SensorFrame:
        positions = np.ascontiguousarray(positions, dtype=float)
        n = len(positions)
        if quaternions is None:
            quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
        status = np.where(np.isnan(positions[:, 0]), SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8)
        return SensorFrame(
            (index + 1) * STEP_NS if stamp_ns is None else stamp_ns,
            index,
            tuple(f's{i}' for i in range(n)),
            positions,
            np.ascontiguousarray(quaternions, dtype=float),
            np.zeros(n) if ages_s is None else np.asarray(ages_s, dtype=float),
            status,
        )

    return make


def kept(frame: FilteredFrame) -> FilteredFrame:
    """Return a filtered frame that the next step does not overwrite."""
    arrays = {k: np.array(v) for k, v in frame._asdict().items() if isinstance(v, np.ndarray)}
    return frame._replace(**arrays)


@pytest.fixture(scope='session')
def run_filter(make_frame: Callable[..., SensorFrame]) -> Callable[..., Run]:
    """Return a function that runs a filter over positions (f, n, 3), quaternions (f, n, 4)."""

    def run(pose_filter: PoseFilter, positions: np.ndarray, quaternions: np.ndarray) -> Run:
        frames = [
            kept(pose_filter.step(make_frame(k, p, q)))
            for k, (p, q) in enumerate(zip(positions, quaternions))
        ]
        names = (
            'positions',
            'quaternions',
            'linear_velocities',
            'angular_velocities',
            'covariances',
            'status',
        )
        return Run(*(np.array([getattr(f, name) for f in frames]) for name in names))

    return run
