# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An MCAP file, written front to back (no ROS).

Messages go into chunks; a chunk that is written can be read even if the file ends after it.

"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
import struct
from typing import BinaryIO
import zlib

from puppet_ros.mcap_records import (
    CHANNEL,
    Channel,
    channel_record,
    CHUNK,
    CHUNK_HEAD,
    CHUNK_INDEX,
    compressed,
    DATA_END,
    FOOTER,
    FOOTER_BODY,
    HEADER,
    MAGIC,
    MESSAGE,
    MESSAGE_FIXED,
    MESSAGE_HEAD,
    MESSAGE_INDEX,
    METADATA,
    METADATA_INDEX,
    PREFIX,
    record,
    SCHEMA,
    Schema,
    schema_record,
    STATISTICS,
    SUMMARY_OFFSET,
    text,
    texts,
)

CHUNK_BYTES = 1 << 20
MAX_WAITING = 4  # chunks
LIBRARY = 'puppet suite'


class McapWriter:
    """
    Writes records to a stream that is open.

    Parameters
    ----------
    stream : binary file
        At its beginning.
    compression : str
        Of the chunks: '', 'zstd' or 'lz4'.

    """

    def __init__(self, stream: BinaryIO, compression: str = '') -> None:
        self._stream = stream
        self._compression = compression
        self._at = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._parts: list[bytes] = []
        # one worker, so that chunks follow each other; packing and writing leave Python free
        self._worker = ThreadPoolExecutor(1)
        self._jobs: deque[Future[None]] = deque()
        self._size = 0
        self._indexes: dict[int, list[int]] = {}
        self._chunks: list[bytes] = []
        self._metadata: list[bytes] = []
        self.counts: dict[int, int] = {}
        """Messages by channel, of the chunks that are written."""
        self.start_ns, self.end_ns = 1 << 64, 0
        """Least and greatest log time of the chunks that are written [ns]."""
        self._put(MAGIC + record(HEADER, text('ros2') + text(LIBRARY)))

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Return the number of a new definition."""
        self._schemas.append(Schema(len(self._schemas) + 1, name, encoding, data))
        self._append(schema_record(self._schemas[-1]))
        return len(self._schemas)

    def add_channel(self, schema: int, topic: str, metadata: Mapping[str, str]) -> int:
        """Return the number of a new channel."""
        self._channels.append(Channel(len(self._channels) + 1, schema, topic, 'cdr', metadata))
        self._append(channel_record(self._channels[-1]))
        return len(self._channels)

    def add_message(self, channel: int, log_ns: int, data: bytes) -> None:
        """Append a message."""
        index = self._indexes.get(channel)
        if index is None:
            index = self._indexes[channel] = []
        index += (log_ns, self._size)
        size = len(data)
        self._parts += (
            MESSAGE_HEAD.pack(MESSAGE, MESSAGE_FIXED + size, channel, 0, log_ns, log_ns), data,
        )  # fmt: skip
        self._size += MESSAGE_HEAD.size + size
        if self._size >= CHUNK_BYTES:
            self._hand_over()

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write texts about the whole file."""
        self.flush()
        data = record(METADATA, text(name) + texts(values))
        self._metadata.append(
            record(METADATA_INDEX, struct.pack('<QQ', self._at, len(data)) + text(name))
        )
        self._put(data)

    def flush(self) -> None:
        """Write the chunk that has begun, and wait until all are written."""
        self._hand_over()
        self._wait(0)
        self._stream.flush()

    def _hand_over(self) -> None:
        """Let the chunk that has begun be written in the background."""
        if not self._indexes:
            return
        self._wait(MAX_WAITING)
        self._jobs.append(self._worker.submit(self._write_chunk, self._parts, self._indexes))
        self._parts, self._size, self._indexes = [], 0, {}

    def _wait(self, most: int) -> None:
        while len(self._jobs) > most:
            self._jobs.popleft().result()

    def _write_chunk(self, parts: list[bytes], indexes: dict[int, list[int]]) -> None:
        data = b''.join(parts)
        packed = compressed(data, self._compression)
        times = [ns for index in indexes.values() for ns in index[::2]]
        start_ns, end_ns = min(times), max(times)
        head = CHUNK_HEAD.pack(start_ns, end_ns, len(data), zlib.crc32(data))
        head += text(self._compression) + struct.pack('<Q', len(packed))
        chunk_at = self._at
        self._put(PREFIX.pack(CHUNK, len(head) + len(packed)) + head, packed)
        index_at = self._at
        places = []
        for channel, index in indexes.items():
            places.append(struct.pack('<HQ', channel, self._at))
            rows = struct.pack(f'<{len(index)}Q', *index)
            self._put(record(MESSAGE_INDEX, struct.pack('<H', channel) + text(rows)))
            self.counts[channel] = self.counts.get(channel, 0) + len(index) // 2
        self._chunks.append(record(
            CHUNK_INDEX,
            struct.pack('<QQQQ', start_ns, end_ns, chunk_at, index_at - chunk_at)
            + text(b''.join(places)) + struct.pack('<Q', self._at - index_at)
            + text(self._compression) + struct.pack('<QQ', len(packed), len(data)),
        ))  # fmt: skip
        self.start_ns, self.end_ns = min(self.start_ns, start_ns), max(self.end_ns, end_ns)

    def finish(self) -> None:
        """Write what makes the file complete; the stream stays open."""
        self.flush()
        self._put(record(DATA_END, struct.pack('<I', 0)))
        start = self._at
        groups = (
            (SCHEMA, [schema_record(schema) for schema in self._schemas]),
            (CHANNEL, [channel_record(channel) for channel in self._channels]),
            (STATISTICS, [self._statistics()]),
            (CHUNK_INDEX, self._chunks),
            (METADATA_INDEX, self._metadata),
        )
        summary, offsets = b'', b''
        for opcode, rows in groups:
            if rows:
                data = b''.join(rows)
                place = struct.pack('<BQQ', opcode, start + len(summary), len(data))
                offsets += record(SUMMARY_OFFSET, place)
                summary += data
        offsets_at = start + len(summary)
        tail = summary + offsets + PREFIX.pack(FOOTER, FOOTER_BODY.size)
        tail += struct.pack('<QQ', start, offsets_at)
        self._put(tail, struct.pack('<I', zlib.crc32(tail)), MAGIC)
        self._stream.flush()
        self._worker.shutdown()

    def abandon(self) -> None:
        """End without completing the file."""
        self._worker.shutdown(cancel_futures=True)

    def _statistics(self) -> bytes:
        total = sum(self.counts.values())
        start_ns, end_ns = (self.start_ns, self.end_ns) if total else (0, 0)
        numbers = struct.pack(
            '<QHIIIIQQ', total, len(self._schemas), len(self._channels), 0, len(self._metadata),
            len(self._chunks), start_ns, end_ns,
        )  # fmt: skip
        counts = b''.join(struct.pack('<HQ', *item) for item in self.counts.items())
        return record(STATISTICS, numbers + text(counts))

    def _append(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def _put(self, *parts: bytes) -> None:
        for part in parts:
            self._stream.write(part)
            self._at += len(part)
