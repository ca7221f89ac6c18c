# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stamp and frame index of a serialised message, read or changed alone; or MessageError."""

import struct
from typing import NamedTuple

from puppet_ros.messages.flat_array import checked_ns, MessageError, require_size, STAMP_UNIT_NS

# By the order of the bytes, big-endian first.
_HEAD = (struct.Struct('>iII'), struct.Struct('<iII'))  # stamp, length of the frame id
_INDEX = (struct.Struct('>Q'), struct.Struct('<Q'))
_STAMP_AT, _TEXT_AT = 4, 16


class Head(NamedTuple):
    """What all messages of streams begin with, but for the frame id."""

    stamp_ns: int  # of the header [ns]
    frame_index: int  # the uint64 that follows the header


def head(data: bytes) -> Head:
    """Return stamp and frame index of a message that begins with a Header."""
    require_size(data, 'header')
    try:
        little = data[1] & 1
        seconds, nanoseconds, length = _HEAD[little].unpack_from(data, _STAMP_AT)
        (index,) = _INDEX[little].unpack_from(data, _index_at(length))
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return Head(checked_ns(seconds, nanoseconds), index)


def stamp_ns(data: bytes) -> int:
    """Return the stamp of a message that begins with a Header [ns], whatever follows it."""
    require_size(data, 'header')
    try:
        seconds, nanoseconds, _ = _HEAD[data[1] & 1].unpack_from(data, _STAMP_AT)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected at least 16 bytes, got {len(data)}') from err
    return checked_ns(seconds, nanoseconds)


def frame_index(data: bytes) -> int:
    """Return the uint64 that follows the Header, as in all streams of the suite."""
    return head(data).frame_index


def renamed(data: bytes | bytearray, new_stamp_ns: int, new_index: int) -> bytes:
    """Return the bytes of the same message with another stamp [ns] and frame index."""
    changed = bytearray(data)
    try:
        little = data[1] & 1
        *_, length = _HEAD[little].unpack_from(data, _STAMP_AT)
        stamp = (*divmod(new_stamp_ns, STAMP_UNIT_NS), length)
        _HEAD[little].pack_into(changed, _STAMP_AT, *stamp)
        _INDEX[little].pack_into(changed, _index_at(length), new_index)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return bytes(changed)


def _index_at(length: int) -> int:
    """Return where the frame index stands behind a frame id of a length."""
    return _STAMP_AT + (_TEXT_AT - _STAMP_AT + length + 7) // 8 * 8
