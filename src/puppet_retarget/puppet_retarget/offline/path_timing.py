# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Time of the numerical path of a live frame: sensors to posture, importance, solver.

The performer of a clip wears perfect sensors in known places; all frames are made before the
clock starts. Nothing but the three calls of the live nodes is timed, one frame after another
on one core, with the garbage collector off. Of several passes over the clip each frame keeps
its fastest, so that what other programs take from the processor does not count.

"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import gc
from time import perf_counter_ns

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Vec3s
from puppet_core.kinematics import hip_centre
from puppet_core.posture import Motion
from puppet_core.sensor_frames import FILTER_OK, FilteredFrame
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.offline.clip_retarget import RetargetJob
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.posture_estimate import PostureConfig, PostureEstimator
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.solvers.registry import make_solver

STAGES = ('posture', 'importance', 'solver')
WARM_UP_FRAMES = 50
PASSES = 3
TRACKER_M = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class PathTimes:
    """Time of each stage in each timed frame."""

    stages_us: Floats
    """Shape (n, 3), columns as STAGES [us]."""

    def figures(self) -> dict[str, dict[str, float]]:
        """Return median, p99 and max of each stage and of their sum [us]."""
        columns = dict(zip(STAGES, self.stages_us.T)) | {'total': self.stages_us.sum(axis=1)}
        return {name: spread(values) for name, values in columns.items()}


def spread(values: Floats) -> dict[str, float]:
    """Return median, p99 and max of times."""
    median, p99, slowest = np.percentile(values, (50, 99, 100))
    return {'median': float(median), 'p99': float(p99), 'max': float(slowest)}


class LivePath:
    """The three models of the live nodes, one call after the other."""

    def __init__(
        self, motion: Motion, job: RetargetJob, layout: SensorLayout,
        frames: Sequence[FilteredFrame] | None = None,
    ) -> None:  # fmt: skip
        self.frames = sensor_frames(motion, layout) if frames is None else frames
        self._hips = np.zeros(3)
        self._period_ns = round(1e9 / motion.rate_hz)
        self._posture = PostureEstimator(
            motion.skeleton, known_calibration(layout), _identity(), np.array(TRACKER_M),
            PostureConfig(),
        )  # fmt: skip
        self._importance = ImportanceModel(
            job.environment, job.importance, job.self_interaction, motion.skeleton
        )
        self._solver = make_solver(
            job.solver, job.character, job.environment, motion.skeleton.leg_length, job.tuning
        )

    def play(self, n_frames: int | None = None) -> Floats:
        """Play the clip from its beginning; return the times, shape (n, 3) [us]."""
        frames = self.frames[:n_frames]
        times_ns = np.empty((len(frames), 4), dtype=np.int64)
        self._posture.reset()
        self._importance.reset()
        dt = np.inf
        for frame, row in zip(frames, times_ns):
            self._step(frame, dt, row)
            dt = self._period_ns * 1e-9
        return np.diff(times_ns, axis=1) * 1e-3

    def _step(self, frame: FilteredFrame, dt: float, times_ns: np.ndarray) -> None:
        start = perf_counter_ns()
        estimated = self._posture.step(frame)
        posed = perf_counter_ns()
        posture = estimated.posture
        near = self._importance.step(frame.stamp_ns, posture, estimated.p_world)
        weighed = perf_counter_ns()
        assert near is not None  # the sensors are perfect
        hip_centre(estimated.p_world, self._hips)
        self.solution = self._solver.solve(
            posture.root_position, self._hips, posture.rotations, near.rows, dt, near.self_rows
        )
        times_ns[:] = start, posed, weighed, perf_counter_ns()


def time_path(
    motion: Motion, job: RetargetJob, layout: SensorLayout,
    frames: Sequence[FilteredFrame] | None = None,
    progress: Callable[[int], object] | None = None,
) -> PathTimes:  # fmt: skip
    """
    Return the times of the numerical path over a clip.

    Parameters
    ----------
    motion : Motion
        The performer.
    job : RetargetJob
        Puppet, environment and tuning.
    layout : SensorLayout
        The sensors that the performer wears.
    frames : sequence of FilteredFrame, optional
        What `sensor_frames` makes of the motion, if that is at hand.
    progress : callable, optional
        Called with the number of frames done, between passes.

    """
    path = LivePath(motion, job, layout, frames)
    path.play(WARM_UP_FRAMES)
    with _no_collections():
        passes = [_told(path.play(), progress) for _ in range(PASSES)]
    totals = np.sum(passes, axis=2)
    best = np.argmin(totals, axis=0)
    return PathTimes(np.array(passes)[best, np.arange(len(best))])


def _told(times: Floats, progress: Callable[[int], object] | None) -> Floats:
    if progress is not None:
        progress(len(times))
    return times


def sensor_frames(motion: Motion, layout: SensorLayout) -> list[FilteredFrame]:
    """Return what a perfect tracker and filter make of a motion, frame by frame."""
    q_world, p_world = motion.world_segments()
    q = q_world[:, layout.segments]
    mounted = quaternion_batch.rotate(q, layout.mountings)
    positions = p_world[:, layout.segments] + mounted - TRACKER_M
    quaternions = quaternion_batch.multiply(q, _mounting_rotations(layout))
    linear, angular = np.zeros_like(positions), np.zeros_like(positions)
    linear[1:] = np.diff(positions, axis=0) * motion.rate_hz
    turns = quaternion_batch.multiply(q[1:], quaternion_batch.conjugate(q[:-1]))
    angular[1:] = quaternion_batch.log(turns) * motion.rate_hz
    n = len(layout.sensors)
    covariances, status = np.zeros((n, 6, 6)), np.full(n, FILTER_OK, dtype=np.uint8)
    period_ns = round(1e9 / motion.rate_hz)
    return [
        FilteredFrame(
            i * period_ns, i, layout.sensors, positions[i], quaternions[i], linear[i],
            angular[i], covariances, status,
        )
        for i in range(motion.n_frames)
    ]  # fmt: skip


def known_calibration(layout: SensorLayout) -> Calibration:
    """Return the calibration that knows how `sensor_frames` wears the sensors."""
    zeros = np.zeros(len(layout.sensors))
    return Calibration(
        '', layout.name, '', layout.sensors, layout.segments, _mounting_rotations(layout),
        layout.mountings, zeros, zeros,
    )  # fmt: skip


def _mounting_rotations(layout: SensorLayout) -> Vec3s:
    """Return how each sensor is turned on its segment: somehow, as in real life, shape (n, 4)."""
    angles = np.arange(1.0, 1.0 + 3 * len(layout.sensors)).reshape(-1, 3)
    return quaternion_batch.exp(np.sin(angles))


def _identity() -> Floats:
    return np.array([1.0, 0.0, 0.0, 0.0])


@contextmanager
def _no_collections() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
