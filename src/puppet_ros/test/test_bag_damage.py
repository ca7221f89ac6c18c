# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags that were cut or whose bytes were changed: an error or the right beginning, no more."""

from pathlib import Path
import re

from mcap.writer import Writer
from puppet_core.io import InputFileError
from puppet_ros.bags import (
    BagMessage,
    BagReader,
    BagWriter,
    metadata_file_of,
    read_metadata,
    reader,
)
from puppet_ros.bags.metadata import KEY
import pytest
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from test_bags import MESSAGES, write_with_rosbags

pytestmark = pytest.mark.ros

CUTS = 200


def salvaged(path: Path) -> list[BagMessage] | None:
    """Return what can be read; None for a clear error at the beginning."""
    found: list[BagMessage] = []
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
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    with BagWriter(tmp_path / 'whole.mcap', request.param) as writer:
        for i, message in enumerate(MESSAGES):
            writer.write(*message)
            if i % 4 == 3:
                writer.flush()
    return (tmp_path / 'whole.mcap').read_bytes()


def test_a_cut_file_gives_a_beginning_or_an_error(whole: bytes, tmp_path: Path, rng) -> None:
    """Longer pieces give at least as much, so that nothing is lost before the cut."""
    path, last = tmp_path / 'cut.mcap', 0
    for end in sorted(rng.integers(0, len(whole), CUTS)):
        path.write_bytes(whole[:end])
        found = salvaged(path) or []
        assert found == MESSAGES[: len(found)]
        assert len(found) >= last
        last = len(found)
    assert last == len(MESSAGES)


def test_changed_bytes_never_give_other_messages(whole: bytes, tmp_path: Path, rng) -> None:
    """Checksums of the chunks tell: what is read is of the bag, in its order."""
    path = tmp_path / 'changed.mcap'
    for at in rng.integers(0, len(whole), CUTS):
        data = bytearray(whole)
        data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        for message in salvaged(path) or []:
            assert any(message.data == known.data for known in MESSAGES)


def test_a_cut_file_without_chunks_gives_a_beginning(tmp_path: Path, rng) -> None:
    path = tmp_path / 'cut.mcap'
    with open(path, 'wb') as stream:
        writer = Writer(stream, use_chunking=False)
        writer.start('ros2')
        topics = {
            name: writer.register_channel(name, 'cdr', writer.register_schema(kind, '', b''))
            for name, kind in {message.topic: message.type for message in MESSAGES}.items()
        }
        for message in MESSAGES:
            writer.add_message(topics[message.topic], message.log_ns, message.data, message.log_ns)
        writer.finish()
    data, last = path.read_bytes(), 0
    for end in sorted(rng.integers(0, len(data), CUTS // 4)):
        path.write_bytes(data[:end])
        found = salvaged(path) or []
        assert found == MESSAGES[: len(found)]
        assert len(found) >= last
        last = len(found)
    assert last > len(MESSAGES) // 2


@pytest.mark.parametrize('mode', [CompressionMode.NONE, CompressionMode.FILE])
def test_a_cut_sqlite_bag_gives_a_beginning_or_an_error(
    tmp_path: Path, mode: CompressionMode, rng
) -> None:
    write_with_rosbags(tmp_path / 'bag', StoragePlugin.SQLITE3, mode)
    path = next((tmp_path / 'bag').glob('*.db3*'))
    data = path.read_bytes()
    for end in rng.integers(0, len(data), CUTS // 4):
        path.write_bytes(data[:end])
        found = salvaged(tmp_path / 'bag') or []
        assert found == MESSAGES[: len(found)]


def test_metadata_with_nested_aliases_costs_nothing(tmp_path: Path) -> None:
    """Nine levels of nine stand for 400 million values."""
    levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    levels += [f'a{i}: &a{i} [' + ', '.join([f'*a{i - 1}'] * 9) + ']' for i in range(1, 9)]
    texts = '\n'.join(levels), '- ' + '\n- '.join(line.partition(' ')[2] for line in levels)
    text = texts[0] + f'\n{KEY}: {{version: 9, storage_identifier: *a8}}\n'
    for content in (text, texts[1]):
        (tmp_path / 'metadata.yaml').write_text(content)
        with pytest.raises(InputFileError, match=r'metadata\.yaml:2: .* the alias \*a0'):
            read_metadata(tmp_path / 'metadata.yaml')


@pytest.mark.parametrize('key', ['storage_identifier', 'compression_mode', 'compression_format'])
def test_metadata_that_is_no_text_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / 'metadata.yaml'
    text = metadata_file_of([], 0, 0, 'a.mcap')
    path.write_text(text)
    assert read_metadata(path).files == ('a.mcap',)
    value = 100_000 * [1]
    path.write_text(re.sub(rf'  {key}: .*', f'  {key}: {value}', text))
    with pytest.raises(InputFileError, match=f'{key}: expected a text') as caught:
        read_metadata(path)
    assert len(str(caught.value)) < 400


def test_compressed_files_and_messages_beyond_the_limits_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in (CompressionMode.FILE, CompressionMode.MESSAGE):
        write_with_rosbags(tmp_path / mode.name, StoragePlugin.MCAP, mode)
        with BagReader(tmp_path / mode.name) as bag:
            assert list(bag.messages()) == MESSAGES
    monkeypatch.setattr(reader, 'SMALL_BYTES', 100)
    monkeypatch.setattr(reader, 'RATIO', 1)
    monkeypatch.setattr(reader, 'MESSAGE_LIMIT', 4)
    with (
        pytest.raises(InputFileError, match='bytes when unpacked, got more'),
        BagReader(tmp_path / 'FILE'),
    ):
        pass
    with (
        pytest.raises(InputFileError, match='expected zstd data'),
        BagReader(tmp_path / 'MESSAGE') as bag,
    ):
        list(bag.messages())
