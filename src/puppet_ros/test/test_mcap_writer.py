# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""mcap_writer and mcap_file against the mcap library's own writer and reader."""

import io
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
import numpy as np
from puppet_ros.mcap_file import COMPRESSIONS, McapFile
from puppet_ros.mcap_writer import McapWriter
import pytest

CHUNK_BYTES = 2000
Item = tuple[int, int, bytes]
"""Channel, log time [ns], data."""


def items(rng: np.random.Generator, n: int) -> list[Item]:
    """Return messages out of order, some larger than a chunk, some times twice."""
    return [
        (int(rng.integers(1, 4)), int(rng.integers(0, 50 * n)) // 40 * 40 + 20 * i,
         rng.bytes(int(rng.integers(0, 300)) if rng.integers(20) else 3 * CHUNK_BYTES))
        for i in range(n)
    ]


def fill(writer: Any, rows: list[Item], flush_after: int) -> None:
    """Write messages of three channels, the last one announced on the way."""
    writer.start('ros2', 'test')
    for k in range(2):
        writer.register_schema(f'a/msg/T{k}', 'ros2msg', b'int32 x\n' * 50 * k)
        writer.register_channel(f'/c{k + 1}', 'cdr', k + 1, {'key': 'value'})
    for i, (channel, log_ns, data) in enumerate(rows):
        if i == len(rows) // 2:
            writer.register_channel('/c3', 'cdr', 1, {})
        if i == flush_after:
            writer.flush()
        late = channel if channel < 3 or i >= len(rows) // 2 else 1
        times = (log_ns, data, log_ns) if isinstance(writer, Writer) else (log_ns, data)
        writer.add_message(late, *times)
    writer.add_metadata('about', {'a': 'b'})
    writer.finish()


@pytest.mark.parametrize('compression', COMPRESSIONS)
@pytest.mark.parametrize('n', [0, 1, 200])
def test_the_file_is_that_of_the_library(
    compression: str, n: int, rng: np.random.Generator
) -> None:
    rows, ours, theirs = items(rng, n), io.BytesIO(), io.BytesIO()
    fill(McapWriter(ours, CHUNK_BYTES, compression), rows, n // 3)
    library = Writer(theirs, CHUNK_BYTES, CompressionType[compression.upper() or 'NONE'])
    fill(library, rows, n // 3)
    assert ours.getvalue() == theirs.getvalue()


@pytest.mark.parametrize('topics', [['/c1'], ['/c2', '/c3'], ['/c1', '/c2', '/c3'], []])
def test_messages_come_in_the_order_of_the_library(
    topics: list[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    """Chunks overlap in time here, and log times repeat."""
    path = tmp_path / 'a.mcap'
    with open(path, 'wb') as stream:
        fill(McapWriter(stream, CHUNK_BYTES, 'lz4'), items(rng, 300), 10)
    file = McapFile(path)
    found = list(file.messages(topics))
    file.close()
    with open(path, 'rb') as stream:
        expected = [
            (message.log_time, channel.topic, message.data)
            for _, channel, message in make_reader(stream).iter_messages(topics)
        ]
    assert found == expected and len(found) >= 40 * len(topics)
