# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated MotionStar: Bird Net packets in, answers, state and data packets out."""

from collections.abc import Sequence

import numpy as np
from puppet_core.math import Floats
from puppet_driver.devices import birdnet
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.birdnet import (
    BAD_SAMPLE,
    BUTTON_BYTES,
    BUTTONS_FLAG,
    decode_header,
    encode_packet,
    Header,
    HEADER_BYTES,
    LAYOUT,
    Message,
    NO_DATA,
    UnitStatus,
)
from puppet_driver.emulator.simulator import DeviceSimulator, record_words
from puppet_driver.errors import ProtocolError

UNEXPECTED, BAD_PACKET, ILLEGAL_STATUS, ILLEGAL_SETUP, NOT_READY = 5, 6, 7, 8, 9
CONTROLLER_MODEL, BIRD_MODEL = 2, 6
SOFTWARE_REVISION = bytes((3, 7))
FILTERS = birdnet.SETUP_AC_NARROW | birdnet.SETUP_DC


def encode_records(unit: UnitStatus, poses: Floats, range_in: int) -> np.ndarray:
    """Return a unit's records (n, record size) of poses (n, 7), with no button pressed."""
    code, n_words = LAYOUT[unit.format_byte]
    has_buttons = bool(unit.setup & birdnet.SETUP_APPEND_BUTTONS)
    head = unit.address | (BUTTONS_FLAG if has_buttons else 0), code << 4 | n_words
    name = birdnet.FORMATS[code].name
    words = record_words(name, poses, range_in, birdnet.FULL_SCALE).astype('>i2')
    rows = len(poses)
    return np.concatenate(
        (
            np.broadcast_to(np.array(head, dtype=np.uint8), (rows, 2)),
            np.frombuffer(words.tobytes(), dtype=np.uint8).reshape(rows, 2 * n_words),
            np.zeros((rows, BUTTON_BYTES * has_buttons), dtype=np.uint8),
        ),
        axis=1,
    )


class MotionStarSimulator(DeviceSimulator):
    """A chassis of units, those below `first_address` being controllers without a sensor."""

    def __init__(
        self, n_sensors: int, first_address: int = 2, range_in: int = 144, rate_hz: float = 120.0
    ) -> None:
        super().__init__()
        self.range_in = range_in
        self._first_address = first_address
        self.rate_hz = rate_hz
        self.units = {
            address: _unit(address, address >= first_address, range_in)
            for address in range(1, first_address + n_sensors)
        }
        self.is_awake = False
        self.data_error = 0  # Error byte of data packets
        self._sequence = 0

    @property
    def sensor_units(self) -> list[UnitStatus]:
        """Units that report, in the order of their addresses."""
        return [unit for unit in self.units.values() if _has_sensor(unit)]

    @property
    def reporting_units(self) -> list[UnitStatus]:
        """Units with a sensor that have not been configured to send nothing."""
        return [unit for unit in self.sensor_units if LAYOUT[unit.format_byte][0] != NO_DATA]

    @property
    def is_sending(self) -> bool:
        return self.is_awake and self.is_streaming

    def on_disconnect(self) -> None:
        super().on_disconnect()
        self.is_streaming = False

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        return [
            encode_records(unit, poses[:, unit.address - self._first_address], self.range_in)
            for unit in self.reporting_units
        ]

    def next_header(self, message: Message, now_s: float, unit: int = 0, error: int = 0) -> Header:
        self._sequence = (self._sequence + 1) & 0xFFFF
        seconds, fraction = divmod(now_s, 1.0)
        return Header(message, unit, self._sequence, int(seconds), int(1000.0 * fraction), error)

    def packet(self, tick: int, records: Sequence[bytes], is_lost: Sequence[bool]) -> bytes:
        """Return the data packet of a tick; a lost record is sent as a bad sample."""
        body = b''
        for unit, record, lost in zip(self.reporting_units, records, is_lost):
            if tick % unit.report_rate == 0:
                head = bytes((record[0], record[1] | BAD_SAMPLE << 4 if lost else record[1]))
                body += head + record[2:]
        header = self.next_header(Message.DATA, tick / self.rate_hz, error=self.data_error)
        return encode_packet(header, body)

    def command_length(self, pending: bytes) -> int:
        """Return the length of the first packet, of all bytes if it is none."""
        if len(pending) < HEADER_BYTES:
            return 0
        header = decode_header(pending)
        if header is None:
            # without its length there is no telling where the next one begins
            return len(pending)
        end = HEADER_BYTES + header.body_bytes
        return end if end <= len(pending) else 0

    def _answer(
        self, message: Message, now_s: float, unit: int = 0, error: int = 0, body: bytes = b''
    ) -> bytes:
        return encode_packet(self.next_header(message, now_s, unit, error), body)

    def obey(self, command: bytes, now_s: float) -> bytes:
        header, body = decode_header(command), command[HEADER_BYTES:]
        if header is None:
            return self._answer(Message.UNKNOWN, now_s, error=BAD_PACKET)
        message, unit = header.message, header.unit
        if message not in birdnet.ANSWERS:
            return self._answer(Message.UNKNOWN, now_s, unit, UNEXPECTED)
        if not self.is_awake and message is not Message.WAKE_UP:
            return self._answer(Message.ILLEGAL, now_s, unit, NOT_READY)
        reply, error = b'', 0
        if message is Message.WAKE_UP:
            self.is_awake = True
        elif message is Message.STOP_DATA:
            self.is_streaming = False
        elif self.is_streaming:
            return self._answer(Message.ILLEGAL, now_s, unit, UNEXPECTED)
        elif message is Message.RUN_CONTINUOUS:
            self.is_streaming = True
        elif message is Message.GET_STATUS:
            reply = self._status(unit)
            error = 0 if reply else ILLEGAL_STATUS
        elif message is Message.SEND_SETUP:
            error = 0 if self._set_up(unit, body) else ILLEGAL_SETUP
        return self._answer(birdnet.ANSWERS[message], now_s, unit, error, reply)

    def _status(self, address: int) -> bytes:
        if address == 0:
            return self._system().encode()
        return self.units[address].encode() if address in self.units else b''

    def _system(self) -> birdnet.SystemStatus:
        ready = flock.UNIT_ACCESSIBLE | flock.UNIT_RUNNING
        controller = flock.UNIT_EXTENDED_RANGE | 0x01
        n = len(self.units)
        return birdnet.SystemStatus(
            flags=birdnet.SYSTEM_RUNNING | birdnet.SYSTEM_MASTER,
            error=0,
            n_units=n,
            n_servers=1,
            transmitter=1,
            rate_mhz=round(1000.0 * self.rate_hz),
            chassis=1,
            chassis_units=n,
            first_address=1,
            revision=SOFTWARE_REVISION,
            units=bytes(
                ready | (flock.UNIT_HAS_SENSOR if _has_sensor(unit) else controller)
                for unit in self.units.values()
            ),
        )

    def _set_up(self, address: int, body: bytes) -> bool:
        try:
            if address == 0:
                rate_hz = birdnet.decode_system(body).rate_mhz / 1000.0
                return birdnet.RATE_RANGE_HZ[0] <= rate_hz <= birdnet.RATE_RANGE_HZ[1]
            setup = birdnet.decode_unit(body)
        except ProtocolError:
            return False
        if address not in self.units:
            return False
        unit = self.units[address]
        self.units[address] = setup._replace(
            flags=unit.flags,
            model=unit.model,
            revision=unit.revision,
            error=unit.error,
            scaling=unit.scaling,
        )
        self.version += 1
        return True


def _has_sensor(unit: UnitStatus) -> bool:
    return bool(unit.flags & birdnet.UNIT_HAS_SENSOR)


def _unit(address: int, has_sensor: bool, range_in: int) -> UnitStatus:
    return UnitStatus(
        flags=birdnet.UNIT_RUNNING | (birdnet.UNIT_HAS_SENSOR if has_sensor else 0),
        model=BIRD_MODEL if has_sensor else CONTROLLER_MODEL,
        revision=0x0343,
        error=0,
        setup=FILTERS,
        format_byte=birdnet.setup_byte(flock.POSITION_ANGLES),
        report_rate=1,
        scaling=range_in,
        hemisphere=birdnet.HEMISPHERES['front'],
        address=address,
    )
