# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The trackers that the driver supports; a new one is a module and an entry in `DEVICES`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from puppet_driver.devices import birdnet, fastrak, flock_protocol, liberty, polhemus
from puppet_driver.devices.birdnet import (
    ANSWERS,
    BAD_SAMPLE,
    BUTTON_BYTES,
    BUTTONS_FLAG,
    counts,
    decode_header,
    encode_packet,
    FORMATS,
    Header,
    HEADER_BYTES,
    INVALID,
    LAYOUT,
    MAX_UNITS,
    Message,
    NO_DATA,
    POSITION_ANGLES,
    POSITION_QUATERNION,
    RATE_RANGE_HZ,
    record_bytes,
    setup_byte,
)
from puppet_driver.devices.decoding import ANYWHERE, CONFIRMATIONS, NOISE_M, Reach
from puppet_driver.devices.fastrak import Fastrak, FastrakAscii
from puppet_driver.devices.flock_of_birds import FlockOfBirds
from puppet_driver.devices.flock_protocol import (
    full_scale_m,
    METRES_PER_INCH,
    REP103_SIGNS,
    REPORT_RATES,
    UNIT_ACCESSIBLE,
    UNIT_EXTENDED_RANGE,
    UNIT_HAS_SENSOR,
    UNIT_RUNNING,
)
from puppet_driver.devices.flock_records import PhasedRecordStream
from puppet_driver.devices.liberty import Liberty, Patriot
from puppet_driver.devices.line import Line, LineState, LineStatus, RetryPolicy
from puppet_driver.devices.mock import MockTracker
from puppet_driver.devices.motionstar import MotionStar
from puppet_driver.devices.polhemus import (
    FASTRAK_ITEMS,
    fastrak_layout,
    LIBERTY_ITEMS,
    liberty_layout,
    LINE_END,
    METRES_PER_CENTIMETRE,
    NO_ERROR,
    XOFF,
    XON,
)
from puppet_driver.devices.polhemus_kernels import ASCII_WIDTH
from puppet_driver.tracker import MAX_READ_BYTES, Tracker

DEVICES: dict[str, type[Tracker]] = {
    'flock_of_birds': FlockOfBirds,
    'fastrak': Fastrak,
    'fastrak_ascii': FastrakAscii,
    'liberty': Liberty,
    'patriot': Patriot,
    'motionstar': MotionStar,
    'mock': MockTracker,
}
_OF_THE_LINE = {'sensors', 'port', 'first_row', 'n_all_sensors'}

__all__ = [
    'ANSWERS',
    'ANYWHERE',
    'ASCII_WIDTH',
    'BAD_SAMPLE',
    'BUTTONS_FLAG',
    'BUTTON_BYTES',
    'CONFIRMATIONS',
    'FASTRAK_ITEMS',
    'FORMATS',
    'Fastrak',
    'FastrakAscii',
    'FlockOfBirds',
    'HEADER_BYTES',
    'Header',
    'INVALID',
    'LAYOUT',
    'LIBERTY_ITEMS',
    'LINE_END',
    'Liberty',
    'Line',
    'LineState',
    'LineStatus',
    'MAX_READ_BYTES',
    'MAX_UNITS',
    'METRES_PER_CENTIMETRE',
    'METRES_PER_INCH',
    'Message',
    'MockTracker',
    'MotionStar',
    'NOISE_M',
    'NO_DATA',
    'NO_ERROR',
    'POSITION_ANGLES',
    'POSITION_QUATERNION',
    'Patriot',
    'PhasedRecordStream',
    'RATE_RANGE_HZ',
    'REP103_SIGNS',
    'REPORT_RATES',
    'Reach',
    'RetryPolicy',
    'UNIT_ACCESSIBLE',
    'UNIT_EXTENDED_RANGE',
    'UNIT_HAS_SENSOR',
    'UNIT_RUNNING',
    'XOFF',
    'XON',
    'birdnet',
    'counts',
    'decode_header',
    'encode_packet',
    'fastrak',
    'fastrak_layout',
    'flock_protocol',
    'full_scale_m',
    'liberty',
    'liberty_layout',
    'polhemus',
    'record_bytes',
    'setup_byte',
]


def _parameters(device: type[Tracker]) -> set[str]:
    return {field.name for field in fields(device.Config)} - _OF_THE_LINE


def make_trackers(
    device: str,
    parameters: Any,
    ports: Sequence[str],
    sensors: Sequence[str],
    sensors_per_line: Sequence[int],
) -> tuple[Tracker, ...]:
    """
    Return the device on each line, in the order of the ports.

    Parameters
    ----------
    device : str
        A key of DEVICES.
    parameters : object
        Has the driver's parameters as attributes; the device takes those that it knows.
    ports, sensors : sequence of str
        Names; the sensors in the order of the lines.
    sensors_per_line : sequence of int
        How many sensors each port carries.

    """
    kind = DEVICES[device]
    taken = {name: getattr(parameters, name) for name in _parameters(kind)}
    known = {field.name for field in fields(kind.Config)}
    trackers = []
    first = 0
    for port, count in zip(ports, sensors_per_line):
        line = {
            'sensors': tuple(sensors[first : first + count]),
            'port': port,
            'first_row': first,
            'n_all_sensors': len(sensors),
        }
        line = {name: value for name, value in line.items() if name in known}
        trackers.append(kind(kind.Config(**taken, **line)))
        first += count
    return tuple(trackers)


def ignored_parameters(device: str) -> list[str]:
    """Return the names of other devices' parameters that mean nothing to this one."""
    known = set().union(*(_parameters(kind) for kind in DEVICES.values()))
    return sorted(known - _parameters(DEVICES[device]))
