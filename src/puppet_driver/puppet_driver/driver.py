# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS: config in, a reader out that calls back with each frame."""

from collections.abc import Callable
import time

import numpy as np
from puppet_driver.devices import CONFIRMATIONS, Line, PhasedRecordStream, RetryPolicy
from puppet_driver.devices import flock_protocol as flock
from puppet_driver.frames import FrameAssembler, LineReader, QueuedFrame
from puppet_driver.parameters import DriverConfig
from puppet_driver.tracker import MAX_READ_BYTES

Log = Callable[[bool, str], None]
NANOSECONDS = 1_000_000_000  # in a second


def make_reader(
    config: DriverConfig,
    on_frame: Callable[[QueuedFrame], None],
    log: Log,
    clock_ns: Callable[[], int] = time.time_ns,
) -> LineReader:
    """
    Return a reader that is ready to start; no port is opened yet.

    Parameters
    ----------
    config : DriverConfig
        What is connected.
    on_frame : callable
        Called with each frame, see FrameQueue for the thread.
    log : callable
        Called in the reader's thread with (is_error, sentence) about the ports.
    clock_ns : callable
        The clock of stamps [ns].

    """
    retry_policy = RetryPolicy(config.silence_timeout_s, config.retry_first_s, config.retry_last_s)
    lines = [
        Line(name, tracker, retry_policy, log)
        for name, tracker in zip(config.ports, config.trackers)
    ]
    assembler = FrameAssembler(
        config.sensors_per_line, config.rate_hz, config.frame_wait_s, config.device_latency_s
    )
    return LineReader(lines, assembler, on_frame, clock_ns)


def warm_up(config: DriverConfig | None = None) -> None:
    """
    Compile all kernels with the types of production, before the first byte.

    Parameters
    ----------
    config : DriverConfig, optional
        Warms up the decoder of its device too.

    """
    if config is not None:
        stream = config.trackers[0].open_stream()
        stream.feed(np.frombuffer(bytearray(MAX_READ_BYTES), dtype=np.uint8), 1, 0)
        stream.flush()
    words = flock.encode_pose_words(np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]), 144)
    record = flock.encode_words(words)[0].tobytes() + b'\x01'
    flock_stream = PhasedRecordStream((1,), 144)
    assembler = FrameAssembler((1,), 120.0, 0.01)
    # one more than it takes to be believed, and one that is held
    flock_stream.feed_bytes(record * (CONFIRMATIONS + 2), arrival_ns=NANOSECONDS)
    assembler.add(0, flock_stream.batch)
    flock_stream.flush()
    assembler.add(0, flock_stream.batch)
    assembler.take(NANOSECONDS, force=True)
