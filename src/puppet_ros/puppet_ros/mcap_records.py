# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The records of an MCAP file one after the other, for one that has no index (no ROS)."""

from collections.abc import Callable, Iterator
import io
import struct
from typing import Any, BinaryIO
import zlib

from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, DataEnd, Footer, McapRecord, Message, Metadata, Schema
from puppet_ros.unpack import chunk_data

RECORD = struct.Struct('<BQ')  # opcode, length
MESSAGE = struct.Struct('<HIQQ')  # channel, sequence, two times; then the data
PADDING = 0  # no record has this opcode
READ: dict[int, Callable[[ReadDataStream], Any]] = {
    Opcode.SCHEMA: Schema.read, Opcode.CHANNEL: Channel.read, Opcode.CHUNK: Chunk.read,
    Opcode.METADATA: Metadata.read, Opcode.DATA_END: DataEnd.read, Opcode.FOOTER: Footer.read,
}  # fmt: skip


def records_of(stream: BinaryIO, size: int) -> Iterator[tuple[int, McapRecord]]:
    """
    Yield where each record begins, and the record; those of the index are left out.

    Parameters
    ----------
    stream : BinaryIO
        Stands before a record.
    size : int
        Bytes of the whole stream.

    Raises
    ------
    McapError, ValueError, struct.error : where they are damaged, or end.

    """
    at = stream.tell()
    while at < size:
        stream.seek(at)
        opcode, length = RECORD.unpack(stream.read(RECORD.size))
        require_record(opcode)
        end = at + RECORD.size + length
        if end > size:
            raise EndOfFile
        if opcode == Opcode.MESSAGE:
            body = ReadDataStream(io.BytesIO(stream.read(length)))
            yield at, Message.read(body, length)
        elif opcode in READ:
            yield at, READ[opcode](ReadDataStream(io.BytesIO(stream.read(length))))
        at = end


def require_record(opcode: int) -> None:
    """Raise McapError on the zeros of a file whose place was reserved, or of a damage."""
    if opcode == PADDING:
        raise McapError('expected a record, got zeros')


def checked_data(chunk: Chunk) -> bytes:
    """Return the records of a chunk as bytes; raise as `chunk_data`, and on a wrong checksum."""
    data = chunk_data(chunk)
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise McapError('expected another checksum of a chunk')
    return data
