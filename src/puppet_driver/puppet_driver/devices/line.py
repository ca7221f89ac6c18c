# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The life of one line: closed, starting, streaming, and back with growing pauses.

A state machine without a thread: the caller passes the time and the bytes, and it returns when it
wants to be called next. So one thread serves all lines, a slow start of one does not hold up the
others, and tests need no clock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from puppet_core.io import PuppetError
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import (
    Exchange,
    Exchanges,
    RecordStream,
    StreamCounters,
    Tracker,
    TrackerRecord,
)
from puppet_driver.transport import Port

LEAST_BYTES = 6.0  # a tick that are no record: half of the shortest one

NEVER_NS = 1 << 62
HOLD_NS = 1_000_000  # quiet that confirms a held record: a dozen byte times at 115200 bps


class LineState(Enum):
    """Where a line stands."""

    CLOSED = 'closed'
    STARTING = 'starting'
    STREAMING = 'streaming'


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a line waits for what."""

    silence_s: float = 0.5  # Without a record for so long, a streaming line is started anew [s]
    # Pause after the first failure; it doubles with each further one [s]
    retry_first_s: float = 0.05
    retry_last_s: float = 0.1  # Longest pause [s]


class LineStatus(NamedTuple):
    """A line for diagnostics."""

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


class StartSequence:
    """
    Runs a device's exchanges on a port; the caller passes the time and what arrives.

    Each step returns whether the device has been started; what the device does wrong comes
    out as the error that its exchanges raise. `deadline_ns` is when `on_time` is due.
    """

    def __init__(self, exchanges: Exchanges, port: Port) -> None:
        self.deadline_ns = 0
        self.notes: list[str] = []
        """What the device's exchanges have noted."""
        self._exchanges = exchanges
        self._port = port
        self._exchange = Exchange()
        self._reply = b''
        self._is_pausing = False

    def begin(self, now_ns: int) -> bool:
        """Send the first command."""
        return self._proceed(None, now_ns)

    def on_bytes(self, data: bytes, now_ns: int) -> bool:
        """Take what has arrived."""
        if self._is_pausing:
            return False
        self._reply += data
        wanted = self._exchange.wanted_bytes(self._reply)
        if len(self._reply) < wanted:
            return False
        self._reply = self._reply[:wanted]
        return self.on_time(now_ns)

    def on_time(self, now_ns: int) -> bool:
        """Go on after an answer, a timeout or a pause."""
        if not self._is_pausing and self._exchange.pause_s > 0.0:
            self._is_pausing = True
            self.deadline_ns = now_ns + round(1e9 * self._exchange.pause_s)
            return False
        return self._proceed(self._reply, now_ns)

    def close(self) -> None:
        """Give up; harmless at the end."""
        self._exchanges.close()

    def _proceed(self, reply: bytes | None, now_ns: int) -> bool:
        while True:
            try:
                exchange = self._exchanges.send(reply)  # type: ignore[arg-type]
            except StopIteration:
                return True
            if exchange.note:
                self.notes.append(exchange.note)
            self._say(exchange, now_ns)
            if exchange.reply_bytes or exchange.pause_s > 0.0:
                return False
            reply = b''

    def _say(self, exchange: Exchange, now_ns: int) -> None:
        self._exchange = exchange
        self._reply = b''
        self._is_pausing = exchange.reply_bytes == 0
        if exchange.reply_bytes:
            self._port.discard_input()
        self._port.write(exchange.command)
        wait_s = exchange.pause_s if self._is_pausing else exchange.timeout_s
        self.deadline_ns = now_ns + round(1e9 * wait_s)


class SensorWatchdog:
    """
    Remembers when each sensor of a line was heard last.

    A unit that had no power for a moment comes back in the format it has from the factory. Its
    records are then bytes that mean nothing while the other units' are sound; a sensor that is
    unplugged sends none, and noise spares a record of every sensor now and then.
    """

    def __init__(self, silence_s: float) -> None:
        self._silence_ns = round(1e9 * silence_s)
        self.restart(0)

    def restart(self, now_ns: int) -> None:
        """Begin anew, with a stream that has counted nothing."""
        self._heard_ns: dict[int, int] = {}
        self._since_ns, self._records, self._discarded = now_ns, 0, 0

    def check(self, stream: RecordStream, records: list[TrackerRecord], now_ns: int) -> None:
        """
        Note which sensors have records; check the others now and then.

        Raise ProtocolError if one was heard before, and there are bytes in the place of its
        records.
        """
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


class Line:
    """
    One line and the device on it.

    `port_name` is for texts. `log` is called with (is_error, sentence) when the line's state
    changes for people.
    """

    def __init__(
        self,
        port_name: str,
        tracker: Tracker,
        retry_policy: RetryPolicy,
        log: Callable[[bool, str], None],
    ) -> None:
        self.port_name = port_name
        self.state = LineState.CLOSED
        self.deadline_ns = 0
        self.stream: RecordStream | None = None
        self._tracker = tracker
        self._poll, self._poll_ns, self._next_poll_ns = b'', NEVER_NS, NEVER_NS
        if tracker.poll_command:
            self._poll, self._poll_ns = tracker.poll_command, round(1e9 * tracker.poll_period_s)
        self._flush_at_ns = NEVER_NS
        self._watchdog = SensorWatchdog(retry_policy.silence_s)
        self._retry_policy = retry_policy
        self._log = log
        self.work = ''
        """What is being done that the system can hold up, for people; '' for nothing."""
        self._port: Port | None = None
        self._start: StartSequence | None = None
        self._retry_s = retry_policy.retry_first_s
        self._silent_since_ns = 0
        self._n_bytes = 0
        self._error = self._cause = ''
        self._has_failed = False
        self._logged = ''
        self._starts = 0
        self._notes: tuple[str, ...] = ()
        # of past runs and of this one, in one piece for the thread that reports
        self._counted: tuple[StreamCounters, RecordStream | None] = StreamCounters(), None

    def fileno(self) -> int:
        """Return the open port's descriptor, -1 if closed."""
        return self._port.fileno() if self._port is not None else -1

    @property
    def has_records(self) -> bool:
        """Whether the present run has brought a record."""
        return self.stream is not None and self._logged == LineState.STREAMING.value

    @property
    def status(self) -> LineStatus:
        """Return the line for diagnostics; may be read from another thread."""
        past, stream = self._counted
        total = past + stream.counters if stream is not None else past
        errors: tuple[str, ...] = ()
        if stream is not None:
            errors = tuple(map(stream.sensor_error, range(self._tracker.n_sensors)))
        return LineStatus(
            self.port_name,
            self.state,
            self._error,
            self._starts,
            total,
            self._notes,
            self._cause,
            errors,
        )

    def on_time(self, now_ns: int) -> list[TrackerRecord]:
        """Do what is due at `deadline_ns`; return the records that come of it."""
        try:
            if self.state is LineState.CLOSED:
                self._open(now_ns)
            elif self._start is not None and self.stream is None:
                self._follow(self._start.on_time(now_ns), now_ns)
            else:
                return self._watch(now_ns)
        except PuppetError as err:
            self._fail(err, now_ns)
        return []

    def on_readable(self, now_ns: int, arrival_ns: int) -> list[TrackerRecord]:
        """Read; return the records that come of it."""
        assert self._port is not None
        try:
            data = self._port.read()
            if self.stream is None:
                assert self._start is not None
                self._follow(self._start.on_bytes(data, now_ns), now_ns)
                return []
            records = self.stream.feed(data, arrival_ns)
            self._watchdog.check(self.stream, records, now_ns)
        except PuppetError as err:
            self._fail(err, now_ns)
            return []
        self._n_bytes += len(data)
        if records:
            self._on_records(now_ns)
        self._set_watch(now_ns)
        return records

    def skip_backlog(self, now_ns: int) -> None:
        """Forget bytes that have piled up while nobody was reading."""
        if self.stream is not None and self._port is not None:
            try:
                self._port.discard_input()
                self.stream.skip()
                self._silent_since_ns = now_ns
                self._set_watch(now_ns)
            except PuppetError as err:
                self._fail(err, now_ns)

    def stop(self) -> None:
        """Ask the device to stop and close the port."""
        if self._port is not None:
            try:
                self._port.write(self._tracker.stop_command())
            except PuppetError:
                pass
        self.state = LineState.CLOSED
        self._logged, self._has_failed = '', False
        self._retry_s = self._retry_policy.retry_first_s
        self.deadline_ns = NEVER_NS
        self._close()

    def _open(self, now_ns: int) -> None:
        self.work = 'opening the port'
        try:
            self._port = self._tracker.open_port()
        finally:
            self.work = ''
        self.state = LineState.STARTING
        self._start = StartSequence(self._tracker.start_exchanges(), self._port)
        self._follow(self._start.begin(now_ns), now_ns)

    def _follow(self, is_started: bool, now_ns: int) -> None:
        assert self._start is not None
        if is_started:
            self._start_streaming(now_ns)
        else:
            self.deadline_ns = self._start.deadline_ns

    def _start_streaming(self, now_ns: int) -> None:
        assert self._start is not None
        notes = tuple(self._start.notes)
        for note in notes:
            if note not in self._notes:
                self._log(True, f'{self.port_name}: {note}')
        self._notes = notes
        self.stream = self._tracker.open_stream()
        self._counted = self._counted[0], self.stream
        self.state = LineState.STREAMING
        self._n_bytes = 0
        self._silent_since_ns = now_ns
        self._watchdog.restart(now_ns)
        self._next_poll_ns = now_ns if self._poll else NEVER_NS
        self._set_watch(now_ns)

    def _on_records(self, now_ns: int) -> None:
        self._silent_since_ns = now_ns
        if self._logged != self.state.value:
            self._starts += 1
            self._has_failed = False
            self._retry_s = self._retry_policy.retry_first_s
            self._logged = self.state.value
            n, title = self._tracker.n_sensors, self._tracker.title
            self._log(False, f'{self.port_name}: {title} streams {n} sensor(s)')

    def _set_watch(self, now_ns: int) -> None:
        assert self.stream is not None
        self._flush_at_ns = now_ns + HOLD_NS if self.stream.is_holding else NEVER_NS
        silent_at_ns = self._silent_since_ns + round(1e9 * self._retry_policy.silence_s)
        due_ns = self._flush_at_ns if self.stream.is_holding else silent_at_ns
        self.deadline_ns = min(due_ns, self._next_poll_ns)

    def _watch(self, now_ns: int) -> list[TrackerRecord]:
        assert self.stream is not None and self._port is not None
        if now_ns >= self._next_poll_ns:
            self._port.write(self._poll)
            late_periods = (now_ns - self._next_poll_ns) // self._poll_ns
            self._next_poll_ns += (late_periods + 1) * self._poll_ns
        records = self.stream.flush() if now_ns >= self._flush_at_ns else []
        if records:
            self._on_records(now_ns)
        elif now_ns - self._silent_since_ns >= round(1e9 * self._retry_policy.silence_s):
            self._fail(LinkTimeout(self._silence_text()), now_ns)
            return []
        if now_ns >= self._flush_at_ns or not self.stream.is_holding:
            self._set_watch(now_ns)
        else:
            self.deadline_ns = min(self._flush_at_ns, self._next_poll_ns)
        return records

    def _silence_text(self) -> str:
        records = self.stream.counters.records if self.stream is not None else 0
        if self._n_bytes and not records:
            got = f'{self._n_bytes} byte(s) without one; check baud rate, format and addresses'
        else:
            got = f'none for {self._retry_policy.silence_s:g} s; check the device and its cable'
        return f'expected records of {self._tracker.title}, got {got}'

    def _fail(self, err: PuppetError, now_ns: int) -> None:
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
        self.state = LineState.CLOSED
        self.deadline_ns = now_ns + round(1e9 * self._retry_s)
        self._retry_s = min(2.0 * self._retry_s, self._retry_policy.retry_last_s)

    def _close(self) -> None:
        self._counted = self.status.counters, None
        self.stream = None
        # forgotten before they are closed: whatever that raises, a line can be opened again
        start, self._start = self._start, None
        port, self._port = self._port, None
        try:
            if start is not None:
                start.close()
        finally:
            if port is not None:
                self.work = 'closing the port'
                port.close()
            self.work = ''
