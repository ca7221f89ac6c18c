# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An MCAP file, read in the order of log times (no ROS).

A complete file is read by its index. One without it, because its writer was killed or a part is
missing, is looked through once, up to where it is damaged; `warnings` says where that is.

"""

from collections.abc import Collection, Iterator
import heapq
from pathlib import Path
from typing import BinaryIO, NamedTuple
import zlib

from puppet_core.errors import InputFileError
from puppet_ros.mcap_records import (
    CHANNEL,
    Channel,
    CHUNK,
    CHUNK_HEAD,
    CHUNK_INDEX,
    DATA_END,
    Fields,
    FOOTER,
    FOOTER_BODY,
    FOOTER_SIZE,
    HEADER,
    MAGIC,
    McapError,
    MESSAGE,
    MESSAGE_CONTENT,
    MESSAGE_FIXED,
    PREFIX,
    read_channel,
    read_schema,
    records_in,
    SCHEMA,
    Schema,
    STATISTICS,
    unpacked,
)

LOOSE_BYTES = 1 << 20  # messages outside of chunks are read in pieces of this size
Entry = tuple[int, int, int, bytes]
"""Log time [ns], place in the file, channel, data."""


class Piece(NamedTuple):
    """A chunk, or messages without one."""

    start_ns: int
    end_ns: int
    offset: int
    size: int


class McapFile:
    """
    An MCAP file that is open for reading.

    Parameters
    ----------
    path : Path
        The file.
    name : Path, optional
        What errors call it, if this is an unpacked copy.

    Raises
    ------
    InputFileError : if nothing of it can be read, now or later.

    """

    def __init__(self, path: Path, name: Path | None = None) -> None:
        self.path = path if name is None else name
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.counts: dict[int, int] = {}
        self.warnings: list[str] = []
        self._pieces: list[Piece] = []
        try:
            self._stream: BinaryIO = open(path, 'rb')  # noqa: SIM115
        except OSError as err:
            raise InputFileError(path, 'a readable file', err.strerror or str(err)) from err
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def span(self) -> tuple[int, int]:
        """Return the least and the greatest log time [ns]; zeros without messages."""
        if not self._pieces:
            return 0, 0
        return min(p.start_ns for p in self._pieces), max(p.end_ns for p in self._pieces)

    def messages(self, channels: Collection[int]) -> Iterator[Entry]:
        """Yield the messages of some channels; equal log times in the order of the file."""
        waiting: list[Entry] = []
        for piece in sorted(self._pieces):
            while waiting and waiting[0][0] < piece.start_ns:
                yield heapq.heappop(waiting)
            fresh = self._entries(piece, channels)
            if waiting:
                for entry in fresh:
                    heapq.heappush(waiting, entry)
            else:
                waiting = sorted(fresh)
        yield from sorted(waiting)

    def _open(self) -> None:
        head = self._stream.read(len(MAGIC) + PREFIX.size)
        if len(head) < len(MAGIC) + PREFIX.size or not head.startswith(MAGIC):
            got = 'an empty file' if not head else 'other bytes'
            raise InputFileError(self.path, 'an MCAP file', got)
        opcode, size = PREFIX.unpack_from(head, len(MAGIC))
        start = len(head) + size
        if opcode != HEADER:
            raise InputFileError(self.path, "an MCAP file's header", f'record {opcode}')
        try:
            indexed = self._read_summary()
        except (McapError, ValueError) as err:
            indexed = False
            self.warnings.append(f'its index cannot be used ({err})')
        if not indexed:
            self.schemas, self.channels, self.counts, self._pieces = {}, {}, {}, []
            self._scan(start)

    def _read_summary(self) -> bool:
        """Take the index at the end of the file; return whether it is all there."""
        self._stream.seek(0, 2)
        end = self._stream.tell()
        self._stream.seek(max(end - FOOTER_SIZE, 0))
        tail = self._stream.read()
        if len(tail) < FOOTER_SIZE or not tail.endswith(MAGIC) or tail[0] != FOOTER:
            self.warnings.append('it has no end: its writer was killed, or a part is missing')
            return False
        start, _, checksum = FOOTER_BODY.unpack_from(tail, PREFIX.size)
        if not 0 < start <= end - FOOTER_SIZE:
            return False
        self._stream.seek(start)
        data = self._stream.read(end - FOOTER_SIZE - start)
        covered = tail[:PREFIX.size + FOOTER_BODY.size - 4]
        if checksum and zlib.crc32(covered, zlib.crc32(data)) != checksum:
            raise McapError('expected another checksum')
        total = -1
        for opcode, content in records_in(data):
            if opcode == STATISTICS:
                fields = Fields(content)
                total = fields.number(8)
                fields.take(34)
                self.counts = fields.counts()
            elif opcode == CHUNK_INDEX:
                fields = Fields(content)
                times = fields.number(8), fields.number(8)
                piece = Piece(*times, fields.number(8), fields.number(8))
                if not 0 <= piece.offset < piece.offset + piece.size <= start:
                    raise McapError(f'a chunk at {piece.offset} of {piece.size} bytes')
                self._pieces.append(piece)
            else:
                self._take(opcode, content)
        known = all(channel in self.channels for channel in self.counts)
        return known and sum(self.counts.values()) == total and (total == 0) == (
            not self._pieces
        )

    def _scan(self, at: int) -> None:
        """Look through the file from its first record on, up to its end or a damage."""
        self._stream.seek(at)
        loose: list[int] | None = None  # start, end, offset of messages without a chunk
        while True:
            at = self._stream.tell()
            head = self._stream.read(PREFIX.size)
            if len(head) < PREFIX.size:
                break
            opcode, size = PREFIX.unpack(head)
            is_message = opcode == MESSAGE
            if loose is not None and (not is_message or at - loose[2] > LOOSE_BYTES):
                self._pieces.append(Piece(loose[0], loose[1], loose[2], at - loose[2]))
                loose = None
            if opcode in (DATA_END, FOOTER):
                return
            content = self._stream.read(size) if size < 1 << 40 else b''
            if len(content) < size:
                break
            try:
                if opcode == CHUNK:
                    self._scan_chunk(Fields(content), at, PREFIX.size + size)
                elif is_message:
                    loose = self._scan_message(content, at, loose)
                else:
                    self._take(opcode, content)
            except McapError as err:
                self.warnings.append(f'what follows byte {at} is damaged ({err})')
                return
        if loose is not None:
            self._pieces.append(Piece(loose[0], loose[1], loose[2], at - loose[2]))
        self.warnings.append(f'what follows byte {at} is missing')

    def _scan_chunk(self, fields: Fields, at: int, size: int) -> None:
        times: list[int] = []
        counts: dict[int, int] = {}
        for opcode, content in records_in(_chunk_data(fields)):
            if opcode == MESSAGE:
                channel, log_ns = _message_head(content)
                self._require(channel)
                times.append(log_ns)
                counts[channel] = counts.get(channel, 0) + 1
            else:
                self._take(opcode, content)
        for channel, count in counts.items():
            self.counts[channel] = self.counts.get(channel, 0) + count
        if times:
            self._pieces.append(Piece(min(times), max(times), at, size))

    def _scan_message(self, content: bytes, at: int, loose: list[int] | None) -> list[int]:
        channel, log_ns = _message_head(content)
        self._require(channel)
        self.counts[channel] = self.counts.get(channel, 0) + 1
        if loose is None:
            return [log_ns, log_ns, at]
        return [min(loose[0], log_ns), max(loose[1], log_ns), loose[2]]

    def _require(self, channel: int) -> None:
        if channel not in self.channels:
            raise McapError(f'expected a channel that was announced, got {channel}')

    def _take(self, opcode: int, content: bytes | memoryview) -> None:
        if opcode == SCHEMA:
            schema = read_schema(content)
            self.schemas[schema.number] = schema
        elif opcode == CHANNEL:
            channel = read_channel(content)
            self.channels[channel.number] = channel

    def _entries(self, piece: Piece, channels: Collection[int]) -> Iterator[Entry]:
        """Yield the messages of a piece as they stand in it."""
        self._stream.seek(piece.offset)
        data = self._stream.read(piece.size)
        at = piece.offset << 32  # a chunk's messages come after those of the chunks before it
        try:
            if data[:1] == bytes([CHUNK]):
                fields = Fields(data, PREFIX.size)
                records = records_in(_chunk_data(fields))
            else:
                records = records_in(data)
            for i, (opcode, content) in enumerate(records):
                if opcode == MESSAGE:
                    channel, log_ns = _message_head(content)
                    if channel in channels:
                        yield log_ns, at + i, channel, bytes(content[MESSAGE_FIXED:])
        except McapError as err:
            raise InputFileError(
                self.path, 'whole chunks', f'a damaged one at byte {piece.offset} ({err})'
            ) from err


def _chunk_data(fields: Fields) -> bytes | memoryview:
    """Return the records of a chunk, their checksum checked."""
    _, _, size, checksum = fields.unpack(CHUNK_HEAD)
    compression = fields.text()
    data = unpacked(fields.take(fields.number(8)), compression, size)
    if checksum and zlib.crc32(data) != checksum:
        raise McapError('expected another checksum')
    return data


def _message_head(content: bytes | memoryview) -> tuple[int, int]:
    if len(content) < MESSAGE_FIXED:
        raise McapError(f'expected a message, got {len(content)} bytes')
    fields = MESSAGE_CONTENT.unpack_from(content)
    return fields[0], fields[2]
