# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus records, their decoder, and what starting a FASTRAK and a LIBERTY have in common.

A record is a header followed by items in the order they were requested. The FASTRAK writes decimal
or binary numbers behind three characters, LIBERTY and PATRIOT binary ones behind eight bytes. The
driver and the emulator both use the layouts that are made here.

"""

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from puppet_core.body import FASTEST_M_S
from puppet_core.io import ConfigError
from puppet_driver.devices import polhemus_kernels as frame
from puppet_driver.devices import polhemus_kernels as kernels
from puppet_driver.devices.decoding import Reach, standing_error
from puppet_driver.devices.polhemus_kernels import MAX_VALUES
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import (
    Exchange,
    MAX_READ_BYTES,
    RecordBatch,
    RecordStream,
    StreamCounters,
    Tracker,
)
from puppet_driver.transport import check_bandwidth

METRES_PER_CENTIMETRE = 0.01
NO_ERROR = frame.NO_ERROR
LINE_END = b'\r\n'
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

LIBERTY_HEADER_BYTES = 8
PREAMBLES = {b'LY': 'LIBERTY', b'PA': 'PATRIOT', b'LU': 'LATUS'}

_BINARY_BYTES = {'stylus': 4, 'time stamp': 4, 'frame count': 4}  # LIBERTY's

# Four decimals put the length of a quaternion off by 1e-4, a matrix by 2e-4 at most.
NORM_TOLERANCE = 1e-3

RATE_SLACK = 1.001  # for rates such as 120 / 7
START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
XON, XOFF = b'\x11', b'\x13'
SETTLE_PAUSE_S = 0.05  # between commands that the device works on

Steps = Generator[Exchange, bytes, None]


class Item(NamedTuple):
    """Something that a record can be asked to hold."""

    name: str
    """What it is; the names that matter here are those of `RecordLayout`."""

    n_values: int = 0
    """How many numbers."""

    decimals: int = 0
    """Digits behind the point of an ASCII number."""

    constant: bytes = b''
    """What it is if it holds no information."""


POSITION = Item('position', 3, 2)
EULER = Item('azimuth, elevation, roll', 3, 2)
COSINES = tuple(Item(f'{axis} cosines', 3, 4) for axis in 'XYZ')
QUATERNION = Item('quaternion', 4, 4)
STYLUS = Item('stylus')
TIME_STAMP = Item('time stamp')
FRAME_COUNT = Item('frame count')
SPACE = Item('space', constant=b' ')
END = Item('line end', constant=LINE_END)

FASTRAK_ITEMS = {
    0: SPACE,
    1: END,
    2: POSITION,
    4: EULER,
    5: COSINES[0],
    6: COSINES[1],
    7: COSINES[2],
    11: QUATERNION,
    16: STYLUS,
}
LIBERTY_ITEMS = {
    0: SPACE,
    1: END,
    2: POSITION,
    4: EULER,
    7: QUATERNION,
    8: TIME_STAMP,
    9: FRAME_COUNT,
    10: STYLUS,
}

_FORMS = {
    (QUATERNION,): kernels.QUATERNION,
    (EULER,): kernels.EULER,
    COSINES: kernels.COSINES,
}


@dataclass(frozen=True)
class RecordLayout:
    """
    Where everything is in a record.

    Raises
    ------
    ConfigError : if the items hold no position or not just one form of orientation.

    """

    items: tuple[Item, ...]
    """In the order they are sent."""

    header: tuple[bytes, ...]
    """The bytes that can stand at each place of the header."""

    stations: bytes
    """The station bytes of the line's sensors, in the order of their ordinals."""

    is_ascii: bool
    """Whether numbers are decimal."""

    station_at: int
    """Place of the station in the header."""

    status_at: int
    """Place of the error character in the header."""

    item_places: tuple[int, ...] = field(init=False)
    """Where each item begins."""

    record_bytes: int = field(init=False)
    """Size of a record."""

    def __post_init__(self) -> None:
        ends = np.cumsum([len(self.header), *(self.size_of(item) for item in self.items)])
        object.__setattr__(self, 'item_places', tuple(int(end) for end in ends[:-1]))
        object.__setattr__(self, 'record_bytes', int(ends[-1]))
        turning = tuple(i for i in self.items if i in (QUATERNION, EULER, *COSINES))
        if self.items.count(POSITION) != 1 or turning not in _FORMS:
            names = ', '.join(item.name for item in self.items)
            raise ConfigError(
                'items: expected a position and one of a quaternion, angles or all cosines, '
                f'got {names or "none"}'
            )

    @property
    def form(self) -> int:
        """Which form the orientation has, a constant of `polhemus_kernels`."""
        return _FORMS[tuple(i for i in self.items if i in (QUATERNION, EULER, *COSINES))]

    def size_of(self, item: Item) -> int:
        """Return how many bytes an item takes."""
        if item.n_values:
            return item.n_values * self.number_bytes
        if item.constant:
            return len(item.constant)
        return 1 if self.status_at == 2 else _BINARY_BYTES[item.name]

    @property
    def number_bytes(self) -> int:
        """Size of a number."""
        return kernels.ASCII_WIDTH if self.is_ascii else 4

    def place_of(self, name: str) -> int:
        """Return where the item of a name begins, -1 if there is none."""
        places = [at for at, item in zip(self.item_places, self.items) if item.name == name]
        return places[0] if places else -1

    def shape(self) -> frame.RecordShape:
        """Return the layout for the scanner."""
        allowed = list(self.header)
        values: list[int] = []
        for item, at in zip(self.items, self.item_places):
            allowed += self._allowed(item)
            ends = range(at, at + item.n_values * self.number_bytes, self.number_bytes)
            values = [*ends, *values] if item is POSITION else [*values, *ends]
        accepts = np.zeros((self.record_bytes, 256), dtype=np.uint8)
        for row, some in zip(accepts, allowed):
            row[list(some)] = 1
        places = np.zeros(frame.N_PLACES, dtype=np.int64)
        places[frame.STATION_AT], places[frame.STATUS_AT] = self.station_at, self.status_at
        places[frame.STYLUS_AT] = self.place_of(STYLUS.name)
        places[frame.TIME_AT] = self.place_of(TIME_STAMP.name)
        places[frame.FRAME_AT] = self.place_of(FRAME_COUNT.name)
        places[frame.IS_ASCII], places[frame.FORM] = int(self.is_ascii), self.form
        places[frame.HAS_END] = int(self.items[-1] is END)
        ordinal_of = np.full(256, -1, dtype=np.int64)
        ordinal_of[list(self.stations)] = np.arange(len(self.stations))
        return frame.RecordShape(accepts, places, np.array(values, dtype=np.int64), ordinal_of)

    def _allowed(self, item: Item) -> list[bytes]:
        if item.constant:
            return [bytes((b,)) for b in item.constant]
        if item is STYLUS and self.size_of(item) == 1:
            return [b'01']
        if not (self.is_ascii and item.n_values):
            return [_ANY] * self.size_of(item)
        whole = kernels.ASCII_WIDTH - 1 - item.decimals
        number = [_DIGITS + b' +-'] * whole + [b'.'] + [_DIGITS] * item.decimals
        return number * item.n_values


def fastrak_layout(
    n_stations: int, numbers: Sequence[int], is_ascii: bool, max_stations: int = 4
) -> RecordLayout:
    """
    Return the layout of FASTRAK records with some items.

    Parameters
    ----------
    n_stations : int
        Sensors, on stations from 1 on.
    numbers : sequence of int
        Keys of FASTRAK_ITEMS in the order they are asked for.
    is_ascii : bool
        Whether numbers are decimal.
    max_stations : int
        Stations that the device can have.

    """
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
    """
    Return the layout of LIBERTY or PATRIOT records with some items.

    Parameters
    ----------
    n_stations : int
        Sensors, on stations from 1 on.
    numbers : sequence of int
        Keys of LIBERTY_ITEMS in the order they are asked for.
    preamble : bytes
        A key of PREAMBLES.
    max_stations : int
        Stations that the device can have.

    """
    stations = bytes(range(1, max_stations + 1))

    def layout(size: int) -> RecordLayout:
        low, high = size.to_bytes(2, 'little')
        size_bytes = (bytes((low,)), bytes((high,)))
        return RecordLayout(
            tuple(LIBERTY_ITEMS[n] for n in numbers),
            (preamble[:1], preamble[1:], stations, b'CP', _ANY, _ANY, *size_bytes),
            stations[:n_stations],
            False,
            station_at=2,
            status_at=4,
        )

    return layout(layout(0).record_bytes - LIBERTY_HEADER_BYTES)


class StationStatus(NamedTuple):
    """The contents of a sensor's last record apart from its pose."""

    error: str
    """The device's error character, '' for none."""

    is_pressed: bool
    """Whether the stylus' button is pressed; false if the records do not have it."""

    time_stamp_ms: int
    """The device's clock [ms], 0 if the records do not have it."""

    frame_count: int
    """The device's frame, 0 if the records do not have it."""


class FramedRecordStream(RecordStream):
    """
    Decoder of records of one layout.

    Parameters
    ----------
    layout : RecordLayout
        The layout of a record.
    metres_per_unit : float
        Scale of positions [m].
    reach : Reach
        How far a sensor can move between two of its records.
    inverted : bool
        Whether the device reports the inverse rotation.
    error_text : callable
        Puts the device's error characters into words, '' for none.

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
        self._error_text = error_text
        self.record_bytes = layout.record_bytes
        self.batch = RecordBatch(MAX_READ_BYTES // self.record_bytes + 3)
        self._shape = layout.shape()
        self._decoding = (metres_per_unit, -1.0 if inverted else 1.0, NORM_TOLERANCE)
        self._scanner = kernels.Scanner(
            np.zeros(kernels.STATE_SIZE, dtype=np.int64),
            np.zeros(self.record_bytes + 1, dtype=np.uint8),
            np.zeros(self.record_bytes + 1, dtype=np.int64),
            reach.paths(n_sensors),
            np.zeros((n_sensors, kernels.N_EXTRAS), dtype=np.int64),
            np.zeros(MAX_VALUES),
        )
        self._scanner.state[kernels.LAST_ORDINAL] = n_sensors - 1
        self._scanner.last_extras[:, kernels.STATUS] = NO_ERROR

    @property
    def is_holding(self) -> bool:  # type: ignore[override]
        """Whether a complete record waits for confirmation."""
        return bool(self._scanner.state[kernels.HELD])

    @property
    def counters(self) -> StreamCounters:  # type: ignore[override]
        """Totals since the stream was opened."""
        state = self._scanner.state
        return StreamCounters(*(int(n) for n in state[: len(StreamCounters._fields)]))

    def station(self, ordinal: int) -> StationStatus:
        """Return the contents of a sensor's last record apart from its pose."""
        extras = self._scanner.last_extras[ordinal, : kernels.FAULT]
        status, stylus, time_ms, frame = (int(n) for n in extras)
        error = '' if status in (NO_ERROR, 0) else chr(status)
        return StationStatus(error, stylus != 0, time_ms, frame)

    def sensor_error(self, ordinal: int) -> str:
        """Return the error that a sensor's records report, in words, '' for none."""
        code = standing_error(self._scanner.last_extras, ordinal, kernels.FAULT)
        return self._error_text(chr(code)) if code else ''

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        batch.count = kernels.scan(
            data,
            n_bytes,
            arrival_ns,
            self._shape,
            self._scanner,
            self._decoding,
            batch.ordinals,
            batch.stamps_ns,
            batch.poses,
        )
        return batch.count

    def skip(self) -> None:
        """Forget the record being collected, because bytes were skipped."""
        state = self._scanner.state
        state[kernels.DISCARDED] += state[kernels.LENGTH]
        state[kernels.LENGTH] = state[kernels.HELD] = state[kernels.IN_PHASE] = 0

    def flush(self) -> int:
        """Release the held record, if any, into the batch: quiet has confirmed its end."""
        batch = self.batch
        batch.count = kernels.release(
            self._shape,
            self._scanner,
            self._decoding,
            batch.ordinals,
            batch.stamps_ns,
            batch.poses,
        )
        return batch.count


@dataclass(frozen=True, slots=True)
class PolhemusConfig:
    """What is on one line."""

    sensors: tuple[str, ...]
    """Names of its sensors, on the stations from 1 on."""

    rate_hz: float = 30.0
    """Records a second of each sensor."""

    hemisphere: str = 'front'
    """Side of the transmitter the sensors stay on, a key of HEMISPHERES."""

    inverted_quaternion: bool = False
    """Whether the device reports inverse rotations."""

    max_speed_mps: float = FASTEST_M_S
    """Speed beyond which a record needs to be confirmed [m/s]."""

    baud_rate_bps: int = 115200
    """Only for the text of errors."""

    reply_timeout_s: float = 0.5
    """How long to await an answer [s]."""

    port: str = ''
    """Name of the line's port."""


class PolhemusTracker(Tracker):
    """What the devices have in common."""

    Config = PolhemusConfig
    max_stations: ClassVar[int]
    error_text: ClassVar[Callable[..., str]]

    @property
    @abstractmethod
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""

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
        self._check_rate()
        check_bandwidth(sensors_per_line, config.baud_rate_bps, self.record_bytes, config.rate_hz)

    @abstractmethod
    def _check_rate(self) -> None:
        """Refuse a rate that the device does not have."""

    def open_stream(self) -> FramedRecordStream:
        """Return a decoder in its initial state."""
        config = self._config
        return FramedRecordStream(
            self.layout,
            METRES_PER_CENTIMETRE,
            Reach(config.rate_hz, config.max_speed_mps),
            config.inverted_quaternion,
            type(self).error_text,
        )


def silence(title: str, config: PolhemusConfig, got: str) -> LinkTimeout:
    """Return the error for a device that does not answer."""
    return LinkTimeout(
        f'expected a {title} to answer at {config.baud_rate_bps} bps, got {got}; '
        'check its power, the cable and the switches for RS-232 and baud rate'
    )


def check_poll(
    layout: RecordLayout,
    config: PolhemusConfig,
    reply: bytes,
    error_text: Callable[[str], str],
) -> Steps:
    """
    Note what the answer to a poll reports of each sensor; note what a station lacks.

    Raises
    ------
    ProtocolError : if no sensor reports, or if something else came than records.

    """
    size = layout.record_bytes
    accepts = layout.shape().accepts
    records = [reply[at : at + size] for at in range(0, len(reply), size)]
    for record in records:
        if not all(row[byte] for row, byte in zip(accepts, record)):
            raise ProtocolError(
                f'expected records of {size} bytes, got {record[:12]!r}; '
                'check the device parameter and the baud rate'
            )
    status_of = {r[layout.station_at]: r[layout.status_at] for r in records if len(r) == size}
    missing = [station for station in layout.stations if station not in status_of]
    texts = []
    for number, (station, sensor) in enumerate(zip(layout.stations, config.sensors), 1):
        place = f'station {number} ({sensor})'
        if station in missing:
            texts.append(
                f'{place}: expected a record, got none; '
                'check that the sensor is plugged in there and its switch is on'
            )
        elif error_text(chr(status_of[station])):
            texts.append(f'{place}: {error_text(chr(status_of[station]))}')
    if len(missing) == len(layout.stations):
        raise ProtocolError(texts[0])
    for text in texts:
        yield Exchange(note=text)


def poll(layout: RecordLayout, config: PolhemusConfig, command: bytes) -> Exchange:
    """Return the exchange that asks for one record of each sensor."""
    return Exchange(
        command,
        reply_bytes=len(config.sensors) * layout.record_bytes,
        timeout_s=config.reply_timeout_s,
    )
