# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the decoders of all devices share: record search, plausible paths, errors, orientations.

A flipped bit in a position leaves a well-formed record: one out of a body's reach is taken for
damage until CONFIRMATIONS further ones in a row agree with it.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
import math
import re

from puppet_core.body import FASTEST_M_S, FASTEST_RAD_S
from puppet_driver.tracker import Pose, RecordStream, TrackerRecord

CONFIRMATIONS = 2
NOISE_M = 0.01  # of a sensor far from its transmitter
KEPT_NS = 5_000_000_000

Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sensor on a body can do between two of its records."""

    rate_hz: float = 120.0  # Records a second of each sensor
    # Speed of the fastest sensor [m/s]; infinite: nothing is implausible
    max_speed_mps: float = FASTEST_M_S

    @property
    def distance_m(self) -> float:
        """How far it moves at most, noise included [m]."""
        return self.max_speed_mps / self.rate_hz + NOISE_M

    @property
    def angle_rad(self) -> float:
        """By how much it turns at most [rad]."""
        return min(FASTEST_RAD_S / self.rate_hz, math.pi)


@dataclass(frozen=True, slots=True)
class LineConfig:
    """The driver's parameters that mean something to all these devices, and the line's."""

    sensors: tuple[str, ...]  # Names of the line's sensors, in the order of their units
    port: str = ''  # Name of the line's port
    rate_hz: float = 120.0  # Records a second of each sensor
    hemisphere: str = 'front'  # Side of the transmitter the sensors stay on
    inverted_quaternion: bool = False  # Whether the device reports inverse rotations
    max_speed_mps: float = FASTEST_M_S  # Speed beyond which a record needs to be confirmed [m/s]
    reply_timeout_s: float = 0.5  # How long to await an answer [s]

    @property
    def reach(self) -> Reach:
        return Reach(self.rate_hz, self.max_speed_mps)


USUAL = Reach()
ANYWHERE = Reach(max_speed_mps=math.inf)


class SensorPaths:
    """Where the sensors of a line are, none of which has been seen at first."""

    def __init__(self, n_sensors: int, reach: Reach) -> None:
        self._last: list[Pose | None] = [None] * n_sensors
        self._doubted: list[Pose | None] = [None] * n_sensors
        self._n_doubted = [0] * n_sensors
        self._near_m2 = reach.distance_m**2
        self._near_cosine = math.cos(0.5 * reach.angle_rad)

    def has_begun(self, ordinal: int) -> bool:
        return self._last[ordinal] is not None

    def is_plausible(self, ordinal: int, pose: Pose) -> bool:
        """Return whether a record is believed; remember it if not, for others to confirm."""
        if self._near_m2 == math.inf or self._is_near(self._last[ordinal], pose):
            return True
        agrees = self._is_near(self._doubted[ordinal], pose)
        self._n_doubted[ordinal] = 1 + (self._n_doubted[ordinal] if agrees else 0)
        self._doubted[ordinal] = pose
        return self._n_doubted[ordinal] > CONFIRMATIONS

    def follow(self, ordinal: int, pose: Pose) -> None:
        self._last[ordinal], self._doubted[ordinal], self._n_doubted[ordinal] = pose, None, 0

    def _is_near(self, last: Pose | None, pose: Pose) -> bool:
        if last is None:
            return False
        x, y, z, qw, qx, qy, qz = pose
        distance2 = (x - last[0]) ** 2 + (y - last[1]) ** 2 + (z - last[2]) ** 2
        cosine = qw * last[3] + qx * last[4] + qy * last[5] + qz * last[6]
        return distance2 <= self._near_m2 and abs(cosine) >= self._near_cosine


class SensorErrors:
    """
    What a device reports of each sensor.

    An error counts once two records in a row carry it, as one may be a flipped bit, until the
    sensor has sent records without it for KEPT_NS.
    """

    def __init__(self, n_sensors: int) -> None:
        self._last_code = [0] * n_sensors
        self._error = [0] * n_sensors
        self._error_ns = [0] * n_sensors
        self._record_ns = [0] * n_sensors

    def record(self, ordinal: int, code: int, stamp_ns: int) -> None:
        """Note the error code in a record, 0 for none."""
        if code != 0 and code == self._last_code[ordinal]:
            self._error[ordinal], self._error_ns[ordinal] = code, stamp_ns
        self._last_code[ordinal], self._record_ns[ordinal] = code, stamp_ns

    def standing(self, ordinal: int) -> int:
        """Return the error that counts, 0 for none."""
        quiet_ns = self._record_ns[ordinal] - self._error_ns[ordinal]
        return self._error[ordinal] if quiet_ns < KEPT_NS else 0


def unit_quaternion(q: Sequence[float], tolerance: float) -> Quaternion | None:
    """Return a quaternion with length 1, None if its length was further from 1."""
    w, x, y, z = q
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if not abs(norm - 1.0) <= tolerance:
        return None
    return w / norm, x / norm, y / norm, z / norm


def rep103_pose(
    position: Sequence[float], scale_m: float, q: Quaternion, is_inverted: bool
) -> Pose:
    """Return a pose in axes X forward, Y right, Z down in REP-103's; half a turn about X."""
    x, y, z = position
    turn = -1.0 if is_inverted else 1.0
    return (x * scale_m, -y * scale_m, -z * scale_m, q[0], turn * q[1], -turn * q[2], -turn * q[3])


class FixedRecordStream(RecordStream):
    """
    Finds records of one size by the bytes that can stand at each place; there is no checksum.

    A record is accepted when each byte fits its place, `decode` understands it and it continues
    its sensor's path; what does not fit is searched from its second byte on. At the end of a read
    the record of the sensor whose turn it is is accepted at once; any other is held until the next
    byte, or until the line is quiet.

    `allowed` are the bytes at each place; with `has_end` the last one proves that the record ends
    there. Of two beginnings within `stray_bytes` the first may be a stray byte; the record is
    rejected.
    """

    def __init__(
        self,
        allowed: Sequence[bytes],
        n_sensors: int,
        reach: Reach,
        has_end: bool = False,
        stray_bytes: int = 0,
    ) -> None:
        super().__init__()
        self.record_bytes = len(allowed)
        places = [b'[%s]' % re.escape(some) for some in allowed]
        self.record_pattern = re.compile(b''.join(places))
        self._first = re.compile(places[0])
        self._paths = SensorPaths(n_sensors, reach)
        self._n_sensors, self._last_ordinal = n_sensors, n_sensors - 1
        self._has_end, self._stray_bytes = has_end, stray_bytes
        self._pending = bytearray()
        self._arrivals_ns: list[int] = []  # of each pending byte
        self._held: tuple[int, Pose] | None = None
        self._is_in_phase = self._is_doubtful = False

    @abstractmethod
    def decode(self, record: bytes) -> tuple[int, Pose] | None:
        """Return ordinal (-1 for a sensor that is not ours) and pose, None if it is no record."""

    def on_accepted(self, ordinal: int, record: bytes, stamp_ns: int) -> None:  # noqa: B027
        """Note what else an accepted record has."""

    @property
    def is_holding(self) -> bool:  # type: ignore[override]
        return self._held is not None

    def feed(self, data: bytes, arrival_ns: int = 0) -> list[TrackerRecord]:
        pending, size = self._pending, self.record_bytes
        pending += data
        self._arrivals_ns += [arrival_ns] * len(data)
        records: list[TrackerRecord] = []
        while len(pending) >= size:
            if self._held is not None:
                if len(pending) == size:
                    break
                # only the beginning of the next record proves that the held one ended there
                if self._first.match(pending, size):
                    records.append(self._accept(*self._held))
                else:
                    self._realign()
            elif not self.record_pattern.match(pending):
                self._realign()
            else:
                self._judge(records)
        return records

    def flush(self) -> list[TrackerRecord]:
        return [] if self._held is None else [self._accept(*self._held)]

    def skip(self) -> None:
        self._discard(len(self._pending))
        self._held, self._is_in_phase, self._is_doubtful = None, False, False

    def _judge(self, records: list[TrackerRecord]) -> None:
        size = self.record_bytes
        found = None if self._is_doubtful else self.decode(bytes(self._pending[:size]))
        if found is None or found[0] < 0:
            self.counters.rejected_records += 1
            if found is None:
                self._realign()
            else:
                self._discard(size)
            return
        ordinal, pose = found
        if not self._paths.is_plausible(ordinal, pose):
            self.counters.implausible_records += self._paths.has_begun(ordinal)
            self._last_ordinal, self._is_in_phase = ordinal, True
            self._discard(size)
            return
        is_due = ordinal == (self._last_ordinal + 1) % self._n_sensors
        if self._has_end or (is_due and len(self._pending) == size):
            records.append(self._accept(ordinal, pose))
        else:
            self._held = ordinal, pose

    def _accept(self, ordinal: int, pose: Pose) -> TrackerRecord:
        size, stamp_ns = self.record_bytes, self._arrivals_ns[0]
        self._paths.follow(ordinal, pose)
        self.on_accepted(ordinal, bytes(self._pending[:size]), stamp_ns)
        self.counters.records += 1
        self._last_ordinal, self._is_in_phase, self._held = ordinal, True, None
        del self._pending[:size], self._arrivals_ns[:size]
        return TrackerRecord(ordinal, stamp_ns, pose)

    def _realign(self) -> None:
        """Discard pending bytes, one at least, up to where a record can begin."""
        self.counters.resyncs += self._is_in_phase
        self._is_in_phase, self._held = False, None
        found = self._first.search(self._pending, 1)
        n_bytes = found.start() if found else len(self._pending)
        self._is_doubtful = n_bytes < self._stray_bytes and bool(self._first.match(self._pending))
        self._discard(n_bytes)

    def _discard(self, n_bytes: int) -> None:
        self.counters.discarded_bytes += n_bytes
        del self._pending[:n_bytes], self._arrivals_ns[:n_bytes]
