# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
CDR bytes of messages, and streams whose numbers are written in place.

Plain little-endian CDR, DDS-XTYPES 1.3, 7.4.1, with zero as padding: unlike the middleware's, the
same message has the same bytes. Messages of a stream differ only in their numbers while texts and
lengths stay: `StreamWriter` finds the places of these once for each form.
"""

from array import array
from collections.abc import Callable
import re
import struct
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from puppet_ros.messages.flat_array import MessageError, write_stamp
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header

Record = TypeVar('Record')
Fields = dict[str, Any]
"""Values by name of the fields behind a message's header; texts are str or tuples of str."""

LITTLE_ENDIAN_CDR = bytes([0, 1, 0, 0])
ENCAPSULATION = len(LITTLE_ENDIAN_CDR)
MOST_FORMS = 256  # kept of a stream: as many as an importance may have contacts
FORMATS = {
    'boolean': '?',
    'octet': 'u1',
    'uint8': 'u1',
    'int8': 'i1',
    'uint16': '<u2',
    'int16': '<i2',
    'uint32': '<u4',
    'int32': '<i4',
    'uint64': '<u8',
    'int64': '<i8',
    'float': '<f4',
    'double': '<f8',
}
_LIST = re.compile(r'sequence<(.+?)(?:, \d+)?>|(.+)\[(\d+)\]')
_LENGTH = struct.Struct('<I')
_TO_ALIGN = bytes(4)  # before the encapsulation, so that numpy finds the numbers aligned


class CdrLayout:
    """The bytes of a message, and where its numbers stand in them."""

    def __init__(self, msg: Any) -> None:
        self.data = bytearray(LITTLE_ENDIAN_CDR)  # the message
        self.numbers: dict[str, tuple[Any, int]] = {}
        """Format, as numpy has it, and first byte of each number or array, by dotted path."""
        self._message(msg, '')
        self.dtype = np.dtype(
            {
                'names': list(self.numbers),
                'formats': [form for form, _ in self.numbers.values()],
                'offsets': [len(_TO_ALIGN) + at for _, at in self.numbers.values()],
                'itemsize': len(_TO_ALIGN) + len(self.data),
            }
        )
        """Of the message behind four more bytes: its fields are the numbers."""

    def record(self, data: bytes | bytearray) -> NDArray[Any]:
        """Return the numbers of a message of this form, shape (), writable and on a copy."""
        return np.ndarray((), self.dtype, bytearray(_TO_ALIGN) + data)

    def _message(self, msg: Any, path: str) -> None:
        for name, kind in msg.get_fields_and_field_types().items():
            self._value(getattr(msg, name), kind, path + name)

    def _value(self, value: Any, kind: str, path: str) -> None:
        found = _LIST.fullmatch(kind)
        if kind in FORMATS:
            value = value[0] if isinstance(value, bytes) else value
            self._numbers(np.asarray(value, FORMATS[kind]), path)
        elif kind.startswith('string'):
            self._text(value)
        elif found is None:
            self._message(value, f'{path}.')
        else:
            kind = found[1] or found[2]
            if found[1]:
                self._length(len(value))
            if kind in FORMATS:
                if kind == 'octet':
                    value = list(b''.join(value))
                self._numbers(np.asarray(value, FORMATS[kind]), path)
            elif kind.startswith('string'):
                for text in value:
                    self._text(text)
            else:
                for i, element in enumerate(value):
                    self._message(element, f'{path}[{i}].')

    def _numbers(self, values: NDArray[Any], path: str) -> None:
        if values.size:
            self._align(values.itemsize)
        self.numbers[path] = ((values.dtype, values.shape), len(self.data))
        self.data += values.tobytes()

    def _length(self, n: int) -> None:
        self._align(_LENGTH.size)
        self.data += _LENGTH.pack(n)

    def _text(self, text: str) -> None:
        data = text.encode('utf-8', 'replace') + b'\0'
        self._length(len(data))
        self.data += data

    def _align(self, size: int) -> None:
        self.data += bytes((ENCAPSULATION - len(self.data)) % size)


def encoded(msg: Any) -> bytes:
    """Return a message's bytes, the same for the same message."""
    return bytes(CdrLayout(msg).data)


def decoded(data: bytes, kind: type) -> Any:
    """Return a new message of these bytes; raise MessageError if they are not one."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError, MemoryError, OverflowError, SystemError) as err:
        problem = ' '.join(str(err).split()) or type(err).__name__
        raise MessageError(
            f'{kind.__name__}: expected its bytes, got {len(data)} others ({problem:.80})'
        ) from err


class StreamWriter:
    """
    Messages of one stream.

    `fields` returns stamp [ns] and fields of the message for what `fill` and `data` are called
    with; a 'frame_id' among them is that of the header, instead of the given one.
    """

    def __init__(
        self, kind: type, frame_id: str, fields: Callable[..., tuple[int, Fields]]
    ) -> None:
        self._kind, self._frame_id, self._fields = kind, frame_id, fields
        # Bytes of a message, and where its numbers stand in them, by its texts and shapes.
        self._forms: dict[tuple[Any, ...], tuple[NDArray[np.uint8], list[NDArray[Any]]]] = {}

    def fill(self, *values: Any) -> Any:
        stamp_ns, frame_id, fields = self._parts(values)
        msg = self._kind(header=Header(frame_id=frame_id))
        write_stamp(stamp_ns, msg.header.stamp)
        for name, value in fields.items():
            default = getattr(msg, name)
            if isinstance(default, array):
                code = default.typecode
                value = array(code, np.asarray(value).astype(code).tobytes())
            elif isinstance(default, np.ndarray):
                value = np.array(value, default.dtype).reshape(default.shape)
            else:
                value = type(default)(value)  # no numbers of numpy, lists instead of tuples
            setattr(msg, name, value)
        return msg

    def data(self, *values: Any) -> bytes:
        stamp_ns, frame_id, fields = self._parts(values)
        form, numbers = list[Any]([frame_id]), list[Any]()
        for value in fields.values():
            if isinstance(value, (str, tuple)):
                form.append(value)
            else:
                form.append(getattr(value, 'shape', ()))
                numbers.append(value)
        known = self._forms.get(tuple(form))
        if known is None:
            known = self._form(self.fill(*values), fields)
            if len(self._forms) == MOST_FORMS:
                self._forms.clear()
            self._forms[tuple(form)] = known
        data, places = known
        for place, value in zip(places, (*divmod(stamp_ns, 10**9), *numbers)):
            place[...] = value
        return data.tobytes()

    def _parts(self, values: tuple[Any, ...]) -> tuple[int, str, Fields]:
        stamp_ns, fields = self._fields(*values)
        return stamp_ns, fields.pop('frame_id', self._frame_id), fields

    def _form(self, msg: Any, fields: Fields) -> tuple[NDArray[np.uint8], list[NDArray[Any]]]:
        layout = CdrLayout(msg)
        record = layout.record(layout.data)
        places = [record['header.stamp.sec'], record['header.stamp.nanosec']]
        for name, value in fields.items():
            if not isinstance(value, (str, tuple)):
                places.append(record[name].reshape(np.shape(value)))
        return record.reshape(1).view(np.uint8)[len(_TO_ALIGN) :], places


class StreamReader(Generic[Record]):
    """Records of the messages of one stream, by `from_msg`: a header, texts and numbers only."""

    def __init__(self, kind: type, from_msg: Callable[[Any], Record]) -> None:
        self.kind = kind  # class of the messages
        self.frame_id = ''  # of the last message
        self._from_msg = from_msg

    def read(self, data: bytes) -> Record:
        """
        Return the record of a message; its arrays are its own.

        Raises MessageError if the bytes are no such message, or its arrays do not fit each other.
        """
        msg = decoded(data, self.kind)
        self.frame_id = msg.header.frame_id
        return self._from_msg(msg)
