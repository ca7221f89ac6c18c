# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Any message as plain CDR, always the same bytes; slow, for messages that are sent once.

ROS leaves the bytes that pad the numbers as they happen to be; here they are zeros. Little-endian,
DDS-XTYPES 1.3, 7.4.1, as kept_cdr describes it.

"""

import re
import struct
from typing import Any

ENCAPSULATION = bytes([0, 1, 0, 0])
FORMATS = {
    'boolean': '?', 'octet': 'B', 'uint8': 'B', 'int8': 'b', 'uint16': 'H', 'int16': 'h',
    'uint32': 'I', 'int32': 'i', 'uint64': 'Q', 'int64': 'q', 'float': 'f', 'double': 'd',
}  # fmt: skip
_LIST = re.compile(r'sequence<(.+?)(?:, \d+)?>|(.+)\[(\d+)\]')


def plain_bytes(msg: Any) -> bytes:
    """Return a message's bytes."""
    out = bytearray()
    _message(msg, out)
    return ENCAPSULATION + bytes(out)


def _message(msg: Any, out: bytearray) -> None:
    for name, kind in msg.get_fields_and_field_types().items():
        _value(getattr(msg, name), kind, out)


def _value(value: Any, kind: str, out: bytearray) -> None:
    found = _LIST.fullmatch(kind)
    if found is not None:
        if found[1]:
            _number(len(value), 'I', out)
        for element in value:
            _value(element, found[1] or found[2], out)
    elif kind in FORMATS:
        _number(value, FORMATS[kind], out)
    elif kind.startswith('string'):
        text = value.encode() + b'\0'
        _number(len(text), 'I', out)
        out += text
    else:
        _message(value, out)


def _number(value: Any, code: str, out: bytearray) -> None:
    layout = struct.Struct('<' + code)
    out += bytes(-len(out) % layout.size)
    out += layout.pack(value[0] if isinstance(value, bytes) else value)
