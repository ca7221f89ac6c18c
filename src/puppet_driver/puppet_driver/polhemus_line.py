# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What starting a FASTRAK and a LIBERTY have in common: the line's config, and a poll."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from puppet_core.fastest_motion import FASTEST_M_S
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.plausible_path import Reach
from puppet_driver.polhemus_records import RecordLayout
from puppet_driver.tracker import Exchange

START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
XON, XOFF = b'\x11', b'\x13'
SETTLE_PAUSE_S = 0.05  # between commands that the device works on

Steps = Generator[Exchange, bytes, None]


@dataclass(frozen=True, slots=True)
class PolhemusLineConfig:
    """What is on one line."""

    sensors: tuple[str, ...]
    """Names of its sensors, on the stations from 1 on."""

    rate_hz: float = 30.0
    """Records a second of each sensor."""

    hemisphere: str = 'front'
    """Side of the transmitter the sensors stay on, a key of HEMISPHERES."""

    inverted: bool = False
    """Whether the device reports inverse rotations."""

    max_speed_mps: float = FASTEST_M_S
    """Speed beyond which a record needs to be confirmed [m/s]."""

    baud_rate_bps: int = 115200
    """Only for the text of errors."""

    reply_timeout_s: float = 0.5
    """How long to await an answer [s]."""

    @property
    def reach(self) -> Reach:
        """How far a sensor can move between two of its records."""
        return Reach(self.rate_hz, self.max_speed_mps)


def silence(title: str, config: PolhemusLineConfig, got: str) -> LinkTimeout:
    """Return the error for a device that does not answer."""
    return LinkTimeout(
        f'expected a {title} to answer at {config.baud_rate_bps} bps, got {got}; '
        'check its power, the cable and the switches for RS-232 and baud rate'
    )


def check_poll(
    layout: RecordLayout, config: PolhemusLineConfig, reply: bytes,
    error_text: Callable[[str], str],
) -> Steps:  # fmt: skip
    """
    See what the answer to a poll says of each sensor; note what a station lacks.

    Raises
    ------
    ProtocolError : if no sensor reports, or if something else came than records.

    """
    size = layout.record_bytes
    accepts = layout.shape().accepts
    records = [reply[at:at + size] for at in range(0, len(reply), size)]
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


def poll(layout: RecordLayout, config: PolhemusLineConfig, command: bytes) -> Exchange:
    """Return the exchange that asks for one record of each sensor."""
    return Exchange(
        command,
        reply_bytes=len(config.sensors) * layout.record_bytes,
        timeout_s=config.reply_timeout_s,
    )
