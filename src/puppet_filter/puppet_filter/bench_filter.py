# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Benchmark: our filter against none, Euler increments and low-passes on the same noisy data.

Every data set is seeded, so a number that changes is a change of the code. Prints Markdown
tables; with --json writes `{"data_sets": [{"name", "filters": {<name>: {"rms_mm", "rms_deg",
"lag_ms", "overshoot_mm", "us_per_frame"}}}]}`.

"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
import json
from pathlib import Path
import sys
import time

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.atomic_file import write_text
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_filter.baselines import FrameFilter, make_filters
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.synthetic_motion import disturb, Disturbance, make_motion, SensorMotion

RATE_HZ = 120.0
SETTLED_FROM_S = 0.5  # leaves out how each filter starts
LAG_RANGE_MS = (-30.0, 100.0)
AFTER_STOP_S = 0.15  # in which an overshoot is looked for
REST_SPEED_M_S = 1e-3
EXAMPLE = 'example: ros2 run puppet_filter bench_filter --duration 10 --json filter.json'

HUM = Disturbance(hum_mm=1.0, hum_deg=0.1, hum_hz=50.0)
DATA_SETS = {
    'static': ('static', Disturbance()),
    'static_hum': ('static', HUM),
    'slow': ('slow', Disturbance()),
    'fast': ('fast', Disturbance()),
    'walk': ('walk', Disturbance()),
    'walk_hum': ('walk', HUM),
    'fast_dropouts': ('fast', Disturbance(missing=0.05)),
    'fast_outliers': ('fast', Disturbance(outliers=0.01)),
    'jumps': ('jumps', Disturbance()),
}


@dataclass(frozen=True, slots=True)
class Score:
    """How one filter did on one data set."""

    rms_mm: float
    """RMS position error [mm]."""

    rms_deg: float
    """RMS orientation error [deg]."""

    lag_ms: float
    """Delay of the truth that fits the output best [ms]; NaN without motion."""

    overshoot_mm: float
    """Mean of how far the output passes a place where the truth stops [mm]; NaN if it never
    stops."""

    us_per_frame: float
    """Median time of a step for all sensors [us]."""


def run_filter(
    frame_filter: FrameFilter, positions: Vec3s, quaternions: Quats, rate_hz: float
) -> tuple[Vec3s, Quats, float]:
    """Return the filter's positions and quaternions of a recording, and its us a frame."""
    n_frames, n = positions.shape[:2]
    sensors, ages = tuple(f's{i}' for i in range(n)), np.zeros(n)
    missing = np.isnan(positions[..., 0])
    status = np.where(missing, SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8)
    out_positions, out_quaternions = np.empty_like(positions), np.empty_like(quaternions)
    times_us = np.empty(n_frames)
    for k in range(n_frames):
        stamp_ns = int((k + 1) * 1e9 / rate_hz)
        frame = SensorFrame(stamp_ns, k, sensors, positions[k], quaternions[k], ages, status[k])
        begin = time.perf_counter_ns()
        poses = frame_filter.step(frame)
        times_us[k] = (time.perf_counter_ns() - begin) * 1e-3
        assert poses is not None  # stamps above only rise
        out_positions[k], out_quaternions[k] = poses.positions, poses.quaternions
    return out_positions, out_quaternions, float(np.median(times_us))


def score(
    motion: SensorMotion, positions: Vec3s, quaternions: Quats, us_per_frame: float
) -> Score:
    """Return the score of a filter's output."""
    settled = motion.times_s >= SETTLED_FROM_S
    error = (positions - motion.positions)[settled]
    turn = quaternion_batch.multiply(
        quaternion_batch.conjugate(motion.quaternions[settled]), quaternions[settled]
    )
    angle = 2.0 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0]))
    return Score(
        rms_mm=float(np.sqrt(np.nanmean(np.sum(error**2, axis=-1)))) * 1e3,
        rms_deg=float(np.degrees(np.sqrt(np.nanmean(angle**2)))),
        lag_ms=measure_lag(motion, positions),
        overshoot_mm=measure_overshoot(motion, positions),
        us_per_frame=us_per_frame,
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
    """Return how far the output goes past the places where the truth comes to rest [mm]."""
    velocity = np.gradient(motion.positions, axis=0) * motion.rate_hz
    resting = np.linalg.norm(velocity, axis=-1) < REST_SPEED_M_S
    window = int(AFTER_STOP_S * motion.rate_hz)
    passes: list[float] = []
    for i in range(positions.shape[1]):
        stops = np.flatnonzero(resting[1:, i] & ~resting[:-1, i]) + 1
        for stop in stops:
            if stop < window or not resting[stop:stop + window, i].all():
                continue
            way = motion.positions[stop, i] - motion.positions[stop - window // 2, i]
            length = np.linalg.norm(way)
            if length < 0.02:
                continue
            beyond = (positions[stop:stop + window, i] - motion.positions[stop, i]) @ way
            passes.append(float(np.nanmax(beyond)) / float(length))
    return float(np.mean(passes)) * 1e3 if passes else float('nan')


def bench(duration_s: float, n_sensors: int, seed: int = 1) -> dict[str, dict[str, Score]]:
    """Return the scores by data set and filter."""
    results: dict[str, dict[str, Score]] = {}
    for name, (kind, disturbance) in DATA_SETS.items():
        rng = np.random.default_rng(seed)
        motion = make_motion(kind, n_sensors, duration_s, RATE_HZ, rng)
        samples = disturb(motion, disturbance, rng)
        results[name] = {}
        for filter_name, frame_filter in make_filters(PoseFilterConfig()).items():
            output = run_filter(frame_filter, *samples, RATE_HZ)
            results[name][filter_name] = score(motion, *output)
    return results


def markdown(results: dict[str, dict[str, Score]]) -> str:
    """Return the scores as one table."""
    columns = list(asdict(next(iter(next(iter(results.values())).values()))))
    lines = ['| data set | filter | ' + ' | '.join(columns) + ' |',
             '| --- | --- |' + ' ---: |' * len(columns)]  # fmt: skip
    for name, filters in results.items():
        for filter_name, one in filters.items():
            values = ' | '.join(_cell(value) for value in asdict(one).values())
            lines.append(f'| {name} | {filter_name} | {values} |')
    return '\n'.join(lines)


def as_json(results: dict[str, dict[str, Score]]) -> str:
    """Return the scores as JSON text, NaN as null."""
    data_sets = [
        {
            'name': name,
            'filters': {
                filter_name: {k: _finite(v) for k, v in asdict(one).items()}
                for filter_name, one in filters.items()
            },
        }
        for name, filters in results.items()
    ]
    return json.dumps({'data_sets': data_sets}, indent=2) + '\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(
        prog='bench_filter', description=(__doc__ or '').strip(), epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument('--json', type=Path, metavar='FILE', help='also write the scores there')
    parser.add_argument('--duration', type=float, default=20.0, metavar='S',
                        help='length of each data set [s], at least 2, default 20')  # fmt: skip
    parser.add_argument('--sensors', type=int, default=14, help='number of sensors, default 14')
    options = parser.parse_args(argv)
    if not 2.0 <= options.duration <= 3600.0:
        parser.error(f'--duration: expected 2 <= value <= 3600, got {options.duration}')
    if not 1 <= options.sensors <= 1000:
        parser.error(f'--sensors: expected 1 <= value <= 1000, got {options.sensors}')
    results = bench(options.duration, options.sensors)
    print(markdown(results))  # noqa: T201
    if options.json is not None:
        try:
            write_text(options.json, as_json(results))
        except OSError as err:
            text = f'{options.json}: expected a writable place, got {err.strerror}'
            print(text, file=sys.stderr)  # noqa: T201
            return 2
    return 0


def _cell(value: float) -> str:
    return '-' if np.isnan(value) else f'{value:.3f}'


def _finite(value: Floats | float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


if __name__ == '__main__':
    sys.exit(main())
