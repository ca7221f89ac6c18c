# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The decoder of a running MotionStar: a byte stream or datagrams to validated records.

There is no checksum, but a packet states its own length, each record its format and so its
length, no unit reports twice, and the records fill the packet exactly. A packet is accepted when
all that holds and it is followed by the beginning of another one, or by quiet. Waiting for quiet
would cost time, so a packet that ends where a read ends is accepted at once if that read holds
nothing but whole packets.

"""

from collections.abc import Sequence
import math
import struct

from puppet_driver.devices.birdnet import (
    BUTTON_BYTES,
    BUTTONS_FLAG,
    error_code_text,
    FULL_SCALE,
    HEAD_BYTES,
    HEADER_BYTES,
    INVALID,
    LAYOUT,
    MAX_BODY_BYTES,
    Message,
    POSITION_ANGLES,
    POSITION_MATRIX,
    POSITION_QUATERNION,
    PROTOCOL,
)
from puppet_driver.devices.decoding import (
    ANYWHERE,
    quaternion_of_angles,
    quaternion_of_matrix,
    Reach,
    rep103_pose,
    SensorErrors,
    SensorPaths,
    unit_quaternion,
)
from puppet_driver.tracker import Pose, RecordStream, TrackerRecord

NO_PACKET, INCOMPLETE = -1, 0
NORM_TOLERANCE = 0.004  # of quaternions' and matrix columns' lengths; words are exact to 2e-5

ADDRESS_MASK = 0x7F
TYPE_AT, UNIT_AT, PROTOCOL_AT, ERROR_AT, BYTES_AT = 8, 9, 10, 11, 14
# what else a running device sends, all without a body
ANSWERS_WHILE_RUNNING = (
    Message.RUN_CONTINUOUS_ANSWER,
    Message.STOP_DATA_ANSWER,
    Message.SEND_SETUP_ANSWER,
    Message.WAKE_UP_ANSWER,
    Message.SYNC_SEQUENCE_ANSWER,
    Message.ILLEGAL,
    Message.UNKNOWN,
)
_TYPES = frozenset({int(Message.DATA), *map(int, ANSWERS_WHILE_RUNNING)})
_LAYOUT: list[tuple[int, int]] = [tuple(row) for row in LAYOUT.tolist()]

REORDER_WINDOW = 64  # datagrams by which one may be overtaken
MAX_OLD = 3  # old ones in a row after which it is the count that has begun anew


def record_length(address: int, n_words: int) -> int:
    """Return the length of a record."""
    return HEAD_BYTES + 2 * n_words + (BUTTON_BYTES if address & BUTTONS_FLAG else 0)


def packet_length(data: bytes | bytearray, start: int) -> int:
    """
    Return the length of the packet at `start`.

    INCOMPLETE if it may be one but ends after `data`; NO_PACKET if it cannot be one.

    """
    n_bytes = len(data) - start
    if n_bytes > TYPE_AT and data[start + TYPE_AT] not in _TYPES:
        return NO_PACKET
    if n_bytes > PROTOCOL_AT and data[start + PROTOCOL_AT] != PROTOCOL:
        return NO_PACKET
    if n_bytes < HEADER_BYTES:
        return INCOMPLETE
    body_bytes = int.from_bytes(data[start + BYTES_AT : start + BYTES_AT + 2], 'big')
    if data[start + TYPE_AT] != Message.DATA:
        return HEADER_BYTES if body_bytes == 0 else NO_PACKET
    at = start + HEADER_BYTES
    body_end, addresses = at + body_bytes, {0}
    while body_bytes <= MAX_BODY_BYTES and at < body_end and at + 1 < len(data):
        address, n_words = data[at] & ADDRESS_MASK, _LAYOUT[data[at + 1]][1]
        if n_words == INVALID or address in addresses:
            return NO_PACKET
        addresses.add(address)
        at += record_length(data[at], n_words)
    if body_bytes > MAX_BODY_BYTES or at > body_end:
        return NO_PACKET
    return HEADER_BYTES + body_bytes if at == body_end <= len(data) else INCOMPLETE


class BirdnetStream(RecordStream):
    """
    Decoder of data packets whose records have a position and an orientation.

    Parameters
    ----------
    addresses : sequence of int
        Bus addresses of the sensors in the order of their ordinals.
    full_scales_m : sequence of float
        Full scale of each sensor's positions [m]; one of 0 is not known and not listened to.
    inverted : bool
        Whether the device reports inverse rotations.
    has_datagrams : bool
        Whether each read is one datagram rather than a piece of a stream.
    reach : Reach
        How far a sensor can move between two of its records.

    """

    def __init__(
        self,
        addresses: Sequence[int],
        full_scales_m: Sequence[float],
        inverted: bool = False,
        has_datagrams: bool = False,
        reach: Reach = ANYWHERE,
    ) -> None:
        super().__init__()
        self._ordinal_of = {a: i for i, a in enumerate(addresses) if full_scales_m[i] > 0.0}
        self._full_scales_m, self._inverted = tuple(full_scales_m), inverted
        self._has_datagrams = has_datagrams
        self._paths = SensorPaths(len(addresses), reach)
        self._errors = SensorErrors(len(addresses))
        self._pending = bytearray()
        self._first_ns = 0  # arrival of the first pending byte
        self._is_in_phase = False
        self._last_header: tuple[int, bytes] | None = None
        self._n_old = 0

    def sensor_error(self, ordinal: int) -> str:
        """Return the error that data packets report for a sensor, in words, '' for nothing."""
        return error_code_text(self._errors.standing(ordinal))

    def feed(self, data: bytes, arrival_ns: int = 0) -> list[TrackerRecord]:
        """Decode one read."""
        if self._has_datagrams:
            return self._decode_datagram(data, arrival_ns)
        n_before = len(self._pending)
        if n_before == 0:
            self._first_ns = arrival_ns
        self._pending += data
        return self._scan(n_before, arrival_ns, is_quiet=False)

    def flush(self) -> list[TrackerRecord]:
        """Return the records of the held packet, if any: quiet has confirmed its end."""
        if not self.is_holding:
            return []
        return self._scan(len(self._pending), self._first_ns, is_quiet=True)

    def skip(self) -> None:
        """Forget the packet being collected, because bytes were skipped."""
        self.counters.discarded_bytes += len(self._pending)
        self._pending.clear()
        self.is_holding = self._is_in_phase = False

    def _scan(self, n_before: int, arrival_ns: int, is_quiet: bool) -> list[TrackerRecord]:
        """Decode the pending bytes, of which all but the first `n_before` have just arrived."""
        pending, end, start = self._pending, len(self._pending), 0
        records: list[TrackerRecord] = []
        is_aligned = n_before == 0
        self.is_holding = False
        while start < end:
            n_packet = self._confirmed_length(start)
            if n_packet == INCOMPLETE:
                break
            if n_packet == NO_PACKET:
                self.counters.resyncs += self._is_in_phase
                self.counters.discarded_bytes += 1
                self._is_in_phase = is_aligned = False
                start += 1
            elif start + n_packet == end and not is_aligned and not is_quiet:
                self.is_holding = True
                break
            else:
                records += self._decode_packet(pending[start : start + n_packet])
                self._is_in_phase = True
                start += n_packet
            if start >= n_before:
                self._first_ns = arrival_ns
        del pending[:start]
        return records

    def _confirmed_length(self, start: int) -> int:
        """Return the length of the packet at `start` if what follows allows it."""
        n_bytes = packet_length(self._pending, start)
        after = start + n_bytes
        if n_bytes > 0 and after < len(self._pending):
            if packet_length(self._pending, after) == NO_PACKET:
                return NO_PACKET
            if len(self._pending) - after < HEADER_BYTES:
                return INCOMPLETE
        return n_bytes

    def _decode_datagram(self, data: bytes, arrival_ns: int) -> list[TrackerRecord]:
        """Decode one datagram, which is one packet or nothing."""
        if len(data) < HEADER_BYTES or packet_length(data, 0) != len(data):
            self.counters.resyncs += 1
            self.counters.discarded_bytes += len(data)
            return []
        self._first_ns = arrival_ns
        if data[TYPE_AT] == Message.DATA and self._is_old(data):
            self.counters.rejected_records += 1
            self.counters.discarded_bytes += len(data)
            return []
        return self._decode_packet(data)

    def _is_old(self, data: bytes) -> bool:
        """Return whether a datagram came before or was overtaken; remember it if not."""
        sequence, time = int.from_bytes(data[:2], 'big'), bytes(data[2:8])
        if self._last_header is not None:
            step = (sequence - self._last_header[0]) & 0xFFFF
            if step == 0 and time == self._last_header[1]:
                return True
            if step > 0x10000 - REORDER_WINDOW and self._n_old < MAX_OLD:
                self._n_old += 1
                return True
        self._n_old, self._last_header = 0, (sequence, time)
        return False

    def _decode_packet(self, data: bytes | bytearray) -> list[TrackerRecord]:
        """Return the records of a whole packet."""
        records: list[TrackerRecord] = []
        if data[TYPE_AT] != Message.DATA:
            return records
        at, unit, error, counters = HEADER_BYTES, data[UNIT_AT], data[ERROR_AT], self.counters
        while at < len(data):
            address, (code, n_words) = data[at] & ADDRESS_MASK, _LAYOUT[data[at + 1]]
            ordinal, length = self._ordinal_of.get(address, -1), record_length(data[at], n_words)
            # units that are not ours may report, too
            if ordinal >= 0:
                # unit 0 is the whole system
                code_here = error if unit in (0, address) else 0
                self._errors.record(ordinal, code_here, self._first_ns)
                words = struct.unpack_from(f'>{n_words}h', data, at + HEAD_BYTES)
                pose = self._pose(ordinal, code, [word / FULL_SCALE for word in words])
                if pose is None:
                    counters.rejected_records += 1
                    counters.discarded_bytes += length
                elif not self._paths.is_plausible(ordinal, pose):
                    counters.implausible_records += self._paths.has_begun(ordinal)
                    counters.discarded_bytes += length
                else:
                    self._paths.follow(ordinal, pose)
                    records.append(TrackerRecord(ordinal, self._first_ns, pose))
            at += length
        counters.records += len(records)
        return records

    def _pose(self, ordinal: int, code: int, words: list[float]) -> Pose | None:
        """Return the pose of a record's words as fractions of full scale, None if it has none."""
        turned = words[3:]
        if code == POSITION_QUATERNION:
            q = unit_quaternion(turned, NORM_TOLERANCE)
        elif code == POSITION_MATRIX:
            # column by column; squares of lengths are off by twice as much as lengths
            rows = [turned[i] for i in (0, 3, 6, 1, 4, 7, 2, 5, 8)]
            q = quaternion_of_matrix(rows, 2.0 * NORM_TOLERANCE)
        elif code == POSITION_ANGLES:
            z, y, x = (math.pi * angle for angle in turned)
            q = quaternion_of_angles(z, y, x)
        else:
            return None
        if q is None:
            return None
        return rep103_pose(words[:3], self._full_scales_m[ordinal], q, self._inverted)
