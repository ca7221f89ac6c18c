# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A recording that is played over and over as one long take, and numbers out of messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.io import InputFileError
from puppet_core.math import Floats
from puppet_ros.bags import BagReader
from puppet_ros.interface_table import RAW, TF_STATIC
from puppet_ros.messages import CdrLayout, decoded, raw_header

MIN_FRAMES = 2


class LoopedFrames:
    """
    The raw frames of a recording for as long as one likes, with stamps and indices that go on.

    Parameters
    ----------
    frames : sequence of bytes
        One pass, messages of /tracker/raw.
    first_ns : int
        Stamp of the first frame [ns].
    first_index : int
        Its index.

    """

    def __init__(self, frames: Sequence[bytes], first_ns: int, first_index: int) -> None:
        self._frames = [bytearray(data) for data in frames]
        stamps = [raw_header.stamp_ns(data) for data in frames]
        self._offsets_ns = [stamp - stamps[0] for stamp in stamps]
        n = len(frames)
        self.pass_ns = round(self._offsets_ns[-1] * n / (n - 1))
        """How long a pass takes, the step to the next one included [ns]."""
        self._first_ns, self._first_index = first_ns, first_index

    def __len__(self) -> int:
        return len(self._frames)

    def frame(self, number: int) -> bytes:
        """Return a frame by how many came before it."""
        turn, place = divmod(number, len(self._frames))
        stamp_ns = self._first_ns + turn * self.pass_ns + self._offsets_ns[place]
        return raw_header.renamed(self._frames[place], stamp_ns, self._first_index + number)


def read_frames(path: Path) -> tuple[list[bytes], list[bytes]]:
    """
    Return the messages of /tracker/raw and of /tf_static of a recording.

    Raises
    ------
    InputFileError : if there are none.

    """
    with BagReader(path) as reader:
        static = [message.data for message in reader.messages([TF_STATIC])]
        frames = [message.data for message in reader.messages([RAW])]
    if len(frames) < MIN_FRAMES:
        raise InputFileError(path, f'at least {MIN_FRAMES} messages on {RAW}', str(len(frames)))
    return frames, static


class Numbers:
    """
    The floating point arrays of messages of one form, one after the other.

    Parameters
    ----------
    kind : type
        Class of the messages.
    data : bytes
        One of them.

    """

    def __init__(self, kind: type, data: bytes) -> None:
        msg: Any = decoded(data, kind)
        self._places: list[tuple[int, int, int]] = []
        self.columns: dict[str, slice] = {}
        """Where each field stands among the numbers."""
        self.count = 0
        """Numbers of a message."""
        for path, ((form, shape), start) in CdrLayout(msg).numbers.items():
            if form == np.float64 and shape and shape[0]:
                self._places.append((start, shape[0], self.count))
                self.columns[path] = slice(self.count, self.count + shape[0])
                self.count += shape[0]

    def copy(self, data: bytes, row: Floats) -> None:
        """Write the numbers of a message of that form into a row, shape (count,)."""
        for start, n, column in self._places:
            row[column : column + n] = np.frombuffer(data, '<f8', n, start)
