# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ascension Flock of Birds, RS-232: commands and values, the decoder, and one line as a Tracker.

The first byte of a record has bit 7 set (the phasing bit), the others have not; each word is two
bytes of seven bits. A bus that still is as we left it is not configured again, for that takes
longer than all the rest.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
import struct
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
from puppet_driver.devices.decoding import (
    FixedRecordStream,
    LineConfig,
    Quaternion,
    Reach,
    rep103_pose,
    unit_quaternion,
    USUAL,
)
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Exchange, Exchanges, Pose, Tracker
from puppet_driver.transport import check_bandwidth

METRES_PER_INCH = 0.0254
FULL_SCALE = 32768.0  # counts at the end of the range, and of the unit interval
RANGES_IN = (36, 72, 144)  # standard range twice, extended-range transmitter
PHASING_BIT = 0x80  # set in the first byte of a record and in no other
# Ascension X forward, Y right, Z down to REP-103 X forward, Y left, Z up: half a turn about X,
# which negates these components of vectors and of quaternions' vector parts alike.
REP103_SIGNS = (1.0, -1.0, -1.0)

POINT, STREAM, STREAM_STOP, RUN, SLEEP = (b'\x42', b'\x40', b'\x3f', b'\x46', b'\x47')
XON, XOFF = b'\x11', b'\x13'
HEMISPHERE, CHANGE_VALUE, EXAMINE_VALUE = b'\x4c', b'\x50', b'\x4f'

# values that CHANGE sets and EXAMINE asks for
STATUS, POSITION_SCALE, ERROR_CODE, ADDRESSING_MODE = 0, 3, 10, 19
GROUP_MODE, FLOCK_STATUS, AUTO_CONFIGURE = 35, 36, 50
VALUE_BYTES = {
    STATUS: 2,
    POSITION_SCALE: 2,
    ERROR_CODE: 1,
    ADDRESSING_MODE: 1,
    GROUP_MODE: 1,
    AUTO_CONFIGURE: 1,
}
UNITS_OF_ADDRESSING_MODE = {0: 14, 1: 30, 3: 126}
MAX_ADDRESS = 126

HEMISPHERES = {
    'front': b'\x00\x00',
    'aft': b'\x00\x01',
    'upper': b'\x0c\x01',
    'lower': b'\x0c\x00',
    'left': b'\x06\x01',
    'right': b'\x06\x00',
}

STATUS_MASTER, STATUS_INITIALISED, STATUS_ERROR = 1 << 15, 1 << 14, 1 << 13
STATUS_FORMAT_SHIFT, STATUS_FORMAT_MASK = 1, 0xF
STATUS_RUNNING, STATUS_SLEEPING, STATUS_STREAMING = 1 << 12, 1 << 5, 1 << 0
UNIT_ACCESSIBLE, UNIT_RUNNING, UNIT_HAS_SENSOR, UNIT_EXTENDED_RANGE = 0x80, 0x40, 0x20, 0x10

ERROR_NAMES = {
    0: 'no error',
    1: 'memory (RAM)',
    **dict.fromkeys((2, 3, 4, 5), 'memory or configuration'),
    6: 'illegal command',
    7: 'not the master',
    8: 'no units on the bus',
    9: 'unit not initialised',
    **dict.fromkeys((10, 12), 'bus reception'),
    11: 'RS-232 overrun or framing',
    13: 'no reply on the bus',
    14: 'bad host command',
    15: 'run time',
    17: 'slave sends no data',
    18: 'baud rate',
    19: 'slave does not acknowledge',
    28: 'CRT synchronisation',
    29: 'transmitter off',
    30: 'extended-range transmitter absent',
    32: 'sensor saturated',
    33: 'slave configuration',
    34: 'watchdog',
    35: 'over-temperature',
}

STRAY_BYTES = 7
# 14-bit components put the length off by 1.3e-4 at most; the rest is the device's own.
NORM_TOLERANCE = 0.004
PITCH_LIMIT = 0.5 + 4.0 / FULL_SCALE  # of half a turn

START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
SETTLE_PAUSE_S = 0.05  # between commands that the device works on
MASTER_PAUSE_S = 0.1  # between polls whether the bus has been configured
MASTER_WAIT_S = 2.0  # beyond the time that it takes

NO_SENSOR = 'a unit without a sensor'

Steps = Generator[Exchange, bytes, None]


class RecordFormat(NamedTuple):
    name: str  # As the manual calls it
    code: int  # Bits 4 to 1 of the status word
    n_words: int  # Two bytes each


RECORD_FORMATS = {
    b'\x56': RecordFormat('POSITION', 1, 3),
    b'\x57': RecordFormat('ANGLES', 2, 3),
    b'\x58': RecordFormat('MATRIX', 3, 9),
    b'\x59': RecordFormat('POSITION/ANGLES', 4, 6),
    b'\x5a': RecordFormat('POSITION/MATRIX', 5, 12),
    b'\x5c': RecordFormat('QUATERNION', 7, 4),
    b'\x5d': RecordFormat('POSITION/QUATERNION', 8, 7),
}
FORMAT_COMMANDS = {f.name.lower().replace('/', '_'): c for c, f in RECORD_FORMATS.items()}
POSE_FORMATS = ('position_quaternion', 'position_angles', 'position_matrix')
POSITION_ANGLES, POSITION_MATRIX, POSITION_QUATERNION = 4, 5, 8  # their codes


def error_text(code: int) -> str:
    """Return `error 29 (transmitter off)` for a code of EXAMINE 10."""
    return f'error {code} ({ERROR_NAMES.get(code, "not described in the manuals")})'


def address_prefix(address: int) -> bytes:
    """Return the bytes that direct the next command to the unit at a bus address."""
    if address < 16:
        return bytes((0xF0 + address,))
    return bytes((0xE0 + address - 16,) if address < 31 else (0xA0, address))


def examine(number: int) -> bytes:
    return EXAMINE_VALUE + bytes((number,))


def change(number: int, data: Sequence[int]) -> bytes:
    return CHANGE_VALUE + bytes((number, *data))


def full_scale_m(range_in: int) -> float:
    """Return the distance that FULL_SCALE counts stand for [m]."""
    return range_in * METRES_PER_INCH


def orientation_of(code: int, turned: Sequence[float]) -> Quaternion | None:
    """Return what the words after the position, as fractions of full scale, stand for, if so."""
    if code == POSITION_QUATERNION:
        return unit_quaternion(turned, NORM_TOLERANCE)
    if code == POSITION_MATRIX:
        m = np.reshape(turned, (3, 3)).T  # column by column
        # squares of lengths are off by twice as much as lengths
        error = np.abs(m @ m.T - np.eye(3)).max()
        if error > 2.0 * NORM_TOLERANCE or np.linalg.det(m) <= 0.0:
            return None
        found = quaternions.from_matrix(m)
    elif code == POSITION_ANGLES and abs(turned[1]) <= PITCH_LIMIT:
        found = quaternions.from_rpy(np.pi * np.array(turned[::-1]))
    else:
        return None
    w, x, y, z = found.tolist()
    return w, x, y, z


class FlockStream(FixedRecordStream):
    """
    Decoder of one run of a line.

    `addresses` are those of the line's sensors on the bus, in the order of their ordinals; empty
    for a line with one sensor and no address bytes. `record_format` is one of POSE_FORMATS.
    """

    def __init__(
        self,
        addresses: Sequence[int],
        range_in: int,
        inverted: bool = False,
        record_format: str = POSE_FORMATS[0],
        reach: Reach = USUAL,
    ) -> None:
        _, self._code, n_words = RECORD_FORMATS[FORMAT_COMMANDS[record_format]]
        self._ordinal_of = {address: i for i, address in enumerate(addresses)}
        n_bytes = 2 * n_words + bool(addresses)
        first, others = bytes(range(PHASING_BIT, 2 * PHASING_BIT)), bytes(range(PHASING_BIT))
        allowed = [first, *[others] * (n_bytes - 1)]
        super().__init__(allowed, max(len(addresses), 1), reach, stray_bytes=STRAY_BYTES)
        self._unpack = struct.Struct(f'<{n_words}H').unpack_from
        self._scale_m, self._inverted = full_scale_m(range_in) / FULL_SCALE, inverted

    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        # two times seven bits, low ones first, are the upper ones of a signed 16-bit word
        words = [
            (((pair & 0x7F) << 2 | (pair & 0x7F00) << 1) ^ 0x8000) - 0x8000
            for pair in self._unpack(record)
        ]
        q = orientation_of(self._code, [word / FULL_SCALE for word in words[3:]])
        if q is None:
            return None
        ordinal = self._ordinal_of.get(record[-1], -1) if self._ordinal_of else 0
        return ordinal, rep103_pose(words[:3], self._scale_m, q, self._inverted)


@dataclass(frozen=True, slots=True)
class FlockConfig(LineConfig):
    # Bus address of the first sensor; lower ones are transmitter controllers without a sensor
    first_address: int = 2
    range_in: int = 144  # Full scale of positions [inch]
    # Whether records carry their unit's address; without it a line has one sensor
    group_mode: bool = True
    n_all_sensors: int = 0  # Sensors of all lines
    record_format: str = POSE_FORMATS[0]  # What records hold
    point_mode: bool = False  # Whether each measurement is asked for; else the device streams
    baud_rate_bps: int = 115200
    # Rest after the bus has been configured; sources state 0.3 to 10 s
    auto_configure_pause_s: float = 0.6


class FlockOfBirds(Tracker):
    Config = FlockConfig
    title = 'Flock of Birds'

    def __init__(self, config: FlockConfig) -> None:
        super().__init__(config)
        self._addresses = range(config.first_address, config.first_address + len(config.sensors))
        self.poll_command = POINT if config.point_mode else b''
        self.poll_period_s = 1.0 / config.rate_hz

    @property
    def record_bytes(self) -> int:
        command = FORMAT_COMMANDS[self._config.record_format]
        return 2 * RECORD_FORMATS[command].n_words + int(self._config.group_mode)

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        config = self._config
        if config.range_in not in RANGES_IN:
            raise ConfigError(f'range_in: expected one of 36, 72, 144, got {config.range_in}')
        if not config.group_mode and self.n_sensors > 1:
            raise ConfigError(
                f'group_mode: expected true for {sum(sensors_per_line)} sensors on '
                f'{len(ports)} port(s), got false, which needs a port for each'
            )
        last = self._addresses[-1]
        if last > MAX_ADDRESS:
            raise ConfigError(f'first_address: expected addresses up to {MAX_ADDRESS}, got {last}')
        check_bandwidth(sensors_per_line, config.baud_rate_bps, self.record_bytes, config.rate_hz)

    def stop_command(self) -> bytes:
        return STREAM_STOP

    def open_stream(self) -> FlockStream:
        config = self._config
        addresses = tuple(self._addresses) if config.group_mode else ()
        inverted, name = config.inverted_quaternion, config.record_format
        return FlockStream(addresses, config.range_in, inverted, name, config.reach)

    def start_exchanges(self) -> Exchanges:
        config = self._config
        word = yield from self._find_device()
        if config.group_mode and not (yield from self._is_configured()):
            yield self._auto_configure(self._addresses[-1])
            yield Exchange(change(GROUP_MODE, [1]), pause_s=SETTLE_PAUSE_S)
        # without group mode: units on the bus, the transmitter's too, of which one is here
        n_units = config.first_address - 1 + config.n_all_sensors
        if not config.group_mode and n_units > 1:
            yield from self._join_bus(word, n_units)
        for address in self._addresses:
            yield Exchange(self._unit_commands(address))
        yield Exchange(pause_s=SETTLE_PAUSE_S)
        if config.group_mode:
            yield from self._check_units()
        yield from self._check_error()
        if not config.point_mode:
            yield Exchange(STREAM)

    def _auto_configure(self, n_units: int) -> Exchange:
        pause_s = self._config.auto_configure_pause_s
        return Exchange(change(AUTO_CONFIGURE, [n_units]), pause_s=pause_s)

    def _join_bus(self, word: int, n_units: int) -> Steps:
        """Configure the bus if the unit here is its master, else wait until that is done."""
        config = self._config
        if word & STATUS_MASTER:
            units = yield from self._unit_flags()
            if not _all_run(units[:n_units]):
                yield self._auto_configure(n_units)
            return
        wait_s = MASTER_WAIT_S + config.auto_configure_pause_s
        for _ in range(round(wait_s / MASTER_PAUSE_S)):
            status = yield self._examine(STATUS)
            if len(status) == 2 and int.from_bytes(status, 'little') & STATUS_RUNNING:
                return
            yield Exchange(pause_s=MASTER_PAUSE_S)
        raise ProtocolError(
            f'expected a unit that runs, got none ({config.sensors[0]}); the unit at address 1 '
            'configures the bus: check that its port is one of ports, and the bus cable, or set '
            'group_mode'
        )

    def _find_device(self) -> Generator[Exchange, bytes, int]:
        config = self._config
        for _ in range(START_ATTEMPTS):
            # noise on the line may have been an XOFF, which would silence answers too
            yield Exchange(XON + STREAM_STOP, pause_s=STOP_PAUSE_S)
            status = yield self._examine(STATUS)
            if len(status) == VALUE_BYTES[STATUS] and _is_status(status):
                break
        else:
            got = f'{len(status)} byte(s) of a status' if status else 'nothing'
            raise LinkTimeout(
                f'expected a {self.title} to answer at {config.baud_rate_bps} bps, got {got}; '
                'check its power, the cable, the FLY switch and the baud rate switches'
            )
        word = int.from_bytes(status, 'little')
        if word & STATUS_SLEEPING:
            yield Exchange(RUN, pause_s=SETTLE_PAUSE_S)
        if word & STATUS_ERROR:
            # reading the code clears it: it is older than this start and no obstacle
            code = yield self._examine(ERROR_CODE)
            if code:
                text = error_text(code[0])
                yield Exchange(note=f'before this start the device had {text}')
        return word

    def _is_configured(self) -> Generator[Exchange, bytes, bool]:
        mode = yield self._examine(GROUP_MODE)
        if mode != b'\x01':
            return False
        units = yield from self._unit_flags()
        return _all_run(bytes(units[a - 1] if a <= len(units) else 0 for a in self._addresses))

    def _unit_commands(self, address: int) -> bytes:
        config = self._config
        prefix = address_prefix(address) if config.group_mode else b''
        record_format = FORMAT_COMMANDS[config.record_format]
        commands = [record_format, HEMISPHERE + HEMISPHERES[config.hemisphere]]
        if config.range_in != RANGES_IN[-1]:
            scale = RANGES_IN.index(config.range_in)
            commands.append(change(POSITION_SCALE, [scale, 0]))
        return b''.join(prefix + command for command in commands)

    def _unit_flags(self) -> Generator[Exchange, bytes, bytes]:
        """Return the status byte of each possible unit, from address 1 on."""
        mode = yield self._examine(ADDRESSING_MODE)
        # firmware too old to know the question has the normal addresses
        n_units = UNITS_OF_ADDRESSING_MODE.get(mode[0] if mode else 0, 14)
        units = yield Exchange(examine(FLOCK_STATUS), n_units, self._config.reply_timeout_s)
        if len(units) != n_units:
            raise ProtocolError(f'expected the status of {n_units} units, got {len(units)} bytes')
        return units

    def _check_units(self) -> Steps:
        units = yield from self._unit_flags()
        texts = []
        for address, sensor in zip(self._addresses, self._config.sensors):
            problem = _unit_problem(units[address - 1] if address <= len(units) else 0)
            text = (
                f'unit {address} ({sensor}): expected a running sensor, got {problem}; '
                'check its cables, its address switches and first_address'
            )
            if problem == NO_SENSOR:
                texts.append(text)
            elif problem:
                code = yield self._examine(ERROR_CODE)
                says = f'; the device says {error_text(code[0])}' if code else ''
                raise ProtocolError(text + says)
        if len(texts) == self.n_sensors:
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)

    def _check_error(self) -> Steps:
        status = yield self._examine(STATUS)
        if len(status) != VALUE_BYTES[STATUS]:
            raise ProtocolError(f'expected a status of 2 bytes, got {len(status)}')
        if int.from_bytes(status, 'little') & STATUS_ERROR:
            code = yield self._examine(ERROR_CODE)
            text = error_text(code[0]) if code else 'an error it does not name'
            raise ProtocolError(f'expected the device to be ready, got {text}')

    def _examine(self, number: int) -> Exchange:
        return Exchange(examine(number), VALUE_BYTES[number], self._config.reply_timeout_s)


def _all_run(units: bytes) -> bool:
    ready = UNIT_ACCESSIBLE | UNIT_RUNNING
    return all(flags & ready == ready for flags in units)


def _unit_problem(flags: int) -> str:
    if not flags & UNIT_ACCESSIBLE:
        return 'no such unit'
    if not flags & UNIT_RUNNING:
        return 'a unit that does not run'
    return '' if flags & UNIT_HAS_SENSOR else NO_SENSOR


def _is_status(reply: bytes) -> bool:
    """Return whether two bytes can be a status word, and not what a wrong speed makes of one."""
    code = int.from_bytes(reply, 'little') >> STATUS_FORMAT_SHIFT & STATUS_FORMAT_MASK
    return any(code == known.code for known in RECORD_FORMATS.values())
