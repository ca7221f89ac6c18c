# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ascension MotionStar, Ethernet: the packets of its BIRDNET protocol as bytes.

The facts of the protocol and nothing else: no socket, no clock, no state. Both the driver
and the emulator stand on this module, so a fact is written once. All numbers are big-endian.
The bodies of packets are in birdnet_status and birdnet_records.

"""

from collections.abc import Collection
from enum import IntEnum
import struct
from typing import NamedTuple

DEFAULT_PORT = 6000
PROTOCOL = 3
HEADER_BYTES = 16
MAX_UNITS = 120
MAX_BODY_BYTES = 28 * MAX_UNITS  # POSITION/MATRIX with buttons
MAX_PACKET_BYTES = HEADER_BYTES + MAX_BODY_BYTES

ERROR_NAMES = {
    0: 'no error', 1: 'sequence number', 2: 'a few sequence numbers missing',
    3: 'many sequence numbers missing', 4: 'sequence number repeated', 5: 'unexpected packet',
    6: 'bad packet', 7: 'illegal status request', 8: 'illegal setup', 9: 'not ready',
}  # fmt: skip

_HEADER = struct.Struct('>HHIBBBBHH')


class Message(IntEnum):
    """What a packet says; the device's answers and data have numbers of their own."""

    WAKE_UP = 10
    SHUT_DOWN = 11
    WAKE_UP_ANSWER = 20
    SHUT_DOWN_ANSWER = 21
    SYNC_SEQUENCE = 30
    SYNC_SEQUENCE_ANSWER = 31
    ILLEGAL = 40
    UNKNOWN = 50
    GET_STATUS = 101
    SEND_SETUP = 102
    SINGLE_SHOT = 103
    RUN_CONTINUOUS = 104
    STOP_DATA = 105
    GET_STATUS_ANSWER = 201
    SEND_SETUP_ANSWER = 202
    RUN_CONTINUOUS_ANSWER = 204
    STOP_DATA_ANSWER = 205
    DATA = 210


ANSWERS = {
    Message.WAKE_UP: Message.WAKE_UP_ANSWER,
    Message.SHUT_DOWN: Message.SHUT_DOWN_ANSWER,
    Message.SYNC_SEQUENCE: Message.SYNC_SEQUENCE_ANSWER,
    Message.GET_STATUS: Message.GET_STATUS_ANSWER,
    Message.SEND_SETUP: Message.SEND_SETUP_ANSWER,
    Message.SINGLE_SHOT: Message.DATA,
    Message.RUN_CONTINUOUS: Message.RUN_CONTINUOUS_ANSWER,
    Message.STOP_DATA: Message.STOP_DATA_ANSWER,
}
REFUSALS = {Message.ILLEGAL: 'not allowed at this time', Message.UNKNOWN: 'an unknown command'}
_KNOWN = frozenset(Message)


class Header(NamedTuple):
    """The first 16 bytes of every packet but the protocol's number."""

    message: Message
    """What the packet says."""

    unit: int = 0
    """Bus address that it is about, 0 for the system."""

    sequence: int = 0
    """Counts the sender's packets, modulo 65536."""

    seconds: int = 0
    """Time of sending [s]."""

    milliseconds: int = 0
    """Its fraction [ms]."""

    error: int = 0
    """A key of ERROR_NAMES."""

    extension: int = 0
    """More about the error."""

    body_bytes: int = 0
    """How many bytes follow."""


class Packet(NamedTuple):
    """One packet."""

    header: Header
    body: bytes


def encode_packet(header: Header, body: bytes = b'') -> bytes:
    """Return a packet's bytes; `body_bytes` is filled in."""
    if len(body) > MAX_BODY_BYTES:
        raise ValueError(f'body: expected up to {MAX_BODY_BYTES} bytes, got {len(body)}')
    return body_header(header, len(body)) + body


def body_header(header: Header, body_bytes: int) -> bytes:
    """Return the header's bytes of a packet with a body of so many."""
    return _HEADER.pack(
        header.sequence & 0xFFFF, header.milliseconds, header.seconds & 0xFFFFFFFF,
        header.message, header.unit, PROTOCOL, header.error, header.extension, body_bytes,
    )  # fmt: skip


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
    Look for the first packet of a kind among others and bytes that are none.

    Returns
    -------
    packet : Packet or None
        None if it is not there, or not whole.
    wanted_bytes : int
        Where it ends in `data`; without it, how much there must be to say more.

    """
    start = 0
    while start + HEADER_BYTES <= len(data):
        header = decode_header(data[start: start + HEADER_BYTES])
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
    code = error_code_text(header.error)
    if header.message in REFUSALS:
        return f'{REFUSALS[header.message]}, {code}' if code else REFUSALS[header.message]
    return code
