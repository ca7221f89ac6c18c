# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated Flock of Birds: commands in, replies and records out, in every format."""

from dataclasses import dataclass

import numpy as np
from puppet_core.math import Floats, Ints
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator.simulator import DeviceSimulator, record_words

POWER_UP_FORMAT = b'\x59'

AUTO_CONFIGURE_S = 0.25  # the bus is busy for so long
ILLEGAL_COMMAND, NOT_MASTER, NO_REPLY_ON_BUS = 6, 7, 13
MASTER_ADDRESS = 1
# commands with data, and how much of it
_DATA_BYTES = {0x4F: 1, 0x50: 1, 0x4C: 2, 0x4D: 1, 0x4A: 12, 0x71: 6, 0x48: 12, 0x72: 6, 0x30: 1}
_LONG_PREFIX = 0xA0
_ADDRESSES = {flock.address_prefix(a): a for a in range(1, flock.MAX_ADDRESS + 1)}


def encode_words(words: Ints) -> np.ndarray:
    """Encode signed 16-bit words (..., k), less their lowest two bits, as phased bytes."""
    fourteen_bits = (words >> 2) & 0x3FFF
    data = np.empty((*words.shape[:-1], 2 * words.shape[-1]), dtype=np.uint8)
    data[..., 0::2] = fourteen_bits & 0x7F
    data[..., 1::2] = fourteen_bits >> 7
    data[..., 0] |= flock.PHASING_BIT
    return data


def encode_records(
    command: bytes, poses: Floats, range_in: int, address: int | None
) -> np.ndarray:
    """Return the bytes of one unit's records, shape (n, record size), uint8."""
    words = record_words(flock.RECORD_FORMATS[command].name, poses, range_in, flock.FULL_SCALE, 4)
    data = encode_words(words)
    if address is None:
        return data
    addresses = np.full((*data.shape[:-1], 1), address, dtype=np.uint8)
    return np.concatenate((data, addresses), axis=-1)


@dataclass(slots=True)
class Unit:
    address: int
    has_sensor: bool
    command: bytes = POWER_UP_FORMAT
    hemisphere: bytes = flock.HEMISPHERES['front']
    scale_code: int = 0

    def power_cycle(self) -> None:
        self.command, self.hemisphere = POWER_UP_FORMAT, flock.HEMISPHERES['front']
        self.scale_code = 0


@dataclass(slots=True)
class Bus:
    """What connects the units, and that it has been configured since they have power."""

    units: dict[int, Unit]
    is_configured: bool = False


class FlockSimulator(DeviceSimulator):
    """One line: a bus through its master, or with a shared `bus` its unit `first_address`."""

    def __init__(
        self, n_sensors: int, first_address: int = 2, range_in: int = 144, bus: Bus | None = None
    ) -> None:
        super().__init__()
        addresses = range(1, first_address + n_sensors)
        self.bus = bus or Bus({a: Unit(a, a >= first_address) for a in addresses})
        self._units = self.bus.units
        self._is_alone = bus is not None
        self._first_address = first_address
        # the unit that the host is connected to; commands without a prefix are its own
        self._host_address = first_address if self._is_alone else MASTER_ADDRESS
        self._range_in = range_in
        self._n_addresses = 14 if len(self._units) <= 14 else 126
        self._is_sleeping = False
        self.has_group_mode = False
        self.error_code = 0

    @property
    def sensor_units(self) -> list[Unit]:
        """Units that report on this line, in the order of their addresses."""
        units = [self._units[self._host_address]] if self._is_alone else self._units.values()
        return [unit for unit in units if unit.has_sensor]

    @property
    def range_in(self) -> int:
        """Full scale of positions at present [inch]."""
        if self._range_in == flock.RANGES_IN[-1]:
            return self._range_in
        return flock.RANGES_IN[self.sensor_units[0].scale_code]

    @property
    def is_sending(self) -> bool:
        return self.is_streaming and not self.is_held_off and self._runs

    @property
    def _runs(self) -> bool:
        is_master = self._host_address == MASTER_ADDRESS
        return not self._is_sleeping and (is_master or self.bus.is_configured)

    def power_cycle(self) -> None:
        self.bus.is_configured = False
        for unit in self._units.values():
            unit.power_cycle()
        self.on_disconnect()
        self._is_sleeping = self.is_streaming = self.is_held_off = self.has_group_mode = False
        self.error_code = 0
        self.version += 1

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        units = self.sensor_units if self.has_group_mode else self.sensor_units[:1]
        return [
            encode_records(
                unit.command,
                poses[:, unit.address - self._first_address],
                self.range_in,
                unit.address if self.has_group_mode else None,
            )
            for unit in units
        ]

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Obey what is complete; return the replies, none while XOFF holds them."""
        reply = super().receive(data, now_s)
        return b'' if self.is_held_off else reply

    @staticmethod
    def _prefix_length(message: bytes) -> int:
        if message[0] >= 0xE0:
            return 1
        return 2 if message[0] == _LONG_PREFIX else 0

    def command_length(self, message: bytes) -> int:
        start = self._prefix_length(message)
        if len(message) <= start:
            return 0
        length = start + 1 + _DATA_BYTES.get(message[start], 0)
        if message[start:][:1] == flock.CHANGE_VALUE:
            if len(message) < start + 2:
                return 0
            length += flock.VALUE_BYTES.get(message[start + 1], 0)
        return length if len(message) >= length else 0

    def obey(self, message: bytes, now_s: float) -> bytes:
        start = self._prefix_length(message)
        address = _ADDRESSES.get(message[:start], 0) if start else self._host_address
        unit = self._units.get(address)
        if unit is None:
            self.error_code = NO_REPLY_ON_BUS
            return b''
        command, data = message[start:][:1], message[start + 1 :]
        if command == flock.EXAMINE_VALUE:
            return self._examine(data[0], unit)
        self.version += 1
        if command == flock.CHANGE_VALUE:
            self._change(data[0], data[1:], unit, now_s)
        elif command in flock.RECORD_FORMATS:
            unit.command = command
        elif command == flock.HEMISPHERE:
            unit.hemisphere = data
        else:
            self._switch(command)
        return b''

    def _switch(self, command: bytes) -> None:
        if command == flock.STREAM:
            self.is_streaming = True
        elif command == flock.STREAM_STOP:
            self.is_streaming = False
        elif command == flock.POINT:
            self.is_streaming = False
            self.n_poll_requests += 1
        elif command in (flock.RUN, flock.SLEEP):
            self._is_sleeping = command == flock.SLEEP
        elif command in (flock.XON, flock.XOFF):
            self.is_held_off = command == flock.XOFF
        elif command[0] not in _DATA_BYTES:
            self.error_code = ILLEGAL_COMMAND

    def _change(self, number: int, data: bytes, unit: Unit, now_s: float) -> None:
        if number == flock.AUTO_CONFIGURE and self._host_address != MASTER_ADDRESS:
            self.error_code = NOT_MASTER
        elif number == flock.AUTO_CONFIGURE:
            self.bus.is_configured = data[0] >= max(self._units)
            self._deaf_until_s = now_s + AUTO_CONFIGURE_S
        elif number == flock.GROUP_MODE:
            self.has_group_mode = data[0] == 1
        elif number == flock.POSITION_SCALE:
            unit.scale_code = min(data[0], 1)
        else:
            self.error_code = ILLEGAL_COMMAND

    def _examine(self, number: int, unit: Unit) -> bytes:
        if number == flock.FLOCK_STATUS:
            return self._flock_status()
        if number == flock.ERROR_CODE:
            code, self.error_code = self.error_code, 0
            return bytes((code,))
        words = {
            flock.STATUS: self._status_word(unit),
            flock.POSITION_SCALE: unit.scale_code,
            flock.ADDRESSING_MODE: 0 if self._n_addresses == 14 else 3,
            flock.GROUP_MODE: int(self.has_group_mode),
        }
        if number not in words:
            self.error_code = ILLEGAL_COMMAND
            return b''
        return words[number].to_bytes(flock.VALUE_BYTES.get(number, 2), 'little')

    def _status_word(self, unit: Unit) -> int:
        word = flock.RECORD_FORMATS[unit.command].code << 1
        word |= flock.STATUS_MASTER if unit.address == MASTER_ADDRESS else 0
        word |= flock.STATUS_INITIALISED if self.bus.is_configured else 0
        word |= flock.STATUS_ERROR if self.error_code else 0
        word |= flock.STATUS_SLEEPING if self._is_sleeping else 0
        word |= flock.STATUS_RUNNING if self._runs else 0
        return word | (flock.STATUS_STREAMING if self.is_streaming else 0)

    def _flock_status(self) -> bytes:
        flags = bytearray(self._n_addresses)
        running = flock.UNIT_RUNNING if self.bus.is_configured and not self._is_sleeping else 0
        for address, unit in self._units.items():
            kind = flock.UNIT_HAS_SENSOR if unit.has_sensor else flock.UNIT_EXTENDED_RANGE | 0x01
            flags[address - 1] = flock.UNIT_ACCESSIBLE | running | kind
        return bytes(flags)
