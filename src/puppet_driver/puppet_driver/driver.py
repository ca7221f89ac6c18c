# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS: config in, a reader out that calls back with each frame."""

from collections.abc import Callable
from functools import partial
import time

import numpy as np
from puppet_driver import flock_of_birds as flock
from puppet_driver.devices import DEVICES, make_trackers
from puppet_driver.frame_assembler import FrameAssembler
from puppet_driver.frame_queue import QueuedFrame
from puppet_driver.line import Line
from puppet_driver.line_reader import LineReader
from puppet_driver.link import Patience, Port
from puppet_driver.network_port import is_network_name, open_network_port
from puppet_driver.parameters import DriverConfig
from puppet_driver.path_kernels import CONFIRMATIONS
from puppet_driver.reader_run import Strays
from puppet_driver.record_stream import MAX_READ_BYTES, PhasedRecordStream
from puppet_driver.serial_port import SerialPort

Tell = Callable[[bool, str], None]
NANOSECONDS = 1_000_000_000  # in a second


def make_reader(
    config: DriverConfig,
    on_frame: Callable[[QueuedFrame], None],
    tell: Tell,
    clock_ns: Callable[[], int] = time.time_ns,
    strays: Strays | None = None,
) -> LineReader:
    """
    Return a reader that is ready to start; no port is opened yet.

    Parameters
    ----------
    config : DriverConfig
        What is connected.
    on_frame : callable
        Called with each frame, see FrameQueue for the thread.
    tell : callable
        Called in the reader's thread with (is_error, sentence) about the ports.
    clock_ns : callable
        The clock of stamps [ns].
    strays : Strays, optional
        Runs left behind by earlier readers.

    """
    patience = Patience(config.silence_timeout_s, config.retry_first_s, config.retry_last_s)
    lines = [
        Line(name, tracker, _opener(name, config), patience, tell)
        for name, tracker in zip(config.ports, make_trackers(config))
    ]
    assembler = FrameAssembler(
        config.sensors_per_line, config.rate_hz, config.frame_wait_s, config.device_latency_s
    )
    return LineReader(lines, assembler, on_frame, clock_ns, strays)


def warm_up(config: DriverConfig | None = None) -> None:
    """
    Compile all kernels with the types of production, before the first byte.

    Parameters
    ----------
    config : DriverConfig, optional
        Warms up the decoder of its device too.

    """
    if config is not None:
        stream = make_trackers(config)[0].open_stream()
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


def _opener(name: str, config: DriverConfig) -> Callable[[], Port]:
    open_port = DEVICES[config.device].open_port
    if open_port is not None:
        return partial(open_port, config, name)
    if is_network_name(name):
        return partial(open_network_port, name)
    return partial(SerialPort, name, config.baud_rate_bps)
