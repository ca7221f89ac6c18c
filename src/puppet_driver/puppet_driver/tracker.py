# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a tracking device is to the driver: the interface that a new device implements."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import astuple, dataclass
from operator import add
from typing import Any, ClassVar, NamedTuple

from puppet_driver.transport import open_port, Port

POSE_SIZE = 7
Pose = tuple[float, float, float, float, float, float, float]
"""x y z [m], w x y z of a unit quaternion; REP-103 axes of the transmitter."""


class TrackerRecord(NamedTuple):
    ordinal: int  # Place of the sensor among those of its line, from 0
    stamp_ns: int  # Arrival of the record's first byte, in the clock that `feed` was given [ns]
    pose: Pose  # Sensor in the transmitter's frame


@dataclass(slots=True)
class StreamCounters:
    records: int = 0  # Records emitted
    resyncs: int = 0  # Times the phase of the records was lost
    discarded_bytes: int = 0  # Bytes that belong to no accepted record
    # Records of the right form with an unknown address or an impossible orientation
    rejected_records: int = 0
    # Records that would be right but are too far from their sensor's path to be believed
    implausible_records: int = 0

    def __add__(self, other: 'StreamCounters') -> 'StreamCounters':
        return StreamCounters(*map(add, astuple(self), astuple(other)))


class RecordStream(ABC):
    """Bytes of one running line to records; garbage neither raises nor becomes a record."""

    # Whether a complete record waits for the next byte, or for quiet, to confirm it
    is_holding = False

    def __init__(self) -> None:
        self.counters = StreamCounters()  # Totals since the stream was opened

    @abstractmethod
    def feed(self, data: bytes, arrival_ns: int = 0) -> list[TrackerRecord]:
        """Decode one read, which may begin and end anywhere."""

    @abstractmethod
    def skip(self) -> None:
        """Forget the record being collected, because bytes were skipped."""

    def flush(self) -> list[TrackerRecord]:
        """Return the held record, if any, the line having been quiet."""
        return []

    def sensor_error(self, ordinal: int) -> str:
        """Return what a sensor's records report as an error, in words, '' for nothing."""
        return ''


@dataclass(frozen=True, slots=True)
class Exchange:
    """One step of starting a device: send, await an answer, pause."""

    command: bytes = b''  # What to send; bytes that arrived before are forgotten
    reply_bytes: int = 0  # Length of the answer; 0 awaits none
    # How long to await the answer [s]; a late answer arrives cut short, perhaps empty
    timeout_s: float = 0.5
    pause_s: float = 0.0  # How long to rest afterwards, ignoring what arrives [s]
    # What people should know though it does not prevent the start; shown with the line
    note: str = ''
    # For an answer that states its own length: how long it is, from what has arrived of it, or how
    # much must be there to know; `reply_bytes` is then the least
    measure: Callable[[bytes], int] | None = None

    def wanted_bytes(self, reply: bytes) -> int:
        """Return how long the answer is as far as `reply`, its beginning, states it."""
        return self.reply_bytes if self.measure is None else self.measure(reply)


Exchanges = Generator[Exchange, bytes, None]


class Tracker(ABC):
    """The device on one line; `config` is an instance of the class's own `Config`."""

    # A frozen dataclass. Its fields are `sensors`, the driver's parameters that mean something to
    # the device and, if it needs them, `port` (the line's name), `first_row` (of the line's
    # sensors in a frame) and `n_all_sensors` (of all lines).
    Config: ClassVar[type]
    title: ClassVar[str]  # Name of the device for people, such as `Flock of Birds`
    # Whether its line has a baud rate that limits what it carries
    is_serial: ClassVar[bool] = True

    poll_command = b''  # Bytes that ask for one measurement; empty if the device streams by itself
    poll_period_s = 0.0  # Time from one request to the next [s]

    def __init__(self, config: Any) -> None:
        self._config = config

    @property
    def n_sensors(self) -> int:
        return len(self._config.sensors)

    @property
    @abstractmethod
    def record_bytes(self) -> int:
        """Size of a record on the line."""

    def check(  # noqa: B027
        self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]
    ) -> None:
        """Refuse by ConfigError what it cannot do; called on the line with the most sensors."""

    def open_port(self) -> Port:
        """Open the line's port or raise LinkError."""
        return open_port(self._config.port, self._config.baud_rate_bps)

    @abstractmethod
    def start_exchanges(self) -> Exchanges:
        """
        Yield the steps that bring the line from any state to streaming.

        Each `yield` of an Exchange returns the answer's bytes. Raises LinkTimeout when nothing
        answers and ProtocolError when the answer is wrong.
        """

    @abstractmethod
    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""

    @abstractmethod
    def open_stream(self) -> RecordStream:
        """Return a decoder in its initial state, for one run of the line."""
