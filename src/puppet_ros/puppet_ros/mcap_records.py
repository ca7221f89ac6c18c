# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The records of an MCAP file as bytes (no ROS): https://mcap.dev/spec.

Little-endian throughout; a record is an opcode, the length of its content in eight bytes, and
the content. Texts and maps are counted in four bytes.

"""

from collections.abc import Iterator, Mapping
import struct
from typing import NamedTuple

import lz4.frame
import zstandard

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = range(11, 16)
PREFIX = struct.Struct('<BQ')
MESSAGE_HEAD = struct.Struct('<BQHIQQ')  # with the prefix: channel, sequence, log, publish
MESSAGE_CONTENT = struct.Struct('<HIQQ')  # the same without it
MESSAGE_FIXED = MESSAGE_CONTENT.size
CHUNK_HEAD = struct.Struct('<QQQI')  # start, end, size, checksum
FOOTER_BODY = struct.Struct('<QQI')
FOOTER_SIZE = PREFIX.size + FOOTER_BODY.size + len(MAGIC)
COMPRESSIONS = ('', 'zstd', 'lz4')
MAX_CHUNK = 1 << 31  # bytes of an unpacked chunk; more is damage


class McapError(ValueError):
    """Bytes that are not what the format promises."""


class Schema(NamedTuple):
    """The definition of a type of message."""

    number: int
    name: str
    encoding: str
    data: bytes


class Channel(NamedTuple):
    """One source of messages."""

    number: int
    schema: int
    topic: str
    encoding: str
    metadata: Mapping[str, str]


class Fields:
    """The content of a record, read from left to right."""

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self._data = memoryview(data)
        self.at = at

    def take(self, count: int) -> memoryview:
        """Return the next bytes."""
        start, self.at = self.at, self.at + count
        if count < 0 or self.at > len(self._data):
            raise McapError(f'expected {count} more bytes at {start}, got {len(self._data)}')
        return self._data[start:self.at]

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        """Return the next numbers."""
        return layout.unpack(self.take(layout.size))

    def number(self, size: int) -> int:
        """Return the next unsigned number of so many bytes."""
        return int.from_bytes(self.take(size), 'little')

    def counted(self) -> memoryview:
        """Return bytes after their count."""
        return self.take(self.number(4))

    def text(self) -> str:
        """Return a text."""
        try:
            return str(self.counted(), 'utf-8')
        except UnicodeDecodeError as err:
            raise McapError(f'expected UTF-8, got byte {err.start} of a text') from err

    def texts(self) -> dict[str, str]:
        """Return a map of texts."""
        inner = Fields(self.counted())
        found = {}
        while inner.at < len(inner._data):
            key = inner.text()
            found[key] = inner.text()
        return found

    def counts(self) -> dict[int, int]:
        """Return a map of channels to numbers."""
        return dict(struct.iter_unpack('<HQ', self.counted()))


def record(opcode: int, content: bytes) -> bytes:
    """Return a whole record."""
    return PREFIX.pack(opcode, len(content)) + content


def text(value: str | bytes) -> bytes:
    """Return a text, or bytes, after their count."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack('<I', len(data)) + data


def texts(values: Mapping[str, str]) -> bytes:
    """Return a map of texts."""
    return text(b''.join(text(key) + text(value) for key, value in values.items()))


def schema_record(schema: Schema) -> bytes:
    """Return a definition as a record."""
    number = struct.pack('<H', schema.number)
    content = number + text(schema.name) + text(schema.encoding) + text(schema.data)
    return record(SCHEMA, content)


def read_schema(content: bytes | memoryview) -> Schema:
    """Return the definition in a record."""
    fields = Fields(content)
    return Schema(fields.number(2), fields.text(), fields.text(), bytes(fields.counted()))


def channel_record(channel: Channel) -> bytes:
    """Return a channel as a record."""
    numbers = struct.pack('<HH', channel.number, channel.schema)
    words = text(channel.topic) + text(channel.encoding)
    return record(CHANNEL, numbers + words + texts(channel.metadata))


def read_channel(content: bytes | memoryview) -> Channel:
    """Return the channel in a record."""
    fields = Fields(content)
    return Channel(
        fields.number(2), fields.number(2), fields.text(), fields.text(), fields.texts()
    )


def records_in(data: bytes | memoryview) -> Iterator[tuple[int, memoryview]]:
    """
    Yield opcode and content of each record.

    Raises
    ------
    McapError : where the last one is cut off.

    """
    view, at, end = memoryview(data), 0, len(data)
    while at < end:
        if at + PREFIX.size > end:
            raise McapError(f'expected a record, got {end - at} bytes')
        opcode, size = PREFIX.unpack_from(view, at)
        at += PREFIX.size
        if at + size > end:
            raise McapError(f'expected a record of {size} bytes, got {end - at}')
        yield opcode, view[at:at + size]
        at += size


def compressed(data: bytes, compression: str) -> bytes:
    """Return a chunk's records packed; the same data gives the same bytes."""
    if compression == 'zstd':
        return zstandard.ZstdCompressor(level=1).compress(data)
    return lz4.frame.compress(data) if compression == 'lz4' else data


def unpacked(data: bytes | memoryview, compression: str, size: int) -> bytes | memoryview:
    """
    Return a chunk's records.

    Raises
    ------
    McapError : if they cannot be unpacked, or are not as long as they say.

    """
    if compression not in COMPRESSIONS:
        raise McapError(f'expected compression zstd, lz4 or none, got {compression!r}')
    if size > MAX_CHUNK:
        raise McapError(f'expected a chunk of less than {MAX_CHUNK} bytes, got {size}')
    try:
        if compression == 'zstd':
            data = zstandard.ZstdDecompressor().decompress(bytes(data), max_output_size=size)
        elif compression == 'lz4':
            data = lz4.frame.decompress(data)
    except (zstandard.ZstdError, RuntimeError, MemoryError) as err:
        raise McapError(f'expected {compression} data, got {err}') from err
    if len(data) != size:
        raise McapError(f'expected {size} bytes of messages, got {len(data)}')
    return data
