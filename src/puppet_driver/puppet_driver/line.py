# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The life of one line: closed, starting, streaming, and back with growing pauses.

A state machine without a thread: it is told the time and that bytes have arrived, and says
when it wants to be called next. So one thread serves all lines, a slow start of one does
not hold up the others, and tests need no clock.

"""

from collections.abc import Callable

import numpy as np
from puppet_core.errors import PuppetError
from puppet_driver.errors import LinkError, LinkTimeout
from puppet_driver.hearing import Hearing
from puppet_driver.link import LineState, LineStatus, Patience, Port
from puppet_driver.record_stream import MAX_READ_BYTES
from puppet_driver.start_sequence import StartSequence
from puppet_driver.tracker import (
    PolledTracker,
    RecordStream,
    ReportingStream,
    StreamCounters,
    Tracker,
)

NEVER_NS = 1 << 62
HOLD_NS = 1_000_000  # quiet that confirms a held record: a dozen byte times at 115200 bps


class Line:
    """
    One line and the device on it.

    Parameters
    ----------
    port_name : str
        For texts; `open_port` opens it.
    tracker : Tracker
        The device.
    open_port : callable
        Opens the port or raises LinkError.
    patience : Patience
        Waiting times.
    tell : callable
        Called with (is_error, sentence) when the line's state changes for people.

    """

    def __init__(
        self,
        port_name: str,
        tracker: Tracker,
        open_port: Callable[[], Port],
        patience: Patience,
        tell: Callable[[bool, str], None],
    ) -> None:
        self.port_name = port_name
        self.state = LineState.CLOSED
        self.deadline_ns = 0
        self.stream: RecordStream | None = None
        self._tracker = tracker
        self._poll, self._poll_ns, self._next_poll_ns = b'', NEVER_NS, NEVER_NS
        if isinstance(tracker, PolledTracker) and tracker.poll_command:
            self._poll, self._poll_ns = tracker.poll_command, round(1e9 * tracker.poll_period_s)
        self._flush_at_ns = NEVER_NS
        self._hearing = Hearing(tracker.n_sensors, patience.silence_s)
        self._open_port = open_port
        self._patience = patience
        self._tell = tell
        self.work = ''
        """What is being done that the system can hold up, for people; '' for nothing."""
        self._is_left = False
        self._port: Port | None = None
        self._start: StartSequence | None = None
        self._retry_s = patience.retry_first_s
        self._silent_since_ns = 0
        self._n_bytes = 0
        self._error = self._cause = ''
        self._has_failed = False
        self._told = ''
        self._starts = 0
        self._notes: tuple[str, ...] = ()
        # of past runs and of this one, in one piece for the thread that reports
        self._counted: tuple[StreamCounters, RecordStream | None] = StreamCounters(), None
        self._buffer = bytearray(MAX_READ_BYTES)
        self._data = np.frombuffer(self._buffer, dtype=np.uint8)

    def fileno(self) -> int:
        """Return the open port's descriptor, -1 if closed."""
        return self._port.fileno() if self._port is not None else -1

    @property
    def has_records(self) -> bool:
        """Whether the present run has brought a record."""
        return self.stream is not None and self._told == LineState.STREAMING.value

    @property
    def status(self) -> LineStatus:
        """Return the line for diagnostics; may be read from another thread."""
        past, stream = self._counted
        now = stream.counters if stream is not None else StreamCounters()
        total = StreamCounters(*(a + b for a, b in zip(past, now)))
        errors: tuple[str, ...] = ()
        if isinstance(stream, ReportingStream):
            errors = tuple(map(stream.sensor_error, range(self._tracker.n_sensors)))
        return LineStatus(
            self.port_name, self.state, self._error, self._starts, total, self._notes,
            self._cause, errors,
        )  # fmt: skip

    def on_time(self, now_ns: int) -> int:
        """Do what is due at `deadline_ns`; return how many records the stream's batch holds."""
        try:
            if self.state is LineState.CLOSED:
                self._open(now_ns)
            elif self._start is not None and self.stream is None:
                self._follow(self._start.on_time(now_ns), now_ns)
            else:
                return self._watch(now_ns)
        except PuppetError as err:
            self._fail(err, now_ns)
        return 0

    def on_readable(self, now_ns: int, arrival_ns: int) -> int:
        """Read; return how many records the stream's batch holds."""
        assert self._port is not None
        try:
            n_bytes = self._port.read_into(self._buffer)
            if self.stream is None:
                assert self._start is not None
                data = bytes(self._buffer[:n_bytes])
                self._follow(self._start.on_bytes(data, now_ns), now_ns)
                return 0
            n_records = self.stream.feed(self._data, n_bytes, arrival_ns)
            self._hearing.check(self.stream, n_records, now_ns)
        except PuppetError as err:
            self._fail(err, now_ns)
            return 0
        self._n_bytes += n_bytes
        if n_records:
            self._on_records(now_ns)
        self._set_watch(now_ns)
        return n_records

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

    def successor(self) -> 'Line':
        """
        Return a line like this one that has not been opened, with the totals of this one.

        This one is left to a thread that does not end: it tells nothing any more, and closes
        its port without a word, for the device now is the successor's.

        """
        self._is_left = True
        line = Line(self.port_name, self._tracker, self._open_port, self._patience, self._tell)
        line._counted = self.status.counters, None
        line._starts, line._notes = self._starts, self._notes
        line._error, line._cause = self._error, self._cause
        return line

    def stop(self) -> None:
        """Ask the device to stop and close the port."""
        if self._port is not None and not self._is_left:
            try:
                self._port.write(self._tracker.stop_command())
            except PuppetError:
                pass
        self.state = LineState.CLOSED
        self._told, self._has_failed = '', False
        self._retry_s = self._patience.retry_first_s
        self.deadline_ns = NEVER_NS
        self._close()

    def _open(self, now_ns: int) -> None:
        self.work = 'opening the port'
        try:
            self._port = self._open_port()
        finally:
            self.work = ''
        if self._is_left:
            raise LinkError('expected a line in use, got one that was left')
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
                self._say(True, f'{self.port_name}: {note}')
        self._notes = notes
        self.stream = self._tracker.open_stream()
        self._counted = self._counted[0], self.stream
        self.state = LineState.STREAMING
        self._n_bytes = 0
        self._silent_since_ns = now_ns
        self._hearing.restart(now_ns)
        self._next_poll_ns = now_ns if self._poll else NEVER_NS
        self._set_watch(now_ns)

    def _on_records(self, now_ns: int) -> None:
        self._silent_since_ns = now_ns
        if self._told != self.state.value:
            self._starts += 1
            self._has_failed = False
            self._retry_s = self._patience.retry_first_s
            self._told = self.state.value
            n, title = self._tracker.n_sensors, self._tracker.title
            self._say(False, f'{self.port_name}: {title} streams {n} sensor(s)')

    def _set_watch(self, now_ns: int) -> None:
        assert self.stream is not None
        self._flush_at_ns = now_ns + HOLD_NS if self.stream.is_holding else NEVER_NS
        silent_at_ns = self._silent_since_ns + round(1e9 * self._patience.silence_s)
        due_ns = self._flush_at_ns if self.stream.is_holding else silent_at_ns
        self.deadline_ns = min(due_ns, self._next_poll_ns)

    def _watch(self, now_ns: int) -> int:
        assert self.stream is not None and self._port is not None
        if now_ns >= self._next_poll_ns:
            self._port.write(self._poll)
            late_periods = (now_ns - self._next_poll_ns) // self._poll_ns
            self._next_poll_ns += (late_periods + 1) * self._poll_ns
        n_records = 0
        if now_ns >= self._flush_at_ns:
            n_records = self.stream.flush()
        if n_records:
            self._on_records(now_ns)
        elif now_ns - self._silent_since_ns >= round(1e9 * self._patience.silence_s):
            self._fail(LinkTimeout(self._silence_text()), now_ns)
            return 0
        if now_ns >= self._flush_at_ns or not self.stream.is_holding:
            self._set_watch(now_ns)
        else:
            self.deadline_ns = min(self._flush_at_ns, self._next_poll_ns)
        return n_records

    def _silence_text(self) -> str:
        records = self.stream.counters.records if self.stream is not None else 0
        if self._n_bytes and not records:
            got = f'{self._n_bytes} byte(s) without one; check baud rate, format and addresses'
        else:
            got = f'none for {self._patience.silence_s:g} s; check the device and its cable'
        return f'expected records of {self._tracker.title}, got {got}'

    def _fail(self, err: PuppetError, now_ns: int) -> None:
        text = str(err)
        if not text.startswith(self.port_name):
            text = f'{self.port_name}: {text}'
        self._error = text
        if not self._has_failed:
            self._has_failed, self._cause = True, text
        if text != self._told:
            self._told = text
            self._say(True, f'{text}; trying again')
        self._close()
        self.state = LineState.CLOSED
        self.deadline_ns = now_ns + round(1e9 * self._retry_s)
        self._retry_s = min(2.0 * self._retry_s, self._patience.retry_last_s)

    def _say(self, is_error: bool, text: str) -> None:
        if not self._is_left:
            self._tell(is_error, text)

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
