# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An emulated LIBERTY or Patriot: commands in, replies and records out; a DeviceSimulator.

Of its records only the binary ones are known, so it says nothing until it has been asked for
them.

"""

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_driver.devices import (
    liberty,
    LIBERTY_ITEMS,
    liberty_layout,
    METRES_PER_CENTIMETRE,
    METRES_PER_INCH,
    NO_ERROR,
    XOFF,
    XON,
)
from puppet_driver.emulator.polhemus_encoding import encode_records, RecordExtras

RESET_S = 10.0
MAX_COMMAND_BYTES = 80
POWER_UP_ITEMS = (2, 4, 1)
WHO_AM_I_TEXT = b'emulated %s\r\n'
_AT_ONCE = (liberty.POLL, liberty.WHO_AM_I, liberty.RESET)


class LibertySimulator:
    """
    One device with sensors on its first stations.

    Parameters
    ----------
    n_sensors : int
        Sensors that are plugged in.
    rate_hz : float
        Records a second of each.
    model : type of Liberty
        Which device.

    """

    report_every = 1

    def __init__(
        self,
        n_sensors: int,
        rate_hz: float = 120.0,
        model: type[liberty.Liberty] = liberty.Liberty,
    ) -> None:
        self.n_sensors = n_sensors
        self.error = NO_ERROR
        self.is_pressed = False
        self.version = 0
        self._rate_hz = rate_hz
        self._model = model
        self._deaf_until_s = 0.0
        self._power_up()

    def _power_up(self) -> None:
        self.is_streaming = False
        self.is_held_off = False
        self.is_binary = False
        self.metres_per_unit = METRES_PER_INCH
        self.items: tuple[int, ...] = POWER_UP_ITEMS
        self.hemisphere: tuple[int, ...] = (1, 0, 0)
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

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Obey the commands in `data` as far as they are complete; return the replies."""
        if now_s < self._deaf_until_s:
            return b''
        self._pending += data
        reply = b''
        while self._pending:
            letter = self._pending[:1]
            if letter in _AT_ONCE or letter in (XON, XOFF):
                self._pending = self._pending[1:]
                reply += self._obey(letter, now_s)
                continue
            end = self._pending.find(liberty.CARRIAGE_RETURN)
            if end < 0:
                # too long for a command: noise
                self._pending = self._pending[:MAX_COMMAND_BYTES]
                break
            command, self._pending = self._pending[: end + 1], self._pending[end + 1 :]
            self._set(command)
        return reply

    def _obey(self, letter: bytes, now_s: float) -> bytes:
        self.version += 1
        if letter == liberty.WHO_AM_I:
            return self._who_am_i()
        if letter == liberty.POLL:
            self.is_streaming = False
            self.n_poll_requests += 1
        elif letter == liberty.RESET:
            self._power_up()
            self._deaf_until_s = now_s + RESET_S
        else:
            self.is_held_off = letter == XOFF
        return b''

    def _set(self, command: bytes) -> None:
        self.version += 1
        if command in (liberty.BINARY, liberty.ASCII):
            self.is_binary = command == liberty.BINARY
        elif command in (liberty.CENTIMETRES, liberty.INCHES):
            is_metric = command == liberty.CENTIMETRES
            self.metres_per_unit = METRES_PER_CENTIMETRE if is_metric else METRES_PER_INCH
        elif command == liberty.CONTINUOUS:
            self.is_streaming = True
        elif command[:2] in (liberty.ITEMS + b'*', liberty.HEMISPHERE + b'*'):
            self._set_all(command[:1], command[2:-1])

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
