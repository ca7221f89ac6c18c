# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What Polhemus records are made of: items in the order they were asked for, behind a header.

The FASTRAK writes decimal or binary numbers behind three characters, LIBERTY and PATRIOT
binary ones behind eight bytes. Driver and emulator both read the layouts that are made here,
so a fact is written once.

"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from puppet_core.errors import ConfigError
from puppet_driver import framed_kernels as frame
from puppet_driver import polhemus_kernels as kernels

METRES_PER_CENTIMETRE = 0.01
NO_ERROR = frame.NO_ERROR
LINE_END = b'\r\n'
# the same side as the Ascension names: X forward, Y right, Z down of the transmitter
HEMISPHERES = {
    'front': (1, 0, 0), 'aft': (-1, 0, 0), 'upper': (0, 0, -1),
    'lower': (0, 0, 1), 'left': (0, -1, 0), 'right': (0, 1, 0),
}  # fmt: skip
_DIGITS = b'0123456789'
_PRINTABLE = bytes(range(0x20, 0x7F))
_ANY = bytes(range(256))


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
    0: SPACE, 1: END, 2: POSITION, 4: EULER, 5: COSINES[0], 6: COSINES[1], 7: COSINES[2],
    11: QUATERNION, 16: STYLUS,
}  # fmt: skip
LIBERTY_ITEMS = {
    0: SPACE, 1: END, 2: POSITION, 4: EULER, 7: QUATERNION, 8: TIME_STAMP, 9: FRAME_COUNT,
    10: STYLUS,
}  # fmt: skip
LIBERTY_HEADER_BYTES = 8
PREAMBLES = {b'LY': 'LIBERTY', b'PA': 'PATRIOT', b'LU': 'LATUS'}

_FORMS = {
    (QUATERNION,): kernels.QUATERNION,
    (EULER,): kernels.EULER,
    COSINES: kernels.COSINES,
}
_BINARY_BYTES = {'stylus': 4, 'time stamp': 4, 'frame count': 4}  # LIBERTY's


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
        """Which form the orientation has, one of polhemus_kernels' constants."""
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
