# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a rosbag2 recording (MCAP, SQLite), as bytes, in the order of their log times."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack
import heapq
import io
from operator import itemgetter
from pathlib import Path
import struct
import tempfile
from typing import BinaryIO, NamedTuple
import zlib

import apsw
from mcap.exceptions import EndOfFile, McapError
from mcap.reader import FOOTER_SIZE, SeekingReader
from mcap.records import Channel, Chunk, DataEnd, Footer, McapRecord, Message, Schema
from mcap.stream_reader import breakup_chunk, MAGIC_SIZE, StreamReader
from mcap.summary import Summary
from mcap.writer import CompressionType, MCAP0_MAGIC, Writer
from puppet_core.io import InputFileError, require_file
from puppet_ros.bags.metadata import BagMetadata, BagTopic, FILE_NAME, read_metadata
from rosbags.rosbag2 import Reader as RosbagsReader
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.metadata import dump_qos_v8
import zstandard

PACKED = '.zstd'
SUFFIXES = ('.mcap', '.db3')
MISSING = 'a path that does not exist'
RECORD_LIMIT = MESSAGE_LIMIT = 256 << 20  # bytes; recorders write chunks of about 1 MB
SMALL_BYTES, RATIO = 1 << 30, 1000  # a file unpacks to the first at most, or so many times itself
PIECE_BYTES = 1 << 20
CHECKSUM_SIZE = 4  # at the end of the footer
SQLITE = b'SQLite format 3\0'
# What makes SQLite take in what its writer left beside the file, by the ending of that.
COMPLETING = {'-wal': 'PRAGMA wal_checkpoint(TRUNCATE)', '-journal': 'SELECT * FROM sqlite_master'}
# What the libraries raise at damaged bytes: RuntimeError is lz4's.
DAMAGE = (
    McapError,
    ValueError,
    LookupError,
    TypeError,
    OverflowError,
    MemoryError,
    RuntimeError,
    OSError,
    struct.error,
    zstandard.ZstdError,
    apsw.Error,
    ReaderError,
)
Entry = tuple[int, str, bytes]
"""Log time [ns], topic, data."""


class BagMessage(NamedTuple):
    topic: str  # name of its topic
    type: str  # noqa: A003  # as in puppet_msgs/msg/PoseFrame
    log_ns: int  # when it was recorded [ns]
    data: bytes  # as it went over the network: CDR with its four bytes of header


class BagReader:
    """A bag open for reading: its folder, or a file in it; InputFileError if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[str, str] = {}  # type of each topic
        self.counts: dict[str, int] = {}  # messages of each topic
        self.info: dict[str, BagTopic] = {}  # what the bag records about each topic
        self.start_ns = 0  # least log time [ns]
        self.end_ns = 0  # greatest log time [ns]
        self.warnings: list[str] = []  # what is wrong with the bag, a line each
        self._stack = ExitStack()
        self._files: list[_McapFile | _SqliteFile] = []
        self._packed_messages = False

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """Yield messages of some topics, or all, by log time; raise InputFileError at damage."""
        wanted = set(self.topics if topics is None else topics) & set(self.topics)
        streams = [file.entries(wanted) for file in self._files]
        for log_ns, topic, data in heapq.merge(*streams, key=itemgetter(0)):
            if self._packed_messages:
                data = _unpacked_message(self.path, topic, data)
            yield BagMessage(topic, self.topics[topic], log_ns, data)

    def __enter__(self) -> 'BagReader':
        with self._stack:
            self._open()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        if not self.path.exists():
            raise InputFileError(self.path, 'a bag', MISSING)
        metadata, files = None, [self.path]
        if self.path.is_dir():
            metadata, files = _folder_files(self.path)
            if metadata is None:
                self.warnings.append(f'{self.path}: it has no {FILE_NAME}')
        self._files = [self._file(path) for path in files]
        if metadata is not None:
            self._packed_messages = metadata.compression_mode == 'message'
            for row in metadata.topics:
                self._add(row._replace(count=0))
        for file in self._files:
            self.warnings += [f'{file.path}: {text}' for text in file.warnings]
            for topic in file.topics():
                self._add(topic)
        for row in metadata.topics if metadata is not None else ():
            if (there := self.counts[row.name]) < row.count:
                found = f'{there} of {row.count} messages on {row.name}'
                missing = 'the others, which its metadata counts, are missing'
                self.warnings.append(f'{self.path}: {found}: {missing}')
        spans = [span for file in self._files if (span := file.span()) is not None]
        if spans:
            self.start_ns, self.end_ns = min(s for s, _ in spans), max(e for _, e in spans)

    def _file(self, path: Path) -> '_McapFile | _SqliteFile':
        suffix = _bare_suffix(path)
        if suffix not in SUFFIXES:
            raise InputFileError(path, f'a file ending in {" or ".join(SUFFIXES)}', path.name)
        try:
            require_file(path)
            plain = path
            if path.suffix.lower() == PACKED:
                folder = self._stack.enter_context(tempfile.TemporaryDirectory())
                plain = Path(folder) / path.stem
                _unpack_file(path, plain)
            if suffix == '.mcap':
                return _McapFile(plain, path, self._stack)
            return _SqliteFile(plain, path, self._stack)
        except OSError as err:
            raise InputFileError(path, 'a readable file', err.strerror or str(err)) from err

    def _add(self, topic: BagTopic) -> None:
        """Add what one more file records about a topic."""
        name, old = topic.name, self.info.get(topic.name, topic._replace(count=0))
        if topic.type != old.type:
            raise InputFileError(self.path, f'messages {old.type} only', topic.type, field=name)
        known = {
            field: value for field, value in topic._asdict().items() if not getattr(old, field)
        }
        self.info[name] = old._replace(**{**known, 'count': old.count + topic.count})
        self.topics[name], self.counts[name] = topic.type, self.info[name].count


class _McapFile:
    """An MCAP file of a bag; `name` is what errors call it, if it is an unpacked copy."""

    def __init__(self, path: Path, name: Path, stack: ExitStack) -> None:
        self.path = name
        self.warnings: list[str] = []
        stream = stack.enter_context(open(path, 'rb'))
        try:
            self._reader = SeekingReader(stream, True, record_size_limit=RECORD_LIMIT)
            self._reader.get_header()
        except DAMAGE as err:
            got = 'other bytes' if stream.seek(0, io.SEEK_END) else 'an empty file'
            raise InputFileError(name, 'an MCAP file', got) from err
        summary = None
        try:
            summary = self._index(stream)
        except DAMAGE as err:
            self.warnings.append(f'its index cannot be used ({_reason(err)})')
        if summary is None:
            copy = stack.enter_context(tempfile.TemporaryFile())
            self._recover(stream, copy)
            copy.seek(0)
            self._reader = SeekingReader(copy, True)
            summary = self._reader.get_summary()
        assert summary is not None and summary.statistics is not None
        self._summary, self._statistics = summary, summary.statistics

    def span(self) -> tuple[int, int] | None:
        """Return the least and the greatest log time [ns]; None without messages."""
        found = self._statistics
        return (found.message_start_time, found.message_end_time) if found.message_count else None

    def topics(self) -> Iterator[BagTopic]:
        for channel in self._summary.channels.values():
            schema = self._summary.schemas.get(channel.schema_id, Schema(0, b'', '', ''))
            text = schema.data.decode('utf-8', 'replace') if schema.encoding == 'ros2msg' else ''
            qos, type_hash = map(channel.metadata.get, ('offered_qos_profiles', 'topic_type_hash'))
            count = self._statistics.channel_message_counts.get(channel.id, 0)
            yield BagTopic(channel.topic, schema.name, qos or '', type_hash or '', count, text)

    def entries(self, wanted: Collection[str]) -> Iterator[Entry]:
        try:
            for _, channel, message in self._reader.iter_messages(wanted):
                yield message.log_time, channel.topic, message.data
        except DAMAGE as err:
            got = f'a damaged one ({_reason(err)})'
            raise InputFileError(self.path, 'whole chunks', got) from err

    def _index(self, stream: BinaryIO) -> Summary | None:
        """Return the index at the end of the file; None if it is not all there."""
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(size - FOOTER_SIZE - MAGIC_SIZE, 0))
        tail = stream.read()
        if not tail.endswith(MCAP0_MAGIC):
            self.warnings.append('it has no end: its writer was killed, or a part is missing')
            return None
        footer = next(StreamReader(io.BytesIO(tail), skip_magic=True).records)
        summary = self._reader.get_summary()
        if not isinstance(footer, Footer) or summary is None or summary.statistics is None:
            return None
        # The library does not check the checksum of the index.
        stream.seek(footer.summary_start)
        covered = stream.read()[: -MAGIC_SIZE - CHECKSUM_SIZE]
        if footer.summary_crc and zlib.crc32(covered) != footer.summary_crc:
            raise McapError('expected another checksum')
        counts, total = summary.statistics.channel_message_counts, summary.statistics.message_count
        schemas = {channel.schema_id for channel in summary.channels.values()} - {0}
        is_whole = (
            summary.channels.keys() >= counts.keys()
            and summary.schemas.keys() >= schemas
            and sum(counts.values()) == total
            and bool(total) == bool(summary.chunk_indexes)
        )
        return summary if is_whole else None

    def _recover(self, source: BinaryIO, target: BinaryIO) -> None:
        """Copy what can be read, up to the end or a damage, to a file with an index."""
        writer = Writer(target, compression=CompressionType.LZ4)
        writer.start()
        schemas, channels = {0: 0}, {}  # numbers there by those here

        def copy(r: McapRecord) -> None:
            if isinstance(r, Schema) and r.id not in schemas:
                schemas[r.id] = writer.register_schema(r.name, r.encoding, r.data)
            elif isinstance(r, Channel) and r.id not in channels:
                about = (r.message_encoding, schemas[r.schema_id], r.metadata)
                channels[r.id] = writer.register_channel(r.topic, *about)
            elif isinstance(r, Message):
                what = (r.log_time, r.data, r.publish_time, r.sequence)
                writer.add_message(channels[r.channel_id], *what)

        source.seek(0)
        at, has_chunks = 0, False
        records = StreamReader(source, emit_chunks=True, record_size_limit=RECORD_LIMIT).records
        try:
            for record in records:
                if isinstance(record, (DataEnd, Footer)):
                    break
                if isinstance(record, Chunk):
                    has_chunks = True
                    for inner in breakup_chunk(record, validate_crc=True):
                        copy(inner)
                elif isinstance(record, Message) and has_chunks:
                    # it would have no checksum: other bytes, changed
                    raise McapError('a message outside of the chunks')
                else:
                    copy(record)
                at = source.tell()
        except DAMAGE as err:
            self.warnings.append(f'what follows byte {at} is missing or damaged ({_reason(err)})')
        writer.finish()


class _SqliteFile:
    """An SQLite file of a bag; `name` is what errors call it, if it is an unpacked copy."""

    def __init__(self, path: Path, name: Path, stack: ExitStack) -> None:
        self.path = name
        self.warnings: list[str] = []
        with open(path, 'rb') as stream:
            head = stream.read(len(SQLITE))
        if head != SQLITE:
            got = 'other bytes' if head else 'an empty file'
            raise InputFileError(name, 'an SQLite file', got)
        _require_closed(path)
        try:
            self._reader = stack.enter_context(RosbagsReader(path))
        except DAMAGE as err:
            raise self._unreadable(err) from err
        known = sum(row.msgcount for row in self._reader.connections)
        if unknown := self._reader.message_count - known:
            self.warnings.append(f'{unknown} messages of unknown topics are left out')

    def span(self) -> tuple[int, int] | None:
        """Return the least and the greatest log time [ns]; None without messages."""
        if not self._reader.message_count:
            return None
        return self._reader.start_time, self._reader.end_time - 1

    def topics(self) -> Iterator[BagTopic]:
        for row in self._reader.connections:
            text = row.msgdef.data if row.msgdef.format.name == 'MSG' else ''
            qos = dump_qos_v8(getattr(row.ext, 'offered_qos_profiles', []))
            yield BagTopic(row.topic, row.msgtype, qos, row.digest, row.msgcount, text)

    def entries(self, wanted: Collection[str]) -> Iterator[Entry]:
        rows = [row for row in self._reader.connections if row.topic in wanted]
        try:
            for row, log_ns, data in self._reader.messages(rows) if rows else ():
                if not isinstance(data, bytes) or not isinstance(log_ns, int):
                    raise TypeError(f'{data!r:.20} at {log_ns!r:.20}')
                yield log_ns, row.topic, data
        except DAMAGE as err:
            raise self._unreadable(err) from err

    def _unreadable(self, err: BaseException) -> InputFileError:
        return InputFileError(self.path, "rosbag2's tables, undamaged", _reason(err))


def bag_files(path: Path) -> list[Path]:
    """Return the files that are read of a bag, refused metadata alone; or InputFileError."""
    if not path.is_dir():
        return [path]
    metadata = [path / FILE_NAME] if (path / FILE_NAME).exists() else []
    try:
        for file in metadata:
            read_metadata(file)
    except InputFileError:
        return metadata
    return metadata + _folder_files(path)[1]


def _folder_files(path: Path) -> tuple[BagMetadata | None, list[Path]]:
    """Return the metadata of a bag's folder, if there is one, and the files."""
    metadata = read_metadata(path / FILE_NAME) if (path / FILE_NAME).exists() else None
    if metadata is not None:
        files = [path / name for name in metadata.files]
    else:
        files = sorted(p for p in path.iterdir() if _bare_suffix(p) in SUFFIXES)
    if not files:
        raise InputFileError(path, 'a bag, its files .mcap or .db3', 'none of them')
    for file in files:
        if not file.is_file():
            raise InputFileError(file, f'a file, as {FILE_NAME} says', MISSING)
    return metadata, files


def _bare_suffix(path: Path) -> str:
    """Return the suffix, without that of a compressed file."""
    return (Path(path.stem) if path.suffix.lower() == PACKED else path).suffix.lower()


def _unpack_file(source: Path, target: Path) -> None:
    """Write what a .zstd file holds; raise InputFileError if it is none, or absurdly large."""
    limit, done = max(SMALL_BYTES, RATIO * source.stat().st_size), 0
    try:
        with open(source, 'rb') as packed, open(target, 'wb') as sink:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            while piece := reader.read(PIECE_BYTES):
                done += len(piece)
                if done > limit:
                    raise InputFileError(source, f'up to {limit} bytes when unpacked', 'more')
                sink.write(piece)
    except (zstandard.ZstdError, OSError) as err:
        raise InputFileError(source, 'zstd data', str(err)) from err


def _unpacked_message(path: Path, topic: str, data: bytes) -> bytes:
    try:
        size = zstandard.get_frame_parameters(data).content_size
        if MESSAGE_LIMIT < size != zstandard.CONTENTSIZE_UNKNOWN:
            raise ValueError(f'{size} bytes when unpacked')
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=MESSAGE_LIMIT)
    except (zstandard.ZstdError, ValueError, MemoryError) as err:
        raise InputFileError(path, 'zstd data', str(err), field=topic) from err


def _require_closed(path: Path) -> None:
    """Refuse an SQLite file that lacks what its writer left in a journal beside it."""
    for ending, command in COMPLETING.items():
        journal = path.with_name(path.name + ending)
        if journal.exists() and journal.stat().st_size:
            hint = f'complete it: sqlite3 {path.name} "{command}"'
            got = f'messages in {journal.name} as well'
            raise InputFileError(path, 'a recording that was ended', got, hint=hint)


def _reason(err: BaseException) -> str:
    if isinstance(err, (EndOfFile, struct.error)):
        return 'it ends too early'
    if isinstance(err, KeyError):
        return f'unknown channel {err}'
    return ' '.join(str(err).split())[:200] or type(err).__name__
