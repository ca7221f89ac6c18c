# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Stamp and frame index of a serialised message, read or given anew without decoding the rest.

A message that begins with a std_msgs/Header is, in CDR, four bytes of encapsulation, the
stamp, the frame id as a counted text, and then what follows, aligned to its own size. For
observers that time every message but look into few of them.
"""

import struct
from typing import NamedTuple

from puppet_ros.messages.flat_array import checked_ns, MessageError, require_size, STAMP_UNIT_NS

_STAMP = {0: struct.Struct('>iI'), 1: struct.Struct('<iI')}
_HEAD = {0: struct.Struct('>iII'), 1: struct.Struct('<iII')}  # and the frame id's length
_LENGTH = {0: struct.Struct('>I'), 1: struct.Struct('<I')}
_INDEX = {0: struct.Struct('>Q'), 1: struct.Struct('<Q')}
_ENCAPSULATION = 4
_TEXT_AT = 12  # length of the frame id


class Head(NamedTuple):
    """What all messages of streams begin with, but for the frame id."""

    stamp_ns: int  # Of the header [ns]
    frame_index: int  # The uint64 that follows the header


def head(data: bytes) -> Head:
    """
    Return stamp and frame index of a message that begins with a Header.

    Raises MessageError if the data is too short or too large, or the stamp is no time.
    """
    require_size(data, 'header')
    try:
        little = data[1] & 1
        seconds, nanoseconds, length = _HEAD[little].unpack_from(data, _ENCAPSULATION)
        (index,) = _INDEX[little].unpack_from(data, _behind_text(length))
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return Head(checked_ns(seconds, nanoseconds), index)


def stamp_ns(data: bytes) -> int:
    """
    Return the stamp of a message that begins with a Header [ns].

    Raises MessageError if the data is too short or too large, or the stamp is no time.
    """
    require_size(data, 'header')
    try:
        seconds, nanoseconds = _STAMP[data[1] & 1].unpack_from(data, _ENCAPSULATION)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected at least 12 bytes, got {len(data)}') from err
    return checked_ns(seconds, nanoseconds)


def frame_index(data: bytes) -> int:
    """
    Return the uint64 that follows the Header, as in all streams of the suite.

    Raises MessageError if the data is too short.
    """
    try:
        (index,) = _INDEX[data[1] & 1].unpack_from(data, _index_at(data))
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return index


def renamed(data: bytes | bytearray, new_stamp_ns: int, new_index: int) -> bytes:
    """
    Return the bytes of the same message with another stamp [ns] and frame index.

    Raises MessageError if the data is too short.
    """
    changed = bytearray(data)
    try:
        little = data[1] & 1
        _STAMP[little].pack_into(changed, _ENCAPSULATION, *divmod(new_stamp_ns, STAMP_UNIT_NS))
        _INDEX[little].pack_into(changed, _index_at(data), new_index)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return bytes(changed)


def _index_at(data: bytes | bytearray) -> int:
    """Return where the frame index stands."""
    (length,) = _LENGTH[data[1] & 1].unpack_from(data, _TEXT_AT)
    return _behind_text(length)


def _behind_text(length: int) -> int:
    """Return where the frame index stands behind a frame id of a length."""
    end = _TEXT_AT + 4 + length - _ENCAPSULATION
    return _ENCAPSULATION + (end + 7) // 8 * 8
