# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus LIBERTY and PATRIOT, RS-232: commands as bytes, and one line of them as a Tracker.

Both speak alike but for the two letters that begin a record. Starting stops the stream,
asks for binary records of position, quaternion and line end in centimetres, sees by a poll
which stations report, and lets them stream.
"""

from collections.abc import Sequence

from puppet_driver.devices.polhemus import (
    CARRIAGE_RETURN,
    HEMISPHERES,
    liberty_layout,
    NO_ERROR,
    PolhemusTracker,
    PREAMBLES,
    RecordLayout,
    SETTLE_PAUSE_S,
    START_ATTEMPTS,
    STOP_PAUSE_S,
    XON,
)
from puppet_driver.errors import ProtocolError
from puppet_driver.tracker import Exchange, Exchanges

POLL = b'P'  # also ends streaming
WHO_AM_I, RESET = b'\x16', b'\x19'
BINARY, ASCII = b'F1\r', b'F0\r'
CENTIMETRES, INCHES = b'U1\r', b'U0\r'
CONTINUOUS = b'C\r'
ITEMS, HEMISPHERE = b'O', b'H'
ALL_STATIONS = b'*'
DRIVER_ITEMS = (2, 7, 1)


def command(letter: bytes, values: Sequence[int]) -> bytes:
    """Return a command with numbers for all stations."""
    return letter + ALL_STATIONS + b''.join(b',%d' % v for v in values) + CARRIAGE_RETURN


class Liberty(PolhemusTracker):
    """A LIBERTY."""

    title = 'Polhemus LIBERTY'
    max_stations = 16
    preamble = b'LY'
    """How its records begin, a key of PREAMBLES."""
    max_rate_hz = 240.0
    """Records a second of each sensor, at most."""

    @staticmethod
    def error_text(code: str) -> str:
        """Return a record's error character in words, '' for none."""
        return '' if code in ('', chr(NO_ERROR)) else f'error {code!r} of the station'

    @property
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""
        return liberty_layout(self.n_sensors, DRIVER_ITEMS, self.preamble, self.max_stations)

    def max_rate_text(self) -> tuple[float, str]:
        """Return the highest rate of a sensor [Hz], and of what it is."""
        return self.max_rate_hz, f'of a {self.title}'

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return POLL

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        settings = BINARY + CENTIMETRES + command(ITEMS, DRIVER_ITEMS)
        settings += command(HEMISPHERE, HEMISPHERES[self._config.hemisphere])
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
        yield Exchange(CONTINUOUS)


class Patriot(Liberty):
    """A PATRIOT, which speaks alike."""

    title = 'Polhemus PATRIOT'
    max_stations = 2
    preamble = b'PA'
    max_rate_hz = 60.0
