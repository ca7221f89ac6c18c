# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Polhemus LIBERTY and PATRIOT, RS-232: commands as bytes, and one line of them as a Tracker.

Both speak alike but for the two letters that begin a record. Starting stops the stream,
asks for binary records of position, quaternion and line end in centimetres, sees by a poll
which stations report, and lets them stream.

"""

from puppet_core.io import ConfigError
from puppet_driver.devices.polhemus import (
    check_poll,
    HEMISPHERES,
    liberty_layout,
    NO_ERROR,
    PolhemusTracker,
    poll,
    PREAMBLES,
    RATE_SLACK,
    RecordLayout,
    SETTLE_PAUSE_S,
    silence,
    START_ATTEMPTS,
    STOP_PAUSE_S,
    XON,
)
from puppet_driver.errors import ProtocolError
from puppet_driver.tracker import Exchange, Exchanges

POLL = b'P'  # also ends streaming
WHO_AM_I, RESET = b'\x16', b'\x19'
CARRIAGE_RETURN = b'\r'
BINARY, ASCII = b'F1\r', b'F0\r'
CENTIMETRES, INCHES = b'U1\r', b'U0\r'
CONTINUOUS = b'C\r'
ITEMS, HEMISPHERE = b'O', b'H'
ALL_STATIONS = b'*'
DRIVER_ITEMS = (2, 7, 1)


def choose_items(numbers: tuple[int, ...]) -> bytes:
    """Return the command that chooses what all stations' records hold."""
    return _command(ITEMS, numbers)


def set_hemisphere(name: str) -> bytes:
    """Return the command that sets on which side all sensors are."""
    return _command(HEMISPHERE, HEMISPHERES[name])


def error_text(code: str) -> str:
    """Return a record's error character in words, '' for none."""
    return '' if code in ('', chr(NO_ERROR)) else f'error {code!r} of the station'


def _command(letter: bytes, values: tuple[int, ...]) -> bytes:
    return letter + ALL_STATIONS + b''.join(b',%d' % v for v in values) + CARRIAGE_RETURN


class Liberty(PolhemusTracker):
    """A LIBERTY."""

    title = 'Polhemus LIBERTY'
    max_stations = 16
    error_text = staticmethod(error_text)
    preamble = b'LY'
    """How its records begin, a key of PREAMBLES."""
    max_rate_hz = 240.0
    """Records a second of each sensor, at most."""

    @property
    def layout(self) -> RecordLayout:
        """Return the layout of the records."""
        return liberty_layout(self.n_sensors, DRIVER_ITEMS, self.preamble, self.max_stations)

    def _check_rate(self) -> None:
        if self._config.rate_hz > RATE_SLACK * self.max_rate_hz:
            raise ConfigError(
                f'rate_hz: expected value <= {self.max_rate_hz:g} of a {self.title}, '
                f'got {self._config.rate_hz:g}'
            )

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return POLL

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        config = self._config
        settings = BINARY + CENTIMETRES + choose_items(DRIVER_ITEMS)
        settings += set_hemisphere(config.hemisphere)
        for _ in range(START_ATTEMPTS):
            # noise may have stopped its output, or begun a command
            yield Exchange(XON + CARRIAGE_RETURN + POLL, pause_s=STOP_PAUSE_S)
            yield Exchange(settings, pause_s=SETTLE_PAUSE_S)
            reply = yield poll(self.layout, config, POLL)
            if len(reply) >= self.layout.record_bytes:
                break
        else:
            got = f'{len(reply)} byte(s) of a record' if reply else 'nothing'
            raise silence(self.title, config, got)
        self._check_model(reply)
        yield from check_poll(self.layout, config, reply, error_text)
        yield Exchange(CONTINUOUS)

    def _check_model(self, reply: bytes) -> None:
        other = PREAMBLES.get(reply[:2], '')
        if other and reply[:2] != self.preamble:
            raise ProtocolError(
                f'expected records of a {self.title}, got those of a {other}; '
                'change the device parameter'
            )


class Patriot(Liberty):
    """A PATRIOT, which speaks alike."""

    title = 'Polhemus PATRIOT'
    max_stations = 2
    preamble = b'PA'
    max_rate_hz = 60.0
