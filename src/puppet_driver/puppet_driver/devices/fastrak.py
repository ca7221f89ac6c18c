# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus FASTRAK, RS-232: its commands as bytes, and one line of it as a Tracker.

Starting stops the stream, sees that a FASTRAK answers, asks for centimetres and for records
of position, quaternion and line end, switches the stations on that have a sensor and the
others off, sees by a poll which report, and lets them stream.
"""

from puppet_driver.devices.polhemus import (
    CARRIAGE_RETURN,
    fastrak_layout,
    HEMISPHERES,
    LINE_END,
    NO_ERROR,
    PolhemusTracker,
    RecordLayout,
    SETTLE_PAUSE_S,
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
STATUS_BYTES = 55
STATUS_BEGIN = b'2'
MAX_STATIONS = 4
RATE_HZ = 120.0  # shared by the active stations
DRIVER_ITEMS = (2, 11, 1)


def command(letter: bytes, *values: int) -> bytes:
    """Return a command with numbers, of which the first is the station."""
    return letter + ','.join(map(str, values)).encode() + CARRIAGE_RETURN


class Fastrak(PolhemusTracker):
    """A FASTRAK that writes binary numbers."""

    title = 'Polhemus FASTRAK'
    max_stations = MAX_STATIONS
    is_ascii = False

    @staticmethod
    def error_text(code: str) -> str:
        """Return a FASTRAK record's error character in words, '' for none."""
        if code in ('', chr(NO_ERROR)):
            return ''
        kind = 'weak signal' if 'A' <= code <= 'F' else 'not described here'
        return f'error {code!r} of the built-in test ({kind})'

    @property
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""
        return fastrak_layout(self.n_sensors, DRIVER_ITEMS, self.is_ascii, MAX_STATIONS)

    def max_rate_text(self) -> tuple[float, str]:
        """Return the highest rate of a sensor [Hz], and of what it is."""
        what = f'for {self.n_sensors} sensor(s) on a FASTRAK, which share {RATE_HZ:g} records a'
        return RATE_HZ / self.n_sensors, f'{what} second'

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return STOP

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        yield from self._find_device()
        yield Exchange((ASCII if self.is_ascii else BINARY) + CENTIMETRES)
        for station in range(1, MAX_STATIONS + 1):
            commands = command(STATION_STATE, station, int(station <= self.n_sensors))
            if station <= self.n_sensors:
                commands += command(ITEMS, station, *DRIVER_ITEMS)
                commands += command(HEMISPHERE, station, *HEMISPHERES[self._config.hemisphere])
            yield Exchange(commands, pause_s=SETTLE_PAUSE_S)
        reply = yield self.poll()
        yield from self.check_poll(reply)
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
            raise self.silence(f'{len(status)} byte(s) of a status' if status else 'nothing')
        if not status.startswith(STATUS_BEGIN):
            raise ProtocolError(
                f'expected a status that begins with {STATUS_BEGIN!r}, got {status[:12]!r}; '
                'check the device parameter'
            )


class FastrakAscii(Fastrak):
    """A FASTRAK that writes decimal numbers."""

    is_ascii = True
