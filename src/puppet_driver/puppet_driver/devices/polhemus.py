# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus records, their decoder, and what starting a FASTRAK and a LIBERTY have in common.

A record is a header followed by items in the order they were requested. The FASTRAK writes decimal
or binary numbers behind three characters, LIBERTY and PATRIOT binary ones behind eight bytes. The
driver and the emulator both use the layouts that are made here. The devices' axes are X forward,
Y right, Z down, as Ascension's.
"""

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
import struct
from typing import ClassVar, NamedTuple

from puppet_core.body import FASTEST_M_S
from puppet_core.io import ConfigError
from puppet_driver.devices.decoding import (
    FixedRecordStream,
    Quaternion,
    quaternion_of_angles,
    quaternion_of_matrix,
    Reach,
    rep103_pose,
    SensorErrors,
    unit_quaternion,
)
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Exchange, Pose, Tracker
from puppet_driver.transport import check_bandwidth

METRES_PER_CENTIMETRE = 0.01
NO_ERROR = ord(' ')
LINE_END = b'\r\n'
CARRIAGE_RETURN = b'\r'
# the same side as the Ascension names: X forward, Y right, Z down of the transmitter
HEMISPHERES = {
    'front': (1, 0, 0),
    'aft': (-1, 0, 0),
    'upper': (0, 0, -1),
    'lower': (0, 0, 1),
    'left': (0, -1, 0),
    'right': (0, 1, 0),
}
_DIGITS = b'0123456789'
_PRINTABLE = bytes(range(0x20, 0x7F))
_ANY = bytes(range(256))

ASCII_WIDTH = 7  # characters of a number
MAX_POSITION_M = 10.0  # the most that ASCII records can hold
ANGLE_LIMITS_DEG = (180.011, 90.011, 180.011)  # with the rounding of an angle at its limit
# Four decimals put the length of a quaternion off by 1e-4, a matrix by 2e-4 at most.
NORM_TOLERANCE = 1e-3

LIBERTY_HEADER_BYTES = 8
PREAMBLES = {b'LY': 'LIBERTY', b'PA': 'PATRIOT', b'LU': 'LATUS'}

RATE_SLACK = 1.001  # for rates such as 120 / 7
START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
XON, XOFF = b'\x11', b'\x13'
SETTLE_PAUSE_S = 0.05  # between commands that the device works on

Steps = Generator[Exchange, bytes, None]


class Item(NamedTuple):
    """Something that a record can be asked to hold."""

    name: str
    n_values: int = 0  # How many numbers
    decimals: int = 0  # Digits behind the point of an ASCII number
    constant: bytes = b''  # What it is if it holds no information
    binary_bytes: int = 0  # Size of what is neither, in a binary record


POSITION = Item('position', 3, 2)
EULER = Item('azimuth, elevation, roll', 3, 2)
COSINES = tuple(Item(f'{axis} cosines', 3, 4) for axis in 'XYZ')
QUATERNION = Item('quaternion', 4, 4)
STYLUS = Item('stylus', binary_bytes=4)
TIME_STAMP = Item('time stamp', binary_bytes=4)
FRAME_COUNT = Item('frame count', binary_bytes=4)
SPACE = Item('space', constant=b' ')
END = Item('line end', constant=LINE_END)

_COMMON = {0: SPACE, 1: END, 2: POSITION, 4: EULER}
FASTRAK_ITEMS = {
    **_COMMON,
    5: COSINES[0],
    6: COSINES[1],
    7: COSINES[2],
    11: QUATERNION,
    16: STYLUS._replace(binary_bytes=1),
}
LIBERTY_ITEMS = {**_COMMON, 7: QUATERNION, 8: TIME_STAMP, 9: FRAME_COUNT, 10: STYLUS}


def decimal(text: bytes) -> float:
    """Return the number in a text with blanks before or behind its sign; may raise ValueError."""
    text = text.lstrip()
    if text[:1] in (b'+', b'-'):
        text = text[:1] + text[1:].lstrip()
    return float(text)


@dataclass(frozen=True)
class RecordLayout:
    """
    Where everything is in a record.

    Raise ConfigError if the items hold no position or not just one form of orientation.
    """

    items: tuple[Item, ...]  # In the order they are sent
    header: tuple[bytes, ...]  # The bytes that can stand at each place of the header
    stations: bytes  # The station bytes of the line's sensors, in the order of their ordinals
    is_ascii: bool  # Whether numbers are decimal
    station_at: int  # Place of the station in the header
    status_at: int  # Place of the error character in the header

    def __post_init__(self) -> None:
        if self.items.count(POSITION) != 1 or self.orientation not in (
            (QUATERNION,),
            (EULER,),
            COSINES,
        ):
            names = ', '.join(item.name for item in self.items)
            raise ConfigError(
                'items: expected a position and one of a quaternion, angles or all cosines, '
                f'got {names or "none"}'
            )

    @property
    def orientation(self) -> tuple[Item, ...]:
        """Return the items that state the orientation."""
        return tuple(item for item in self.items if item in (QUATERNION, EULER, *COSINES))

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Return where the item of each name begins; of several, the last."""
        places, at = {}, len(self.header)
        for item in self.items:
            places[item.name] = at
            at += self.size_of(item)
        return places

    @property
    def record_bytes(self) -> int:
        """Size of a record."""
        return len(self.header) + sum(map(self.size_of, self.items))

    @property
    def number_bytes(self) -> int:
        """Size of a number."""
        return ASCII_WIDTH if self.is_ascii else 4

    def size_of(self, item: Item) -> int:
        """Return how many bytes an item takes."""
        return item.n_values * self.number_bytes or len(item.constant) or item.binary_bytes

    @cached_property
    def allowed(self) -> list[bytes]:
        """Return the bytes that can stand at each place of a record."""
        allowed = list(self.header)
        for item in self.items:
            if item.constant:
                allowed += [bytes((b,)) for b in item.constant]
            elif item.binary_bytes == 1:
                allowed.append(b'01')
            elif self.is_ascii and item.n_values:
                whole = ASCII_WIDTH - 1 - item.decimals
                number = [_DIGITS + b' +-'] * whole + [b'.'] + [_DIGITS] * item.decimals
                allowed += number * item.n_values
            else:
                allowed += [_ANY] * self.size_of(item)
        return allowed

    def numbers(self, record: bytes, item: Item) -> tuple[float, ...]:
        """Return an item's numbers; raise ValueError if they are none."""
        at = self.place_of[item.name]
        if not self.is_ascii:
            return struct.unpack_from(f'<{item.n_values}f', record, at)
        ends = range(at, at + item.n_values * ASCII_WIDTH, ASCII_WIDTH)
        return tuple(decimal(record[i : i + ASCII_WIDTH]) for i in ends)

    def word(self, record: bytes, item: Item) -> int:
        """Return an item's 32-bit word, 0 if records do not have it."""
        at = self.place_of.get(item.name)
        return 0 if at is None else int.from_bytes(record[at : at + 4], 'little')

    def is_pressed(self, record: bytes) -> bool:
        """Return whether the stylus' button is pressed; false if records do not have it."""
        # an ASCII digit or a small number
        at = self.place_of.get(STYLUS.name)
        return at is not None and record[at] & 0x0F != 0


def fastrak_layout(
    n_stations: int, numbers: Sequence[int], is_ascii: bool, max_stations: int = 4
) -> RecordLayout:
    """Return the layout of FASTRAK records with some items, keys of FASTRAK_ITEMS."""
    stations = bytes(range(ord('1'), ord('1') + max_stations))
    return RecordLayout(
        tuple(FASTRAK_ITEMS[n] for n in numbers),
        (b'0', stations, _PRINTABLE),
        stations[:n_stations],
        is_ascii,
        station_at=1,
        status_at=2,
    )


def liberty_layout(
    n_stations: int, numbers: Sequence[int], preamble: bytes = b'LY', max_stations: int = 16
) -> RecordLayout:
    """Return the layout of LIBERTY or PATRIOT records with some items, keys of LIBERTY_ITEMS."""
    stations = bytes(range(1, max_stations + 1))
    items = tuple(LIBERTY_ITEMS[n] for n in numbers)
    size = sum(4 * item.n_values or len(item.constant) or item.binary_bytes for item in items)
    sizes = [bytes((b,)) for b in size.to_bytes(2, 'little')]
    return RecordLayout(
        items,
        (preamble[:1], preamble[1:], stations, b'CP', _ANY, _ANY, *sizes),
        stations[:n_stations],
        False,
        station_at=2,
        status_at=4,
    )


class StationStatus(NamedTuple):
    """The contents of a sensor's last record apart from its pose."""

    error: str = ''  # The device's error character, '' for none
    # Whether the stylus' button is pressed; false if the records do not have it
    is_pressed: bool = False
    time_stamp_ms: int = 0  # The device's clock [ms], 0 if the records do not have it
    frame_count: int = 0  # The device's frame, 0 if the records do not have it


class PolhemusStream(FixedRecordStream):
    """
    Decoder of records of one layout.

    `error_text` puts the device's error characters into words, '' for none.
    """

    def __init__(
        self,
        layout: RecordLayout,
        metres_per_unit: float,
        reach: Reach,
        inverted: bool = False,
        error_text: Callable[[str], str] = str,
    ) -> None:
        n_sensors = len(layout.stations)
        super().__init__(layout.allowed, n_sensors, reach, has_end=layout.items[-1] is END)
        self._layout, self._scale_m = layout, metres_per_unit
        self._inverted, self._error_text = inverted, error_text
        self._last = [StationStatus()] * n_sensors
        self._errors = SensorErrors(n_sensors)

    def station(self, ordinal: int) -> StationStatus:
        """Return the contents of a sensor's last record apart from its pose."""
        return self._last[ordinal]

    def sensor_error(self, ordinal: int) -> str:
        """Return the error that a sensor's records report, in words, '' for none."""
        code = self._errors.standing(ordinal)
        return self._error_text(chr(code)) if code else ''

    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        """Return ordinal and pose of a record."""
        try:
            position = self._layout.numbers(record, POSITION)
            q = self._orientation(record)
        except ValueError:
            return None
        limit = MAX_POSITION_M / self._scale_m
        if q is None or not all(abs(value) <= limit for value in position):
            return None
        ordinal = self._layout.stations.find(record[self._layout.station_at])
        return ordinal, rep103_pose(position, self._scale_m, q, self._inverted)

    def on_accepted(self, ordinal: int, record: bytes, stamp_ns: int) -> None:
        """Keep what else the record has."""
        layout = self._layout
        status = record[layout.status_at]
        code = 0 if status == NO_ERROR else status
        self._errors.record(ordinal, code, stamp_ns)
        self._last[ordinal] = StationStatus(
            chr(code) if code else '',
            layout.is_pressed(record),
            layout.word(record, TIME_STAMP),
            layout.word(record, FRAME_COUNT),
        )

    def _orientation(self, record: bytes) -> Quaternion | None:
        items = self._layout.orientation
        values = [v for item in items for v in self._layout.numbers(record, item)]
        if items == (QUATERNION,):
            return unit_quaternion(values, NORM_TOLERANCE)
        if items == (EULER,):
            if not all(abs(v) <= limit for v, limit in zip(values, ANGLE_LIMITS_DEG)):
                return None
            return quaternion_of_angles(*map(math.radians, values))
        return quaternion_of_matrix(values, NORM_TOLERANCE)


@dataclass(frozen=True, slots=True)
class PolhemusConfig:
    """What is on one line."""

    sensors: tuple[str, ...]  # Names of its sensors, on the stations from 1 on
    rate_hz: float = 30.0  # Records a second of each sensor
    hemisphere: str = 'front'  # Side of the transmitter the sensors stay on, a key of HEMISPHERES
    inverted_quaternion: bool = False  # Whether the device reports inverse rotations
    max_speed_mps: float = FASTEST_M_S  # Speed beyond which a record needs to be confirmed [m/s]
    baud_rate_bps: int = 115200  # Only for the text of errors
    reply_timeout_s: float = 0.5  # How long to await an answer [s]
    port: str = ''  # Name of the line's port


class PolhemusTracker(Tracker):
    """What the devices have in common."""

    Config = PolhemusConfig
    max_stations: ClassVar[int]
    poll_bytes: ClassVar[bytes] = b'P'

    @staticmethod
    @abstractmethod
    def error_text(code: str) -> str:
        """Return a record's error character in words, '' for none."""

    @property
    @abstractmethod
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""

    @abstractmethod
    def max_rate_text(self) -> tuple[float, str]:
        """Return the highest rate of a sensor [Hz], and of what it is, for people."""

    @property
    def record_bytes(self) -> int:
        """Size of a record on the line."""
        return self.layout.record_bytes

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        """Refuse more sensors or a higher rate than the device has."""
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
        """Return a decoder in its initial state."""
        config = self._config
        return PolhemusStream(
            self.layout,
            METRES_PER_CENTIMETRE,
            Reach(config.rate_hz, config.max_speed_mps),
            config.inverted_quaternion,
            self.error_text,
        )

    def silence(self, got: str) -> LinkTimeout:
        """Return the error for a device that does not answer."""
        return LinkTimeout(
            f'expected a {self.title} to answer at {self._config.baud_rate_bps} bps, got {got}; '
            'check its power, the cable and the switches for RS-232 and baud rate'
        )

    def poll(self) -> Exchange:
        """Return the exchange that asks for one record of each sensor."""
        return Exchange(
            self.poll_bytes,
            reply_bytes=self.n_sensors * self.record_bytes,
            timeout_s=self._config.reply_timeout_s,
        )

    def check_poll(self, reply: bytes) -> Steps:
        """
        Note what the answer to a poll reports of each sensor, and which stations lack one.

        Raise ProtocolError if no sensor reports, or if something else came than records.
        """
        layout, size = self.layout, self.record_bytes
        records = [reply[at : at + size] for at in range(0, len(reply), size)]
        for record in records:
            if not all(byte in some for some, byte in zip(layout.allowed, record)):
                raise ProtocolError(
                    f'expected records of {size} bytes, got {record[:12]!r}; '
                    'check the device parameter and the baud rate'
                )
        status_of = {r[layout.station_at]: r[layout.status_at] for r in records if len(r) == size}
        texts = []
        for number, (station, sensor) in enumerate(zip(layout.stations, self._config.sensors), 1):
            text = 'expected a record, got none; check that the sensor is plugged in there and '
            text += 'its switch is on'
            if station in status_of:
                text = self.error_text(chr(status_of[station]))
            texts += [f'station {number} ({sensor}): {text}'] if text else []
        if not any(station in status_of for station in layout.stations):
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)
