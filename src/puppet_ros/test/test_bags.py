# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags written here are read by others, and theirs here: every storage and compression."""

import hashlib
from pathlib import Path
import shutil

from mcap import reader as mcap_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as McapLibraryWriter
from puppet_core.io import ConfigError, InputFileError
from puppet_msgs.msg import PoseFrame
from puppet_ros.bags import BagMessage, BagReader, BagWriter, definition_of, type_hash_of
from puppet_ros.messages import encoded
from puppet_ros.node import qos
import pytest
from rosbags import rosbag2
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from std_msgs.msg import String

pytestmark = pytest.mark.ros

FRAME, TEXT = 'puppet_msgs/msg/PoseFrame', 'std_msgs/msg/String'


MESSAGES = [
    BagMessage('/text', TEXT, 5, encoded(String(data='latched'))),
    *(
        BagMessage('/frames', FRAME, 10 * i, encoded(PoseFrame(frame_index=i)))
        for i in range(1, 40)
    ),
    BagMessage('/text', TEXT, 395, encoded(String(data='again'))),
]


def write(path: Path, messages: list[BagMessage] = MESSAGES, compression: str = '') -> Path:
    with BagWriter(path, compression) as writer:
        for message in messages:
            profile = qos.LATCHED if message.topic == '/text' else qos.STREAM
            writer.write(*message, profile)
    return path


def write_with_rosbags(path: Path, plugin: StoragePlugin, mode: CompressionMode) -> None:
    types = get_typestore(Stores.EMPTY)
    for name in (FRAME, TEXT):
        types.register(get_types_from_msg(definition_of(name), name))
    writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        topics = {
            name: writer.add_connection(name, kind, typestore=types)
            for name, kind in (('/text', TEXT), ('/frames', FRAME))
        }
        for message in MESSAGES:
            writer.write(topics[message.topic], message.log_ns, message.data)


def read(path: Path) -> list[BagMessage]:
    with BagReader(path) as reader:
        assert reader.warnings == []
        assert reader.counts == {'/text': 2, '/frames': 39}
        assert (reader.start_ns, reader.end_ns) == (5, 395)
        return list(reader.messages())


@pytest.mark.parametrize('compression', ['', 'zstd', 'lz4'])
def test_a_written_file_is_read_by_rosbags_and_mcap(tmp_path: Path, compression: str) -> None:
    path = write(tmp_path / 'a.mcap', compression=compression)
    assert read(path) == MESSAGES
    with AnyReader([path]) as other:  # which checks the hashes against the definitions
        assert [(c.topic, t, d) for c, t, d in other.messages()] == [
            (m.topic, m.log_ns, m.data) for m in MESSAGES
        ]
        assert other.deserialize(MESSAGES[1].data, FRAME).frame_index == 1
    with open(path, 'rb') as stream:
        library = mcap_reader.make_reader(stream, validate_crcs=True)
        assert len(list(library.iter_messages())) == len(MESSAGES)
        channels = library.get_summary().channels.values()
    assert {c.topic: c.metadata['topic_type_hash'] for c in channels} == {
        '/text': type_hash_of(TEXT),
        '/frames': type_hash_of(FRAME),
    }


def test_a_written_folder_is_a_bag_for_rosbags(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag')
    assert read(path) == MESSAGES
    with rosbag2.Reader(path) as other:
        assert other.message_count == len(MESSAGES)
        durability = {
            c.topic: c.ext.offered_qos_profiles[0].durability.name for c in other.connections
        }
        assert durability == {'/text': 'TRANSIENT_LOCAL', '/frames': 'VOLATILE'}
        assert {c.topic: c.digest for c in other.connections}['/frames'] == type_hash_of(FRAME)


def test_hashes_are_those_of_an_independent_implementation() -> None:
    for name in (
        FRAME,
        'puppet_msgs/msg/RetargetStatus',
        'visualization_msgs/msg/MarkerArray',
        'diagnostic_msgs/msg/DiagnosticArray',
        'tf2_msgs/msg/TFMessage',
    ):
        types = get_typestore(Stores.EMPTY)
        types.register(get_types_from_msg(definition_of(name), name))
        assert types.hash_rihs01(name) == type_hash_of(name)


def test_the_same_messages_give_the_same_bytes(tmp_path: Path) -> None:
    digests = {
        hashlib.sha256(write(tmp_path / name).read_bytes()).hexdigest()
        for name in ('a.mcap', 'b.mcap')
    }
    assert len(digests) == 1


@pytest.mark.parametrize('plugin', list(StoragePlugin), ids=lambda plugin: plugin.name)
@pytest.mark.parametrize(
    'mode',
    [CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE],
    ids=lambda mode: mode.name,
)
def test_bags_of_rosbags_are_read(
    tmp_path: Path, plugin: StoragePlugin, mode: CompressionMode
) -> None:
    write_with_rosbags(tmp_path / 'bag', plugin, mode)
    assert read(tmp_path / 'bag') == MESSAGES
    with BagReader(tmp_path / 'bag') as reader:
        assert 'uint64 frame_index' in reader.info['/frames'].definition


def test_a_single_sqlite_file_is_read(tmp_path: Path) -> None:
    write_with_rosbags(tmp_path / 'bag', StoragePlugin.SQLITE3, CompressionMode.NONE)
    assert read(next((tmp_path / 'bag').glob('*.db3'))) == MESSAGES


@pytest.mark.parametrize('compression', list(CompressionType), ids=lambda kind: kind.name)
@pytest.mark.parametrize('is_chunked', [True, False], ids=['chunks', 'loose'])
def test_other_writers_and_shuffled_messages_are_read_in_order(
    tmp_path: Path, compression: CompressionType, is_chunked: bool, rng
) -> None:
    """Small chunks that overlap in time, or none; without an index at the end, too."""
    path = tmp_path / 'a.mcap'
    with open(path, 'wb') as stream:
        writer = McapLibraryWriter(stream, 200, compression, use_chunking=is_chunked)
        writer.start('ros2')
        topics = {}
        for topic, kind in (('/text', TEXT), ('/frames', FRAME)):
            schema = writer.register_schema(kind, 'ros2msg', definition_of(kind).encode())
            topics[topic] = writer.register_channel(topic, 'cdr', schema)
        for i in rng.permutation(len(MESSAGES)):
            message = MESSAGES[i]
            writer.add_message(topics[message.topic], message.log_ns, message.data, message.log_ns)
        writer.finish()
    assert read(path) == MESSAGES


def test_files_of_a_split_bag_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / 'bag').mkdir()
    write(tmp_path / 'bag' / 'bag_0.mcap', MESSAGES[:20])
    write(tmp_path / 'bag' / 'bag_1.mcap', MESSAGES[20:])
    with BagReader(tmp_path / 'bag') as reader:
        assert list(reader.messages()) == MESSAGES
        assert 'it has no metadata.yaml' in reader.warnings[0]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.mcap')
    before = path.read_bytes()
    with pytest.raises(ConfigError, match='none_msgs/msg/Nothing'), BagWriter(path) as writer:
        writer.write('/a', 'none_msgs/msg/Nothing', 1, b'')
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ['a.mcap']


def test_a_folder_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='a name that is free'):
        BagWriter(tmp_path)


@pytest.mark.parametrize('growing', [True, False])
@pytest.mark.parametrize('name', ['bag', 'a.mcap'])
def test_folders_around_a_bag_are_made(tmp_path: Path, name: str, growing: bool) -> None:
    path = tmp_path / 'later' / 'still' / name
    with BagWriter(path, growing=growing) as writer:
        for message in MESSAGES:
            writer.write(*message)
    assert read(path) == MESSAGES


def test_a_killed_writer_leaves_what_was_flushed(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        for message in MESSAGES[:30]:
            writer.write(*message)
        writer.flush()
        for message in MESSAGES[30:]:
            writer.write(*message)
        shutil.copy(tmp_path / 'a.mcap', tmp_path / 'killed.mcap')
    with BagReader(tmp_path / 'killed.mcap') as reader:
        assert list(reader.messages()) == MESSAGES[:30]
        assert 'its writer was killed' in reader.warnings[0]
    assert read(tmp_path / 'a.mcap') == MESSAGES


@pytest.mark.parametrize('ending', ['-wal', '-journal'])
def test_messages_in_a_journal_are_not_left_out_in_silence(tmp_path: Path, ending: str) -> None:
    write_with_rosbags(tmp_path / 'bag', StoragePlugin.SQLITE3, CompressionMode.NONE)
    path = next((tmp_path / 'bag').glob('*.db3'))
    journal = path.with_name(path.name + ending)
    journal.write_bytes(b'')
    assert read(path) == MESSAGES
    journal.write_bytes(b'x')
    with (
        pytest.raises(InputFileError, match=f'messages in {journal.name}.*sqlite3'),
        BagReader(path),
    ):
        pass


@pytest.mark.parametrize(
    ('name', 'content', 'says'),
    [
        ('none.mcap', None, 'expected a bag, got nothing'),
        ('a.mcap', b'', 'expected an MCAP file, got an empty file'),
        ('a.mcap', b'BVH' * 9, 'expected an MCAP file, got other bytes'),
        ('a.db3', b'x' * 99, 'expected an SQLite file, got other bytes'),
        ('a.bag', b'#ROSBAG', 'expected a file ending in .mcap or .db3'),
    ],
)
def test_what_is_no_bag_is_named(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputFileError, match=says), BagReader(tmp_path / name):
        pass


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('version: 9', 'version: 10', 'version: expected a version up to 9, got 10'),
        ('version: 9', 'version: .inf', 'the keys of rosbag2, got OverflowError'),
        pytest.param('version: 9', '[' * 9999, 'valid YAML, got maximum recursion', id='deep'),
        ("compression_mode: ''", 'compression_mode: what', 'expected file, message or none'),
        ('bag_0.mcap', 'gone.mcap', 'expected a file, as metadata.yaml says'),
        ('bag_0.mcap', '../x/gone.mcap', r'/bag/gone\.mcap: expected a file'),
        ('storage_identifier', 'nothing', 'KeyError'),
        ('rosbag2_bagfile', '[', 'metadata.yaml:'),
    ],
)
def test_broken_metadata_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = write(tmp_path / 'bag') / 'metadata.yaml'
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputFileError, match=says), BagReader(tmp_path / 'bag'):
        pass
