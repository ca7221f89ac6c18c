# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The Ascension MotionStar on the network: its ports, the decoder, start-up, checks, stop.

A datagram may be lost, so each question is asked up to three times. There is no checksum: a packet
is accepted when its own length and its records' agree, no unit reports twice, and it is followed
by the beginning of another one, by quiet, or by the end of a read of whole packets.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
import select
import struct

from puppet_core.io import ConfigError
from puppet_driver.devices import birdnet
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.birdnet import find_packet, Header, HEADER_BYTES, LAYOUT, Message
from puppet_driver.devices.decoding import (
    ANYWHERE,
    LineConfig,
    Reach,
    rep103_pose,
    SensorErrors,
    SensorPaths,
)
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Exchange, Exchanges, RecordStream, Tracker, TrackerRecord
from puppet_driver.transport import Endpoint, NetworkPort, parse_endpoint, Port

BOTH = 'tcp+udp'

ATTEMPTS = 3
STOP_PAUSE_S = 0.1  # data that is under way arrives
RATE_TOLERANCE = 0.01  # the device rounds the rate it is asked for

UNKNOWN_M = 0.0  # full scale of a unit that has not reported it

NO_PACKET, INCOMPLETE = -1, 0

ADDRESS_MASK = 0x7F
TYPE_AT, UNIT_AT, PROTOCOL_AT, ERROR_AT, BYTES_AT = 8, 9, 10, 11, 14
# what else a running device sends, all without a body
ANSWERS_WHILE_RUNNING = (
    Message.RUN_CONTINUOUS_ANSWER,
    Message.STOP_DATA_ANSWER,
    Message.SEND_SETUP_ANSWER,
    Message.WAKE_UP_ANSWER,
    Message.ILLEGAL,
    Message.UNKNOWN,
)
_TYPES = frozenset({int(Message.DATA), *map(int, ANSWERS_WHILE_RUNNING)})

REORDER_WINDOW = 64  # datagrams by which one may be overtaken
MAX_OLD = 3  # old ones in a row after which it is the count that has begun anew

Steps = Generator[Exchange, bytes, birdnet.Packet]


def parse_way(name: str) -> Endpoint:
    """Return what a port's name means: tcp, udp or tcp+udp; ConfigError if it is no such name."""
    scheme, separator, rest = name.partition('://')
    if not separator or scheme not in (BOTH, 'tcp', 'udp'):
        raise ConfigError(
            'ports: expected tcp://HOST[:PORT], udp://HOST[:PORT] or tcp+udp://HOST[:PORT] for '
            f'device motionstar, got {name!r}'
        )
    return parse_endpoint(f'tcp://{rest}')._replace(scheme=scheme)


class SplitPort:
    """A connection for commands and datagrams for data; a Port."""

    def __init__(self, name: str) -> None:
        self.name = name
        endpoint = parse_way(name)
        self._commands, self._data = (
            NetworkPort(str(endpoint._replace(scheme=scheme))) for scheme in ('tcp', 'udp')
        )
        self._epoll = select.epoll()
        for port in (self._commands, self._data):
            port.name = name  # errors name the port that users know
            self._epoll.register(port.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return self._epoll.fileno()

    def read(self) -> bytes:
        return self._data.read() or self._commands.read()

    def write(self, data: bytes) -> None:
        asks_for_data = len(data) >= HEADER_BYTES and data[TYPE_AT] == Message.RUN_CONTINUOUS
        (self._data if asks_for_data else self._commands).write(data)

    def discard_input(self) -> None:
        self._data.discard_input()
        self._commands.discard_input()

    def close(self) -> None:
        self._epoll.close()
        self._commands.close()
        self._data.close()


def record_length(address: int, n_words: int) -> int:
    return (
        birdnet.HEAD_BYTES
        + 2 * n_words
        + (birdnet.BUTTON_BYTES if address & birdnet.BUTTONS_FLAG else 0)
    )


def packet_length(data: bytes | bytearray, start: int) -> int:
    """Return a packet's length; INCOMPLETE if it ends after `data`, NO_PACKET if it is none."""
    n_bytes = len(data) - start
    if n_bytes > TYPE_AT and data[start + TYPE_AT] not in _TYPES:
        return NO_PACKET
    if n_bytes > PROTOCOL_AT and data[start + PROTOCOL_AT] != birdnet.PROTOCOL:
        return NO_PACKET
    if n_bytes < HEADER_BYTES:
        return INCOMPLETE
    body_bytes = int.from_bytes(data[start + BYTES_AT : start + BYTES_AT + 2], 'big')
    if data[start + TYPE_AT] != Message.DATA:
        return HEADER_BYTES if body_bytes == 0 else NO_PACKET
    at = start + HEADER_BYTES
    body_end, addresses = at + body_bytes, {0}
    while body_bytes <= birdnet.MAX_BODY_BYTES and at < body_end and at + 1 < len(data):
        address, n_words = data[at] & ADDRESS_MASK, LAYOUT[data[at + 1]][1]
        if n_words == birdnet.INVALID or address in addresses:
            return NO_PACKET
        addresses.add(address)
        at += record_length(data[at], n_words)
    if body_bytes > birdnet.MAX_BODY_BYTES or at > body_end:
        return NO_PACKET
    return HEADER_BYTES + body_bytes if at == body_end <= len(data) else INCOMPLETE


class BirdnetStream(RecordStream):
    """
    Decoder of data packets whose records have a position and an orientation.

    Sensors are at `addresses`, in the order of their ordinals. `full_scales_m` are of their
    positions [m], 0 if not known. With `has_datagrams` each read is one datagram.
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
        return birdnet.error_code_text(self._errors.standing(ordinal))

    def feed(self, data: bytes, arrival_ns: int = 0) -> list[TrackerRecord]:
        if self._has_datagrams:
            return self._decode_datagram(data, arrival_ns)
        n_before = len(self._pending)
        if n_before == 0:
            self._first_ns = arrival_ns
        self._pending += data
        return self._scan(n_before, arrival_ns, is_quiet=False)

    def flush(self) -> list[TrackerRecord]:
        if not self.is_holding:
            return []
        return self._scan(len(self._pending), self._first_ns, is_quiet=True)

    def skip(self) -> None:
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
        records: list[TrackerRecord] = []
        if data[TYPE_AT] != Message.DATA:
            return records
        at, unit, error, counters = HEADER_BYTES, data[UNIT_AT], data[ERROR_AT], self.counters
        while at < len(data):
            address, (code, n_words) = data[at] & ADDRESS_MASK, LAYOUT[data[at + 1]]
            ordinal, length = self._ordinal_of.get(address, -1), record_length(data[at], n_words)
            # units that are not ours may report, too
            if ordinal >= 0:
                # unit 0 is the whole system
                code_here = error if unit in (0, address) else 0
                self._errors.record(ordinal, code_here, self._first_ns)
                words = struct.unpack_from(f'>{n_words}h', data, at + birdnet.HEAD_BYTES)
                x, y, z, *turned = [word / birdnet.FULL_SCALE for word in words] or (0.0,) * 3
                q = flock.orientation_of(code, turned)
                at += length
                if q is None:
                    counters.rejected_records += 1
                    counters.discarded_bytes += length
                    continue
                pose = rep103_pose((x, y, z), self._full_scales_m[ordinal], q, self._inverted)
                if self._paths.is_plausible(ordinal, pose):
                    self._paths.follow(ordinal, pose)
                    records.append(TrackerRecord(ordinal, self._first_ns, pose))
                else:
                    counters.implausible_records += self._paths.has_begun(ordinal)
                    counters.discarded_bytes += length
            else:
                at += length
        counters.records += len(records)
        return records


@dataclass(frozen=True, slots=True)
class MotionStarConfig(LineConfig):
    # Bus address of the first sensor; lower ones are transmitter controllers without a sensor
    first_address: int = 2


class MotionStar(Tracker):
    Config = MotionStarConfig
    title = 'MotionStar'
    is_serial = False
    record_bytes = birdnet.HEAD_BYTES + 2 * birdnet.FORMATS[flock.POSITION_QUATERNION].n_words

    def __init__(self, config: MotionStarConfig) -> None:
        super().__init__(config)
        self._addresses = range(config.first_address, config.first_address + len(config.sensors))
        self._full_scales_m = [UNKNOWN_M] * len(config.sensors)
        self._sequence = 0

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        rate_hz, last = self._config.rate_hz, self._addresses[-1]
        if len({parse_way(port).scheme for port in ports}) > 1:
            raise ConfigError(
                f'ports: expected all tcp://, all udp:// or all tcp+udp://, got {", ".join(ports)}'
            )
        low, high = birdnet.RATE_RANGE_HZ
        if not low <= rate_hz <= high:
            raise ConfigError(
                f'rate_hz: expected {low} <= value <= {high} for device motionstar, got {rate_hz}'
            )
        limit = birdnet.MAX_UNITS
        if last > limit:
            raise ConfigError(
                f'first_address: expected addresses up to {limit} for device motionstar, '
                f'got {last}'
            )

    def open_port(self) -> Port:
        name = self._config.port
        return SplitPort(name) if parse_way(name).scheme == BOTH else NetworkPort(name)

    def stop_command(self) -> bytes:
        return self._command(Message.STOP_DATA)

    def open_stream(self) -> BirdnetStream:
        config = self._config
        return BirdnetStream(
            tuple(self._addresses),
            self._full_scales_m,
            config.inverted_quaternion,
            parse_way(config.port).scheme != 'tcp',
            config.reach,
        )

    def start_exchanges(self) -> Exchanges:
        yield Exchange(self._command(Message.STOP_DATA), pause_s=STOP_PAUSE_S)
        # one that is awake already may refuse
        yield from self._ask(Message.WAKE_UP, allows_refusal=True)
        system = birdnet.decode_system((yield from self._ask(Message.GET_STATUS)).body)
        self._check_system(system)
        yield from self._set_rate(system)
        texts = []
        for ordinal in range(self.n_sensors):
            problem = ''
            if not system.units[self._addresses[ordinal] - 1] & flock.UNIT_HAS_SENSOR:
                text = f'expected a sensor, got a unit without one among {system.n_units}; '
                problem = self._about(ordinal, text + 'check its cables and first_address')
            try:
                problem = (yield from self._set_up_unit(ordinal)) or problem
            except ProtocolError as err:
                problem = problem or self._about(ordinal, str(err))
            texts += [problem] if problem else []
        if len(texts) == self.n_sensors:
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)
        yield from self._ask(Message.RUN_CONTINUOUS)

    def _command(self, message: Message, unit: int = 0, body: bytes = b'') -> bytes:
        self._sequence = (self._sequence + 1) & 0xFFFF
        return birdnet.encode_packet(Header(message, unit, self._sequence), body)

    def _ask(
        self, message: Message, unit: int = 0, body: bytes = b'', allows_refusal: bool = False
    ) -> Steps:
        wanted = {birdnet.ANSWERS[message], *birdnet.REFUSALS}
        if message is Message.RUN_CONTINUOUS:
            wanted.add(Message.DATA)  # means the same if the answer was lost
        what = f'{message.name.lower().replace("_", " ")}' + (f' of unit {unit}' if unit else '')
        n_bytes = 0
        for _ in range(ATTEMPTS):
            reply = yield Exchange(
                self._command(message, unit, body),
                reply_bytes=HEADER_BYTES,
                timeout_s=self._config.reply_timeout_s,
                measure=lambda reply: find_packet(reply, wanted)[1],
            )
            n_bytes += len(reply)
            packet, _ = find_packet(reply, wanted)
            if packet is None:
                continue
            problem = birdnet.packet_error_text(packet.header)
            if problem and not allows_refusal:
                raise ProtocolError(f'expected an answer to {what}, got {problem}')
            return packet
        got = f'{n_bytes} byte(s) without an answer' if n_bytes else 'nothing'
        raise LinkTimeout(
            f'expected a {self.title} to answer to {what}, got {got}; '
            'check its power, the network, and address and number of the port'
        )

    def _check_system(self, system: birdnet.SystemStatus) -> None:
        if system.problem:
            raise ProtocolError(f'expected the system to be ready, got {system.problem}')
        for ordinal, address in enumerate(self._addresses):
            flags = system.units[address - 1] if address <= len(system.units) else 0
            if not flags & flock.UNIT_ACCESSIBLE:
                text = f'expected a sensor, got no such unit among {system.n_units}; '
                raise ProtocolError(
                    self._about(ordinal, text + 'check its cables and first_address')
                )

    def _about(self, ordinal: int, text: str) -> str:
        return f'unit {self._addresses[ordinal]} ({self._config.sensors[ordinal]}): {text}'

    def _set_rate(self, system: birdnet.SystemStatus) -> Exchanges:
        rate_mhz = round(1000.0 * self._config.rate_hz)
        setup = system._replace(rate_mhz=rate_mhz)
        yield from self._ask(Message.SEND_SETUP, body=setup.encode())
        answer = yield from self._ask(Message.GET_STATUS)
        got_mhz = birdnet.decode_system(answer.body).rate_mhz
        if abs(got_mhz - rate_mhz) > RATE_TOLERANCE * rate_mhz:
            raise ProtocolError(
                f'expected {self._config.rate_hz:g} measurements a second, got '
                f'{got_mhz / 1000.0:g}; set rate_hz to a rate of the device'
            )

    def _set_up_unit(self, ordinal: int) -> Generator[Exchange, bytes, str]:
        """Choose what a unit sends, its sensor there or not; return the error that it is in."""
        address = self._addresses[ordinal]
        self._full_scales_m[ordinal] = UNKNOWN_M
        answer = yield from self._ask(Message.GET_STATUS, address)
        unit = birdnet.decode_unit(answer.body)
        if unit.address != address:
            raise ProtocolError(f'expected its status, got that of unit {unit.address}')
        scaling_in = unit.scaling & birdnet.SCALING_MASK
        if scaling_in == 0:
            raise ProtocolError('expected a full scale of positions, got 0 inch')
        self._full_scales_m[ordinal] = flock.full_scale_m(scaling_in)
        setup = unit._replace(
            setup=unit.setup & ~birdnet.SETUP_APPEND_BUTTONS,
            format_byte=birdnet.setup_byte(flock.POSITION_QUATERNION),
            report_rate=1,
            hemisphere=birdnet.HEMISPHERES[self._config.hemisphere],
        )
        problem = ''
        if unit.flags & birdnet.UNIT_ERROR:
            got = flock.error_text(unit.error)
            problem = self._about(ordinal, f'expected it to be ready, got {got}')
        try:
            yield from self._ask(Message.SEND_SETUP, address, setup.encode())
        except ProtocolError:
            if not problem:
                raise
        return problem
