# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a line is made of and how it is described: the port, waiting times, state, totals."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from puppet_driver.tracker import StreamCounters


class Port(Protocol):
    """What a line needs of a serial port or socket."""

    name: str

    def fileno(self) -> int:
        """Return the descriptor, for select."""

    def read_into(self, buffer: bytearray) -> int:
        """Read what is there; return how many bytes; raise LinkError if the device is gone."""

    def write(self, data: bytes) -> None:
        """Send a short command or raise LinkError."""

    def discard_input(self) -> None:
        """Forget the bytes that have arrived."""

    def close(self) -> None:
        """Close it; never raises."""


class LineState(Enum):
    """Where a line stands."""

    CLOSED = 'closed'
    STARTING = 'starting'
    STREAMING = 'streaming'


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a line waits for what."""

    silence_s: float = 0.5
    """Without a record for so long, a streaming line is started anew [s]."""

    retry_first_s: float = 0.05
    """Pause after the first failure; it doubles with each further one [s]."""

    retry_last_s: float = 0.1
    """Longest pause [s]."""


class LineStatus(NamedTuple):
    """A line for diagnostics."""

    port: str
    state: LineState
    error: str
    """Why it last failed, '' if it never has; kept after recovery."""
    starts: int
    """Times it has begun to stream."""
    counters: StreamCounters
    """Sums over all its runs."""
    notes: tuple[str, ...] = ()
    """What the device noted at its last start."""
    cause: str = ''
    """Why it failed first since it last streamed, whatever came of later attempts; kept too."""
    sensor_errors: tuple[str, ...] = ()
    """What the device says of each sensor, '' for nothing; empty if it says nothing of any."""
