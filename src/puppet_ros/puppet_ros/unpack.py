# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is compressed in a bag, unpacked: never to more than is stated or allowed (no ROS)."""

from pathlib import Path
import shutil

import lz4.frame
from mcap.records import Chunk
from puppet_core.errors import InputFileError, PuppetError
import zstandard

COMPRESSIONS = ('', 'zstd', 'lz4')
LIMIT_BYTES = 256 << 20  # of a chunk or a message; recorders write chunks of about 1 MB
FILE_LIMIT_BYTES = 64 << 30
SMALL_BYTES, RATIO = 1 << 30, 1000  # a whole file: the first at least, or so many times its size
SPARE_BYTES = 256 << 20  # of the disk, left to others
PIECE_BYTES = 1 << 20


class UnpackError(PuppetError, ValueError):
    """Compressed data that is not what it is said to be, or too much."""


def chunk_data(chunk: Chunk) -> bytes:
    """
    Return the records of a chunk of an MCAP file, as bytes; the checksum is not looked at.

    Raises
    ------
    UnpackError : if they are not of the stated size, too large, or compressed in another way.
    ZstdError, RuntimeError : if the compressed data are damaged.

    """
    size = chunk.uncompressed_size
    if chunk.compression not in COMPRESSIONS:
        raise UnpackError(f'expected zstd, lz4 or no compression, got {chunk.compression!r}')
    if chunk.compression and size > LIMIT_BYTES:
        raise UnpackError(f'expected chunks up to {LIMIT_BYTES} bytes, got one of {size}')
    if chunk.compression == 'zstd':
        data = unzstd(chunk.data, size)
    elif chunk.compression == 'lz4':
        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=size + 1)
    else:
        data = chunk.data
    if len(data) != size:
        more = 'more' if len(data) > size else len(data)
        raise UnpackError(f'expected a chunk of {size} bytes, got {more}')
    return data


def unzstd(data: bytes, limit: int = LIMIT_BYTES) -> bytes:
    """Return what one zstd frame holds; raise UnpackError beyond `limit` bytes, or ZstdError."""
    size = zstandard.get_frame_parameters(data).content_size
    if size != zstandard.CONTENTSIZE_UNKNOWN and size > limit:
        raise UnpackError(f'expected up to {limit} bytes when unpacked, got {size}')
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=limit)


def unpack_file(source: Path, target: Path) -> None:
    """
    Write what a .zstd file holds.

    Raises
    ------
    InputFileError : if it is none, or holds more than a recording can or than the disk has room.

    """
    room = shutil.disk_usage(target.parent).free - SPARE_BYTES
    done = 0
    try:
        limit = max(SMALL_BYTES, RATIO * source.stat().st_size)
        limit = min(limit, room, FILE_LIMIT_BYTES)
        with open(source, 'rb') as packed, open(target, 'wb') as sink:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            while piece := reader.read(PIECE_BYTES):
                done += len(piece)
                if done > limit:
                    raise InputFileError(source, f'up to {limit} bytes when unpacked', 'more')
                sink.write(piece)
    except (zstandard.ZstdError, OSError) as err:
        raise InputFileError(source, 'zstd data', str(err)) from err
