# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure the noise R of every sensor at rest from /tracker/raw, and write it to a YAML file.

Lay the sensors down where the performer will be, start the driver, run this, then give the file to
pose_filter (Shin2002 ch. 3).
"""

import argparse
from collections.abc import Sequence
import math
from pathlib import Path
import sys
import time

import numpy as np
from puppet_core.io import (
    CalibrationError,
    CommandParser,
    EXIT_FAILED,
    EXIT_OK,
    progress,
    run_command,
)
from puppet_core.math import Mat6
from puppet_core.sensor_frames import SensorFrame
from puppet_filter.sensor_noise import estimate_noise, load_noise, NoiseEstimate, save_noise
from puppet_msgs.msg import TrackerFrame
from puppet_ros.messages import from_tracker_frame, MessageError
from puppet_ros.node import make_executor, qos
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.utilities import remove_ros_args

NAME = 'measure_noise'
RAW_TOPIC = 'tracker/raw'
SILENCE_LIMIT_S = 10.0
EXAMPLE = """\
example: ros2 run puppet_filter measure_noise --duration 10 --output noise.yaml
then:    ros2 run puppet_filter pose_filter --ros-args -p noise.file:=noise.yaml
"""


class Recording:
    def __init__(self) -> None:
        self.frames: list[SensorFrame] = []

    def add(self, frame: SensorFrame) -> None:
        """Take a frame; one with other sensors or an earlier stamp starts anew."""
        last = self.frames[-1] if self.frames else frame
        if frame.sensors != last.sensors or frame.stamp_ns < last.stamp_ns:
            self.frames.clear()
        self.frames.append(frame)

    @property
    def duration_s(self) -> float:
        """Time between first and last stamp [s]."""
        return (self.frames[-1].stamp_ns - self.frames[0].stamp_ns) * 1e-9 if self.frames else 0.0

    def estimates(self) -> dict[str, NoiseEstimate | str]:
        results: dict[str, NoiseEstimate | str] = {}
        for i, sensor in enumerate(self.frames[0].sensors if self.frames else ()):
            positions = np.array([frame.positions[i] for frame in self.frames])
            quaternions = np.array([frame.quaternions[i] for frame in self.frames])
            try:
                results[sensor] = estimate_noise(positions, quaternions)
            except CalibrationError as err:
                results[sensor] = str(err)
        return results


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command(NAME, lambda: run(arguments), 'nothing was written')


def run(arguments: Sequence[str]) -> int:
    options = parser().parse_args(remove_ros_args(list(arguments)))
    # sensors measured another time are kept
    old = load_noise(options.output) if options.output.exists() else {}
    rclpy.init(args=list(arguments))
    recording = record(options.duration)
    return report(recording, options, old)


def parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog=NAME, description=__doc__, epilog=EXAMPLE)
    parser.add_argument('--output', type=Path, required=True, help='YAML file to write or extend')
    parser.add_argument(
        '--duration',
        type=_positive,
        default=10.0,
        metavar='S',
        help='how long to record [s], default 10',
    )
    parser.add_argument('--force', action='store_true', help='also write sensors that were moving')
    return parser


def record(duration_s: float) -> Recording:
    """Return what came in until the stamps span the duration, or silence set in."""
    recording, node = Recording(), Node(NAME)
    heard = [time.monotonic()]

    def on_frame(msg: TrackerFrame) -> None:
        heard[0] = time.monotonic()
        try:
            recording.add(from_tracker_frame(msg))
        except MessageError as err:
            node.get_logger().warning(str(err), throttle_duration_sec=5.0)

    node.create_subscription(TrackerFrame, RAW_TOPIC, on_frame, qos.STREAM)
    executor = make_executor()
    executor.add_node(node)
    done_s = 0
    try:
        with progress('recording', math.ceil(duration_s), unit='s') as advance:
            while recording.duration_s < duration_s:
                executor.spin_once(timeout_sec=0.1)
                advance(int(recording.duration_s) - done_s)
                done_s = int(recording.duration_s)
                if time.monotonic() - heard[0] > SILENCE_LIMIT_S:
                    break
    except ExternalShutdownException:
        raise KeyboardInterrupt from None
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return recording


def report(recording: Recording, options: argparse.Namespace, old: dict[str, Mat6]) -> int:
    """Print each sensor's noise, write the file, return the exit code."""
    estimates = recording.estimates()
    if not estimates:
        print(
            f'{RAW_TOPIC}: expected tracker frames, got none for {SILENCE_LIMIT_S:g} s; '
            'is the driver running and active?',
            file=sys.stderr,
        )
        return EXIT_FAILED
    matrices, left_out = dict(old), []
    print(f'{"sensor":<20} {"position mm":>12} {"orientation deg":>16} {"samples":>8}')
    for sensor, estimate in estimates.items():
        problem = estimate if isinstance(estimate, str) else estimate.warning
        if not isinstance(estimate, str):
            numbers = f'{estimate.position_mm:12.4f} {estimate.orientation_deg:16.5f}'
            print(f'{sensor:<20} {numbers} {estimate.n_samples:8d}')
            if estimate.n_outliers:
                print(f'{sensor}: left out {estimate.n_outliers} outliers')
            if not problem or options.force:
                matrices[sensor] = estimate.matrix
        if problem:
            left_out.append(sensor)
            print(f'warning: {sensor}: {problem}', file=sys.stderr)
    if len(left_out) == len(estimates) and not options.force:
        print('no sensor was at rest: nothing was written', file=sys.stderr)
        return EXIT_FAILED
    save_noise(matrices, options.output)
    print(f'written: {options.output}')
    if left_out and not options.force:
        print(f'left out: {", ".join(left_out)}; --force writes them too', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1e6:
        raise argparse.ArgumentTypeError(f'expected value > 0, got {text}')
    return value


if __name__ == '__main__':
    sys.exit(main())
