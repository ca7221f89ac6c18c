# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The life of one line, a generator that says when it is called next: no thread of its own."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from puppet_core.io import PuppetError
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import RecordStream, StreamCounters, Tracker, TrackerRecord
from puppet_driver.transport import Port

LEAST_BYTES = 6.0  # a tick that are no record: half of the shortest one

NEVER_NS = 1 << 62
HOLD_NS = 1_000_000  # quiet that confirms a held record: a dozen byte times at 115200 bps


class LineState(Enum):
    CLOSED = 'closed'
    STARTING = 'starting'
    STREAMING = 'streaming'


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    silence_s: float = 0.5  # Without a record for so long, a streaming line is started anew [s]
    # Pause after the first failure; it doubles with each further one [s]
    retry_first_s: float = 0.05
    retry_last_s: float = 0.1  # Longest pause [s]


class LineStatus(NamedTuple):
    port: str
    state: LineState
    error: str  # Why it last failed, '' if it never has; kept after recovery
    starts: int  # Times it has begun to stream
    counters: StreamCounters  # Sums over all its runs
    notes: tuple[str, ...] = ()  # What the device noted at its last start
    # Why it failed first since it last streamed, whatever came of later attempts; kept too
    cause: str = ''
    # What the device reports of each sensor, '' for nothing; empty if it reports none
    sensor_errors: tuple[str, ...] = ()


class SensorWatchdog:
    """
    Remembers when each sensor of a line was heard last.

    A unit that had no power for a moment comes back in the format it has from the factory. Its
    records are then bytes that mean nothing while the other units' are sound; a sensor that is
    unplugged sends none, and noise spares a record of every sensor now and then.
    """

    def __init__(self, silence_ns: int, now_ns: int) -> None:
        self._silence_ns = silence_ns
        self._heard_ns: dict[int, int] = {}
        self._since_ns, self._records, self._discarded = now_ns, 0, 0

    def check(self, stream: RecordStream, records: list[TrackerRecord], now_ns: int) -> None:
        """Note who has records; ProtocolError if one that had has bytes in their place."""
        for record in records:
            self._heard_ns[record.ordinal] = now_ns
        if now_ns - self._since_ns < self._silence_ns:
            return
        counters = stream.counters
        mute = sorted(i for i, at in self._heard_ns.items() if now_ns - at > self._silence_ns)
        n_ticks = (counters.records - self._records) / max(len(self._heard_ns) - len(mute), 1)
        n_bytes = counters.discarded_bytes - self._discarded
        self._since_ns, self._records = now_ns, counters.records
        self._discarded = counters.discarded_bytes
        if mute and n_bytes > LEAST_BYTES * n_ticks > 0.0:
            raise ProtocolError(
                f'expected records of sensor {mute[0] + 1} of this line, got bytes that are none; '
                'it may have lost power and is configured again'
            )


# Yields records, having set the line's deadline; gets the time, bytes and when they arrived.
Steps = Generator[list[TrackerRecord], tuple[int, bytes, int], int]


class Line:
    """One line and the device on it; `log` gets (is_error, sentence) when its state changes."""

    def __init__(
        self,
        port_name: str,
        tracker: Tracker,
        retry_policy: RetryPolicy,
        log: Callable[[bool, str], None],
    ) -> None:
        self.port_name = port_name
        self.state = LineState.CLOSED
        self.deadline_ns = 0  # When `on_time` is due
        self.stream: RecordStream | None = None
        self._tracker, self._retry_policy, self._log = tracker, retry_policy, log
        self._silence_ns = round(1e9 * retry_policy.silence_s)
        self._port: Port | None = None
        self._steps: Steps | None = None
        self._retry_s = retry_policy.retry_first_s
        self._silent_since_ns = 0
        self._error = self._cause = self._logged = ''
        self._has_failed = False
        self._starts = 0
        self._notes: tuple[str, ...] = ()
        # of past runs and of this one, in one piece for the thread that reports
        self._counted: tuple[StreamCounters, RecordStream | None] = StreamCounters(), None

    def fileno(self) -> int:
        return self._port.fileno() if self._port is not None else -1

    @property
    def has_records(self) -> bool:
        return self.stream is not None and self._logged == LineState.STREAMING.value

    @property
    def status(self) -> LineStatus:
        """Return the line for diagnostics; may be read from another thread."""
        past, stream = self._counted
        errors: tuple[str, ...] = ()
        if stream is not None:
            past = past + stream.counters
            errors = tuple(map(stream.sensor_error, range(self._tracker.n_sensors)))
        state, notes, cause = self.state, self._notes, self._cause
        name, starts = self.port_name, self._starts
        return LineStatus(name, state, self._error, starts, past, notes, cause, errors)

    def on_time(self, now_ns: int) -> list[TrackerRecord]:
        """Do what is due at `deadline_ns`; return the records that come of it."""
        try:
            if self._steps is None:
                self._steps = self._live(now_ns)
                return next(self._steps)
            return self._steps.send((now_ns, b'', 0))
        except PuppetError as err:
            return self._fail(err, now_ns)

    def on_readable(self, now_ns: int, arrival_ns: int) -> list[TrackerRecord]:
        assert self._port is not None and self._steps is not None
        try:
            return self._steps.send((now_ns, self._port.read(), arrival_ns))
        except PuppetError as err:
            return self._fail(err, now_ns)

    def skip_backlog(self, now_ns: int) -> None:
        """Forget bytes that have piled up while nobody was reading."""
        if self.stream is not None and self._port is not None:
            try:
                self._port.discard_input()
                self.stream.skip()
                self._silent_since_ns = now_ns
            except PuppetError as err:
                self._fail(err, now_ns)

    def stop(self) -> None:
        if self._port is not None:
            try:
                self._port.write(self._tracker.stop_command())
            except PuppetError:
                pass
        self._logged, self._has_failed = '', False
        self._retry_s = self._retry_policy.retry_first_s
        self.deadline_ns = NEVER_NS
        self._close()

    def _live(self, now_ns: int) -> Steps:
        self._port = self._tracker.open_port()
        self.state = LineState.STARTING
        now_ns = yield from self._start(self._port, now_ns)
        return (yield from self._read(self._port, now_ns))

    def _start(self, port: Port, now_ns: int) -> Steps:
        exchanges, reply, notes = self._tracker.start_exchanges(), None, []
        while True:
            try:
                exchange = exchanges.send(reply)  # type: ignore[arg-type]
            except StopIteration:
                break
            if exchange.note:
                notes.append(exchange.note)
                if exchange.note not in self._notes:
                    self._log(True, f'{self.port_name}: {exchange.note}')
            if exchange.reply_bytes:
                port.discard_input()
            port.write(exchange.command)
            reply, wanted = b'', exchange.reply_bytes
            self.deadline_ns = now_ns + round(1e9 * exchange.timeout_s)
            while len(reply) < wanted and now_ns < self.deadline_ns:
                now_ns, data, _ = yield []
                reply += data
                wanted = exchange.wanted_bytes(reply)
            reply = reply[:wanted]
            self.deadline_ns = now_ns + round(1e9 * exchange.pause_s)
            while now_ns < self.deadline_ns:
                now_ns, _, _ = yield []
        self._notes = tuple(notes)
        return now_ns

    def _read(self, port: Port, now_ns: int) -> Steps:
        tracker, n_bytes = self._tracker, 0
        stream = self.stream = tracker.open_stream()
        self._counted = self._counted[0], stream
        self.state = LineState.STREAMING
        self._silent_since_ns = now_ns
        watchdog = SensorWatchdog(self._silence_ns, now_ns)
        poll, poll_ns = tracker.poll_command, round(1e9 * tracker.poll_period_s)
        next_poll_ns, flush_at_ns = now_ns if poll else NEVER_NS, NEVER_NS
        records: list[TrackerRecord] = []
        while True:
            due_ns = self._silent_since_ns + self._silence_ns
            self.deadline_ns = min(flush_at_ns if stream.is_holding else due_ns, next_poll_ns)
            now_ns, data, arrival_ns = yield records
            if now_ns >= next_poll_ns:
                port.write(poll)
                next_poll_ns += ((now_ns - next_poll_ns) // poll_ns + 1) * poll_ns
            if data:
                n_bytes += len(data)
                records = stream.feed(data, arrival_ns)
                watchdog.check(stream, records, now_ns)
                flush_at_ns = now_ns + HOLD_NS if stream.is_holding else NEVER_NS
            else:
                records = stream.flush() if now_ns >= flush_at_ns else []
            if records:
                self._on_records(now_ns)
            elif now_ns - self._silent_since_ns >= self._silence_ns:
                got = (
                    f'none for {self._retry_policy.silence_s:g} s; check the device and its cable'
                )
                if n_bytes and not stream.counters.records:
                    got = f'{n_bytes} byte(s) without one; check baud rate, format and addresses'
                raise LinkTimeout(f'expected records of {tracker.title}, got {got}')

    def _on_records(self, now_ns: int) -> None:
        self._silent_since_ns = now_ns
        if self._logged != LineState.STREAMING.value:
            self._starts += 1
            self._has_failed = False
            self._retry_s = self._retry_policy.retry_first_s
            self._logged = LineState.STREAMING.value
            n, title = self._tracker.n_sensors, self._tracker.title
            self._log(False, f'{self.port_name}: {title} streams {n} sensor(s)')

    def _fail(self, err: PuppetError, now_ns: int) -> list[TrackerRecord]:
        text = str(err)
        if not text.startswith(self.port_name):
            text = f'{self.port_name}: {text}'
        self._error = text
        if not self._has_failed:
            self._has_failed, self._cause = True, text
        if text != self._logged:
            self._logged = text
            self._log(True, f'{text}; trying again')
        self._close()
        self.deadline_ns = now_ns + round(1e9 * self._retry_s)
        self._retry_s = min(2.0 * self._retry_s, self._retry_policy.retry_last_s)
        return []

    def _close(self) -> None:
        self.state = LineState.CLOSED
        self._counted = self.status.counters, None
        # forgotten before they are closed: whatever that raises, a line can be opened again
        self.stream = self._steps = None
        port, self._port = self._port, None
        if port is not None:
            port.close()
