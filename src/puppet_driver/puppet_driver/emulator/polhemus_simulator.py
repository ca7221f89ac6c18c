# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An emulated FASTRAK, LIBERTY or PATRIOT: commands in, replies and records out, with any items.

Like the hardware a FASTRAK wakes up with ASCII records of position and angles in inches, keeps the
items of each station apart, and is deaf for ten seconds after a reset. Of a LIBERTY's records only
the binary ones are known, so it says nothing until it has been asked for them.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions
from puppet_driver.devices import fastrak, liberty
from puppet_driver.devices import polhemus as records
from puppet_driver.devices.flock_of_birds import METRES_PER_INCH
from puppet_driver.devices.polhemus import (
    ASCII_WIDTH,
    FASTRAK_ITEMS,
    fastrak_layout,
    LIBERTY_ITEMS,
    liberty_layout,
    LINE_END,
    METRES_PER_CENTIMETRE,
    NO_ERROR,
)
from puppet_driver.emulator.simulator import (
    angles_zyx,
    device_positions,
    device_quaternions,
    DeviceSimulator,
)

MAX_ASCII = 999.99
POWER_UP_ITEMS = (2, 4, 1)
RESET_S = 10.0
MAX_COMMAND_BYTES = 80
ALWAYS_SET = 0x3F0  # flags of the status without meaning here
WHO_AM_I_TEXT = b'emulated %s\r\n'
_FASTRAK_WITH_DATA = fastrak.ITEMS + fastrak.HEMISPHERE + fastrak.STATION_STATE
_LIBERTY_AT_ONCE = (liberty.POLL, liberty.WHO_AM_I, liberty.RESET, records.XON, records.XOFF)


class RecordExtras(NamedTuple):
    """What records hold beside the pose."""

    command: int = ord('C')  # The command that LIBERTY's records answer
    status: int = records.NO_ERROR  # Error character
    is_pressed: bool = False  # Whether the stylus' button is
    start_tick: int = 0  # Frame count of the first record
    rate_hz: float = 120.0  # Records a second


def encode_records(
    layout: records.RecordLayout,
    station: int,
    poses: Floats,
    metres_per_unit: float,
    extras: RecordExtras,
) -> np.ndarray:
    """Return the records (n, record size) of one station, counted from 1, at poses (n, 7)."""
    n = len(poses)
    data = np.empty((n, layout.record_bytes), dtype=np.uint8)
    data[:, : len(layout.header)] = [choice[0] for choice in layout.header]
    is_fastrak = layout.status_at == 2
    data[:, layout.station_at] = ord('0') + station if is_fastrak else station
    data[:, layout.status_at] = extras.status
    if not is_fastrak:
        data[:, layout.station_at + 1] = extras.command
    at = len(layout.header)
    for item in layout.items:
        if item.n_values:
            values = _values(item, poses, metres_per_unit)
            field = _decimals(values, item.decimals) if layout.is_ascii else _floats(values)
        else:
            field = _field(item, n, extras)
        data[:, at : at + field.shape[1]] = field
        at += field.shape[1]
    return data


def _values(item: records.Item, poses: Floats, metres_per_unit: float) -> Floats:
    q = device_quaternions(poses)
    if item is records.POSITION:
        return device_positions(poses) / metres_per_unit
    if item is records.QUATERNION:
        return q
    if item is records.EULER:
        return np.degrees(angles_zyx(q))
    return quaternions.to_matrix(q)[:, records.COSINES.index(item)]


def _floats(values: Floats) -> np.ndarray:
    return np.ascontiguousarray(values, dtype='<f4').view(np.uint8)


def _decimals(values: Floats, decimals: int) -> np.ndarray:
    text = ''.join(
        f'{v:{ASCII_WIDTH}.{decimals}f}' for v in np.clip(values, -MAX_ASCII, MAX_ASCII).flat
    )
    return np.frombuffer(text.encode(), dtype=np.uint8).reshape(len(values), -1)


def _field(item: records.Item, n: int, extras: RecordExtras) -> np.ndarray:
    if item.constant:
        return np.tile(np.frombuffer(item.constant, dtype=np.uint8), (n, 1))
    if item.binary_bytes == 1:
        return np.full((n, 1), ord('1' if extras.is_pressed else '0'), dtype=np.uint8)
    ticks = np.arange(extras.start_tick, extras.start_tick + n)
    words = {
        records.STYLUS: np.full(n, int(extras.is_pressed)),
        records.FRAME_COUNT: ticks,
        records.TIME_STAMP: np.rint(1000.0 * ticks / extras.rate_hz),
    }[item]
    return words.astype('<u4').reshape(n, 1).view(np.uint8)


class PolhemusSimulator(DeviceSimulator):
    """What the devices have in common; sensors are plugged in on the first stations."""

    def __init__(self, n_sensors: int) -> None:
        super().__init__()
        self.n_sensors = n_sensors
        self.error = NO_ERROR
        self.is_pressed = False
        self.power_up()

    @abstractmethod
    def power_up(self) -> None:
        """Forget all settings."""
        self.is_streaming = self.is_held_off = False
        self.metres_per_unit = METRES_PER_INCH
        self.on_disconnect()

    def set_unit(self, is_metric: bool) -> None:
        """Choose centimetres or inches."""
        self.metres_per_unit = METRES_PER_CENTIMETRE if is_metric else METRES_PER_INCH

    def line_length(self, pending: bytes) -> int:
        """Return the length up to the first carriage return, 0 if there is none yet."""
        # too long for a command: noise
        self._pending = (
            pending if records.CARRIAGE_RETURN in pending else pending[:MAX_COMMAND_BYTES]
        )
        return pending.find(records.CARRIAGE_RETURN) + 1


class FastrakSimulator(PolhemusSimulator):
    """One FASTRAK."""

    def power_up(self) -> None:
        """Forget all settings."""
        super().power_up()
        self.is_ascii = True
        stations = range(1, fastrak.MAX_STATIONS + 1)
        self.items: dict[int, tuple[int, ...]] = dict.fromkeys(stations, POWER_UP_ITEMS)
        self.active = {station: station <= self.n_sensors for station in stations}
        self.hemispheres: dict[int, tuple[int, ...]] = {}

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        """Return the records of poses (n_ticks, sensors, 7) of the active stations."""
        extras = RecordExtras(status=self.error, is_pressed=self.is_pressed)
        encoded = [
            encode_records(
                fastrak_layout(self.n_sensors, self.items[station], self.is_ascii),
                station,
                poses[:, station - 1],
                self.metres_per_unit,
                extras,
            )
            for station in range(1, self.n_sensors + 1)
            if self.active[station]
        ]
        return encoded or [np.zeros((len(poses), 0), dtype=np.uint8)]

    def command_length(self, pending: bytes) -> int:
        """Return the length of the first command; one with data ends with a carriage return."""
        if pending[:1] not in _FASTRAK_WITH_DATA:
            return 1
        return self.line_length(pending)

    def obey(self, command: bytes, now_s: float) -> bytes:
        """Obey one command; return the reply."""
        letter = command[:1]
        if letter in _FASTRAK_WITH_DATA:
            self._set(letter, command[1:-1])
            return b''
        if letter == fastrak.STATUS:
            return self._status()
        if letter == fastrak.POLL:
            self.n_poll_requests += 1
        elif letter in (fastrak.STOP, fastrak.CONTINUOUS):
            self.is_streaming = letter == fastrak.CONTINUOUS
        elif letter in (fastrak.BINARY, fastrak.ASCII):
            self.is_ascii = letter == fastrak.ASCII
        elif letter in (fastrak.CENTIMETRES, fastrak.INCHES):
            self.set_unit(is_metric=letter == fastrak.CENTIMETRES)
        elif letter in (records.XON, records.XOFF):
            self.is_held_off = letter == records.XOFF
        elif letter == fastrak.RESET:
            self.power_up()
            self._deaf_until_s = now_s + RESET_S
        self.version += 1
        return b''

    def _set(self, letter: bytes, text: bytes) -> None:
        try:
            station, *values = (int(word) for word in text.split(b','))
        except ValueError:
            return
        if station not in self.items:
            return
        if letter == fastrak.ITEMS:
            self._choose(station, tuple(values))
        elif letter == fastrak.HEMISPHERE and len(values) == 3:
            self.hemispheres[station] = tuple(values)
        elif letter == fastrak.STATION_STATE and values in ([0], [1]):
            self.active[station] = values == [1] and station <= self.n_sensors
        self.version += 1

    def _choose(self, station: int, numbers: tuple[int, ...]) -> None:
        if any(number not in FASTRAK_ITEMS for number in numbers):
            return
        try:
            fastrak_layout(1, numbers, self.is_ascii)
        except ConfigError:
            return  # the hardware would obey, but nobody could read it
        self.items[station] = numbers

    def _status(self) -> bytes:
        flags = (not self.is_ascii) | (self.metres_per_unit == METRES_PER_CENTIMETRE) << 1
        flags |= self.is_streaming << 3 | ALWAYS_SET
        error = 0 if self.error == NO_ERROR else self.error
        text = b'21S%03X%3d            emulated FASTRAK' % (flags, error)
        return text.ljust(fastrak.STATUS_BYTES - len(LINE_END)) + LINE_END


class LibertySimulator(PolhemusSimulator):
    """One device with sensors on its first stations."""

    def __init__(
        self,
        n_sensors: int,
        rate_hz: float = 120.0,
        model: type[liberty.Liberty] = liberty.Liberty,
    ) -> None:
        super().__init__(n_sensors)
        self._rate_hz, self._model = rate_hz, model

    def power_up(self) -> None:
        """Forget all settings."""
        super().power_up()
        self.is_binary = False
        self.items: tuple[int, ...] = POWER_UP_ITEMS
        self.hemisphere: tuple[int, ...] = (1, 0, 0)

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        """Return the records of poses (n_ticks, sensors, 7), empty before F1."""
        if not self.is_binary:
            return [np.zeros((len(poses), 0), dtype=np.uint8)] * self.n_sensors
        model = self._model
        layout = liberty_layout(self.n_sensors, self.items, model.preamble, model.max_stations)
        command = ord('C') if self.is_streaming else ord('P')
        extras = RecordExtras(command, self.error, self.is_pressed, start_tick, self._rate_hz)
        return [
            encode_records(layout, station, poses[:, station - 1], self.metres_per_unit, extras)
            for station in range(1, self.n_sensors + 1)
        ]

    def command_length(self, pending: bytes) -> int:
        """Return the length of the first command; most end with a carriage return."""
        return 1 if pending[:1] in _LIBERTY_AT_ONCE else self.line_length(pending)

    def obey(self, command: bytes, now_s: float) -> bytes:
        """Obey one command; return the reply."""
        self.version += 1
        if command == liberty.WHO_AM_I:
            return self._who_am_i()
        if command == liberty.POLL:
            self.is_streaming = False
            self.n_poll_requests += 1
        elif command == liberty.RESET:
            self.power_up()
            self._deaf_until_s = now_s + RESET_S
        elif command in (records.XON, records.XOFF):
            self.is_held_off = command == records.XOFF
        elif command in (liberty.BINARY, liberty.ASCII):
            self.is_binary = command == liberty.BINARY
        elif command in (liberty.CENTIMETRES, liberty.INCHES):
            self.set_unit(is_metric=command == liberty.CENTIMETRES)
        elif command == liberty.CONTINUOUS:
            self.is_streaming = True
        elif command[:2] in (liberty.ITEMS + b'*', liberty.HEMISPHERE + b'*'):
            self._set_all(command[:1], command[2:-1])
        return b''

    def _set_all(self, letter: bytes, text: bytes) -> None:
        try:
            values = tuple(int(word) for word in text.split(b',')[1:])
        except ValueError:
            return
        if letter == liberty.HEMISPHERE:
            self.hemisphere = values if len(values) == 3 else self.hemisphere
        elif all(number in LIBERTY_ITEMS for number in values):
            try:
                liberty_layout(1, values)
            except ConfigError:
                return  # the hardware would obey, but nobody could read it
            self.items = values

    def _who_am_i(self) -> bytes:
        text = WHO_AM_I_TEXT % self._model.title.encode()
        if not self.is_binary:
            return b'00v ' + text
        header = self._model.preamble + bytes((0, ord('v'), self.error, 0))
        return header + len(text).to_bytes(2, 'little') + text
