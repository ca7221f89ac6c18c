# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a whole tracker costs and loses: `python3 -m benchmarks.driver.load`.

Emulator, driver and filter run as processes of their own, as they would with a device, on a
ROS domain that nobody else uses. This process listens to what they publish and to their
diagnostics, and reads from the system how much of a core each of them took.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from puppet_core.io import EXIT_FAILED, EXIT_OK, PuppetError
from puppet_driver.errors import LinkError
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.node import make_executor, qos
from puppet_ros.process import free_domain
import rclpy
from rclpy.context import Context

RATE_HZ = 144.0
PLACES = {
    'motionstar': ['--listen', '127.0.0.1:0'],
    'flock_of_birds': ['--lines', '3', '--ports-dir', '{folder}'],
}
START_DEADLINE_S = 180.0  # a first compilation of the kernels fits
SETTLED_FRAMES = round(2.0 * RATE_HZ)
HEADING = """\
| device | % of a core: emulator, driver, filter | queue: deepest, dropped \
| frames lost, incomplete | not heard: raw, filtered | stamp to publication, ms: p99, worst p99 \
| to listener, ms: raw p50, p99 | filtered p50, p99 |
|---|---|---|---|---|---|---|---|
"""
DRIVER, FILTER = 'tracker_driver', 'puppet_filter'
TOTALS = ('queue_dropped', 'drops', 'incomplete_frames', 'missing_samples', 'late_records')


class Stream:
    """The frames of one topic: when they were published, by their stamps, and which."""

    def __init__(self) -> None:
        self.latencies_ns: list[int] = []
        self.indices: list[int] = []

    def take(self, message: Any) -> None:
        """Take a frame as it arrives."""
        stamp = message.header.stamp
        self.latencies_ns.append(time.time_ns() - stamp.sec * 1_000_000_000 - stamp.nanosec)
        self.indices.append(message.frame_index)

    def figures(self, seconds: float) -> dict[str, float]:
        """Return rate, gaps of the count, and latency [ms]."""
        p50, p99, worst = map(float, np.percentile(self.latencies_ns, (50, 99, 100)) * 1e-6)
        n_frames = len(self.indices)
        return {
            'rate_hz': n_frames / seconds,
            'lost': self.indices[-1] - self.indices[0] + 1 - n_frames,
            'latency_ms_p50': p50,
            'latency_ms_p99': p99,
            'latency_ms_max': worst,
        }


class Listener:
    """What the nodes publish, received in a context of its own."""

    def __init__(self) -> None:
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = rclpy.create_node('bench_load', context=self._context)
        self._executor = make_executor(self._context)
        self._executor.add_node(self._node)
        self.raw, self.filtered = Stream(), Stream()
        self.reports: list[dict[str, float]] = []
        subscribe = self._node.create_subscription
        subscribe(TrackerFrame, '/tracker/raw', lambda m: self.raw.take(m), qos.STREAM)
        subscribe(PoseFrame, '/tracker/filtered', lambda m: self.filtered.take(m), qos.STREAM)
        subscribe(DiagnosticArray, '/diagnostics', self._report, 10)

    def _report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith(DRIVER):
                names = ('latency_ms_p99', 'queue_deepest', *TOTALS)
                found = {v.key: float(v.value) for v in status.values if v.key in names}
                self.reports.append(dict.fromkeys(names, 0.0) | found)

    def listen(self, seconds: float, n_frames: float = float('inf')) -> None:
        """Listen for some time, or until a report and so many filtered frames have come."""
        deadline_s = time.monotonic() + seconds
        while len(self.filtered.indices) < n_frames or not self.reports:
            if time.monotonic() > deadline_s:
                return
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has taken [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def start(device: str, at_exit: ExitStack) -> dict[str, int]:
    """Start emulator, driver and filter; return the numbers of their processes."""

    def run(*command: str, **options: Any) -> subprocess.Popen:
        process = at_exit.enter_context(subprocess.Popen(command, text=True, **options))
        at_exit.callback(process.terminate)
        return process

    folder = at_exit.enter_context(tempfile.TemporaryDirectory(prefix='load_'))
    place = [word.format(folder=folder) for word in PLACES[device]]
    emulator = run(
        sys.executable,
        '-m',
        'puppet_driver.emulator.cli',
        '--device',
        device,
        '--rate-hz',
        str(RATE_HZ),
        *place,
        stdout=subprocess.PIPE,
    )
    assert emulator.stdout is not None
    ports = emulator.stdout.readline().split()[1:]
    driver = run(
        sys.executable,
        '-m',
        'puppet_driver.tracker_driver_node',
        '--ros-args',
        '-p',
        f'device:={device}',
        '-p',
        f'ports:={ports}',
        '-p',
        f'rate_hz:={RATE_HZ}',
    )
    pose_filter = run(sys.executable, get_package_prefix(FILTER) + f'/lib/{FILTER}/pose_filter')
    return {'emulator': emulator.pid, 'driver': driver.pid, 'filter': pose_filter.pid}


def measure(device: str, seconds: float) -> dict[str, Any]:
    """Return the figures of a run; raises LinkError if nothing comes out of the filter."""
    with ExitStack() as at_exit:
        pids = start(device, at_exit)
        listener = Listener()
        at_exit.callback(listener.close)
        listener.listen(START_DEADLINE_S, SETTLED_FRAMES)
        if not listener.filtered.indices or not listener.reports:
            raise LinkError('expected filtered frames and reports of the driver, got none')
        listener.raw, listener.filtered = Stream(), Stream()
        del listener.reports[:-1]
        start_s, before = time.monotonic(), {name: cpu_s(pid) for name, pid in pids.items()}
        listener.listen(seconds)
        took_s = time.monotonic() - start_s
        shares = {name: 100.0 * (cpu_s(pid) - before[name]) / took_s for name, pid in pids.items()}
    first, *others = listener.reports
    if not listener.filtered.indices or not others:
        raise LinkError('expected frames and reports to the end, got none')
    driver = {n: others[-1][n] - first[n] for n in TOTALS}
    driver['queue_deepest'] = max(report['queue_deepest'] for report in others)
    p99s_ms = [report['latency_ms_p99'] for report in others]
    # NaN of a second in which nothing was published
    driver['p99_ms_median'] = float(np.nanmedian(p99s_ms))
    driver['p99_ms_worst'] = float(np.nanmax(p99s_ms))
    return {
        'device': device,
        'seconds': took_s,
        'cpu_percent': shares,
        'driver': driver,
        'raw': listener.raw.figures(took_s),
        'filtered': listener.filtered.figures(took_s),
    }


def row(found: dict[str, Any]) -> str:
    """Return a row of the table."""
    cpu, driver = found['cpu_percent'], found['driver']
    raw, filtered = found['raw'], found['filtered']
    cells = (
        found['device'],
        ', '.join(f'{share:.1f}' for share in cpu.values()),
        f'{driver["queue_deepest"]:.0f}, {driver["queue_dropped"]:.0f}',
        f'{driver["drops"]:.0f}, {driver["incomplete_frames"]:.0f}',
        f'{raw["lost"]}, {filtered["lost"]}',
        f'{driver["p99_ms_median"]:.1f}, {driver["p99_ms_worst"]:.1f}',
        *(f'{s["latency_ms_p50"]:.1f}, {s["latency_ms_p99"]:.1f}' for s in (raw, filtered)),
    )
    return f'| {" | ".join(cells)} |\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    p = argparse.ArgumentParser(prog='bench_load', description=__doc__.split('\n\n')[0])
    p.add_argument('--seconds', type=float, default=60.0, help='of each, default %(default)s')
    p.add_argument('--device', nargs='+', choices=tuple(PLACES), default=list(PLACES))
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    given = p.parse_args(argv)
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    runs = []
    sys.stdout.write(HEADING)
    for device in given.device:
        try:
            runs.append(measure(device, given.seconds))
        except (PackageNotFoundError, PuppetError) as err:
            sys.stderr.write(f'bench_load: {device}: {err}\n')
            return EXIT_FAILED
        sys.stdout.write(row(runs[-1]))
        sys.stdout.flush()
    if given.json:
        given.json.write_text(json.dumps(runs, indent=2) + '\n', encoding='utf-8')
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
