# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An MCAP file, read in the order of log times by the mcap library (no ROS).

The library reads by the index at the end of the file. A file without one, because its writer was
killed or a part is missing, makes it give up with nothing, so that is our part: to look through
such a file, up to where it is damaged, and make an index. The library also makes objects of all
records of a chunk; here only the wanted messages are taken from it.

"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator
import heapq
import io
from operator import itemgetter
from pathlib import Path
import struct
from typing import BinaryIO
import zlib

from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, McapError
from mcap.opcode import Opcode
from mcap.reader import FOOTER_SIZE, SeekingReader
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    McapRecord,
    Message,
    Metadata,
    Schema,
)
from mcap.stream_reader import MAGIC_SIZE, StreamReader
from mcap.summary import Summary
from mcap.writer import MCAP0_MAGIC
from puppet_core.errors import InputFileError
from puppet_core.io.files import require_file
from puppet_ros.bag_metadata import counts_of, MCAP_KEY, MCAP_NAME
from puppet_ros.mcap_records import checked_data, MESSAGE, RECORD, records_of, require_record
from puppet_ros.unpack import COMPRESSIONS, UnpackError
import zstandard

CHECKSUM_SIZE = 4  # at the end of the footer
# The library lets pass what its parts raise; RuntimeError is lz4's, KeyError an unknown channel.
DAMAGE = (
    McapError, ValueError, KeyError, OverflowError, MemoryError, RuntimeError, OSError,
    struct.error, zstandard.ZstdError,
)  # fmt: skip
Entry = tuple[int, str, bytes]
"""Log time [ns], topic, data."""


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
        self.summary = Summary()
        """Channels, definitions and chunks."""
        self.counts: Counter[int] = Counter()
        """Messages by channel."""
        self.said: dict[str, int] = {}
        """Messages by topic that rosbag2's metadata in a file without index counts."""
        self.warnings: list[str] = []
        # Messages outside of chunks: without an index to them they are kept.
        self._loose: list[Entry] = []
        try:
            require_file(path)
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
        spans = [(c.message_start_time, c.message_end_time) for c in self.summary.chunk_indexes]
        spans += [(entry[0], entry[0]) for entry in self._loose]
        if not spans:
            return 0, 0
        return min(start for start, _ in spans), max(end for _, end in spans)

    def messages(self, topics: Collection[str]) -> Iterator[Entry]:
        """Return the messages of some topics; equal log times in the order of the file."""
        chunked = self._chunked(topics)
        if not self._loose:
            return chunked
        loose = (entry for entry in self._loose if entry[1] in topics)
        return heapq.merge(loose, chunked, key=itemgetter(0))

    def _chunked(self, topics: Collection[str]) -> Iterator[Entry]:
        """Yield the messages in chunks."""
        channels = self.summary.channels
        wanted = {number for number, channel in channels.items() if channel.topic in topics}
        chunks = [c for c in self.summary.chunk_indexes
                  if not c.message_index_offsets or wanted & c.message_index_offsets.keys()]
        chunks.sort(key=lambda c: (c.message_start_time, c.chunk_start_offset))
        # log time, place of the chunk and in it, channel, data
        waiting: list[tuple[int, int, int, int, bytes]] = []
        for chunk in chunks:
            n = bisect_left(waiting, (chunk.message_start_time,))
            for log_ns, _, _, channel, data in waiting[:n]:
                yield log_ns, channels[channel].topic, data
            del waiting[:n]
            try:
                waiting += self._messages_in(chunk, wanted)
            except DAMAGE as err:
                raise InputFileError(
                    self.path, 'whole chunks', f'a damaged one ({_reason(err)})'
                ) from err
            waiting.sort(key=itemgetter(0, 1, 2))
        for log_ns, _, _, channel, data in waiting:
            yield log_ns, channels[channel].topic, data

    def _messages_in(
        self, index: ChunkIndex, wanted: set[int]
    ) -> list[tuple[int, int, int, int, bytes]]:
        """Return the messages of some channels in a chunk."""
        start, messages = index.chunk_start_offset, []
        self._stream.seek(start + RECORD.size)
        chunk = Chunk.read(ReadDataStream(self._stream))
        records = checked_data(chunk)
        at, size = 0, len(records)
        while at < size:
            opcode, length = RECORD.unpack_from(records, at)
            require_record(opcode)
            end = at + RECORD.size + length
            if opcode == Opcode.MESSAGE:
                channel, _, log_ns, _ = MESSAGE.unpack_from(records, at + RECORD.size)
                if channel not in self.summary.channels:
                    raise _unknown(channel)
                if end > size:
                    raise EndOfFile
                if channel in wanted:
                    data = records[at + RECORD.size + MESSAGE.size:end]
                    messages.append((log_ns, start, at, channel, data))
            at = end
        return messages

    def _open(self) -> None:
        try:
            reader = SeekingReader(self._stream)
            reader.get_header()
        except DAMAGE as err:
            size = self._stream.seek(0, io.SEEK_END)
            got = 'other bytes' if size else 'an empty file'
            raise InputFileError(self.path, 'an MCAP file', got) from err
        try:
            is_indexed = self._read_index(reader)
        except DAMAGE as err:
            is_indexed = False
            self.warnings.append(f'its index cannot be used ({_reason(err)})')
        if not is_indexed:
            self._scan()

    def _read_index(self, reader: SeekingReader) -> bool:
        """Take the index at the end of the file; return whether it is all there."""
        end = self._stream.seek(0, io.SEEK_END)
        self._stream.seek(max(end - FOOTER_SIZE - MAGIC_SIZE, 0))
        tail = self._stream.read()
        if not tail.endswith(MCAP0_MAGIC):
            self.warnings.append('it has no end: its writer was killed, or a part is missing')
            return False
        footer = next(StreamReader(io.BytesIO(tail), skip_magic=True).records)
        summary = reader.get_summary()
        if not isinstance(footer, Footer) or summary is None or summary.statistics is None:
            return False
        # The library does not check the checksum of the index.
        self._stream.seek(footer.summary_start)
        covered = self._stream.read()[:-MAGIC_SIZE - CHECKSUM_SIZE]
        if footer.summary_crc and zlib.crc32(covered) != footer.summary_crc:
            raise McapError('expected another checksum')
        for chunk in summary.chunk_indexes:
            _require_known(chunk.compression)
        counts, total = summary.statistics.channel_message_counts, summary.statistics.message_count
        if not summary.channels.keys() >= counts.keys() or sum(counts.values()) != total:
            return False
        if (total == 0) != (not summary.chunk_indexes):
            return False
        self.summary, self.counts = summary, Counter(counts)
        return True

    def _scan(self) -> None:
        """Look through the file from its first record on, up to its end or a damage."""
        size = self._stream.seek(0, io.SEEK_END)
        at = self._stream.seek(MAGIC_SIZE)
        try:
            for at, record in records_of(self._stream, size):
                if isinstance(record, (DataEnd, Footer)):
                    break
                if isinstance(record, Chunk):
                    self._scan_chunk(at, record)
                else:
                    self._take(record)
                at = self._stream.tell()
        except DAMAGE as err:
            self.warnings.append(
                f'what follows byte {at} is missing or damaged ({_reason(err)})'
            )
        self._loose.sort(key=itemgetter(0))

    def _scan_chunk(self, start: int, chunk: Chunk) -> None:
        """Add the chunk that begins at a byte of the file to the index."""
        times: list[int] = []
        counts: Counter[int] = Counter()
        data = checked_data(chunk)
        for _, record in records_of(io.BytesIO(data), len(data)):
            if isinstance(record, Message):
                self._topic(record)
                times.append(record.log_time)
                counts[record.channel_id] += 1
            else:
                self._take(record)
        if not times:
            return
        self.counts += counts
        self.summary.chunk_indexes.append(ChunkIndex(
            chunk_length=self._stream.tell() - start, chunk_start_offset=start,
            compression=chunk.compression, compressed_size=len(chunk.data),
            message_start_time=min(times), message_end_time=max(times),
            message_index_length=0, message_index_offsets=dict.fromkeys(counts, 0),
            uncompressed_size=chunk.uncompressed_size,
        ))  # fmt: skip

    def _take(self, record: McapRecord) -> None:
        if isinstance(record, Schema):
            self.summary.schemas[record.id] = record
        elif isinstance(record, Channel):
            self.summary.channels[record.id] = record
        elif isinstance(record, Metadata) and record.name == MCAP_NAME:
            self.said = counts_of(record.metadata.get(MCAP_KEY, ''))
        elif isinstance(record, Message):
            if self.summary.chunk_indexes:  # it would have no checksum: other bytes, changed
                raise McapError('a message outside of the chunks')
            self._loose.append((record.log_time, self._topic(record), record.data))
            self.counts[record.channel_id] += 1

    def _topic(self, message: Message) -> str:
        channel = self.summary.channels.get(message.channel_id)
        if channel is None:
            raise _unknown(message.channel_id)
        return channel.topic


def _require_known(compression: str) -> None:
    """Raise on a compression that the library would take for none."""
    if compression not in COMPRESSIONS:
        raise UnpackError(f'expected zstd, lz4 or no compression, got {compression!r}')


def _unknown(channel: int) -> McapError:
    return McapError(f'expected a channel that was announced, got {channel}')


def _reason(err: BaseException) -> str:
    """Return what went wrong in words."""
    if isinstance(err, (EndOfFile, struct.error)):
        return 'it ends too early'
    if isinstance(err, KeyError):
        return f'unknown channel {err}'
    return str(err) or type(err).__name__
