# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulator's loop: obeys commands, and sends every line's records at each tick."""

from collections.abc import Sequence
import os
import select
import threading
import time
from typing import NamedTuple

from puppet_driver.emulator.performer import SensorPoses
from puppet_driver.emulator.simulator import DeviceSimulator, LinePackets
from puppet_driver.emulator.transports import Transport

BLOCK_S = 0.5  # encoded ahead
MAX_LATE_S = 0.1  # ticks later than this are lost
LOOK_S = 0.02  # how often closed ports are polled
LAST_LINE_S = 3.0  # how long the performance waits for a line that nobody opens
JOIN_TIMEOUT_S = 5.0


class EmulatedLine(NamedTuple):
    pty: Transport
    device: DeviceSimulator
    packets: LinePackets

    @property
    def is_sending(self) -> bool:
        return self.pty.is_open and self.device.is_sending


class EmulatorServer:
    """Serves all lines in one thread; begins anew after `restart_after_s` of silence, 0 never."""

    def __init__(
        self,
        lines: Sequence[EmulatedLine],
        source: SensorPoses,
        rate_hz: float,
        restart_after_s: float = 2.0,
    ) -> None:
        self.lines = tuple(lines)
        self.tick = 0
        self.source = source
        self._period_s = 1.0 / rate_hz
        self._block_ticks = max(round(BLOCK_S * rate_hz), 1)
        self._block_start = 0
        self._restart_after_s = restart_after_s
        self._silent_since_s = 0.0
        self._first_sent_s = 0.0
        self._has_begun = False
        self._wake_read, self._wake_write = os.pipe()
        self._thread: threading.Thread | None = None
        self._load_block(0)

    def start(self) -> None:
        """Serve in a thread until `stop`; for tests."""
        self._thread = threading.Thread(target=self.serve, name='emulator', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        os.write(self._wake_write, b'x')
        if self._thread is not None:
            self._thread.join(JOIN_TIMEOUT_S)
            self._thread = None

    def close(self) -> None:
        for line in self.lines:
            line.pty.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def serve(self) -> None:
        next_tick_s = time.monotonic()
        look_at_s = next_tick_s
        while True:
            now_s = time.monotonic()
            # first of all: a device's clock does not wait for what else there is to do
            if now_s >= next_tick_s:
                self._send_tick(now_s)
                # ticks that were slept through follow at once, as from a port's buffer
                lost = max(int((now_s - next_tick_s - MAX_LATE_S) / self._period_s), 0)
                next_tick_s += (lost + 1) * self._period_s
                self._advance(lost + 1)
            if now_s >= look_at_s:
                look_at_s = now_s + LOOK_S
                self._poll()
            waiting = {line.pty.fileno(): line for line in self.lines if line.pty.is_open}
            wait_s = max(next_tick_s - time.monotonic(), 0.0)
            ready, _, _ = select.select([self._wake_read, *waiting], (), (), wait_s)
            if self._wake_read in ready:
                os.read(self._wake_read, 64)
                return
            for descriptor in ready:
                self._serve_line(waiting[descriptor])

    def _poll(self) -> None:
        for line in self.lines:
            line.pty.poll()
            if not line.pty.is_open:
                # what a host sent just before it closed its port still arrives
                self._obey(line)
                line.device.on_disconnect()

    @staticmethod
    def _obey(line: EmulatedLine) -> bool:
        """Let the device hear what has been sent; return whether there was anything."""
        data = line.pty.receive()
        if data:
            line.pty.send(line.device.receive(data, time.monotonic()))
        return bool(data)

    def _serve_line(self, line: EmulatedLine) -> None:
        if not self._obey(line):
            self._poll()
        for _ in range(line.device.take_poll_requests()):
            line.pty.send(line.packets.burst(self.tick))

    def _send_tick(self, now_s: float) -> None:
        sending = [line for line in self.lines if line.is_sending]
        if sending:
            self._silent_since_s = now_s
        else:
            self._first_sent_s = now_s
        for line in sending:
            line.pty.send(line.packets.burst(self.tick))
        if len(sending) == len(self.lines) or now_s - self._first_sent_s > LAST_LINE_S:
            self._has_begun = True
        silence_s = now_s - self._silent_since_s
        if self._has_begun and 0.0 < self._restart_after_s < silence_s:
            self._has_begun = False
            self._load_block(0)

    def _advance(self, n_ticks: int) -> None:
        if not self._has_begun:
            return
        self.tick += n_ticks
        if self.tick >= self._block_start + self._block_ticks:
            self._load_block(self.tick)
            # now, not when the next tick is due: encoding takes milliseconds
            for line in self.lines:
                if line.is_sending:
                    line.packets.prepare()

    def _load_block(self, start_tick: int) -> None:
        self.tick = self._block_start = start_tick
        poses = self.source.block(start_tick, self._block_ticks)
        for line in self.lines:
            line.packets.load(start_tick, poses)
