# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A line with any emulated device behind it, told the time by a number; for several tests."""

from benchmarks.driver.decoders import SENSORS, started_pair
from line_bench import Bench
import numpy as np
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import RetryPolicy
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator

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


class SimulatorBench(Bench):
    """A line of two sensors, its port, and the time."""

    def __init__(self, name: str, retry_policy: RetryPolicy) -> None:
        period_ms = PERIODS_MS[name]
        tracker, simulator, self.config = started_pair(
            name, rate_hz=1000.0 / period_ms, reply_timeout_s=0.25
        )
        super().__init__(simulator, retry_policy, tracker)
        self.period_ms = period_ms
        ticks = np.arange(N_TICKS)
        self._poses = np.zeros((N_TICKS, len(SENSORS), 7))
        self._poses[..., 0] = (0.3, -0.3) + 0.1 * np.sin(ticks / 40.0)[:, None]
        self._poses[..., 3] = 1.0
        if isinstance(simulator, FlockSimulator):
            self._last_unit = simulator.sensor_units[-1]
        hear = simulator.receive

        def answer(data: bytes, now_s: float) -> bytes:
            reply = hear(data, now_s)
            for _ in range(simulator.take_poll_requests()):
                reply += self.burst()
            return reply

        simulator.receive = answer

    def burst(self) -> bytes:
        """Return what the device sends at the present tick."""
        tick = self.tick % N_TICKS
        records = [r[0].tobytes() for r in self.device.encode(self._poses[tick : tick + 1], tick)]
        return self.device.packet(tick, records, [False] * len(records))

    def warm(self) -> None:
        """Let time pass until records come."""
        self.stream()
        self.play(40 * self.period_ms)
        assert self.records >= 2 * (38 - CONFIRMATIONS)

    def set_sensor(self, is_there: bool) -> None:
        """Take the last sensor off or put it back."""
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
