# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages of a rosbag2 recording, as bytes, in the order of their log times.

A folder with its metadata.yaml, or one .mcap or .db3 file; compressed as a whole, by chunk or by
message. What a damaged MCAP file still holds is read, up to the damage, with a warning.

"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
import heapq
from pathlib import Path
import tempfile
from types import TracebackType
from typing import NamedTuple

from puppet_core.errors import InputFileError
from puppet_ros.bag_metadata import BagMetadata, FILE_NAME, read_metadata
from puppet_ros.mcap_file import McapFile
from puppet_ros.sqlite_bag import SqliteBag
from puppet_ros.unpack import unpack_file, UnpackError, unzstd
import zstandard

PACKED = '.zstd'
SUFFIXES = ('.mcap', '.db3')
Entry = tuple[int, int, int, str, bytes]
"""Log time [ns], number of the file, place in it, topic, data."""


class BagMessage(NamedTuple):
    """One message."""

    topic: str
    """Name of its topic."""

    type: str  # noqa: A003
    """As in puppet_msgs/msg/PoseFrame."""

    log_ns: int
    """When it was recorded [ns]."""

    data: bytes
    """As it went over the network: CDR with its four bytes of header."""


class BagTopic(NamedTuple):
    """What the bag says of a topic."""

    type: str  # noqa: A003
    """As in puppet_msgs/msg/PoseFrame."""

    definition: str
    """Text of the message's definition and of all it stands on; '' if the bag has none."""

    type_hash: str
    """As in RIHS01_e369..; '' if the bag has none."""

    qos: str
    """YAML of the profiles that its publishers offered."""

    count: int  # type: ignore[assignment]
    """How many messages."""


class BagReader:
    """
    A bag that is open for reading.

    Parameters
    ----------
    path : Path
        Folder of the bag, or a file in it.

    Raises
    ------
    InputFileError : if this is no bag, now or when its messages are read.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[str, str] = {}
        """Type of each topic."""
        self.counts: dict[str, int] = {}
        """Messages of each topic."""
        self.info: dict[str, BagTopic] = {}
        """What the bag says of each topic."""
        self.start_ns = 0
        """Least log time [ns]."""
        self.end_ns = 0
        """Greatest log time [ns]."""
        self.warnings: list[str] = []
        """What is wrong with the bag, a line each."""
        self._stack = ExitStack()
        self._files: list[_McapPart | _SqlitePart] = []
        self._packed_messages = False

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """
        Yield the messages of some topics, or of all, in the order of their log times.

        Raises
        ------
        InputFileError : where they cannot be read any further.

        """
        wanted = set(self.topics if topics is None else topics) & set(self.topics)
        streams = [part.entries(i, wanted) for i, part in enumerate(self._files)]
        entries = streams[0] if len(streams) == 1 else heapq.merge(*streams)
        kinds = self.topics
        for log_ns, _, _, topic, data in entries:
            if self._packed_messages:
                data = _unpack_message(self.path, topic, data)
            yield BagMessage(topic, kinds[topic], log_ns, data)

    def __enter__(self) -> 'BagReader':
        """Open the bag."""
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Close the bag."""
        self._stack.close()

    def _open(self) -> None:
        if not self.path.exists():
            raise InputFileError(self.path, 'a bag', 'nothing')
        metadata = None
        files = [self.path]
        if self.path.is_dir():
            metadata, files = folder_files(self.path)
            if metadata is None:
                self.warnings.append(f'{self.path}: it has no {FILE_NAME}')
        for path in files:
            self._files.append(self._part(path))
        if metadata is not None:
            self._packed_messages = metadata.compression_mode == 'message'
            for row in metadata.topics:
                self._add(row.name, BagTopic(row.type, '', row.type_hash, row.qos, 0))
        spans = []
        for part in self._files:
            self.warnings += [f'{part.path}: {text}' for text in part.warnings]
            for name, topic in part.topics():
                self._add(name, topic)
            if any(topic.count for _, topic in part.topics()):
                spans.append(part.span())
        self._compare_counts(metadata)
        if spans:
            self.start_ns, self.end_ns = min(s for s, _ in spans), max(e for _, e in spans)

    def _compare_counts(self, metadata: BagMetadata | None) -> None:
        """Tell what the bag should have and has not."""
        said: Counter[str] = Counter()
        if metadata is not None:
            said.update({topic.name: topic.count for topic in metadata.topics})
        else:
            for part in self._files:
                said.update(part.said)
        for name, count in said.items():
            there = self.counts.get(name, 0)
            if there < count:
                self.warnings.append(f'{self.path}: {there} of {count} messages on {name}: '
                                     'the others, which its metadata counts, are missing')

    def _part(self, path: Path) -> '_McapPart | _SqlitePart':
        suffix = _bare_suffix(path)
        if suffix not in SUFFIXES:
            raise InputFileError(path, f'a file ending in {" or ".join(SUFFIXES)}', path.name)
        plain = self._unpacked_file(path) if path.suffix.lower() == PACKED else path
        part = _McapPart(plain, path) if suffix == '.mcap' else _SqlitePart(plain, path)
        self._stack.callback(part.close)
        return part

    def _unpacked_file(self, path: Path) -> Path:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix='puppet_bag_'))
        plain = Path(folder) / path.stem
        unpack_file(path, plain)
        return plain

    def _add(self, name: str, topic: BagTopic) -> None:
        """Take what one more source says of a topic."""
        old = self.info.get(name)
        if old is None:
            self.info[name] = topic
        else:
            if topic.type != old.type:
                raise InputFileError(
                    self.path, f'messages {old.type} only', topic.type, field=name
                )
            self.info[name] = BagTopic(
                old.type, old.definition or topic.definition, old.type_hash or topic.type_hash,
                old.qos or topic.qos, old.count + topic.count,
            )  # fmt: skip
        self.topics[name] = topic.type
        self.counts[name] = self.info[name].count


class _McapPart:
    """An MCAP file of a bag."""

    def __init__(self, path: Path, name: Path) -> None:
        self._file = McapFile(path, name)
        self.path = name
        self.warnings, self.said = self._file.warnings, self._file.said
        self.close, self.span = self._file.close, self._file.span

    def topics(self) -> Iterator[tuple[str, BagTopic]]:
        for channel in self._file.summary.channels.values():
            schema = self._file.summary.schemas.get(channel.schema_id)
            name = schema.name if schema is not None else ''
            text = b''
            if schema is not None and schema.encoding == 'ros2msg':
                text = schema.data
            yield channel.topic, BagTopic(
                name, text.decode('utf-8', 'replace'),
                channel.metadata.get('topic_type_hash', ''),
                channel.metadata.get('offered_qos_profiles', ''),
                self._file.counts[channel.id],
            )  # fmt: skip

    def entries(self, number: int, wanted: set[str]) -> Iterator[Entry]:
        for place, (log_ns, topic, data) in enumerate(self._file.messages(wanted)):
            yield log_ns, number, place, topic, data


class _SqlitePart:
    """An SQLite file of a bag."""

    def __init__(self, path: Path, name: Path) -> None:
        self._file = SqliteBag(path, name)
        self.path = name
        self.warnings: list[str] = self._file.warnings
        self.said: dict[str, int] = {}
        self.close, self.span = self._file.close, self._file.span

    def topics(self) -> Iterator[tuple[str, BagTopic]]:
        for topic in self._file.topics:
            yield topic.name, BagTopic(
                topic.type, self._file.definitions.get(topic.type, ''), topic.type_hash,
                topic.qos, self._file.counts.get(topic.number, 0),
            )  # fmt: skip

    def entries(self, number: int, wanted: set[str]) -> Iterator[Entry]:
        names = {t.number: t.name for t in self._file.topics if t.name in wanted}
        for log_ns, place, topic, data in self._file.messages(tuple(names)):
            yield log_ns, number, place, names[topic], data


def folder_files(path: Path) -> tuple[BagMetadata | None, list[Path]]:
    """
    Return what the metadata of a bag's folder says, if there is one, and the files of messages.

    Raises
    ------
    InputFileError : if the metadata is refused, or a file is missing.

    """
    if (path / FILE_NAME).exists():
        metadata = read_metadata(path / FILE_NAME)
        files = [path / name for name in metadata.files]
    else:
        metadata = None
        files = sorted(p for p in path.iterdir() if _bare_suffix(p) in SUFFIXES)
    if not files:
        raise InputFileError(path, 'a bag, its files .mcap or .db3', 'none of them')
    for file in files:
        if not file.is_file():
            raise InputFileError(file, f'a file, as {FILE_NAME} says', 'nothing')
    return metadata, files


def _bare_suffix(path: Path) -> str:
    """Return the suffix, without that of a compressed file."""
    return (Path(path.stem) if path.suffix.lower() == PACKED else path).suffix.lower()


def _unpack_message(path: Path, topic: str, data: bytes) -> bytes:
    try:
        return unzstd(data)
    except (zstandard.ZstdError, UnpackError, MemoryError) as err:
        raise InputFileError(path, 'zstd data', str(err), field=topic) from err
