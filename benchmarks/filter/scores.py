# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How good a filter's output is: error, lag and overshoot against the true motion, and time."""

from collections.abc import Callable
from dataclasses import dataclass
import time
from typing import NamedTuple

from benchmarks.filter.baselines import FrameFilter
from benchmarks.filter.synthetic_motion import SensorMotion
import numpy as np
from puppet_core.body import FASTEST_M_S
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame

SETTLED_FROM_S = 0.5  # leaves out how each filter starts
LAG_RANGE_MS = (-30.0, 100.0)
AFTER_STOP_S = 0.15  # in which an overshoot is measured
REST_SPEED_M_S = 1e-3
LEAST_WAY_M = 0.02  # of a movement whose end is scored
PASSES = 2  # of which the faster is timed


@dataclass(frozen=True, slots=True)
class Score:
    """How one filter did on one data set."""

    rms_mm: float  # RMS position error [mm]
    rms_deg: float  # RMS orientation error [deg]
    lag_ms: float  # Delay of the truth that fits the output best [ms]; NaN without motion
    # How far the output passes a place where the truth stops or jumps to [-]. Mean of the furthest
    # within 0.15 s, as a share of the movement's length; the noise's own share is what no filter
    # has. NaN if nothing stops.
    overshoot: float
    us_per_frame: float  # Median time of a step for all sensors [us]


class Output(NamedTuple):
    """What a filter made of a recording."""

    positions: Vec3s  # Shape (frames, n, 3) [m]
    quaternions: Quats  # Shape (frames, n, 4)
    us_per_frame: float  # Median time of a step [us]


def run_filter(
    make_filter: Callable[[], FrameFilter], positions: Vec3s, quaternions: Quats, rate_hz: float
) -> Output:
    """Return what a fresh filter makes of a recording; NaN rows are missing samples."""
    n_frames, n = positions.shape[:2]
    sensors, ages = tuple(f's{i}' for i in range(n)), np.zeros(n)
    status = np.where(np.isnan(positions[..., 0]), SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8)
    out_positions, out_quaternions = np.empty_like(positions), np.empty_like(quaternions)
    times_us = np.empty((PASSES, n_frames))
    for number in range(PASSES):
        frame_filter = make_filter()
        for k in range(n_frames):
            frame = SensorFrame(
                int((k + 1) * 1e9 / rate_hz),
                k,
                sensors,
                positions[k],
                quaternions[k],
                ages,
                status[k],
            )
            begin = time.perf_counter_ns()
            poses = frame_filter.step(frame)
            times_us[number, k] = (time.perf_counter_ns() - begin) * 1e-3
            assert poses is not None  # stamps above only rise
            out_positions[k], out_quaternions[k] = poses.positions, poses.quaternions
    return Output(out_positions, out_quaternions, float(np.median(times_us, axis=1).min()))


def score(motion: SensorMotion, output: Output) -> Score:
    """Return the score of a filter's output."""
    settled = motion.times_s >= SETTLED_FROM_S
    error = (output.positions - motion.positions)[settled]
    turn = quaternion_batch.multiply(
        quaternion_batch.conjugate(motion.quaternions[settled]), output.quaternions[settled]
    )
    angle = 2.0 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0]))
    return Score(
        rms_mm=float(np.sqrt(np.nanmean(np.sum(error**2, axis=-1)))) * 1e3,
        rms_deg=float(np.degrees(np.sqrt(np.nanmean(angle**2)))),
        lag_ms=measure_lag(motion, output.positions),
        overshoot=measure_overshoot(motion, output.positions),
        us_per_frame=output.us_per_frame,
    )


def measure_lag(motion: SensorMotion, positions: Vec3s) -> float:
    """Return the delay [ms] for which the delayed truth is nearest to the output."""
    times = motion.times_s
    inside = (times > SETTLED_FROM_S) & (times < times[-1] - 0.1)
    flat_truth = motion.positions.reshape(len(times), -1)
    flat_output = positions.reshape(len(times), -1)[inside]
    if np.ptp(flat_truth, axis=0).max() < REST_SPEED_M_S:
        return float('nan')

    def misfit(delay_ms: float) -> float:
        delayed = [np.interp(times[inside] - delay_ms * 1e-3, times, c) for c in flat_truth.T]
        return float(np.nanmean((np.array(delayed).T - flat_output) ** 2))

    low, high = LAG_RANGE_MS
    for _ in range(4):
        delays = np.linspace(low, high, 14)
        best = int(np.argmin([misfit(delay) for delay in delays]))
        low, high = delays[max(best - 1, 0)], delays[min(best + 1, 13)]
    return float(delays[best])


def measure_overshoot(motion: SensorMotion, positions: Vec3s) -> float:
    """Return how far the output goes past where the truth stops or jumps to, see Score."""
    steps = np.diff(motion.positions, axis=0)
    speed = np.linalg.norm(steps, axis=-1) * motion.rate_hz
    window = int(AFTER_STOP_S * motion.rate_hz)
    shares: list[float] = []
    for i in range(positions.shape[1]):
        truth, beyond = motion.positions[:, i], positions[:, i] - motion.positions[:, i]
        for start, end in movements(speed[:, i], window):
            way = float(np.linalg.norm(truth[end] - truth[start]))
            nearby = truth[end] - truth[max(start, end - window // 2)]
            length = float(np.linalg.norm(nearby))
            if way < LEAST_WAY_M or length == 0.0:
                continue
            past = beyond[end : end + window] @ nearby / length
            shares.append(float(np.nanmax(past)) / way)
    return float(np.mean(shares)) if shares else float('nan')


def movements(speed: Floats, window: int) -> list[tuple[int, int]]:
    """
    Return first and last frame of each movement that ends in rest, and of each jump.

    Parameters
    ----------
    speed : ndarray, shape (frames - 1,)
        From each frame to the next [m/s].
    window : int
        Frames that a rest must last.

    """
    found: list[tuple[int, int]] = []
    start = 0
    for k in range(1, len(speed) - window):
        if speed[k] > FASTEST_M_S:
            found.append((k, k + 1))
        elif speed[k - 1] < REST_SPEED_M_S <= speed[k]:
            start = k
        elif speed[k] < REST_SPEED_M_S <= speed[k - 1]:
            rests = bool((speed[k : k + window] < REST_SPEED_M_S).all())
            if rests and speed[start:k].max() < FASTEST_M_S:
                found.append((start, k))
    return found
