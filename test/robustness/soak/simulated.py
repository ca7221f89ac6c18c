# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A day of frames through the stages of the nodes, in one process and as fast as it goes.

A recording of the tracker is played over and over as one take. Its stamps end where those of
ROS do, 2038-01-19, and its frame index passes 2^32 on the way. After each pass memory and time
are noted, and every answer is held against that of the third pass.
"""

import argparse
from collections.abc import Sequence
import json
import math
import os
from pathlib import Path
import signal
import sys
import time

import numpy as np
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    run_command,
    write_text,
)
from puppet_msgs.msg import Posture
from puppet_replay.pipeline import Pipeline, read_settings, UNCALIBRATED
from puppet_ros.interface_table import JOINTS, PUPPET, RAW
from robustness.process_usage import memory_of
from robustness.soak.day import Day, HOUR_S, judged, lines, report
from robustness.soak.frames import LoopedFrames, Numbers, read_frames
from sensor_msgs.msg import JointState

MAX_HOURS = 24.0 * 7
NS = 1_000_000_000
LAST_STAMP_NS = ((1 << 31) - 1) * NS  # seconds of ROS are an int32
PASSED_INDEX = 1 << 32
REFERENCE = 2  # the pass that others are held against: what began the first has died away
POSITIONS = ('segment_positions', 'end_effector_positions')


class DaySoak:
    """
    One run.

    Parameters
    ----------
    pipeline : Pipeline
        The stages behind /tracker/raw.
    frames : list of bytes
        One pass.
    hours : float
        Simulated time [h].

    """

    def __init__(self, pipeline: Pipeline, frames: list[bytes], hours: float) -> None:
        self._pipeline = pipeline
        probe = LoopedFrames(frames, 0, 0)
        self._n_frames = math.ceil(hours * HOUR_S * NS / probe.pass_ns * len(frames))
        self._looped = LoopedFrames(
            frames,
            LAST_STAMP_NS - (self._n_frames // len(frames) + 1) * probe.pass_ns,
            PASSED_INDEX - self._n_frames // 2,
        )
        self._n_passes = math.ceil(self._n_frames / len(frames))
        self._in = 0
        self._joints: Numbers | None = None
        self._puppet: Numbers | None = None
        self.day = Day(0, 0, 0)
        """The passes so far."""

    @property
    def frames_in(self) -> int:
        """Frames of all ended passes, from the calibration on."""
        return max(self._in - self._pipeline.drops.get(UNCALIBRATED, 0), 0)

    def run(self) -> None:
        """Take all frames through the pipeline."""
        n, told_hour = len(self._looped), 0
        for turn in range(self._n_passes):
            first, last = turn * n, min((turn + 1) * n, self._n_frames)
            us_per_frame = 1e6 * self._pass(first, last) / (last - first)
            self._in += last - first
            if self._joints is None:
                continue
            end_s = last / n * self._looped.pass_ns / NS
            memory_mb = memory_of(os.getpid()).heap_mb
            self.day.end(end_s, us_per_frame, memory_mb, turn == REFERENCE)
            if int(end_s // HOUR_S) > told_hour:
                told_hour = int(end_s // HOUR_S)
                print(
                    f'{time.strftime("%H:%M:%S")} hour {told_hour}: '  # noqa: T201
                    f'{us_per_frame:.1f} us a frame, {memory_mb:.1f} MB',
                    file=sys.stderr,
                    flush=True,
                )

    def _pass(self, first: int, last: int) -> float:
        """Take a pass through the pipeline; return what the pipeline spent [s]."""
        step, frame, clock = self._pipeline.step, self._looped.frame, time.process_time
        spent_s, n = 0.0, len(self._looped)
        for number in range(first, last):
            data = frame(number)
            begun_s = clock()
            outputs = step(RAW, data)
            spent_s += clock() - begun_s
            found = {output.topic: output.data for output in outputs}
            if JOINTS in found:
                self._keep(number % n, found[JOINTS], found[PUPPET])
        return spent_s

    def _keep(self, place: int, joints: bytes, puppet: bytes) -> None:
        if self._joints is None or self._puppet is None:
            self._joints, self._puppet = Numbers(JointState, joints), Numbers(Posture, puppet)
            n = self._joints.count
            places = [self._puppet.columns[name] for name in POSITIONS]
            self.day = Day(
                self._n_passes,
                len(self._looped),
                n + self._puppet.count,
                [self._joints.columns['position']],
                [slice(n + span.start, n + span.stop) for span in places],
            )
        row = self.day.rows[place]
        self._joints.copy(joints, row)
        self._puppet.copy(puppet, row[self._joints.count :])
        self.day.is_answered[place] = True


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='robustness.soak.simulated',
        description=__doc__.strip().split('\n')[0],
        epilog='example: python3 -m robustness.soak.simulated session.mcap --hours 24',
    )
    p.add_argument('bag', type=Path, help='of /tracker/raw, from the T-pose on, to be looped')
    p.add_argument('--hours', type=float, default=24.0, help='simulated, default %(default)g')
    p.add_argument(
        '--character', default='blubby', metavar='C', help='the puppet; default %(default)s'
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures to this file')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('soak', lambda: _soak(arguments), 'nothing was judged')


def _soak(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    if not 0.0 < options.hours <= MAX_HOURS:
        raise ConfigError(f'--hours: expected 0 < value <= {MAX_HOURS:g}, got {options.hours}')
    if options.json is not None:
        check_writable(options.json, '--json')
    for number in (signal.SIGINT, signal.SIGTERM):  # one may be ignored by who started this
        signal.signal(number, signal.default_int_handler)
    frames, static = read_frames(options.bag)
    short = {'character': options.character, 'environment': 'demo'}
    pipeline = Pipeline(read_settings(short=short))
    for data in static:
        pipeline.transform(data)
    soak = DaySoak(pipeline, frames, options.hours)
    begun_s, begun_process_s = time.perf_counter(), time.process_time()
    try:
        soak.run()
    except KeyboardInterrupt:
        print('interrupted: what there is', file=sys.stderr)  # noqa: T201
    took_s, process_s = time.perf_counter() - begun_s, time.process_time() - begun_process_s
    result = judged(soak.day, soak.frames_in)
    for line in lines(soak.day, result):
        print(line, flush=True)  # noqa: T201
    simulated_s = float(np.max(soak.day.series('end_s'), initial=0.0))
    print(
        f'{simulated_s / HOUR_S:.2f} h in {took_s:.0f} s, '  # noqa: T201
        f'{simulated_s / took_s:.0f} times real time; {process_s:.0f} s of the process'
    )
    for error in pipeline.errors:
        print(f'soak: {error}', file=sys.stderr)  # noqa: T201
    if options.json is not None:
        told = {
            **report(soak.day, result),
            'wall_s': took_s,
            'process_s': process_s,
            'drops': pipeline.drops,
        }
        write_text(options.json, json.dumps(told, indent=1) + '\n')
    return EXIT_FAILED if result.is_missed else EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
