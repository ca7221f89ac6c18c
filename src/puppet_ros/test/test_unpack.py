# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compressed data that would fill the memory or the disk are refused."""

from collections import namedtuple
from pathlib import Path
import resource
import shutil
import subprocess
import sys

import lz4.frame
import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

from mcap.data_stream import RecordBuilder  # noqa: E402,I100
from mcap.records import Channel, Chunk, Header, Schema  # noqa: E402
from mcap.writer import MCAP0_MAGIC  # noqa: E402
from puppet_core.errors import InputFileError  # noqa: E402
from puppet_ros import unpack  # noqa: E402
from puppet_ros.bag_reader import BagReader  # noqa: E402
from puppet_ros.unpack import chunk_data, unpack_file, UnpackError, unzstd  # noqa: E402
import zstandard  # noqa: E402

MEGABYTE = 1 << 20
HUGE = 1 << 30
PACK = {'zstd': zstandard.compress, 'lz4': lz4.frame.compress, '': bytes}
MEMORY_BYTES = 1200 * MEGABYTE  # of the process that reads a bomb


def chunk(compression: str, data: bytes, size: int) -> Chunk:
    """Return a chunk that states a size."""
    return Chunk(compression, PACK[compression](data), 0, 0, 0, size)


def zeros(size: int) -> bytes:
    """Return a zstd frame of zeros, made without them."""
    writer, block = zstandard.ZstdCompressor().compressobj(), bytes(MEGABYTE)
    return b''.join(writer.compress(block) for _ in range(size // MEGABYTE)) + writer.flush()


def bomb(path: Path, data: bytes, size: int) -> Path:
    """Write an MCAP file without index, with one chunk."""
    builder = RecordBuilder()
    Header('ros2', '').write(builder)
    Schema(1, b'', '', 'std_msgs/msg/String').write(builder)
    Channel(1, '/x', 'cdr', {}, 1).write(builder)
    Chunk('zstd', data, 0, 0, 0, size).write(builder)
    path.write_bytes(MCAP0_MAGIC + builder.end())
    return path


@pytest.mark.parametrize('compression', list(PACK))
def test_a_chunk_of_its_size_is_unpacked(compression: str) -> None:
    data = bytes(range(256)) * 99
    assert chunk_data(chunk(compression, data, len(data))) == data


@pytest.mark.parametrize('compression', list(PACK))
@pytest.mark.parametrize('size', [0, 10, 98, 100, 1 << 62])
def test_a_chunk_of_another_size_is_refused(compression: str, size: int) -> None:
    with pytest.raises((UnpackError, zstandard.ZstdError)):
        chunk_data(chunk(compression, bytes(99), size))


@pytest.mark.parametrize('size', [10, MEGABYTE, HUGE, 1 << 62])
def test_a_bomb_ends_in_a_warning_and_little_memory(tmp_path: Path, size: int) -> None:
    path = bomb(tmp_path / 'a.mcap', zeros(HUGE), size)
    assert path.stat().st_size < MEGABYTE
    done = subprocess.run(
        [sys.executable, '-c', 'import sys; from pathlib import Path\n'
         'from puppet_ros.bag_reader import BagReader\n'
         'with BagReader(Path(sys.argv[1])) as reader: print(reader.warnings)', str(path)],
        check=False, capture_output=True, text=True, timeout=60.0,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES,) * 2),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'is missing or damaged' in done.stdout and 'MemoryError' not in done.stdout


@pytest.mark.parametrize('is_chunked', [True, False])
def test_zeros_are_no_records(tmp_path: Path, is_chunked: bool) -> None:
    """The first one ends the reading, not the last of millions."""
    path = bomb(tmp_path / 'a.mcap', zstandard.compress(bytes(900)), 900)
    if not is_chunked:
        path.write_bytes(bomb(path, zstandard.compress(b''), 0).read_bytes() + bytes(900))
    with BagReader(path) as reader:
        assert any('got zeros' in line for line in reader.warnings)


@pytest.mark.parametrize('has_size', [True, False])
def test_a_message_beyond_the_limit_is_refused(has_size: bool) -> None:
    packer = zstandard.ZstdCompressor(write_content_size=has_size)
    data = packer.compress(bytes(1000))
    assert unzstd(data, 1000) == bytes(1000)
    with pytest.raises((UnpackError, zstandard.ZstdError)):
        unzstd(data, 999)


def test_a_file_beyond_its_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own size, and by the room on the disk."""
    data = bytes(5 * MEGABYTE)
    path, target = tmp_path / 'a.mcap.zstd', tmp_path / 'a.mcap'
    path.write_bytes(zstandard.compress(data) + zstandard.compress(data))
    unpack_file(path, target)
    assert target.read_bytes() == data + data
    monkeypatch.setattr(unpack, 'SMALL_BYTES', MEGABYTE)
    with pytest.raises(InputFileError, match='bytes when unpacked, got more'):
        unpack_file(path, target)
    monkeypatch.undo()
    usage = namedtuple('usage', 'free')(unpack.SPARE_BYTES + MEGABYTE)
    monkeypatch.setattr(shutil, 'disk_usage', lambda folder: usage)
    with pytest.raises(InputFileError, match=f'up to {MEGABYTE} bytes when unpacked'):
        unpack_file(path, target)
