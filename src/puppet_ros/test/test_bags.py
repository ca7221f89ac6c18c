# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags written here are read by others, and theirs here: also cut, changed or miscounted ones."""

import re
import shutil
import sqlite3

from mcap import reader as mcap_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as McapLibraryWriter
from puppet_core.io import ConfigError, InputFileError
from puppet_msgs.msg import PoseFrame
from puppet_ros.bags import (
    BagMessage,
    BagReader,
    BagWriter,
    definition_of,
    metadata_file_of,
    read_metadata,
    reader,
    type_hash_of,
)
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


def write(path, messages=MESSAGES, compression=''):
    with BagWriter(path, compression) as writer:
        for message in messages:
            profile = qos.LATCHED if message.topic == '/text' else qos.STREAM
            writer.write(*message, profile)
    return path


def write_with_rosbags(path, plugin, mode):
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


def write_with_mcap(path, order, *options, **more):
    with open(path, 'wb') as stream:
        writer = McapLibraryWriter(stream, *options, **more)
        writer.start('ros2')
        topics = {}
        for topic, kind in (('/text', TEXT), ('/frames', FRAME)):
            schema = writer.register_schema(kind, 'ros2msg', definition_of(kind).encode())
            topics[topic] = writer.register_channel(topic, 'cdr', schema)
        for i in order:
            message = MESSAGES[i]
            writer.add_message(topics[message.topic], message.log_ns, message.data, message.log_ns)
        writer.finish()
    return path


def read(path):
    with BagReader(path) as reader:
        assert reader.warnings == []
        assert reader.counts == {'/text': 2, '/frames': 39}
        assert (reader.start_ns, reader.end_ns) == (5, 395)
        return list(reader.messages())


def refused(path, says):
    with pytest.raises(InputFileError, match=says) as told, BagReader(path):
        pass
    return str(told.value)


@pytest.mark.parametrize('compression', ['', 'zstd', 'lz4'])
def test_a_written_file_is_read_by_rosbags_and_mcap(tmp_path, compression):
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


def test_a_written_folder_is_a_bag_for_rosbags(tmp_path):
    path = write(tmp_path / 'bag')
    assert read(path) == MESSAGES
    with rosbag2.Reader(path) as other:
        assert other.message_count == len(MESSAGES)
        durability = {
            c.topic: c.ext.offered_qos_profiles[0].durability.name for c in other.connections
        }
        assert durability == {'/text': 'TRANSIENT_LOCAL', '/frames': 'VOLATILE'}
        assert {c.topic: c.digest for c in other.connections}['/frames'] == type_hash_of(FRAME)


@pytest.mark.parametrize('plugin', list(StoragePlugin), ids=lambda plugin: plugin.name)
@pytest.mark.parametrize(
    'mode',
    [CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE],
    ids=lambda mode: mode.name,
)
def test_bags_of_rosbags_are_read(tmp_path, plugin, mode):
    write_with_rosbags(tmp_path / 'bag', plugin, mode)
    assert read(tmp_path / 'bag') == MESSAGES
    with BagReader(tmp_path / 'bag') as reader:
        assert 'uint64 frame_index' in reader.info['/frames'].definition


@pytest.mark.parametrize('compression', list(CompressionType), ids=lambda kind: kind.name)
@pytest.mark.parametrize('is_chunked', [True, False], ids=['chunks', 'loose'])
def test_other_writers_and_shuffled_messages_are_read_in_order(
    tmp_path, compression, is_chunked, rng
):
    """Small chunks that overlap in time, or none; without an index at the end, too."""
    order, options = rng.permutation(len(MESSAGES)), (200, compression)
    path = write_with_mcap(tmp_path / 'a.mcap', order, *options, use_chunking=is_chunked)
    assert read(path) == MESSAGES


def test_files_of_a_split_bag_are_read_as_one(tmp_path):
    (tmp_path / 'bag').mkdir()
    write(tmp_path / 'bag' / 'bag_0.mcap', MESSAGES[:20])
    write(tmp_path / 'bag' / 'bag_1.mcap', MESSAGES[20:])
    with BagReader(tmp_path / 'bag') as reader:
        assert list(reader.messages()) == MESSAGES
        assert 'it has no metadata.yaml' in reader.warnings[0]


def test_an_error_leaves_what_was_there(tmp_path):
    path = write(tmp_path / 'a.mcap')
    before = path.read_bytes()
    with pytest.raises(ConfigError, match='none_msgs/msg/Nothing'), BagWriter(path) as writer:
        writer.write('/a', 'none_msgs/msg/Nothing', 1, b'')
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ['a.mcap']


def test_a_folder_that_exists_is_not_overwritten(tmp_path):
    with pytest.raises(ConfigError, match='a name that is free'):
        BagWriter(tmp_path)


@pytest.mark.parametrize('growing', [True, False])
@pytest.mark.parametrize('name', ['bag', 'a.mcap'])
def test_folders_around_a_bag_are_made(tmp_path, name, growing):
    path = tmp_path / 'later' / 'still' / name
    with BagWriter(path, growing=growing) as writer:
        for message in MESSAGES:
            writer.write(*message)
    assert read(path) == MESSAGES


def test_a_killed_writer_leaves_what_was_flushed(tmp_path):
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
def test_messages_in_a_journal_are_not_left_out_in_silence(tmp_path, ending):
    write_with_rosbags(tmp_path / 'bag', StoragePlugin.SQLITE3, CompressionMode.NONE)
    path = next((tmp_path / 'bag').glob('*.db3'))
    journal = path.with_name(path.name + ending)
    journal.write_bytes(b'')
    assert read(path) == MESSAGES
    journal.write_bytes(b'x')
    refused(path, f'messages in {journal.name}.*sqlite3')


@pytest.mark.parametrize(
    ('name', 'content', 'says'),
    [
        ('none.mcap', None, 'expected a bag, got a path that does not exist'),
        ('a.mcap', b'', 'expected an MCAP file, got an empty file'),
        ('a.mcap', b'BVH' * 9, 'expected an MCAP file, got other bytes'),
        ('a.db3', b'x' * 99, 'expected an SQLite file, got other bytes'),
        ('a.bag', b'#ROSBAG', 'expected a file ending in .mcap or .db3'),
    ],
)
def test_file_that_is_no_bag_is_refused(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, says)


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
        ('- bag_0.mcap', '- bag_0.mcap\n  - bag_0.mcap', 'each file once, got bag_0.mcap twice'),
    ],
)
def test_broken_metadata_is_named(tmp_path, old, new, says):
    path = write(tmp_path / 'bag') / 'metadata.yaml'
    path.write_text(path.read_text().replace(old, new))
    refused(tmp_path / 'bag', says)


def sqlite_bag(folder, *commands):
    write_with_rosbags(folder, StoragePlugin.SQLITE3, CompressionMode.NONE)
    path = next(folder.glob('*.db3'))
    with sqlite3.connect(path) as database:
        for command in commands:
            database.execute(command)
    database.close()
    return path


def test_messages_that_the_metadata_counts_and_no_file_has_are_reported(tmp_path):
    path = write(tmp_path / 'bag') / 'metadata.yaml'
    path.write_text(path.read_text().replace('message_count: 39', 'message_count: 41'))
    with BagReader(tmp_path / 'bag') as reader:
        assert ['39 of 41 messages on /frames' in line for line in reader.warnings] == [True]
        assert list(reader.messages()) == MESSAGES


def test_a_file_that_was_cut_lacks_what_the_metadata_counts(tmp_path):
    with BagWriter(tmp_path / 'bag', growing=True) as writer:
        for message in MESSAGES[:30]:
            writer.write(*message)
        writer.flush()
        kept = (tmp_path / 'bag' / 'bag_0.mcap').stat().st_size
        for message in MESSAGES[30:]:
            writer.write(*message)
    path = tmp_path / 'bag' / 'bag_0.mcap'
    path.write_bytes(path.read_bytes()[:kept])
    with BagReader(tmp_path / 'bag') as reader:
        assert any('29 of 39 messages on /frames' in line for line in reader.warnings)
        assert any('1 of 2 messages on /text' in line for line in reader.warnings)
        assert list(reader.messages()) == MESSAGES[:30]


def test_sqlite_messages_of_unknown_topics_are_counted(tmp_path):
    path = sqlite_bag(
        tmp_path / 'bag',
        'UPDATE messages SET topic_id = 77 WHERE id <= 3',
        'UPDATE messages SET topic_id = 78 WHERE id = 4',
    )
    with BagReader(path) as reader:
        assert reader.warnings == [f'{path}: 4 messages of unknown topics are left out']
        assert len(list(reader.messages())) == len(MESSAGES) - 4


CUTS = 200


def salvaged(path):
    """Return what can be read; None for a clear error at the beginning."""
    found = []
    try:
        with BagReader(path) as reader:
            for message in reader.messages():
                found.append(message)
            assert found == MESSAGES or reader.warnings
    except InputFileError as err:
        assert str(path.parent) in str(err) and 'expected' in str(err)
        return found or None
    return found


@pytest.fixture(params=['', 'zstd', 'lz4'], ids=['plain', 'zstd', 'lz4'])
def whole(request, tmp_path):
    with BagWriter(tmp_path / 'whole.mcap', request.param) as writer:
        for i, message in enumerate(MESSAGES):
            writer.write(*message)
            if i % 4 == 3:
                writer.flush()
    return (tmp_path / 'whole.mcap').read_bytes()


def longest_beginning(data, ends, path):
    """Cut a file at ends; longer pieces give at least as much: nothing is lost before the cut."""
    last = 0
    for end in sorted(ends):
        path.write_bytes(data[:end])
        found = salvaged(path) or []
        assert found == MESSAGES[: len(found)]
        assert len(found) >= last
        last = len(found)
    return last


def test_a_cut_file_gives_a_beginning_or_an_error(whole, tmp_path, rng):
    ends = rng.integers(0, len(whole), CUTS)
    assert longest_beginning(whole, ends, tmp_path / 'cut.mcap') == len(MESSAGES)


def test_changed_bytes_never_give_other_messages(whole, tmp_path, rng):
    """Checksums of the chunks tell: what is read is of the bag, in its order."""
    path = tmp_path / 'changed.mcap'
    for at in rng.integers(0, len(whole), CUTS):
        data = bytearray(whole)
        data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        for message in salvaged(path) or []:
            assert any(message.data == known.data for known in MESSAGES)


@pytest.mark.parametrize('mode', [CompressionMode.NONE, CompressionMode.FILE])
def test_a_cut_sqlite_bag_gives_a_beginning_or_an_error(tmp_path, mode, rng):
    write_with_rosbags(tmp_path / 'bag', StoragePlugin.SQLITE3, mode)
    path = next((tmp_path / 'bag').glob('*.db3*'))
    data = path.read_bytes()
    for end in rng.integers(0, len(data), CUTS // 4):
        path.write_bytes(data[:end])
        found = salvaged(tmp_path / 'bag') or []
        assert found == MESSAGES[: len(found)]


@pytest.mark.parametrize('key', ['storage_identifier', 'compression_mode', 'compression_format'])
def test_metadata_that_is_no_text_is_refused(tmp_path, key):
    path = tmp_path / 'metadata.yaml'
    text = metadata_file_of([], 0, 0, 'a.mcap')
    path.write_text(text)
    assert read_metadata(path).files == ('a.mcap',)
    value = 2_000 * [1]
    path.write_text(re.sub(rf'  {key}: .*', f'  {key}: {value}', text))
    with pytest.raises(InputFileError, match=f'{key}: expected a text') as caught:
        read_metadata(path)
    assert len(str(caught.value)) < 400


def test_compressed_files_and_messages_beyond_the_limits_are_refused(tmp_path, monkeypatch):
    for mode in (CompressionMode.FILE, CompressionMode.MESSAGE):
        write_with_rosbags(tmp_path / mode.name, StoragePlugin.MCAP, mode)
    monkeypatch.setattr(reader, 'SMALL_BYTES', 100)
    monkeypatch.setattr(reader, 'RATIO', 1)
    monkeypatch.setattr(reader, 'MESSAGE_LIMIT', 4)
    refused(tmp_path / 'FILE', 'bytes when unpacked, got more')
    with (
        pytest.raises(InputFileError, match='expected zstd data'),
        BagReader(tmp_path / 'MESSAGE') as bag,
    ):
        list(bag.messages())
