# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An emulated FASTRAK, LIBERTY or PATRIOT: commands in, replies and records out."""

from abc import abstractmethod

import numpy as np
from puppet_core.math import Floats
from puppet_driver.devices import polhemus
from puppet_driver.devices.flock_of_birds import METRES_PER_INCH
from puppet_driver.devices.polhemus import LINE_END, METRES_PER_CENTIMETRE, NO_ERROR, RecordLayout
from puppet_driver.emulator.simulator import (
    angles_zyx,
    device_positions,
    device_quaternions,
    DeviceSimulator,
)

MAX_ASCII = 999.99
POSITION, ANGLES, END = 2, 4, 1
QUATERNIONS = (7, 11)  # LIBERTY's, FASTRAK's
POWER_UP_ITEMS = (POSITION, ANGLES, END)
MAX_COMMAND_BYTES = 80
ALWAYS_SET = 0x3F0  # flags of the status without meaning here
_FASTRAK_WITH_DATA = polhemus.ITEMS + polhemus.HEMISPHERE + polhemus.STATION_STATE
_HOLD = (polhemus.XON, polhemus.XOFF)
_LIBERTY_AT_ONCE = (polhemus.POLL, *_HOLD)


def encode_records(
    layout: RecordLayout,
    items: tuple[int, ...],
    station: int,
    poses: Floats,
    metres_per_unit: float,
    status: int = NO_ERROR,
) -> np.ndarray:
    """Return the records (n, record size) of one station, from 1, at poses (n, 7)."""
    q = device_quaternions(poses)
    fields = []
    for item in items:
        if item == END:
            text = np.frombuffer(LINE_END, dtype=np.uint8)
            fields.append(np.tile(text, (len(poses), 1)))
        elif item == POSITION:
            fields.append(_numbers(layout, device_positions(poses) / metres_per_unit, 2))
        elif item == ANGLES:
            fields.append(_numbers(layout, np.degrees(angles_zyx(q)), 2))
        else:
            fields.append(_numbers(layout, q, 4))
    header = np.array([choice[0] for choice in layout.header], dtype=np.uint8)
    header[layout.station_at] = layout.header[layout.station_at][station - 1]
    header[layout.status_at] = status
    if len(header) > 3:  # LIBERTY's says how much follows
        n_bytes = sum(field.shape[1] for field in fields)
        header[-2:] = np.frombuffer(n_bytes.to_bytes(2, 'little'), dtype=np.uint8)
    return np.hstack((np.tile(header, (len(poses), 1)), *fields))


def _numbers(layout: RecordLayout, values: Floats, decimals: int) -> np.ndarray:
    if not layout.is_ascii:
        return np.ascontiguousarray(values, dtype='<f4').view(np.uint8)
    clipped = np.clip(values, -MAX_ASCII, MAX_ASCII)
    text = ''.join(f'{v:{polhemus.ASCII_WIDTH}.{decimals}f}' for v in clipped.flat)
    return np.frombuffer(text.encode(), dtype=np.uint8).reshape(len(values), -1)


def _is_readable(items: tuple[int, ...], quaternion: int) -> bool:
    """Return whether records of some items are known here and make a pose."""
    known = {POSITION, ANGLES, END, quaternion}
    n_turned = items.count(ANGLES) + items.count(quaternion)
    return set(items) <= known and items.count(POSITION) == n_turned == 1


class PolhemusSimulator(DeviceSimulator):
    """What the devices have in common; sensors are plugged in on the first stations."""

    def __init__(self, n_sensors: int) -> None:
        super().__init__()
        self.n_sensors = n_sensors
        self.error = NO_ERROR
        self.power_up()

    @abstractmethod
    def power_up(self) -> None:
        self.is_streaming = self.is_held_off = False
        self.metres_per_unit = METRES_PER_INCH
        self.on_disconnect()

    def line_length(self, pending: bytes) -> int:
        """Return the length up to the first carriage return, 0 if there is none yet."""
        if polhemus.CARRIAGE_RETURN not in pending:
            self._pending = pending[:MAX_COMMAND_BYTES]  # too long for a command: noise
        return pending.find(polhemus.CARRIAGE_RETURN) + 1


class FastrakSimulator(PolhemusSimulator):
    def power_up(self) -> None:
        super().power_up()
        self.is_ascii = True
        stations = range(1, polhemus.Fastrak.max_stations + 1)
        self.items: dict[int, tuple[int, ...]] = dict.fromkeys(stations, POWER_UP_ITEMS)
        self.active = {station: station <= self.n_sensors for station in stations}
        self.hemispheres: dict[int, tuple[int, ...]] = {}

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        layout = polhemus.Fastrak.layout._replace(is_ascii=self.is_ascii)
        unit = self.metres_per_unit
        encoded = [
            encode_records(layout, self.items[i], i, poses[:, i - 1], unit, self.error)
            for i in range(1, self.n_sensors + 1)
            if self.active[i]
        ]
        return encoded or [np.zeros((len(poses), 0), dtype=np.uint8)]

    def command_length(self, pending: bytes) -> int:
        return self.line_length(pending) if pending[:1] in _FASTRAK_WITH_DATA else 1

    def obey(self, command: bytes, now_s: float) -> bytes:
        self.version += 1
        letter = command[:1]
        if letter in _FASTRAK_WITH_DATA:
            self._set(letter, command[1:-1])
        elif letter == polhemus.FASTRAK_STATUS:
            return self._status()
        elif letter == polhemus.POLL:
            self.n_poll_requests += 1
        elif letter in (polhemus.FASTRAK_STOP, polhemus.FASTRAK_CONTINUOUS):
            self.is_streaming = letter == polhemus.FASTRAK_CONTINUOUS
        elif letter in (polhemus.FASTRAK_BINARY, polhemus.FASTRAK_ASCII):
            self.is_ascii = letter == polhemus.FASTRAK_ASCII
        elif letter == polhemus.FASTRAK_CENTIMETRES:
            self.metres_per_unit = METRES_PER_CENTIMETRE
        elif letter in _HOLD:
            self.is_held_off = letter == polhemus.XOFF
        return b''

    def _set(self, letter: bytes, text: bytes) -> None:
        try:
            station, *numbers = (int(word) for word in text.split(b','))
        except ValueError:
            return
        values = tuple(numbers)
        if station not in self.items:
            return
        if letter == polhemus.ITEMS and _is_readable(values, QUATERNIONS[1]):
            self.items[station] = values
        elif letter == polhemus.HEMISPHERE and len(values) == 3:
            self.hemispheres[station] = values
        elif letter == polhemus.STATION_STATE and values in ((0,), (1,)):
            self.active[station] = values == (1,) and station <= self.n_sensors

    def _status(self) -> bytes:
        flags = (not self.is_ascii) | (self.metres_per_unit == METRES_PER_CENTIMETRE) << 1
        flags |= self.is_streaming << 3 | ALWAYS_SET
        error = 0 if self.error == NO_ERROR else self.error
        text = b'21S%03X%3d            emulated FASTRAK' % (flags, error)
        return text.ljust(polhemus.STATUS_BYTES - len(LINE_END)) + LINE_END


class LibertySimulator(PolhemusSimulator):
    def __init__(self, n_sensors: int, model: type[polhemus.Liberty] = polhemus.Liberty) -> None:
        self._model = model
        super().__init__(n_sensors)

    def power_up(self) -> None:
        super().power_up()
        self.is_binary = False
        stations = range(1, self._model.max_stations + 1)
        self.items: dict[int, tuple[int, ...]] = dict.fromkeys(stations, POWER_UP_ITEMS)
        self.hemisphere: tuple[int, ...] = (1, 0, 0)

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        if not self.is_binary:
            return [np.zeros((len(poses), 0), dtype=np.uint8)] * self.n_sensors
        layout, unit = self._model.layout, self.metres_per_unit
        records = [
            encode_records(layout, self.items[i], i, poses[:, i - 1], unit, self.error)
            for i in range(1, self.n_sensors + 1)
        ]
        for record in records:
            record[:, 3] = ord('C' if self.is_streaming else 'P')  # what it answers
        return records

    def command_length(self, pending: bytes) -> int:
        return 1 if pending[:1] in _LIBERTY_AT_ONCE else self.line_length(pending)

    def obey(self, command: bytes, now_s: float) -> bytes:
        self.version += 1
        if command == polhemus.POLL:
            self.is_streaming = False
            self.n_poll_requests += 1
        elif command in _HOLD:
            self.is_held_off = command == polhemus.XOFF
        elif command == polhemus.LIBERTY_BINARY:
            self.is_binary = True
        elif command == polhemus.LIBERTY_CENTIMETRES:
            self.metres_per_unit = METRES_PER_CENTIMETRE
        elif command == polhemus.LIBERTY_CONTINUOUS:
            self.is_streaming = True
        elif command[:1] in (polhemus.ITEMS, polhemus.HEMISPHERE):
            self._set(command[:1], command[1:-1])
        return b''

    def _set(self, letter: bytes, text: bytes) -> None:
        """Obey what chooses items or hemisphere, of one station or `*`, all of them."""
        station, *words = text.split(b',')
        try:
            values = tuple(int(word) for word in words)
            stations = list(self.items) if station == b'*' else [int(station)]
        except ValueError:
            return
        if letter == polhemus.HEMISPHERE and len(values) == 3:
            self.hemisphere = values
        elif letter == polhemus.ITEMS and _is_readable(values, QUATERNIONS[0]):
            self.items |= {i: values for i in stations if i in self.items}
