# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ascension Flock of Birds, RS-232: commands and values, the decoder, and one line as a Tracker.

The first byte of a record has bit 7 set (the phasing bit), the others have not; each word is two
bytes of seven bits.

Starting follows the device's manual: stop, see that something answers, configure the bus,
put the address byte on each record, choose format and hemisphere of every unit, check the
units' status, stream. A bus that still is as we left it is not configured again, for that
takes longer than all the rest. If each unit has a line of its own, the master's configures the
bus, without which no other unit runs, and the others wait for it. A unit that lost its sensor is
only noted, the others stream.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
import math
import struct
from typing import NamedTuple

from puppet_core.body import FASTEST_M_S
from puppet_core.io import ConfigError
from puppet_driver.devices.decoding import (
    FixedRecordStream,
    quaternion_of_angles,
    quaternion_of_matrix,
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

POINT = b'\x42'
STREAM = b'\x40'
STREAM_STOP = b'\x3f'
RUN = b'\x46'
SLEEP = b'\x47'
FBB_RESET = b'\x2f'
XON = b'\x11'
XOFF = b'\x13'
HEMISPHERE = b'\x4c'
CHANGE_VALUE = b'\x50'
EXAMINE_VALUE = b'\x4f'
REPORT_RATES = {b'\x51': 1, b'\x52': 2, b'\x53': 8, b'\x54': 32}

STATUS, SOFTWARE_REVISION, CRYSTAL, POSITION_SCALE = 0, 1, 2, 3
FILTER_SWITCHES, ALPHA_MIN, RATE_COUNT, MEASUREMENT_RATE = 4, 5, 6, 7
DATA_READY, ERROR_CODE, VM_TABLE, ALPHA_MAX, MODEL = 8, 10, 12, 13, 15
EXPANDED_ERROR, ADDRESSING_MODE, ADDRESS, HEMISPHERE_VALUE = 16, 19, 21, 22
GROUP_MODE, FLOCK_STATUS, AUTO_CONFIGURE = 35, 36, 50
VALUE_BYTES = {
    STATUS: 2,
    SOFTWARE_REVISION: 2,
    CRYSTAL: 2,
    POSITION_SCALE: 2,
    FILTER_SWITCHES: 2,
    ALPHA_MIN: 14,
    RATE_COUNT: 2,
    MEASUREMENT_RATE: 2,
    DATA_READY: 1,
    ERROR_CODE: 1,
    VM_TABLE: 14,
    ALPHA_MAX: 14,
    MODEL: 10,
    EXPANDED_ERROR: 2,
    ADDRESSING_MODE: 1,
    ADDRESS: 1,
    HEMISPHERE_VALUE: 2,
    GROUP_MODE: 1,
    AUTO_CONFIGURE: 1,
}
UNITS_OF_ADDRESSING_MODE = {0: 14, 1: 30, 3: 126}
MAX_ADDRESS = 126

POSITION_QUATERNION = b'\x5d'

POSE_FORMATS = ('position_quaternion', 'position_angles', 'position_matrix')

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
    2: 'memory or configuration',
    3: 'memory or configuration',
    4: 'memory or configuration',
    5: 'memory or configuration',
    6: 'illegal command',
    7: 'not the master',
    8: 'no units on the bus',
    9: 'unit not initialised',
    10: 'bus reception',
    11: 'RS-232 overrun or framing',
    12: 'bus reception',
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


POSITION_QUATERNION_CODE, POSITION_MATRIX_CODE = 8, 5
STRAY_BYTES = 7
# 14-bit components put the length off by 1.3e-4 at most; the rest is the device's own.
NORM_TOLERANCE = 0.004
PITCH_LIMIT = 0.5 * math.pi + 4.0 * math.pi / FULL_SCALE

START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
SETTLE_PAUSE_S = 0.05  # between commands that the device works on
MASTER_PAUSE_S = 0.1  # between polls whether the bus has been configured
MASTER_WAIT_S = 2.0  # beyond the time that it takes

NO_SENSOR = 'a unit without a sensor'

Steps = Generator[Exchange, bytes, None]


class RecordFormat(NamedTuple):
    """One of the device's record layouts."""

    name: str  # As the manual calls it
    status_code: int  # Bits 4 to 1 of the status word
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
POSITION_QUATERNION_BYTES = 2 * RECORD_FORMATS[POSITION_QUATERNION].n_words


def error_text(code: int) -> str:
    """Return `error 29 (transmitter off)` for a code of EXAMINE 10."""
    return f'error {code} ({ERROR_NAMES.get(code, "not described in the manuals")})'


def address_prefix(address: int) -> bytes:
    """Return the bytes that direct the next command to the unit at a bus address."""
    if not 1 <= address <= MAX_ADDRESS:
        raise ValueError(f'address: expected 1 to {MAX_ADDRESS}, got {address}')
    if address < 16:
        return bytes((0xF0 + address,))
    if address < 31:
        return bytes((0xE0 + address - 16,))
    return bytes((0xA0, address))


def examine(number: int) -> bytes:
    """Return the command that asks for a value."""
    return EXAMINE_VALUE + bytes((number,))


def change(number: int, data: Sequence[int]) -> bytes:
    """Return the command that sets a value."""
    return CHANGE_VALUE + bytes((number, *data))


def set_hemisphere(name: str) -> bytes:
    """Return the command that chooses the side of the transmitter, a key of HEMISPHERES."""
    return HEMISPHERE + HEMISPHERES[name]


def little_endian(reply: bytes) -> int:
    """Return the number in a reply, least significant byte first."""
    return int.from_bytes(reply, 'little')


def format_problem(name: str) -> str:
    """Return why a format, a key of FORMAT_COMMANDS, does not make poses; '' if it does."""
    if name in POSE_FORMATS:
        return ''
    return 'which has no orientation' if name == 'position' else 'which has no position'


def full_scale_m(range_in: int) -> float:
    """Return the distance that FULL_SCALE counts stand for [m]."""
    return range_in * METRES_PER_INCH


def decode_words(record: bytes, n_words: int) -> list[int]:
    """Return the signed 16-bit words of a record of phased byte pairs, in counts."""
    pairs = struct.unpack_from(f'<{n_words}H', record)
    words = [(pair & 0x7F) << 2 | (pair & 0x7F00) << 1 for pair in pairs]
    return [word - 65536 if word >= 32768 else word for word in words]


class FlockStream(FixedRecordStream):
    """
    Decoder of one run of a line.

    Parameters
    ----------
    addresses : sequence of int
        Bus addresses of the line's sensors in the order of their ordinals; empty for a line
        with one sensor and no address bytes.
    range_in : int
        Full scale of positions [inch].
    inverted : bool
        Whether the device reports the inverse rotation.
    command : bytes
        The records' format, a key of RECORD_FORMATS with position and orientation.
    reach : Reach
        How far a sensor can move between two of its records.

    """

    def __init__(
        self,
        addresses: Sequence[int],
        range_in: int,
        inverted: bool = False,
        command: bytes = POSITION_QUATERNION,
        reach: Reach = USUAL,
    ) -> None:
        self._format = RECORD_FORMATS[command]
        self._ordinal_of = {address: i for i, address in enumerate(addresses)}
        n_bytes = 2 * self._format.n_words + bool(addresses)
        allowed = [bytes(range(0x80, 0x100)), *[bytes(range(0x80))] * (n_bytes - 1)]
        super().__init__(allowed, max(len(addresses), 1), reach, stray_bytes=STRAY_BYTES)
        self._scale_m, self._inverted = full_scale_m(range_in) / FULL_SCALE, inverted

    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        """Return ordinal and pose of a record."""
        words = decode_words(record, self._format.n_words)
        turned = [word / FULL_SCALE for word in words[3:]]
        if self._format.status_code == POSITION_QUATERNION_CODE:
            q = unit_quaternion(turned, NORM_TOLERANCE)
        elif self._format.status_code == POSITION_MATRIX_CODE:
            # column by column; squares of lengths are off by twice as much as lengths
            q = quaternion_of_matrix(
                [turned[i] for i in (0, 3, 6, 1, 4, 7, 2, 5, 8)], 2.0 * NORM_TOLERANCE
            )
        else:
            z, y, x = (math.pi * angle for angle in turned)
            q = quaternion_of_angles(z, y, x) if abs(y) <= PITCH_LIMIT else None
        if q is None:
            return None
        ordinal = self._ordinal_of.get(record[-1], -1) if self._ordinal_of else 0
        return ordinal, rep103_pose(words[:3], self._scale_m, q, self._inverted)


@dataclass(frozen=True, slots=True)
class FlockConfig:
    """What is on one line."""

    sensors: tuple[str, ...]  # Names of its sensors, in the order of their bus addresses
    # Bus address of the first; lower ones are transmitter controllers without a sensor
    first_address: int = 2
    range_in: int = 144  # Full scale of positions [inch]
    hemisphere: str = 'front'  # Side of the transmitter the sensors stay on, a key of HEMISPHERES
    inverted_quaternion: bool = False  # Whether the device reports inverse rotations
    # Whether records carry their unit's address; without it a line has one sensor
    group_mode: bool = True
    n_all_sensors: int = 0  # Sensors of all lines
    port: str = ''  # Name of the line's port
    record_format: str = 'position_quaternion'  # What records hold, one of POSE_FORMATS
    max_speed_mps: float = FASTEST_M_S  # Speed beyond which a record needs to be confirmed [m/s]
    point_mode: bool = False  # Whether each measurement is asked for; else the device streams
    # Records a second of each sensor; how often it is asked in point mode [Hz]
    rate_hz: float = 120.0
    baud_rate_bps: int = 115200  # Only for the text of errors
    # Rest after the bus has been configured; sources state 0.3 to 10 s
    auto_configure_pause_s: float = 0.6
    reply_timeout_s: float = 0.5  # How long to await an answer [s]

    @property
    def addresses(self) -> tuple[int, ...]:
        """Bus addresses of the sensors."""
        return tuple(range(self.first_address, self.first_address + len(self.sensors)))

    @property
    def n_units(self) -> int:
        """Without group mode: units on the bus, the transmitter's too, of which one is here."""
        return 0 if self.group_mode else self.first_address - 1 + self.n_all_sensors


class FlockOfBirds(Tracker):
    """The device on one line."""

    Config = FlockConfig
    title = 'Flock of Birds'

    @property
    def record_bytes(self) -> int:
        """Size of a record on the line."""
        command = FORMAT_COMMANDS[self._config.record_format]
        return 2 * RECORD_FORMATS[command].n_words + int(self._config.group_mode)

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        """Refuse formats without a pose, unknown ranges and more sensors than a line carries."""
        config = self._config
        problem = format_problem(config.record_format)
        if problem:
            raise ConfigError(
                f'record_format: expected one of {", ".join(POSE_FORMATS)}, '
                f'got {config.record_format!r}, {problem}'
            )
        if config.range_in not in RANGES_IN:
            raise ConfigError(f'range_in: expected one of 36, 72, 144, got {config.range_in}')
        if not config.group_mode and self.n_sensors > 1:
            raise ConfigError(
                f'group_mode: expected true for {sum(sensors_per_line)} sensors on '
                f'{len(ports)} port(s), got false, which needs a port for each'
            )
        last = config.addresses[-1]
        if last > MAX_ADDRESS:
            raise ConfigError(f'first_address: expected addresses up to {MAX_ADDRESS}, got {last}')
        check_bandwidth(sensors_per_line, config.baud_rate_bps, self.record_bytes, config.rate_hz)

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return STREAM_STOP

    def open_stream(self) -> FlockStream:
        """Return a decoder in its initial state."""
        config = self._config
        addresses = config.addresses if config.group_mode else ()
        command = FORMAT_COMMANDS[config.record_format]
        reach = Reach(config.rate_hz, config.max_speed_mps)
        return FlockStream(addresses, config.range_in, config.inverted_quaternion, command, reach)

    @property
    def poll_command(self) -> bytes:  # type: ignore[override]
        """Return the bytes that ask for one measurement of all units, if they do not stream."""
        return POINT if self._config.point_mode else b''

    @property
    def poll_period_s(self) -> float:  # type: ignore[override]
        """How long there is from one to the next [s]."""
        return 1.0 / self._config.rate_hz

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        config = self._config
        word = yield from self._find_device()
        if config.group_mode and not (yield from self._is_configured()):
            yield self._auto_configure(config.addresses[-1])
            command = change(GROUP_MODE, [1])
            yield Exchange(command, pause_s=SETTLE_PAUSE_S)
        if not config.group_mode and config.n_units > 1:
            yield from self._join_bus(word)
        for address in config.addresses:
            yield Exchange(self._unit_commands(address))
        yield Exchange(pause_s=SETTLE_PAUSE_S)
        if config.group_mode:
            yield from self._check_units()
        yield from self._check_error()
        if not config.point_mode:
            yield Exchange(STREAM)

    def _auto_configure(self, n_units: int) -> Exchange:
        command = change(AUTO_CONFIGURE, [n_units])
        return Exchange(command, pause_s=self._config.auto_configure_pause_s)

    def _join_bus(self, word: int) -> Steps:
        """Configure the bus if the unit here is its master, else wait until that is done."""
        config = self._config
        if word & STATUS_MASTER:
            units = yield from self._unit_flags()
            if not _all_run(units[: config.n_units]):
                yield self._auto_configure(config.n_units)
            return
        wait_s = MASTER_WAIT_S + config.auto_configure_pause_s
        for _ in range(round(wait_s / MASTER_PAUSE_S)):
            status = yield self._examine(STATUS)
            if len(status) == 2 and little_endian(status) & STATUS_RUNNING:
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
        word = little_endian(status)
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
        """Return whether group mode is on and all our units run."""
        mode = yield self._examine(GROUP_MODE)
        if mode != b'\x01':
            return False
        units = yield from self._unit_flags()
        return _all_run(units[a - 1] if a <= len(units) else 0 for a in self._config.addresses)

    def _unit_commands(self, address: int) -> bytes:
        config = self._config
        prefix = address_prefix(address) if config.group_mode else b''
        record_format = FORMAT_COMMANDS[config.record_format]
        commands = [record_format, set_hemisphere(config.hemisphere)]
        if config.range_in != RANGES_IN[-1]:
            scale = RANGES_IN.index(config.range_in)
            commands.append(change(POSITION_SCALE, [scale, 0]))
        return b''.join(prefix + command for command in commands)

    def _unit_flags(self) -> Generator[Exchange, bytes, bytes]:
        """Return the status byte of each possible unit, cut short if the device does."""
        mode = yield self._examine(ADDRESSING_MODE)
        # firmware too old to know the question has the normal addresses
        n_units = UNITS_OF_ADDRESSING_MODE.get(mode[0] if mode else 0, 14)
        units = yield Exchange(
            examine(FLOCK_STATUS), reply_bytes=n_units, timeout_s=self._config.reply_timeout_s
        )
        if len(units) != n_units:
            raise ProtocolError(f'expected the status of {n_units} units, got {len(units)} bytes')
        return units

    def _check_units(self) -> Steps:
        config = self._config
        units = yield from self._unit_flags()
        texts = []
        for address, sensor in zip(config.addresses, config.sensors):
            flags = units[address - 1] if address <= len(units) else 0
            problem = _unit_problem(flags)
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
        if len(texts) == len(config.sensors):
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)

    def _check_error(self) -> Steps:
        status = yield self._examine(STATUS)
        if len(status) != VALUE_BYTES[STATUS]:
            raise ProtocolError(f'expected a status of 2 bytes, got {len(status)}')
        if little_endian(status) & STATUS_ERROR:
            code = yield self._examine(ERROR_CODE)
            text = error_text(code[0]) if code else 'an error it does not name'
            raise ProtocolError(f'expected the device to be ready, got {text}')

    def _examine(self, number: int) -> Exchange:
        return Exchange(
            examine(number),
            reply_bytes=VALUE_BYTES[number],
            timeout_s=self._config.reply_timeout_s,
        )


def _all_run(units: Iterable[int]) -> bool:
    ready = UNIT_ACCESSIBLE | UNIT_RUNNING
    return all(flags & ready == ready for flags in units)


def _unit_problem(flags: int) -> str:
    if not flags & UNIT_ACCESSIBLE:
        return 'no such unit'
    if not flags & UNIT_RUNNING:
        return 'a unit that does not run'
    if not flags & UNIT_HAS_SENSOR:
        return NO_SENSOR
    return ''


def _is_status(reply: bytes) -> bool:
    """Return whether two bytes can be a status word, and not what a wrong speed makes of one."""
    code = little_endian(reply) >> STATUS_FORMAT_SHIFT & STATUS_FORMAT_MASK
    return any(code == known.status_code for known in RECORD_FORMATS.values())
