# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An MCAP file, written in chunks (no ROS), byte for byte as the mcap library's writer does.

That writer spends several times longer on a message than it takes to copy it. Here a message is
appended to its chunk at once. All records but those of messages, their index and the chunk
around them are the library's.

"""

from collections import defaultdict
from collections.abc import Callable
import struct
from typing import Any, BinaryIO
import zlib

import lz4.frame
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC
import zstandard

COMPRESS: dict[str, Callable[[Any], bytes]] = {
    'lz4': lz4.frame.compress, 'zstd': zstandard.compress,
}  # fmt: skip
MESSAGE = struct.Struct('<BQHIQQ')  # opcode, length, channel, sequence, two times; then the data
AFTER_LENGTH = MESSAGE.size - 9
CHUNK = struct.Struct('<BQQQQII')  # opcode, length, span, size, checksum, length of compression
INDEX = struct.Struct('<BQHI')  # opcode, length, channel, bytes of entries
FOOTER_HEAD = struct.Struct('<BQQQ')  # what the checksum of the summary covers of the footer
Index = dict[int, list[int]]
"""By channel, log time and place in the chunk of each message, one after the other."""


class McapWriter:
    """
    An MCAP file that is being written.

    Parameters
    ----------
    stream : BinaryIO
        Where to; this does not close it.
    chunk_bytes : int
        A chunk is finished when it has more than this.
    compression : str
        Of the chunks: '', 'zstd' or 'lz4'.

    """

    def __init__(self, stream: BinaryIO, chunk_bytes: int, compression: str = '') -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._compression = compression
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._metadata: list[MetadataIndex] = []
        self._chunks: list[ChunkIndex] = []
        self.counts: dict[int, int] = {}
        """Messages by channel, of finished chunks."""
        self._chunk, self._at = bytearray(chunk_bytes), 0
        self._index: Index = defaultdict(list)

    def start(self, profile: str, library: str) -> None:
        """Write the head of the file."""
        self._stream.write(MCAP0_MAGIC + _bytes_of(Header(profile, library)))

    def register_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Add the definition of a type; return its number."""
        self._schemas.append(Schema(len(self._schemas) + 1, data, encoding, name))
        self._append(_bytes_of(self._schemas[-1]))
        return len(self._schemas)

    def register_channel(
        self, topic: str, encoding: str, schema: int, metadata: dict[str, str]
    ) -> int:
        """Add a channel; return its number."""
        channel = Channel(len(self._channels) + 1, topic, encoding, metadata, schema)
        self._channels.append(channel)
        self._append(_bytes_of(channel))
        return channel.id

    def add_message(self, channel: int, log_ns: int, data: bytes) -> None:
        """Append a message, published when it was logged [ns]."""
        at, size = self._at, len(data)
        body, end = at + MESSAGE.size, at + MESSAGE.size + size
        chunk = self._chunk
        if end > len(chunk):
            chunk.extend(bytes(end - len(chunk)))
        MESSAGE.pack_into(
            chunk, at, Opcode.MESSAGE, AFTER_LENGTH + size, channel, 0, log_ns, log_ns
        )
        chunk[body:end] = data
        self._index[channel] += log_ns, at
        self._at = end
        if end > self._chunk_bytes:
            self._end_chunk()

    def span(self) -> tuple[int, int]:
        """Return the least and the greatest log time of finished chunks [ns], or zeros."""
        starts = [chunk.message_start_time for chunk in self._chunks]
        ends = [chunk.message_end_time for chunk in self._chunks]
        return min(starts, default=0), max(ends, default=0)

    def add_metadata(self, name: str, data: dict[str, str]) -> None:
        """Write named texts, at once; messages of a chunk that has begun come after them."""
        record = _bytes_of(Metadata(name, data))
        self._metadata.append(MetadataIndex(self._stream.tell(), len(record), name))
        self._stream.write(record)

    def flush(self) -> None:
        """End the chunk and hand all to the file."""
        self._end_chunk()
        self._stream.flush()

    def finish(self) -> None:
        """Write the end of the file: definitions, channels, statistics, index."""
        self._end_chunk()
        self._stream.write(_bytes_of(DataEnd(0)))
        start = self._stream.tell()
        summary, offsets = RecordBuilder(), []
        for opcode, records in self._summary():
            group = summary.count
            for record in records:
                record.write(summary)
            offsets.append(SummaryOffset(opcode, start + group, summary.count - group))
        offsets_start = start + summary.count
        for offset in offsets:
            offset.write(summary)
        data = summary.end()
        head = FOOTER_HEAD.pack(Opcode.FOOTER, 20, start, offsets_start)
        footer = Footer(start, offsets_start, zlib.crc32(head, zlib.crc32(data)))
        self._stream.write(data + _bytes_of(footer) + MCAP0_MAGIC)

    def _summary(self) -> list[tuple[Opcode, list[Any]]]:
        """Return the records of the summary in groups."""
        start_ns, end_ns = self.span()
        statistics = Statistics(
            attachment_count=0, channel_count=len(self._channels),
            channel_message_counts=self.counts, chunk_count=len(self._chunks),
            message_count=sum(self.counts.values()),
            message_end_time=end_ns, message_start_time=start_ns,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )  # fmt: skip
        return [
            (Opcode.SCHEMA, self._schemas), (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [statistics]), (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.ATTACHMENT_INDEX, []), (Opcode.METADATA_INDEX, self._metadata),
        ]  # fmt: skip

    def _append(self, record: bytes) -> None:
        """Append a record that is no message to the chunk."""
        end = self._at + len(record)
        self._chunk[self._at:end] = record
        self._at = end
        if end > self._chunk_bytes:
            self._end_chunk()

    def _end_chunk(self) -> None:
        """Write the chunk; one without messages goes on."""
        if not self._index:
            return
        with memoryview(self._chunk)[:self._at] as data:
            compress = COMPRESS.get(self._compression)
            self._write_chunk(data, data if compress is None else compress(data))
        self._at, self._index = 0, defaultdict(list)

    def _write_chunk(self, data: memoryview, packed: memoryview | bytes) -> None:
        times = [entries[::2] for entries in self._index.values()]
        start_ns, end_ns = min(map(min, times)), max(map(max, times))
        name = self._compression.encode()
        head = CHUNK.pack(
            Opcode.CHUNK, CHUNK.size - 9 + len(name) + 8 + len(packed), start_ns, end_ns,
            len(data), zlib.crc32(data), len(name),
        ) + name + struct.pack('<Q', len(packed))  # fmt: skip
        at, length = self._stream.tell(), len(head) + len(packed)
        places, records = self._index_from(at + length)
        self._stream.write(head)
        self._stream.write(packed)
        self._stream.write(records)
        self._chunks.append(ChunkIndex(
            chunk_length=length, chunk_start_offset=at, compression=self._compression,
            compressed_size=len(packed), message_end_time=end_ns,
            message_index_length=len(records), message_index_offsets=places,
            message_start_time=start_ns, uncompressed_size=len(data),
        ))  # fmt: skip

    def _index_from(self, at: int) -> tuple[dict[int, int], bytes]:
        """Return the places of the channels' indices, the first one at a byte, and their bytes."""
        places, records = {}, bytearray()
        for channel, entries in self._index.items():
            size = 8 * len(entries)
            places[channel] = at + len(records)
            records += INDEX.pack(Opcode.MESSAGE_INDEX, INDEX.size - 9 + size, channel, size)
            records += struct.pack(f'<{len(entries)}Q', *entries)
            self.counts[channel] = self.counts.get(channel, 0) + len(entries) // 2
        return places, bytes(records)


def _bytes_of(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()
