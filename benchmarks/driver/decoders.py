# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How fast bytes become records, device by device: `python3 -m benchmarks.driver.decoders`.

Each device is started against its emulated simulator by bytes alone; then what the simulator sends
is decoded in reads of various sizes. Nominal is what a line at 115200 bps carries.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
import time

import numpy as np
from puppet_core.io import build_config, check_values, EXIT_OK
from puppet_driver.devices import DEVICES
from puppet_driver.emulator import (
    DeviceSimulator,
    EmulatorConfig,
    FaultRates,
    Faults,
    LinePackets,
    SIMULATORS,
)
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
from puppet_driver.tracker import RecordStream, Tracker
from puppet_driver.transport import MAX_READ_BYTES

SENSORS = ('left_hand', 'right_hand')
RATE_HZ = 30.0
NOMINAL_BYTES_PER_S = 11520
READS_BYTES = (64, MAX_READ_BYTES)
N_TICKS = 1200


def started_pair(device: str, **given: object) -> tuple[Tracker, DeviceSimulator, DriverConfig]:
    """Return a device's tracker, its simulator, not yet started, and the driver's parameters."""
    port = 'tcp://host' if device == 'motionstar' else 'port'
    values = {'device': device, 'sensors': SENSORS, 'ports': (port,), 'rate_hz': RATE_HZ, **given}
    config = build_config(DriverConfig, check_values(DRIVER_ROWS, values))
    emulated = EmulatorConfig((Path('port'),), device, SENSORS, config.rate_hz)
    return config.trackers[0], SIMULATORS[device].make(emulated, len(SENSORS)), config


def started(tracker: Tracker, simulator: DeviceSimulator) -> None:
    """Bring a simulator to streaming, by bytes alone."""
    now_s, reply = 0.0, b''
    steps = tracker.start_exchanges()
    exchange = next(steps, None)
    while exchange is not None:
        reply = simulator.receive(exchange.command, now_s)
        for _ in range(simulator.take_poll_requests()):
            reply += bytes_of(simulator, 1)
        now_s += exchange.pause_s
        try:
            exchange = steps.send(reply[: exchange.wanted_bytes(reply)])
        except StopIteration:
            break


def bytes_of(simulator: DeviceSimulator, n_ticks: int) -> bytes:
    """Return what a simulator sends of two slowly moving sensors."""
    ticks = np.arange(n_ticks)
    poses = np.zeros((n_ticks, len(SENSORS), 7))
    poses[..., 0] = 0.5 * np.sin(ticks / 40.0)[:, None] + (0.3, -0.3)
    poses[..., 3] = np.cos(ticks / 100.0)[:, None]
    poses[..., 5] = np.sin(ticks / 100.0)[:, None]
    packets = LinePackets(simulator, slice(None), Faults(FaultRates(), 0))
    packets.load(0, poses)
    return b''.join(packets.burst(tick) for tick in range(n_ticks))


def bytes_per_second(stream: RecordStream, data: bytes, read_bytes: int, seconds: float) -> float:
    """Return the speed at which a stream decodes reads of a size."""
    reads = [data[at : at + read_bytes] for at in range(0, len(data), read_bytes)]
    n_bytes, start_s = 0, time.perf_counter()
    while time.perf_counter() < start_s + seconds:
        for read in reads:
            stream.feed(read, 0)
        n_bytes += len(data)
    return n_bytes / (time.perf_counter() - start_s)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    p = argparse.ArgumentParser(prog='bench_decoders', description=__doc__.split('\n\n')[0])
    p.add_argument('--seconds', type=float, default=0.5, help='of each, default %(default)s')
    seconds = p.parse_args(argv).seconds
    out = sys.stdout.write
    out('| device | bytes a record | reads of, bytes | MB/s | of nominal |\n')
    out('|---|---|---|---|---|\n')
    for name in sorted(set(DEVICES) & set(SIMULATORS)):
        tracker, simulator, config = started_pair(name)
        started(tracker, simulator)
        data = bytes_of(simulator, N_TICKS)
        for read_bytes in READS_BYTES:
            stream = tracker.open_stream()
            speed = bytes_per_second(stream, data, read_bytes, seconds)
            size = config.trackers[0].record_bytes
            lost = stream.counters.rejected_records + stream.counters.implausible_records
            assert lost <= stream.counters.records // 100, 'the simulator must be understood'
            out(
                f'| {name} | {size} | {read_bytes} | {speed / 1e6:.1f} '
                f'| {speed / NOMINAL_BYTES_PER_S:.0f} × |\n'
            )
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
