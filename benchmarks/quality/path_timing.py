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

from benchmarks.synthetic_recording import known_calibration, sensor_frames, TRACKER_M
import numpy as np
from puppet_core.body import hip_centre, Motion
from puppet_core.math import Floats
from puppet_core.sensor_frames import FilteredFrame
from puppet_performer.posture import PostureConfig, PostureEstimator
from puppet_performer.sensor_layout import SensorLayout
from puppet_retarget.importance import ImportanceModel
from puppet_retarget.offline import RetargetJob
from puppet_retarget.solvers import make_solver

STAGES = ('posture', 'importance', 'solver')
WARM_UP_FRAMES = 50
PASSES = 3


@dataclass(frozen=True, slots=True)
class PathTimes:
    """Time of each stage in each timed frame."""

    stages_us: Floats  # Shape (n, 3), columns as STAGES [us]

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
        self,
        motion: Motion,
        job: RetargetJob,
        layout: SensorLayout,
        frames: Sequence[FilteredFrame] | None = None,
    ) -> None:
        self.frames = sensor_frames(motion, layout) if frames is None else frames
        self._hips = np.zeros(3)
        self._period_ns = round(1e9 / motion.rate_hz)
        self._posture = PostureEstimator(
            motion.skeleton,
            known_calibration(layout),
            np.array([1.0, 0.0, 0.0, 0.0]),
            np.array(TRACKER_M),
            PostureConfig(),
        )
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
            posture.root_position,
            self._hips,
            posture.rotations,
            near.rows,
            dt,
            near.self_rows,
            rests=near.rests,
        )
        times_ns[:] = start, posed, weighed, perf_counter_ns()


def time_path(
    motion: Motion,
    job: RetargetJob,
    layout: SensorLayout,
    frames: Sequence[FilteredFrame] | None = None,
    progress: Callable[[int], object] | None = None,
) -> PathTimes:
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
