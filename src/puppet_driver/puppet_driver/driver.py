# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS: config in, a reader out that calls back with each frame."""

from collections.abc import Callable
import time

import numpy as np
from puppet_driver import flock_of_birds as flock
from puppet_driver.devices import make_trackers
from puppet_driver.frame_assembler import FrameAssembler
from puppet_driver.line import Line
from puppet_driver.line_reader import LineReader
from puppet_driver.link import Patience, Port
from puppet_driver.parameters import DriverConfig
from puppet_driver.record_stream import PhasedRecordStream
from puppet_driver.serial_port import SerialPort

Tell = Callable[[bool, str], None]


def make_reader(
    config: DriverConfig,
    on_frame: Callable[[FrameAssembler], None],
    tell: Tell,
    clock_ns: Callable[[], int] = time.time_ns,
) -> LineReader:
    """
    Return a reader that is ready to start; no port is opened yet.

    Parameters
    ----------
    config : DriverConfig
        What is connected.
    on_frame : callable
        Called in the reader's thread for each frame.
    tell : callable
        Called in the reader's thread with (is_error, sentence) about the ports.
    clock_ns : callable
        The clock of stamps [ns].

    """
    patience = Patience(config.silence_timeout_s, config.retry_first_s, config.retry_last_s)
    lines = [
        Line(name, tracker, _opener(name, config.baud_rate_bps), patience, tell)
        for name, tracker in zip(config.ports, make_trackers(config))
    ]
    assembler = FrameAssembler(
        config.sensors_per_line, config.rate_hz, config.frame_wait_s, config.device_latency_s
    )
    return LineReader(lines, assembler, on_frame, clock_ns)


def warm_up() -> None:
    """Compile all kernels with the types of production, before the first byte."""
    words = flock.encode_pose_words(np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]), 144)
    record = flock.encode_words(words)[0].tobytes() + b'\x01'
    stream = PhasedRecordStream((1,), 144)
    assembler = FrameAssembler((1,), 120.0, 0.01)
    stream.feed_bytes(record * 2)
    assembler.add(0, stream.batch)
    stream.flush()
    assembler.add(0, stream.batch)
    assembler.take(0, force=True)


def _opener(name: str, baud_rate_bps: int) -> Callable[[], Port]:
    return lambda: SerialPort(name, baud_rate_bps)
