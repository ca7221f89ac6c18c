# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An emulated FASTRAK: commands in, replies and records out; a DeviceSimulator.

Like the hardware it wakes up with ASCII records of position and angles in inches, keeps the
items of each station apart, and is deaf for ten seconds after a reset.

"""

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_driver.devices import (
    fastrak,
    FASTRAK_ITEMS,
    fastrak_layout,
    LINE_END,
    METRES_PER_CENTIMETRE,
    METRES_PER_INCH,
    NO_ERROR,
    XOFF,
    XON,
)
from puppet_driver.emulator.polhemus_encoding import encode_records, RecordExtras

POWER_UP_ITEMS = (2, 4, 1)
RESET_S = 10.0
MAX_COMMAND_BYTES = 80
ALWAYS_SET = 0x3F0  # flags of the status without meaning here
_WITH_DATA = fastrak.ITEMS + fastrak.HEMISPHERE + fastrak.STATION_STATE


class FastrakSimulator:
    """
    One FASTRAK with sensors on its first stations.

    Parameters
    ----------
    n_sensors : int
        Sensors that are plugged in.

    """

    report_every = 1

    def __init__(self, n_sensors: int) -> None:
        self.n_sensors = n_sensors
        self.error = NO_ERROR
        self.is_pressed = False
        self.version = 0
        self._deaf_until_s = 0.0
        self._power_up()

    def _power_up(self) -> None:
        self.is_streaming = False
        self.is_held_off = False
        self.is_ascii = True
        self.metres_per_unit = METRES_PER_INCH
        stations = range(1, fastrak.MAX_STATIONS + 1)
        self.items: dict[int, tuple[int, ...]] = dict.fromkeys(stations, POWER_UP_ITEMS)
        self.active = {station: station <= self.n_sensors for station in stations}
        self.hemispheres: dict[int, tuple[int, ...]] = {}
        self.n_poll_requests = 0
        self._pending = b''

    @property
    def is_sending(self) -> bool:
        """Whether records leave the device at each tick."""
        return self.is_streaming and not self.is_held_off

    def take_poll_requests(self) -> int:
        """Return how many polls are unanswered, and forget them."""
        n_poll_requests, self.n_poll_requests = self.n_poll_requests, 0
        return n_poll_requests

    def on_disconnect(self) -> None:
        """Forget a command cut short and answers not sent."""
        self._pending = b''
        self.n_poll_requests = 0

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        """Return the records of poses (n_ticks, sensors, 7) of the active stations."""
        extras = RecordExtras(status=self.error, is_pressed=self.is_pressed)
        records = [
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
        return records or [np.zeros((len(poses), 0), dtype=np.uint8)]

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Obey the commands in `data` as far as they are complete; return the replies."""
        if now_s < self._deaf_until_s:
            return b''
        self._pending += data
        reply = b''
        while self._pending:
            letter = self._pending[:1]
            if letter in _WITH_DATA:
                end = self._pending.find(fastrak.CARRIAGE_RETURN)
                if end < 0:
                    # too long for a command: noise
                    self._pending = self._pending[:MAX_COMMAND_BYTES]
                    break
                text, self._pending = self._pending[1:end], self._pending[end + 1 :]
                self._set(letter, text)
                continue
            self._pending = self._pending[1:]
            reply += self._obey(letter, now_s)
        return reply

    def _obey(self, letter: bytes, now_s: float) -> bytes:
        if letter == fastrak.STATUS:
            return self._status()
        if letter == fastrak.POLL:
            self.n_poll_requests += 1
        elif letter in (fastrak.STOP, fastrak.CONTINUOUS):
            self.is_streaming = letter == fastrak.CONTINUOUS
        elif letter in (fastrak.BINARY, fastrak.ASCII):
            self.is_ascii = letter == fastrak.ASCII
        elif letter in (fastrak.CENTIMETRES, fastrak.INCHES):
            is_metric = letter == fastrak.CENTIMETRES
            self.metres_per_unit = METRES_PER_CENTIMETRE if is_metric else METRES_PER_INCH
        elif letter in (XON, XOFF):
            self.is_held_off = letter == XOFF
        elif letter == fastrak.RESET:
            self._power_up()
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
