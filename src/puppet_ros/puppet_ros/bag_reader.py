# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages of a rosbag2 recording, as bytes, in the order of their log times.

A folder with its metadata.yaml, or one .mcap or .db3 file; compressed as a whole, by chunk or by
message. What a damaged MCAP file still holds is read, up to the damage, with a warning.

"""

from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple


class BagMessage(NamedTuple):
    """One message."""

    topic: str
    """Name of its topic."""

    type: str
    """As in puppet_msgs/msg/PoseFrame."""

    log_ns: int
    """When it was recorded [ns]."""

    data: bytes
    """As it went over the network: CDR with its four bytes of header."""


class BagTopic(NamedTuple):
    """What the bag says of a topic."""

    type: str
    """As in puppet_msgs/msg/PoseFrame."""

    definition: str
    """Text of the message's definition and of all it stands on; '' if the bag has none."""

    type_hash: str
    """As in RIHS01_e369..; '' if the bag has none."""

    qos: str
    """YAML of the profiles that its publishers offered."""

    count: int
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
        self.counts: dict[str, int] = {}
        self.info: dict[str, BagTopic] = {}
        self.start_ns = 0
        self.end_ns = 0
        self.warnings: list[str] = []

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """Yield the messages of some topics, or of all, in the order of their log times."""
        yield from ()

    def __enter__(self) -> 'BagReader':
        """Open the bag."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Close the bag."""
