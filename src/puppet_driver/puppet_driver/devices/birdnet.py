# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The Bird Net protocol of the Ascension MotionStar: packets, records, status and setup as bytes.

Shared by driver and emulator. All numbers are big-endian. A data packet holds one record per unit:
the unit's address, a byte with format and number of words, the words, and two bytes of buttons if
the address has its highest bit set. The words are whole 16-bit numbers.
"""

from collections.abc import Collection
from enum import IntEnum
import struct
from typing import NamedTuple

from puppet_driver.devices.flock_of_birds import error_text, RECORD_FORMATS
from puppet_driver.errors import ProtocolError

PROTOCOL = 3
HEADER_BYTES = 16
MAX_UNITS = 120
MAX_BODY_BYTES = 28 * MAX_UNITS  # POSITION/MATRIX with buttons

ERROR_NAMES = {
    0: 'no error',
    1: 'sequence number',
    2: 'a few sequence numbers missing',
    3: 'many sequence numbers missing',
    4: 'sequence number repeated',
    5: 'unexpected packet',
    6: 'bad packet',
    7: 'illegal status request',
    8: 'illegal setup',
    9: 'not ready',
}

_HEADER = struct.Struct('>HHIBBBBHH')

FULL_SCALE = 32767.0  # counts at the end of the range, of the unit interval and of half a turn
BUTTONS_FLAG = 0x80  # in the address
NO_DATA, THROUGH_DATA, BAD_SAMPLE = 0, 14, 15

HEAD_BYTES, BUTTON_BYTES = 2, 2
INVALID = -1

RATE_RANGE_HZ = (20.0, 144.0)
SCALING_MASK = 0x0FFF  # the upper bits name the kind of system

SYSTEM_RUNNING, SYSTEM_MASTER = 0x80, 0x04
SYSTEM_PROBLEMS = {
    0x40: 'a system error',
    0x20: 'an error on the Fast Bird Bus',
    0x10: 'an error of the chassis',
    0x08: 'a failing power supply',
}
UNIT_ERROR, UNIT_RUNNING, UNIT_HAS_SENSOR = 0x80, 0x40, 0x04
SETUP_APPEND_BUTTONS, SETUP_AC_NARROW, SETUP_DC = 0x08, 0x04, 0x01

HEMISPHERES = {'front': 0, 'aft': 1, 'upper': 2, 'lower': 3, 'left': 4, 'right': 5}

_SYSTEM = struct.Struct('>BBBBB6sBBB2s')  # the bytes of the units follow
_UNIT = struct.Struct('>BBHBBBBHBBB3s54s')


class Message(IntEnum):
    """What a packet is; the device's answers and data have numbers of their own."""

    WAKE_UP = 10
    WAKE_UP_ANSWER = 20
    ILLEGAL = 40
    UNKNOWN = 50
    GET_STATUS = 101
    SEND_SETUP = 102
    RUN_CONTINUOUS = 104
    STOP_DATA = 105
    GET_STATUS_ANSWER = 201
    SEND_SETUP_ANSWER = 202
    RUN_CONTINUOUS_ANSWER = 204
    STOP_DATA_ANSWER = 205
    DATA = 210


ANSWERS = {
    Message.WAKE_UP: Message.WAKE_UP_ANSWER,
    Message.GET_STATUS: Message.GET_STATUS_ANSWER,
    Message.SEND_SETUP: Message.SEND_SETUP_ANSWER,
    Message.RUN_CONTINUOUS: Message.RUN_CONTINUOUS_ANSWER,
    Message.STOP_DATA: Message.STOP_DATA_ANSWER,
}
REFUSALS = {Message.ILLEGAL: 'not allowed at this time', Message.UNKNOWN: 'an unknown command'}
_KNOWN = frozenset(Message)


class Header(NamedTuple):
    """The first 16 bytes of every packet but the protocol's number."""

    message: Message  # What the packet is
    unit: int = 0  # Bus address that it is about, 0 for the system
    sequence: int = 0  # Counts the sender's packets, modulo 65536
    seconds: int = 0  # Time of sending [s]
    milliseconds: int = 0  # Its fraction [ms]
    error: int = 0  # A key of ERROR_NAMES
    extension: int = 0  # More about the error
    body_bytes: int = 0  # How many bytes follow


class Packet(NamedTuple):
    header: Header
    body: bytes


def encode_packet(header: Header, body: bytes = b'') -> bytes:
    """Return a packet's bytes; `body_bytes` is filled in."""
    if len(body) > MAX_BODY_BYTES:
        raise ValueError(f'body: expected up to {MAX_BODY_BYTES} bytes, got {len(body)}')
    packed = _HEADER.pack(
        header.sequence & 0xFFFF,
        header.milliseconds,
        header.seconds & 0xFFFFFFFF,
        header.message,
        header.unit,
        PROTOCOL,
        header.error,
        header.extension,
        len(body),
    )
    return packed + body


def decode_header(data: bytes) -> Header | None:
    """Return the header that `data` begins with, None if that is none."""
    if len(data) < HEADER_BYTES:
        return None
    sequence, milliseconds, seconds, message, unit, protocol, error, extension, body_bytes = (
        _HEADER.unpack_from(data)
    )
    if protocol != PROTOCOL or message not in _KNOWN or body_bytes > MAX_BODY_BYTES:
        return None
    return Header(
        Message(message), unit, sequence, seconds, milliseconds, error, extension, body_bytes
    )


def find_packet(data: bytes, wanted: Collection[Message]) -> tuple[Packet | None, int]:
    """
    Find the first packet of a kind among others and bytes that are none.

    Return it and where it ends in `data`; if it is not there or not whole, None and how many bytes
    are needed to decide.
    """
    start = 0
    while start + HEADER_BYTES <= len(data):
        header = decode_header(data[start : start + HEADER_BYTES])
        if header is None:
            start += 1
            continue
        body_start = start + HEADER_BYTES
        end = body_start + header.body_bytes
        if end > len(data):
            return None, end
        if header.message in wanted:
            return Packet(header, data[body_start:end]), end
        start = end
    return None, start + HEADER_BYTES


def error_code_text(error: int) -> str:
    """Return the error byte of a packet in words, '' for none."""
    name = ERROR_NAMES.get(error, 'not described in the manuals')
    return f'error {error} ({name})' if error else ''


def packet_error_text(header: Header) -> str:
    """Return what an answer complains of, '' if it does not."""
    texts = (REFUSALS.get(header.message, ''), error_code_text(header.error))
    return ', '.join(text for text in texts if text)


FORMATS = {known.code: known for known in RECORD_FORMATS.values()}


def setup_byte(code: int) -> int:
    """Return the byte that asks a unit for a format: words above, code below."""
    return FORMATS[code].n_words << 4 | code if code in FORMATS else code


def layout_table() -> list[tuple[int, int]]:
    """Return code and words by a format byte, code in either half; INVALID twice means nothing."""
    layout = [(INVALID, INVALID)] * 256
    meanings = {(known.code, known.n_words) for known in FORMATS.values()}
    word_counts = {0, *(known.n_words for known in FORMATS.values())}
    meanings |= {(c, n) for c in (THROUGH_DATA, BAD_SAMPLE) for n in word_counts}
    for code, n_words in (*meanings, (NO_DATA, 0)):
        layout[code << 4 | n_words] = layout[n_words << 4 | code] = code, n_words
    return layout


LAYOUT = layout_table()


class SystemStatus(NamedTuple):
    flags: int  # SYSTEM_RUNNING and the others
    error: int  # Code of the last error, as the Flock of Birds numbers them
    n_units: int  # Units on the bus
    n_servers: int  # Chassis with an Ethernet port
    transmitter: int  # Address of the unit whose transmitter is on
    rate_mhz: int  # Measurement rate in thousandths of a hertz, at most six digits
    chassis: int  # Number of the chassis that answers
    chassis_units: int  # Units in it
    first_address: int  # Bus address of its first unit
    revision: bytes  # Of the device's software, two numbers
    units: bytes = b''  # A byte for each address from 1 on, flags as in the Flock of Birds' status

    def encode(self) -> bytes:
        rate = f'{self.rate_mhz:06d}'.encode('ascii')
        return _SYSTEM.pack(*self[:5], rate, *self[6:10]) + self.units

    @property
    def problem(self) -> str:
        """Return what the system complains of, '' if nothing."""
        problems = [text for flag, text in SYSTEM_PROBLEMS.items() if self.flags & flag]
        if problems and self.error:
            problems.append(error_text(self.error))
        return ', '.join(problems)


def decode_system(body: bytes) -> SystemStatus:
    """Return the system's status from a body; ProtocolError if it is too short or has no rate."""
    if len(body) < _SYSTEM.size:
        raise ProtocolError(
            f'expected a system status of {_SYSTEM.size} or more bytes, got {len(body)}'
        )
    fields = _SYSTEM.unpack_from(body)
    if not fields[5].isdigit():
        raise ProtocolError(
            f'expected a rate of six digits in the system status, got {fields[5]!r}'
        )
    return SystemStatus._make((*fields[:5], int(fields[5]), *fields[6:], body[_SYSTEM.size :]))


class UnitStatus(NamedTuple):
    flags: int  # UNIT_RUNNING and the others
    model: int
    revision: int
    error: int  # Code of the last error, as the Flock of Birds numbers them
    setup: int  # SETUP_DC and the others
    format_byte: int  # Words of a record in the upper half, code of its format in the lower
    report_rate: int  # 1 to send every measurement, 2 for every other, and so on
    scaling: int  # Full scale of positions [inch] under SCALING_MASK
    hemisphere: int  # A value of HEMISPHERES
    address: int  # On the bus
    transmitter: int = 0
    spare: bytes = bytes(3)  # sent back as read
    tables: bytes = bytes(54)  # alpha_min, alpha_max, Vm, reference frame, angle align

    def encode(self) -> bytes:
        return _UNIT.pack(*self)


def decode_unit(body: bytes) -> UnitStatus:
    """Return a unit's status from a body; ProtocolError if it is too short."""
    if len(body) < _UNIT.size:
        raise ProtocolError(f'expected a unit status of {_UNIT.size} bytes, got {len(body)}')
    return UnitStatus._make(_UNIT.unpack_from(body))
