# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus FASTRAK, LIBERTY and PATRIOT, RS-232: records, commands, and one line as a Tracker.

A record is a header and the items in the order they were requested: position, quaternion and line
end. Axes are X forward, Y right, Z down. Stations of a FASTRAK without a sensor are switched off,
since every active one takes its share of the 120 records a second.
"""

from abc import abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
import struct
from typing import ClassVar, NamedTuple

from puppet_core.io import ConfigError
from puppet_driver.devices.decoding import (
    FixedRecordStream,
    LineConfig,
    Reach,
    rep103_pose,
    SensorErrors,
    unit_quaternion,
)
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Exchange, Exchanges, Pose, Tracker
from puppet_driver.transport import check_bandwidth

METRES_PER_CENTIMETRE = 0.01
NO_ERROR = ord(' ')
LINE_END, CARRIAGE_RETURN = b'\r\n', b'\r'
XON, XOFF = b'\x11', b'\x13'
# the same side as the Ascension names: X forward, Y right, Z down of the transmitter
HEMISPHERES = {
    'front': (1, 0, 0),
    'aft': (-1, 0, 0),
    'upper': (0, 0, -1),
    'lower': (0, 0, 1),
    'left': (0, -1, 0),
    'right': (0, 1, 0),
}

POLL = b'P'  # also ends a LIBERTY's streaming
ITEMS, HEMISPHERE = b'O', b'H'  # up to a carriage return
FASTRAK_STOP, FASTRAK_CONTINUOUS, STATION_STATE = b'c', b'C', b'l'
FASTRAK_BINARY, FASTRAK_ASCII = b'f', b'F'
FASTRAK_CENTIMETRES = b'u'
FASTRAK_STATUS, STATUS_BYTES, STATUS_BEGIN = b'S', 55, b'2'
FASTRAK_ITEMS = (2, 11, 1)  # position, quaternion, line end
FASTRAK_RATE_HZ = 120.0  # shared by the active stations
LIBERTY_CONTINUOUS = b'C\r'
LIBERTY_BINARY, LIBERTY_CENTIMETRES = b'F1\r', b'U1\r'
LIBERTY_ITEMS = (2, 7, 1)
ALL_STATIONS = '*'
PREAMBLES = {b'LY': 'LIBERTY', b'PA': 'PATRIOT', b'LU': 'LATUS'}

_DIGITS = b'0123456789'
_PRINTABLE = bytes(range(0x20, 0x7F))
_ANY = bytes(range(256))
ASCII_WIDTH = 7  # characters of a number
DECIMALS = (2,) * 3 + (4,) * 4  # of position and quaternion
BINARY_NUMBERS = struct.Struct('<7f')
MAX_POSITION_CM = 1000.0  # the most that ASCII records can hold
NORM_TOLERANCE = 1e-3  # four decimals put the length of a quaternion off by 1e-4

RATE_SLACK = 1.001  # for rates such as 120 / 7
START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
SETTLE_PAUSE_S = 0.05  # between commands that the device works on

Steps = Generator[Exchange, bytes, None]


def command(letter: bytes, *values: object) -> bytes:
    """Return a command with values, of which the first is mostly the station."""
    return letter + ','.join(map(str, values)).encode() + CARRIAGE_RETURN


def decimal(text: bytes) -> float:
    """Return the number in a text with blanks before or behind its sign; may raise ValueError."""
    text = text.lstrip()
    if text[:1] in (b'+', b'-'):
        text = text[:1] + text[1:].lstrip()
    return float(text)


class RecordLayout(NamedTuple):
    """Where everything is in a record of position, quaternion and line end."""

    header: tuple[bytes, ...]  # The bytes that can stand at each place of the header
    station_at: int  # Place of the station in the header
    status_at: int  # Place of the error character in the header
    is_ascii: bool = False  # Whether numbers are decimal

    @property
    def allowed(self) -> list[bytes]:
        numbers = [_ANY] * BINARY_NUMBERS.size
        if self.is_ascii:
            numbers = []
            for n in DECIMALS:
                numbers += [_DIGITS + b' +-'] * (ASCII_WIDTH - 1 - n) + [b'.'] + [_DIGITS] * n
        return [*self.header, *numbers, LINE_END[:1], LINE_END[1:]]

    def numbers(self, record: bytes) -> tuple[float, ...]:
        """Return position [cm] and quaternion of a record; raise ValueError if they are none."""
        at = len(self.header)
        if not self.is_ascii:
            return BINARY_NUMBERS.unpack_from(record, at)
        starts = range(at, at + len(DECIMALS) * ASCII_WIDTH, ASCII_WIDTH)
        return tuple(decimal(record[i : i + ASCII_WIDTH]) for i in starts)


def _liberty_layout(preamble: bytes, max_stations: int) -> RecordLayout:
    size = (BINARY_NUMBERS.size + len(LINE_END)).to_bytes(2, 'little')
    stations = bytes(range(1, max_stations + 1))
    header = (preamble[:1], preamble[1:], stations, b'CP', _ANY, _ANY, size[:1], size[1:])
    return RecordLayout(header, station_at=2, status_at=4)


class PolhemusStream(FixedRecordStream):
    """Decoder of one layout; `error_text` puts error characters into words, '' for none."""

    def __init__(
        self,
        layout: RecordLayout,
        n_sensors: int,
        reach: Reach,
        inverted: bool = False,
        error_text: Callable[[str], str] = str,
    ) -> None:
        super().__init__(layout.allowed, n_sensors, reach, has_end=True)
        self._layout, self._stations = layout, layout.header[layout.station_at][:n_sensors]
        self._inverted, self._error_text = inverted, error_text
        self._errors = SensorErrors(n_sensors)

    def sensor_error(self, ordinal: int) -> str:
        code = self._errors.standing(ordinal)
        return self._error_text(chr(code)) if code else ''

    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        try:
            x, y, z, *turned = self._layout.numbers(record)
        except ValueError:
            return None
        q = unit_quaternion(turned, NORM_TOLERANCE)
        # not a number is beyond any limit
        is_near = abs(x) <= MAX_POSITION_CM and abs(y) <= MAX_POSITION_CM
        if q is None or not (is_near and abs(z) <= MAX_POSITION_CM):
            return None
        ordinal = self._stations.find(record[self._layout.station_at])
        return ordinal, rep103_pose((x, y, z), METRES_PER_CENTIMETRE, q, self._inverted)

    def on_accepted(self, ordinal: int, record: bytes, stamp_ns: int) -> None:
        status = record[self._layout.status_at]
        self._errors.record(ordinal, 0 if status == NO_ERROR else status, stamp_ns)


@dataclass(frozen=True, slots=True)
class PolhemusConfig(LineConfig):
    baud_rate_bps: int = 115200


class PolhemusTracker(Tracker):
    Config = PolhemusConfig
    layout: ClassVar[RecordLayout]
    max_stations: ClassVar[int]

    @staticmethod
    @abstractmethod
    def error_text(code: str) -> str:
        """Return a record's error character in words, '' for none."""

    @abstractmethod
    def max_rate_text(self) -> tuple[float, str]:
        """Return the highest rate of a sensor [Hz], and of what it is, for people."""

    @property
    def record_bytes(self) -> int:
        return len(self.layout.allowed)

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        config = self._config
        if self.n_sensors > self.max_stations:
            needed = -(-sum(sensors_per_line) // self.max_stations)
            raise ConfigError(
                f'ports: expected {needed} or more for {sum(sensors_per_line)} sensors of a '
                f'{self.title}, which has {self.max_stations} stations, got {len(ports)}'
            )
        limit_hz, of_what = self.max_rate_text()
        if config.rate_hz > RATE_SLACK * limit_hz:
            raise ConfigError(
                f'rate_hz: expected value <= {limit_hz:g} {of_what}, got {config.rate_hz:g}'
            )
        check_bandwidth(sensors_per_line, config.baud_rate_bps, self.record_bytes, config.rate_hz)

    def open_stream(self) -> PolhemusStream:
        config = self._config
        inverted = config.inverted_quaternion
        return PolhemusStream(self.layout, self.n_sensors, config.reach, inverted, self.error_text)

    def silence(self, got: str) -> LinkTimeout:
        return LinkTimeout(
            f'expected a {self.title} to answer at {self._config.baud_rate_bps} bps, got {got}; '
            'check its power, the cable and the switches for RS-232 and baud rate'
        )

    def poll(self) -> Exchange:
        """Return the exchange that asks for one record of each sensor."""
        n_bytes, timeout_s = self.n_sensors * self.record_bytes, self._config.reply_timeout_s
        return Exchange(POLL, reply_bytes=n_bytes, timeout_s=timeout_s)

    def check_poll(self, reply: bytes) -> Steps:
        """Note what a poll shows; ProtocolError if no sensor reports or it shows no records."""
        layout, allowed = self.layout, self.layout.allowed
        size = len(allowed)
        records = [reply[at : at + size] for at in range(0, len(reply), size)]
        for record in records:
            if not all(byte in some for some, byte in zip(allowed, record)):
                raise ProtocolError(
                    f'expected records of {size} bytes, got {record[:12]!r}; '
                    'check the device parameter and the baud rate'
                )
        status_of = {r[layout.station_at]: r[layout.status_at] for r in records if len(r) == size}
        stations = layout.header[layout.station_at][: self.n_sensors]
        texts = []
        for number, (station, sensor) in enumerate(zip(stations, self._config.sensors), 1):
            text = 'expected a record, got none; check that the sensor is plugged in there and '
            text += 'its switch is on'
            if station in status_of:
                text = self.error_text(chr(status_of[station]))
            texts += [f'station {number} ({sensor}): {text}'] if text else []
        if not any(station in status_of for station in stations):
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)


class Fastrak(PolhemusTracker):
    title = 'Polhemus FASTRAK'
    max_stations = 4
    layout = RecordLayout((b'0', b'1234', _PRINTABLE), station_at=1, status_at=2)

    @staticmethod
    def error_text(code: str) -> str:
        if code == chr(NO_ERROR):
            return ''
        kind = 'weak signal' if 'A' <= code <= 'F' else 'not described here'
        return f'error {code!r} of the built-in test ({kind})'

    def max_rate_text(self) -> tuple[float, str]:
        what = f'on a FASTRAK, which share {FASTRAK_RATE_HZ:g} records a second'
        return FASTRAK_RATE_HZ / self.n_sensors, f'for {self.n_sensors} sensor(s) {what}'

    def stop_command(self) -> bytes:
        return FASTRAK_STOP

    def start_exchanges(self) -> Exchanges:
        yield from self._find_device()
        is_ascii = self.layout.is_ascii
        yield Exchange((FASTRAK_ASCII if is_ascii else FASTRAK_BINARY) + FASTRAK_CENTIMETRES)
        for station in range(1, self.max_stations + 1):
            commands = command(STATION_STATE, station, int(station <= self.n_sensors))
            if station <= self.n_sensors:
                commands += command(ITEMS, station, *FASTRAK_ITEMS)
                commands += command(HEMISPHERE, station, *HEMISPHERES[self._config.hemisphere])
            yield Exchange(commands, pause_s=SETTLE_PAUSE_S)
        yield from self.check_poll((yield self.poll()))
        yield Exchange(FASTRAK_CONTINUOUS)

    def _find_device(self) -> Steps:
        timeout_s = self._config.reply_timeout_s
        for _ in range(START_ATTEMPTS):
            # noise may have stopped its output, or begun a command
            yield Exchange(XON + CARRIAGE_RETURN + FASTRAK_STOP, pause_s=STOP_PAUSE_S)
            status = yield Exchange(FASTRAK_STATUS, STATUS_BYTES, timeout_s)
            if len(status) == STATUS_BYTES and status.endswith(LINE_END):
                break
        else:
            raise self.silence(f'{len(status)} byte(s) of a status' if status else 'nothing')
        if not status.startswith(STATUS_BEGIN):
            raise ProtocolError(
                f'expected a status that begins with {STATUS_BEGIN!r}, got {status[:12]!r}; '
                'check the device parameter'
            )


class FastrakAscii(Fastrak):
    layout = Fastrak.layout._replace(is_ascii=True)


class Liberty(PolhemusTracker):
    title = 'Polhemus LIBERTY'
    max_stations = 16
    preamble = b'LY'  # How its records begin, a key of PREAMBLES
    layout = _liberty_layout(preamble, max_stations)
    max_rate_hz = 240.0  # Records a second of each sensor, at most

    @staticmethod
    def error_text(code: str) -> str:
        return '' if code == chr(NO_ERROR) else f'error {code!r} of the station'

    def max_rate_text(self) -> tuple[float, str]:
        return self.max_rate_hz, f'of a {self.title}'

    def stop_command(self) -> bytes:
        return POLL

    def start_exchanges(self) -> Exchanges:
        settings = LIBERTY_BINARY + LIBERTY_CENTIMETRES
        settings += command(ITEMS, ALL_STATIONS, *LIBERTY_ITEMS)
        settings += command(HEMISPHERE, ALL_STATIONS, *HEMISPHERES[self._config.hemisphere])
        for _ in range(START_ATTEMPTS):
            # noise may have stopped its output, or begun a command
            yield Exchange(XON + CARRIAGE_RETURN + POLL, pause_s=STOP_PAUSE_S)
            yield Exchange(settings, pause_s=SETTLE_PAUSE_S)
            reply = yield self.poll()
            if len(reply) >= self.record_bytes:
                break
        else:
            raise self.silence(f'{len(reply)} byte(s) of a record' if reply else 'nothing')
        other = PREAMBLES.get(reply[:2], '')
        if other and reply[:2] != self.preamble:
            raise ProtocolError(
                f'expected records of a {self.title}, got those of a {other}; '
                'change the device parameter'
            )
        yield from self.check_poll(reply)
        yield Exchange(LIBERTY_CONTINUOUS)


class Patriot(Liberty):
    title = 'Polhemus PATRIOT'
    max_stations = 2
    preamble = b'PA'
    layout = _liberty_layout(preamble, max_stations)
    max_rate_hz = 60.0
