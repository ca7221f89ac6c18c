# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Status and setup of a MotionStar and of its units, the bodies of BIRDNET packets, as bytes."""

import struct
from typing import NamedTuple

from puppet_driver.errors import ProtocolError
from puppet_driver.flock_of_birds import error_text

SYSTEM_STATUS_BYTES = 16  # the bytes of the units follow
UNIT_STATUS_BYTES = 70
RATE_RANGE_HZ = (20.0, 144.0)
SCALING_MASK = 0x0FFF  # the upper bits name the kind of system

SYSTEM_RUNNING, SYSTEM_ERROR, SYSTEM_BUS_ERROR = 0x80, 0x40, 0x20
SYSTEM_CHASSIS_ERROR, SYSTEM_POWER_ERROR, SYSTEM_MASTER = 0x10, 0x08, 0x04
SYSTEM_PROBLEMS = {
    SYSTEM_ERROR: 'a system error', SYSTEM_BUS_ERROR: 'an error on the Fast Bird Bus',
    SYSTEM_CHASSIS_ERROR: 'an error of the chassis', SYSTEM_POWER_ERROR: 'a failing power supply',
}  # fmt: skip
UNIT_ERROR, UNIT_RUNNING, UNIT_HAS_BUTTONS, UNIT_HAS_SENSOR = 0x80, 0x40, 0x08, 0x04
SETUP_SUDDEN_CHANGE, SETUP_XYZ_REFERENCE, SETUP_APPEND_BUTTONS = 0x20, 0x10, 0x08
SETUP_AC_NARROW, SETUP_AC_WIDE, SETUP_DC = 0x04, 0x02, 0x01

HEMISPHERES = {'front': 0, 'aft': 1, 'upper': 2, 'lower': 3, 'left': 4, 'right': 5}

_SYSTEM = struct.Struct('>BBBBB6sBBB2s')
_UNIT = struct.Struct('>BBHBBBBHBBBBH7H7H7H3H3H')


class SystemStatus(NamedTuple):
    """State and setup of the whole system."""

    flags: int
    """SYSTEM_RUNNING and the others."""
    error: int
    """Code of the last error, as the Flock of Birds numbers them."""
    n_units: int
    """Units on the bus."""
    n_servers: int
    """Chassis with an Ethernet port."""
    transmitter: int
    """Address of the unit whose transmitter is on."""
    rate_mhz: int
    """Measurement rate in thousandths of a hertz, at most six digits."""
    chassis: int
    """Number of the chassis that answers."""
    chassis_units: int
    """Units in it."""
    first_address: int
    """Bus address of its first unit."""
    revision: tuple[int, int]
    """Of the device's software."""
    units: bytes = b''
    """A byte for each address from 1 on, flags as in the Flock of Birds' status."""


def encode_system(status: SystemStatus) -> bytes:
    """Return the body of a system's status or setup."""
    if not 0 <= status.rate_mhz <= 999_999:
        raise ValueError(f'rate_mhz: expected at most six digits, got {status.rate_mhz}')
    rate = f'{status.rate_mhz:06d}'.encode('ascii')
    revision = bytes(status.revision)
    return _SYSTEM.pack(*status[:5], rate, *status[6:9], revision) + status.units


def decode_system(body: bytes) -> SystemStatus:
    """
    Return the system's status from a body.

    Raises
    ------
    ProtocolError : if it is too short or its rate is no number.

    """
    if len(body) < SYSTEM_STATUS_BYTES:
        raise ProtocolError(
            f'expected a system status of {SYSTEM_STATUS_BYTES} or more bytes, got {len(body)}'
        )
    fields = _SYSTEM.unpack_from(body)
    rate, revision = fields[5], fields[9]
    if not rate.isdigit():
        raise ProtocolError(f'expected a rate of six digits in the system status, got {rate!r}')
    units = body[SYSTEM_STATUS_BYTES:]
    return SystemStatus._make((*fields[:5], int(rate), *fields[6:9], tuple(revision), units))


def system_problem(status: SystemStatus) -> str:
    """Return what the system complains of, '' if nothing."""
    problems = [text for flag, text in SYSTEM_PROBLEMS.items() if status.flags & flag]
    if problems and status.error:
        problems.append(error_text(status.error))
    return ', '.join(problems)


class UnitStatus(NamedTuple):
    """State and setup of one unit on the bus."""

    flags: int
    """UNIT_RUNNING and the others."""
    model: int
    revision: int
    error: int
    """Code of the last error, as the Flock of Birds numbers them."""
    setup: int
    """SETUP_DC and the others."""
    format_byte: int
    """Words of a record in the upper half, code of its format in the lower."""
    report_rate: int
    """1 to send every measurement, 2 for every other, and so on."""
    scaling: int
    """Full scale of positions [inch] under SCALING_MASK."""
    hemisphere: int
    """A value of HEMISPHERES."""
    address: int
    """On the bus."""
    transmitter: int
    spare: int
    spare_word: int
    alpha_min: tuple[int, ...] = (0,) * 7
    alpha_max: tuple[int, ...] = (0,) * 7
    vm: tuple[int, ...] = (0,) * 7
    reference_frame: tuple[int, ...] = (0,) * 3
    angle_align: tuple[int, ...] = (0,) * 3


def encode_unit(status: UnitStatus) -> bytes:
    """Return the body of a unit's status or setup."""
    tables = (number for table in status[13:] for number in table)
    return _UNIT.pack(*status[:13], *tables)


def decode_unit(body: bytes) -> UnitStatus:
    """
    Return a unit's status from a body.

    Raises
    ------
    ProtocolError : if it is too short.

    """
    if len(body) < UNIT_STATUS_BYTES:
        raise ProtocolError(
            f'expected a unit status of {UNIT_STATUS_BYTES} bytes, got {len(body)}'
        )
    fields = _UNIT.unpack_from(body)
    tables = (fields[13:20], fields[20:27], fields[27:34], fields[34:37], fields[37:40])
    return UnitStatus._make((*fields[:13], *tables))
