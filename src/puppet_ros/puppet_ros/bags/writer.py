# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 recording in MCAP; the same messages give the same bytes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import tempfile
from typing import Any, BinaryIO

from mcap.writer import CompressionType, Writer
from puppet_core.io import ConfigError, replacing
from puppet_ros.bags.metadata import (
    BagTopic,
    FILE_NAME,
    MCAP_KEY,
    MCAP_NAME,
    metadata_file_of,
    metadata_text,
)
from puppet_ros.bags.types import definition_of, type_hash_of
import yaml

SUFFIX = '.mcap'
COMPRESSIONS = ('zstd', 'lz4', 'none')
CHUNK_BYTES = 1 << 19
LIBRARY = 'puppet suite'  # without the version of mcap, so that updates do not change files
FOREVER = {'sec': 9223372036, 'nsec': 854775807}


class BagWriter:
    """
    A bag that is written beside its place and takes it when the block has succeeded.

    A path that ends in .mcap is one file, which replaces another; any other the new folder of a
    bag. If `growing`, it grows in its own place, so that what was written until the power failed
    can be read. Raises ConfigError if the place is taken, or a type is not installed.
    """

    def __init__(self, path: Path, compression: str = '', growing: bool = False) -> None:
        self._path = path
        self._compression = CompressionType[compression.upper() or 'NONE']
        self._growing = growing
        self._topics: list[BagTopic] = []  # their counts are filled in at the end
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._start_ns, self._end_ns = 1 << 63, 0
        self._is_file = path.suffix.lower() == SUFFIX
        taken = path.is_dir() if self._is_file and not growing else path.exists()
        if taken:
            raise ConfigError(f'output: expected a name that is free, got {str(path)!r}')
        self._place = _place(path, growing)

    def add_topic(
        self,
        topic: str,
        msgtype: str,
        qos: Any = None,
        definition: str | None = None,
        type_hash: str | None = None,
    ) -> None:
        """
        Announce a topic.

        `qos` is what its publishers offered, a QoSProfile of rclpy or the text of that in another
        bag; definition and hash are those of the installed type if not given. Raises ConfigError
        if a type that is not given is not installed.
        """
        if definition is None:
            definition = definition_of(msgtype)
        type_hash = type_hash_of(msgtype) if type_hash is None else type_hash
        if not isinstance(qos, str):
            qos = qos_text([qos] if qos is not None else [])
        if msgtype not in self._schemas:
            self._schemas[msgtype] = self._writer.register_schema(
                msgtype, 'ros2msg' if definition else '', definition.encode()
            )
        about = {'offered_qos_profiles': qos, 'topic_type_hash': type_hash}
        self._channels[topic] = self._writer.register_channel(
            topic, 'cdr', self._schemas[msgtype], about
        )
        self._counts[topic] = 0
        self._topics.append(BagTopic(topic, msgtype, qos, type_hash, 0))

    def write(self, topic: str, msgtype: str, log_ns: int, data: bytes, qos: Any = None) -> None:
        """Append a message; the first one of a topic announces it with its type and QoS."""
        if topic not in self._channels:
            self.add_topic(topic, msgtype, qos)
        self._counts[topic] += 1
        self._start_ns, self._end_ns = min(self._start_ns, log_ns), max(self._end_ns, log_ns)
        self._writer.add_message(self._channels[topic], log_ns, data, log_ns)

    def flush(self) -> None:
        """Hand what was written so far to the file."""
        self._writer.flush()

    def __enter__(self) -> 'BagWriter':
        self._stream = self._place.__enter__()
        self._writer = Writer(self._stream, CHUNK_BYTES, self._compression)
        self._writer.start('ros2', LIBRARY)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Complete the file and give it its name, or forget it after an error."""
        if kind is None or self._growing:
            try:
                self._finish()
            except BaseException as err:
                self._place.__exit__(type(err), err, err.__traceback__)
                raise
        self._place.__exit__(kind, error, trace)

    def _finish(self) -> None:
        self._writer.flush()  # the chunk that has begun, which would follow the metadata
        topics = [topic._replace(count=self._counts[topic.name]) for topic in self._topics]
        # without the file's name, so that a copy under another name is the same
        inner = metadata_text(topics, self._start_ns, self._end_ns, '')
        self._writer.add_metadata(MCAP_NAME, {MCAP_KEY: inner.strip()})
        self._writer.finish()
        if not self._is_file:
            place = Path(self._stream.name)
            text = metadata_file_of(topics, self._start_ns, self._end_ns, place.name)
            (place.parent / FILE_NAME).write_text(text, encoding='utf-8')


def qos_text(profiles: Sequence[Any]) -> str:
    """Return QoS profiles of rclpy as rosbag2 writes them; '' for none."""
    rows = [
        {
            'history': profile.history.short_key,
            'depth': profile.depth,
            'reliability': profile.reliability.short_key,
            'durability': profile.durability.short_key,
            'deadline': _time(profile.deadline.nanoseconds),
            'lifespan': _time(profile.lifespan.nanoseconds),
            'liveliness': profile.liveliness.short_key,
            'liveliness_lease_duration': _time(profile.liveliness_lease_duration.nanoseconds),
            'avoid_ros_namespace_conventions': profile.avoid_ros_namespace_conventions,
        }
        for profile in profiles
    ]
    return yaml.safe_dump(rows, sort_keys=False).strip() if rows else ''


def _time(ns: int) -> dict[str, int]:
    return {'sec': ns // 10**9, 'nsec': ns % 10**9} if ns else dict(FOREVER)


@contextmanager
def _place(path: Path, growing: bool) -> Iterator[BinaryIO]:
    """Yield the stream of one file, or of the only file of a new folder."""
    name, is_file = f'{path.name}_0{SUFFIX}', path.suffix.lower() == SUFFIX
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if growing and not is_file:
            path.mkdir()
        if growing:
            target = path if is_file else path / name
        elif is_file:
            target = stack.enter_context(replacing(path))
        else:
            outer = stack.enter_context(
                tempfile.TemporaryDirectory(prefix='.bag_', dir=path.parent)
            )
            target = Path(outer) / path.name / name
            target.parent.mkdir()
        with open(target, 'wb') as stream:
            yield stream
        if not growing and not is_file:
            os.rename(target.parent, path)
