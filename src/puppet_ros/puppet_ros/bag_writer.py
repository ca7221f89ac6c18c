# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A rosbag2 recording in MCAP, with the definitions and hashes of its messages.

The same messages give the same bytes.

"""

from pathlib import Path
from types import TracebackType

from rclpy.qos import QoSProfile


class BagWriter:
    """
    A bag that is written beside its place and takes it when the block has succeeded.

    Parameters
    ----------
    path : Path
        One file, if it ends in .mcap, with rosbag2's metadata inside; else the folder of a bag
        with its metadata.yaml.
    compression : str
        Of the chunks: '', 'zstd' or 'lz4'.

    """

    def __init__(self, path: Path, compression: str = '') -> None:
        self.path = path
        self.compression = compression

    def write(
        self, topic: str, msgtype: str, log_ns: int, data: bytes, qos: QoSProfile | None = None
    ) -> None:
        """Append a message; the first one of a topic tells its type and QoS."""

    def __enter__(self) -> 'BagWriter':
        """Open the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Complete the file and give it its name."""
