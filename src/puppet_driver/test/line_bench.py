# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A line with an emulated device behind it, told the time by a number; for several tests."""

from dataclasses import dataclass

from benchmarks.driver.decoders import started_pair
import numpy as np
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import Line, LineState, RetryPolicy
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.emulator.simulator import DeviceSimulator
from puppet_driver.errors import LinkError

MS = 1_000_000


@dataclass
class FakePort:
    device: DeviceSimulator
    name: str = 'port'
    arrived: bytes = b''
    written: bytes = b''
    is_gone: bool = False
    now_s: float = 0.0
    discards: int = 0

    def fileno(self):
        return 99

    def read(self):
        if self.is_gone:
            raise LinkError('port: expected a connected device, got the end of the line')
        data, self.arrived = self.arrived, b''
        return data

    def write(self, data):
        self.written += data
        self.arrived += self.device.receive(data, self.now_s)

    def discard_input(self):
        self.discards += 1
        self.arrived = b''

    def close(self):
        pass


# device and period [ms]
PERIODS_MS = {
    'flock_of_birds': 8,
    'fastrak': 20,
    'fastrak_ascii': 20,
    'liberty': 10,
    'patriot': 20,
    'motionstar': 10,
}
N_TICKS = 500


class Bench:
    def __init__(self, name='flock_of_birds', retry_policy=RetryPolicy(0.5, 0.1, 1.0)):
        self.news = []
        self.ports = []
        self.refusals = []
        self.now_ns = 0
        self.tick = 0
        self.distort = bytes
        """What happens to bytes on their way to the host."""
        self.period_ms = PERIODS_MS[name]
        tracker, self.device, self.config = started_pair(
            name, rate_hz=1000.0 / self.period_ms, reply_timeout_s=0.25
        )
        tracker.open_port = self.open
        self.line = Line('port', tracker, retry_policy, lambda *news: self.news.append(news))
        ticks = np.arange(N_TICKS)
        self._poses = np.zeros((N_TICKS, 2, 7))
        self._poses[..., 0] = (0.3, -0.3) + 0.1 * np.sin(ticks / 40.0)[:, None]
        self._poses[..., 3] = 1.0
        if isinstance(self.device, FlockSimulator):
            self._last_unit = self.device.sensor_units[-1]
        hear = self.device.receive

        def answer(data, now_s):
            reply = hear(data, now_s)
            for _ in range(self.device.take_poll_requests()):
                reply += self.burst()
            return reply

        self.device.receive = answer

    def open(self):  # noqa: A003
        if self.refusals:
            raise self.refusals.pop(0)
        self.ports.append(FakePort(self.device, now_s=self.now_ns * 1e-9))
        return self.ports[-1]

    @property
    def port(self):
        return self.ports[-1]

    def run(self, ms):
        for _ in range(ms):
            self.now_ns += MS
            if self.ports:
                self.port.now_s = self.now_ns * 1e-9
            if self.line.fileno() >= 0 and self.port.arrived:
                self.line.on_readable(self.now_ns, self.now_ns)
            if self.now_ns >= self.line.deadline_ns:
                self.line.on_time(self.now_ns)

    def stream(self):
        deadline_ns = self.now_ns + 10_000 * MS
        while self.line.state is not LineState.STREAMING and self.now_ns < deadline_ns:
            self.run(1)
        assert self.line.state is LineState.STREAMING

    def play(self, ms):
        for _ in range(ms):
            self.run(1)
            is_time = self.now_ns % (self.period_ms * MS) == 0
            if is_time and self.device.is_sending and self.line.fileno() >= 0:
                self.tick += 1
                self.port.arrived += self.distort(self.burst())

    def burst(self):
        tick = self.tick % N_TICKS
        records = [r[0].tobytes() for r in self.device.encode(self._poses[tick : tick + 1], tick)]
        return self.device.packet(tick, records, [False] * len(records))

    def bursts(self, n_ticks):
        sent = b''
        for _ in range(n_ticks):
            self.tick += 1
            sent += self.burst()
        return sent

    @property
    def records(self):
        return self.line.status.counters.records

    def send(self, data):
        self.port.arrived += data
        return len(self.line.on_readable(self.now_ns, self.now_ns))

    def warm(self):
        self.stream()
        self.play(40 * self.period_ms)
        assert self.records >= 2 * (38 - CONFIRMATIONS)

    def set_sensor(self, is_there):
        device = self.device
        if isinstance(device, MotionStarSimulator):
            address = max(device.units)
            flags = device.units[address].flags & ~0x04 | (0x04 if is_there else 0)
            device.units[address] = device.units[address]._replace(flags=flags)
        elif isinstance(device, FlockSimulator):
            self._last_unit.has_sensor = is_there
        else:
            device.n_sensors = 1 + is_there
        device.version += 1
