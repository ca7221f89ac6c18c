# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One thread that reads all lines, merges their records, and queues each frame at once.

It sleeps in `select` until a byte arrives or something is due. Everything that reads is
read before frames are looked at, so a delay of this thread does not tear ticks apart.

"""

from collections.abc import Callable, Sequence
import os
import select
import threading
import time

from puppet_driver.frame_assembler import FrameAssembler
from puppet_driver.frame_queue import FrameQueue, QueuedFrame
from puppet_driver.line import Line

STALL_NS = 250_000_000  # a thread that slept longer skips what has piled up
GATHER_NS = 1_000_000_000  # how long the first line to stream waits for the others
JOIN_TIMEOUT_S = 5.0


class LineReader:
    """
    Runs lines and an assembler in a thread of its own.

    Parameters
    ----------
    lines : sequence of Line
        In the order of the assembler's lines.
    assembler : FrameAssembler
        Used by the thread alone while it runs.
    on_frame : callable
        Called with each frame, through a FrameQueue, so that it holds up nothing but itself.
    clock_ns : callable
        The clock of stamps [ns].

    """

    def __init__(
        self,
        lines: Sequence[Line],
        assembler: FrameAssembler,
        on_frame: Callable[[QueuedFrame], None],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.lines = tuple(lines)
        self.assembler = assembler
        self.stalls = 0
        self._failure: BaseException | None = None
        self.queue = FrameQueue(on_frame)
        self._clock_ns = clock_ns
        self._thread: threading.Thread | None = None
        self._wake_read, self._wake_write = -1, -1
        self._gathering_since_ns = 0
        self._has_gathered = False

    @property
    def is_running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def failure(self) -> BaseException | None:
        """Return what has ended a thread that should be running, None if all is well."""
        return self._failure or self.queue.failure

    def start(self) -> None:
        """Start the thread; lines open their ports in it."""
        assert self._thread is None
        self._failure = None
        self.queue.start()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name='tracker_lines', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the devices, close the ports and join the thread; harmless when not running."""
        if self._thread is None:
            return
        os.write(self._wake_write, b'x')
        self._thread.join(JOIN_TIMEOUT_S)
        os.close(self._wake_write)
        os.close(self._wake_read)
        self._thread = None
        self.queue.stop()

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as err:
            self._failure = err
            raise
        finally:
            for line in self.lines:
                line.stop()

    def _loop(self) -> None:
        self.assembler.restart()
        now_ns = time.monotonic_ns()
        self._gathering_since_ns, self._has_gathered = 0, False
        for line in self.lines:
            line.deadline_ns = now_ns
        while True:
            slept_at_ns = time.monotonic_ns()
            if slept_at_ns - now_ns > STALL_NS:
                self._skip_backlog(slept_at_ns)
            wait_s = self._wait_s(slept_at_ns)
            descriptors = {line.fileno(): i for i, line in enumerate(self.lines)}
            descriptors.pop(-1, None)
            ready, _, _ = select.select([self._wake_read, *descriptors], (), (), wait_s)
            arrival_ns = self._clock_ns()
            now_ns = time.monotonic_ns()
            if self._wake_read in ready:
                return
            if now_ns - slept_at_ns > STALL_NS + round(1e9 * wait_s):
                self._skip_backlog(now_ns)
                continue
            has_gathered = self._has_gathered
            for descriptor in ready:
                index = descriptors[descriptor]
                if self.lines[index].on_readable(now_ns, arrival_ns):
                    self._add(index, has_gathered, arrival_ns)
            for index, line in enumerate(self.lines):
                if now_ns >= line.deadline_ns and line.on_time(now_ns):
                    self._add(index, has_gathered, arrival_ns)
            self._gather(now_ns)
            while self.assembler.take(arrival_ns):
                self.queue.put(self.assembler.frame())

    def _wait_s(self, now_ns: int) -> float:
        wait_ns = min(line.deadline_ns for line in self.lines) - now_ns
        if self.assembler.is_collecting:
            wait_ns = min(wait_ns, self.assembler.wait_ns(self._clock_ns()))
        return max(wait_ns, 0) / 1e9

    def _add(self, index: int, has_gathered: bool, arrival_ns: int) -> None:
        stream = self.lines[index].stream
        if stream is None or not has_gathered:
            return
        placed = self.assembler.add(index, stream.batch)
        while placed < stream.batch.count:
            if self.assembler.take(arrival_ns, force=True):
                self.queue.put(self.assembler.frame())
            placed = self.assembler.add(index, stream.batch, placed)

    def _gather(self, now_ns: int) -> None:
        """Let frames begin when all lines have started, or one has waited for the others."""
        if self._has_gathered or not any(line.has_records for line in self.lines):
            return
        self._gathering_since_ns = self._gathering_since_ns or now_ns
        waited = now_ns - self._gathering_since_ns > GATHER_NS
        self._has_gathered = waited or all(line.has_records for line in self.lines)
        if self._has_gathered:
            # what piled up on some lines while the last one started belongs to no frame
            for line in self.lines:
                line.skip_backlog(now_ns)

    def _skip_backlog(self, now_ns: int) -> None:
        self.stalls += 1
        for line in self.lines:
            line.skip_backlog(now_ns)
