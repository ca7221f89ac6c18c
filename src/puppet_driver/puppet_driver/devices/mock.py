# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A tracker made of nothing, for tests of those who consume frames: no hardware, no emulator."""

from dataclasses import dataclass
import os
import struct
import threading
import time

import numpy as np
from puppet_core.math import Floats
from puppet_driver.devices.decoding import ANYWHERE, FixedRecordStream
from puppet_driver.errors import LinkError, LinkTimeout
from puppet_driver.tracker import Exchange, Exchanges, Pose, Tracker
from puppet_driver.transport import MAX_READ_BYTES

IDENTIFY, GO, STOP = b'?', b'g', b's'
IDENTITY = b'mock'
SYNC = 0xA5
RECORD = struct.Struct('<BB7dB')  # sync, ordinal, pose, sum of all other bytes
SPACING_M, SWING_M, SWING_RAD, SWING_HZ = 0.1, 0.2, 0.5, 0.5


def mock_pose(row: int, seconds: float) -> Floats:
    """Return where the sensor of a frame's row is after some time, as x y z [m], w x y z."""
    phase = 2.0 * np.pi * SWING_HZ * seconds + row
    half = 0.5 * SWING_RAD * np.sin(phase)
    place = (SPACING_M * row, SWING_M * np.sin(phase), SWING_M * np.cos(phase))
    return np.array([*place, np.cos(half), 0.0, 0.0, np.sin(half)])


def encode(ordinal: int, pose: Floats) -> bytes:
    body = RECORD.pack(SYNC, ordinal, *pose, 0)[:-1]
    return body + bytes((sum(body) & 0xFF,))


class MockStream(FixedRecordStream):
    def __init__(self, n_sensors: int) -> None:
        anything = [bytes(range(256))] * (RECORD.size - 2)
        allowed = [bytes((SYNC,)), bytes(range(n_sensors)), *anything]
        super().__init__(allowed, n_sensors, ANYWHERE, has_end=True)

    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        _, ordinal, *pose, check = RECORD.unpack(record)
        return (ordinal, tuple(pose)) if sum(record[:-1]) & 0xFF == check else None


@dataclass(frozen=True, slots=True)
class MockConfig:
    sensors: tuple[str, ...]  # Names of its sensors
    rate_hz: float = 120.0  # Records a second of each sensor
    port: str = 'mock'  # For texts; any name will do
    first_row: int = 0  # Of the line's sensors in a frame, which determines where they are


class MockTracker(Tracker):
    Config = MockConfig
    title = 'mock tracker'
    is_serial = False
    record_bytes = RECORD.size

    def open_port(self) -> 'MockPort':
        config = self._config
        rows = range(config.first_row, config.first_row + self.n_sensors)
        return MockPort(config.port, rows, config.rate_hz)

    def start_exchanges(self) -> Exchanges:
        answer = yield Exchange(STOP + IDENTIFY, reply_bytes=len(IDENTITY))
        if answer != IDENTITY:
            raise LinkTimeout(f'expected {IDENTITY!r}, got {answer!r}')
        yield Exchange(GO)

    def stop_command(self) -> bytes:
        return STOP

    def open_stream(self) -> MockStream:
        return MockStream(self.n_sensors)


class MockPort:
    """A port and the device behind it; a Port."""

    def __init__(self, name: str, rows: range, rate_hz: float) -> None:
        self.name = name
        self._rows = rows
        self._period_s = 1.0 / rate_hz
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._is_streaming = False
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._send, name=f'mock {name}', daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        return self._read

    def read(self) -> bytes:
        try:
            return os.read(self._read, MAX_READ_BYTES)
        except BlockingIOError:
            return b''
        except OSError as err:
            raise LinkError(f'{self.name}: expected data, got {err.strerror}') from err

    def write(self, data: bytes) -> None:
        for command in (data[i : i + 1] for i in range(len(data))):
            if command == IDENTIFY:
                self._say(IDENTITY)
            elif command in (GO, STOP):
                self._is_streaming = command == GO

    def discard_input(self) -> None:
        try:
            while os.read(self._read, MAX_READ_BYTES):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        self._has_ended.set()
        self._thread.join()
        os.close(self._read)
        os.close(self._write)

    def _send(self) -> None:
        start_s = time.monotonic()
        tick = 0
        while not self._has_ended.wait(max(start_s + tick * self._period_s - time.monotonic(), 0)):
            if self._is_streaming:
                poses = [mock_pose(row, tick * self._period_s) for row in self._rows]
                self._say(b''.join(encode(i, p) for i, p in enumerate(poses)))
            tick += 1

    def _say(self, data: bytes) -> None:
        try:
            os.write(self._write, data)
        except BlockingIOError:
            pass  # nobody reads
