# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that reads all lines, assembles their records and emits the frames."""

from collections.abc import Callable, Sequence
import select
import socket
import threading
import time

from puppet_driver.devices.line import Line
from puppet_driver.errors import LinkError
from puppet_driver.frames.assembler import FrameAssembler, RawFrame

STALL_NS = 250_000_000  # a thread that slept longer skips what has piled up
GATHER_NS = 1_000_000_000  # how long the first line to stream waits for the others
JOIN_TIMEOUT_S = 2.0


class LineReader:
    """The thread that runs lines and an assembler; exceptions of `on_frame` end it."""

    def __init__(
        self,
        lines: Sequence[Line],
        assembler: FrameAssembler,
        on_frame: Callable[[RawFrame], None],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.lines, self.assembler = tuple(lines), assembler
        self._on_frame = on_frame
        self.stalls = 0  # How often the reading slept and skipped what had piled up
        self.stalled_ticks = 0  # How many ticks the device sent meanwhile, about
        self._clock_ns = clock_ns
        self.failure: BaseException | None = None  # What has ended a run that should be going on
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._gathering_since_ns, self._has_gathered = 0, False

    @property
    def is_running(self) -> bool:
        return self._is_alive and not self._end.is_set()

    @property
    def _is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_held_up(self) -> bool:
        """Whether the last run goes on although it was asked to end."""
        return self._end.is_set() and self._is_alive

    def start(self) -> None:
        """Start a run, which opens the ports; LinkError if the last one has not ended."""
        assert not self.is_running
        if self.is_held_up:
            raise LinkError(
                'expected the last run to have ended, got one that a port or a consumer of frames '
                'holds up; activate again later'
            )
        self.failure = None
        self._gathering_since_ns, self._has_gathered = 0, False
        self._end.clear()
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name='tracker_lines', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the devices, close the ports, end the run; harmless when not running."""
        if self._thread is None or self._end.is_set():
            return
        self._end.set()
        try:
            self._waker.send(b'x')
        except OSError:
            pass  # the thread has ended by itself
        if threading.current_thread() is not self._thread:
            self._thread.join(JOIN_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as err:
            self.failure = err
            raise
        finally:
            self._wake.close()
            self._waker.close()
            for line in self.lines:
                try:
                    line.stop()
                except Exception as err:  # the other lines have to be closed all the same
                    self.failure = self.failure or err

    def _loop(self) -> None:
        self.assembler.restart()
        wake, now_ns = self._wake.fileno(), time.monotonic_ns()
        for line in self.lines:
            line.deadline_ns = now_ns
        while not self._end.is_set():
            slept_at_ns = time.monotonic_ns()
            if slept_at_ns - now_ns > STALL_NS:
                self._skip_backlog(slept_at_ns, slept_at_ns - now_ns)
            wait_s = self._wait_s(slept_at_ns)
            descriptors = {line.fileno(): i for i, line in enumerate(self.lines)}
            descriptors.pop(-1, None)
            ready, _, _ = select.select([wake, *descriptors], (), (), wait_s)
            arrival_ns = self._clock_ns()
            now_ns = time.monotonic_ns()
            late_ns = now_ns - slept_at_ns - round(1e9 * wait_s)
            if late_ns > STALL_NS:
                self._skip_backlog(now_ns, late_ns)
                continue
            has_gathered = self._has_gathered
            for index in (descriptors[d] for d in ready if d != wake):
                records = self.lines[index].on_readable(now_ns, arrival_ns)
                if has_gathered and records:
                    self.assembler.add(index, records)
            for index, line in enumerate(self.lines):
                if self._end.is_set():
                    return
                records = line.on_time(now_ns) if now_ns >= line.deadline_ns else []
                if has_gathered and records:
                    self.assembler.add(index, records)
            if not has_gathered:
                self._gather(now_ns)
            while not self._end.is_set() and (frame := self.assembler.take(arrival_ns)):
                self._on_frame(frame)

    def _wait_s(self, now_ns: int) -> float:
        wait_ns = min(line.deadline_ns for line in self.lines) - now_ns
        if self.assembler.is_collecting:
            wait_ns = min(wait_ns, self.assembler.wait_ns(self._clock_ns()))
        return max(wait_ns, 0) / 1e9

    def _gather(self, now_ns: int) -> None:
        """Let frames begin when all lines have started, or one has waited for the others."""
        have_records = [line.has_records for line in self.lines]
        if not any(have_records):
            return
        self._gathering_since_ns = self._gathering_since_ns or now_ns
        waited = now_ns - self._gathering_since_ns > GATHER_NS
        self._has_gathered = waited or all(have_records)
        if self._has_gathered:
            # what piled up on some lines while the last one started belongs to no frame
            for line in self.lines:
                line.skip_backlog(now_ns)

    def _skip_backlog(self, now_ns: int, stalled_ns: int) -> None:
        self.stalls += 1
        if self._has_gathered:
            self.stalled_ticks += round(stalled_ns / self.assembler.period_ns)
        for line in self.lines:
            line.skip_backlog(now_ns)
