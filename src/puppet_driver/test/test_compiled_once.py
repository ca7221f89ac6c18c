# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Warming up compiles what a live run calls, for one layout each."""

import subprocess
import sys

# a process of its own: other tests call the kernels with all sorts of arrays
LIVE_RUN = """
import numpy as np
from puppet_core.io import build_config, check_values
from puppet_driver.devices import flock_records
from puppet_driver.frames import assembler, ticks
from puppet_driver.driver import warm_up
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig

# what Python calls; these call all others, whose signatures a cache on disk does not show
HOT = flock_records.scan, ticks.add_records, assembler.emit_frame
warm_up()
warm = [len(kernel.signatures) for kernel in HOT]
config = build_config(DriverConfig, check_values(DRIVER_ROWS, {}))
streams = [tracker.open_stream() for tracker in config.trackers]
assembler = FrameAssembler(config.sensors_per_line, config.rate_hz, config.frame_wait_s)
buffer = np.frombuffer(bytearray(4096), dtype=np.uint8)
for tick in range(3):
    for line, stream in enumerate(streams):
        stream.feed(buffer, 75, 10 ** 9 * tick)
        assembler.add(line, stream.batch)
    assembler.take(10 ** 9 * tick)
for kernel, before in zip(HOT, warm):
    print(kernel.py_func.__name__, before, len(kernel.signatures))
"""


def test_a_live_like_run_compiles_nothing_after_warming_up():
    result = subprocess.run(
        [sys.executable, '-c', LIVE_RUN], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    counts = [line.split()[1:] for line in result.stdout.splitlines()]
    assert counts == [['1', '1']] * 3
