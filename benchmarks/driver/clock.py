# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How much jitter the fitted clock takes off the stamps: `python3 -m benchmarks.driver.clock`.

First clocks made of numbers, whose true ticks are known; then the emulator in a process of
its own, read through pseudo-terminals, judged about the straight line that fits it best.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import subprocess
import sys
import tempfile
import threading

import numpy as np
from puppet_core.io import build_config, check_values, EXIT_FAILED, EXIT_OK
from puppet_core.math import Floats, Ints
from puppet_driver.driver import make_reader
from puppet_driver.frames import ClockFit, QueuedFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig

RATE_HZ = 120.0
LEARNT_S = 10.0
DRIFT_PPM = 200.0
DELAYS_MS = (0.1, 0.3, 1.0, 2.0)
N_LINES = 3


def synthetic(mean_ms: float, seconds: float, seed: int = 1) -> tuple[Floats, Floats]:
    """Return errors of arrivals and of stamps [ns], delays being exponential."""
    n = round((seconds + LEARNT_S) * RATE_HZ)
    sent_ns = np.rint(np.arange(n) * 1e9 / RATE_HZ * (1.0 + 1e-6 * DRIFT_PPM)).astype(np.int64)
    delays_ns = np.random.default_rng(seed).exponential(1e6 * mean_ms, n)
    arrivals_ns = np.maximum.accumulate(sent_ns + np.rint(delays_ns).astype(np.int64))
    clock = ClockFit(RATE_HZ)
    stamps_ns = np.array([clock.stamp(int(a)) for a in arrivals_ns])
    learnt = round(LEARNT_S * RATE_HZ)
    return (arrivals_ns - sent_ns)[learnt:], (stamps_ns - sent_ns)[learnt:]


def emulated(seconds: float, folder: Path) -> tuple[Floats, Floats]:
    """Return deviations of arrivals and stamps from straight lines [ns], read over ptys."""
    command = [sys.executable, '-m', 'puppet_driver.emulator.cli', '--ports-dir', str(folder)]
    command += ['--lines', str(N_LINES), '--rate-hz', str(RATE_HZ)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ports = process.stdout.readline().split()[1:]
            return _read(ports, seconds)
        finally:
            process.terminate()


def _read(ports: Sequence[str], seconds: float) -> tuple[Floats, Floats]:
    wanted = round((seconds + LEARNT_S) * RATE_HZ)
    times: list[tuple[int, int]] = []
    done = threading.Event()

    def keep(frame: QueuedFrame) -> None:
        times.append((frame.arrival_ns, frame.stamp_ns))
        if len(times) >= wanted:
            done.set()

    config = build_config(DriverConfig, check_values(DRIVER_ROWS, {'ports': list(ports)}))
    reader = make_reader(config, keep, lambda *_: None)
    reader.start()
    done.wait(2.0 * (seconds + LEARNT_S) + 10.0)
    reader.stop()
    both = np.array(times[round(LEARNT_S * RATE_HZ) :], dtype=np.int64).reshape(-1, 2)
    return _about_line(both[:, 0]), _about_line(both[:, 1])


def _about_line(times_ns: Ints) -> Floats:
    """Return deviations from the device's ticks, lost ones being counted [ns]."""
    relative = (times_ns - times_ns[0]).astype(np.float64)
    ticks = np.rint(relative * (RATE_HZ * 1e-9))
    return relative - np.polyval(np.polyfit(ticks, relative, 1), ticks)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    p = argparse.ArgumentParser(prog='bench_clock', description=__doc__.split('\n\n')[0])
    p.add_argument('--seconds', type=float, default=30.0, help='of each row, default %(default)s')
    seconds = p.parse_args(argv).seconds
    rows = [
        (f'delays of {d:g} ms, drift {DRIFT_PPM:g} ppm', *synthetic(d, seconds)) for d in DELAYS_MS
    ]
    with tempfile.TemporaryDirectory(prefix='bench_clock_') as folder:
        rows.append((f'emulator, {N_LINES} pseudo-terminals', *emulated(seconds, Path(folder))))
    out = sys.stdout.write
    out('| arrivals | rms of arrivals, µs | of stamps, µs | largest, µs: arrivals / stamps |\n')
    out('|---|---|---|---|\n')
    for name, before, after in rows:
        if len(after) < 2:
            sys.stderr.write(f'bench_clock: {name}: expected frames, got none\n')
            return EXIT_FAILED
        spread = [1e-3 * np.std(e) for e in (before, after)]
        worst = [1e-3 * np.abs(e - np.median(e)).max() for e in (before, after)]
        out(f'| {name} | {spread[0]:.0f} | {spread[1]:.1f} | {worst[0]:.0f} / {worst[1]:.0f} |\n')
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
