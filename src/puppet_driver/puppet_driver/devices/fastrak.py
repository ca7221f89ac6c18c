# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus FASTRAK, RS-232: its commands as bytes, and one line of it as a Tracker.

Starting stops the stream, sees that a FASTRAK answers, asks for centimetres and for records
of position, quaternion and line end, switches the stations on that have a sensor and the
others off, sees by a poll which report, and lets them stream.

"""

from puppet_core.io import ConfigError
from puppet_driver.devices.polhemus import (
    check_poll,
    fastrak_layout,
    HEMISPHERES,
    LINE_END,
    NO_ERROR,
    PolhemusTracker,
    poll,
    RATE_SLACK,
    RecordLayout,
    SETTLE_PAUSE_S,
    silence,
    START_ATTEMPTS,
    Steps,
    STOP_PAUSE_S,
    XON,
)
from puppet_driver.errors import ProtocolError
from puppet_driver.tracker import Exchange, Exchanges

STOP, CONTINUOUS, POLL = b'c', b'C', b'P'
BINARY, ASCII = b'f', b'F'
CENTIMETRES, INCHES = b'u', b'U'
STATUS, RESET = b'S', b'\x19'
ITEMS, HEMISPHERE, STATION_STATE = b'O', b'H', b'l'  # up to a carriage return
CARRIAGE_RETURN = b'\r'
STATUS_BYTES = 55
STATUS_BEGIN = b'2'
MAX_STATIONS = 4
RATE_HZ = 120.0  # shared by the active stations
DRIVER_ITEMS = (2, 11, 1)


def choose_items(station: int, numbers: tuple[int, ...]) -> bytes:
    """Return the command that chooses what a station's records hold."""
    return _command(ITEMS, station, *numbers)


def set_hemisphere(station: int, name: str) -> bytes:
    """Return the command that sets on which side a station's sensor is."""
    return _command(HEMISPHERE, station, *HEMISPHERES[name])


def switch_station(station: int, is_on: bool) -> bytes:
    """Return the command that makes a station report or not."""
    return _command(STATION_STATE, station, int(is_on))


def error_text(code: str) -> str:
    """Return a FASTRAK record's error character in words, '' for none."""
    if code in ('', chr(NO_ERROR)):
        return ''
    kind = 'weak signal' if 'A' <= code <= 'F' else 'not described here'
    return f'error {code!r} of the built-in test ({kind})'


def _command(letter: bytes, *values: int) -> bytes:
    return letter + ','.join(str(v) for v in values).encode() + CARRIAGE_RETURN


class Fastrak(PolhemusTracker):
    """A FASTRAK that writes binary numbers."""

    title = 'Polhemus FASTRAK'
    max_stations = MAX_STATIONS
    error_text = staticmethod(error_text)
    is_ascii = False

    @property
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""
        return fastrak_layout(self.n_sensors, DRIVER_ITEMS, self.is_ascii, MAX_STATIONS)

    def _check_rate(self) -> None:
        limit_hz = RATE_HZ / self.n_sensors
        if self._config.rate_hz > RATE_SLACK * limit_hz:
            raise ConfigError(
                f'rate_hz: expected value <= {limit_hz:g} for {self.n_sensors} sensor(s) on a '
                f'FASTRAK, which share {RATE_HZ:g} records a second, got {self._config.rate_hz:g}'
            )

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return STOP

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        yield from self._find_device()
        yield Exchange((ASCII if self.is_ascii else BINARY) + CENTIMETRES)
        for station in range(1, MAX_STATIONS + 1):
            yield Exchange(self._station_commands(station), pause_s=SETTLE_PAUSE_S)
        reply = yield poll(self.layout, self._config, POLL)
        yield from check_poll(self.layout, self._config, reply, error_text)
        yield Exchange(CONTINUOUS)

    def _find_device(self) -> Steps:
        for _ in range(START_ATTEMPTS):
            # noise may have stopped its output, or begun a command
            yield Exchange(XON + CARRIAGE_RETURN + STOP, pause_s=STOP_PAUSE_S)
            status = yield Exchange(
                STATUS, reply_bytes=STATUS_BYTES, timeout_s=self._config.reply_timeout_s
            )
            if len(status) == STATUS_BYTES and status.endswith(LINE_END):
                break
        else:
            got = f'{len(status)} byte(s) of a status' if status else 'nothing'
            raise silence(self.title, self._config, got)
        if not status.startswith(STATUS_BEGIN):
            raise ProtocolError(
                f'expected a status that begins with {STATUS_BEGIN!r}, got {status[:12]!r}; '
                'check the device parameter'
            )

    def _station_commands(self, station: int) -> bytes:
        if station > self.n_sensors:
            return switch_station(station, False)
        return (
            switch_station(station, True)
            + choose_items(station, DRIVER_ITEMS)
            + set_hemisphere(station, self._config.hemisphere)
        )


class FastrakAscii(Fastrak):
    """A FASTRAK that writes decimal numbers."""

    is_ascii = True
