# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Stamp and frame index of a serialised message, without decoding the rest.

A message that begins with a std_msgs/Header is, in CDR, four bytes of encapsulation, the
stamp, the frame id as a counted text, and then what follows, aligned to its own size. For
observers that time every message but look into few of them.

"""

import struct

from puppet_ros.flat_array import MessageError, STAMP_UNIT_NS

_STAMP = {0: struct.Struct('>iI'), 1: struct.Struct('<iI')}
_LENGTH = {0: struct.Struct('>I'), 1: struct.Struct('<I')}
_INDEX = {0: struct.Struct('>Q'), 1: struct.Struct('<Q')}
_ENCAPSULATION = 4
_TEXT_AT = 12  # length of the frame id


def stamp_ns(data: bytes) -> int:
    """
    Return the stamp of a message that begins with a Header [ns].

    Raises
    ------
    MessageError : if the data is too short.

    """
    try:
        seconds, nanoseconds = _STAMP[data[1] & 1].unpack_from(data, _ENCAPSULATION)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected at least 12 bytes, got {len(data)}') from err
    return seconds * STAMP_UNIT_NS + nanoseconds


def frame_index(data: bytes) -> int:
    """
    Return the uint64 that follows the Header, as in all streams of the suite.

    Raises
    ------
    MessageError : if the data is too short.

    """
    try:
        little = data[1] & 1
        (length,) = _LENGTH[little].unpack_from(data, _TEXT_AT)
        end = _TEXT_AT + 4 + length - _ENCAPSULATION
        (index,) = _INDEX[little].unpack_from(data, _ENCAPSULATION + (end + 7) // 8 * 8)
    except (struct.error, IndexError) as err:
        raise MessageError(f'header: expected a frame index, got {len(data)} bytes') from err
    return index
