# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A reader of lines that can be started and stopped again and again, one run after the other."""

from collections.abc import Callable, Sequence
import time

from puppet_driver import reader_run
from puppet_driver.frame_assembler import FrameAssembler
from puppet_driver.frame_queue import FrameQueue, QueuedFrame
from puppet_driver.line import Line
from puppet_driver.reader_run import ReaderRun, Strays


class LineReader:
    """
    Lines and an assembler, and the run that works on them.

    A run that does not end in time keeps what it has; the next one gets successors with the
    same totals.

    Parameters
    ----------
    lines : sequence of Line
        In the order of the assembler's lines.
    assembler : FrameAssembler
        Used by the run's thread alone while it runs.
    on_frame : callable
        Called with each frame, through a FrameQueue, so that it holds up nothing but itself.
    clock_ns : callable
        The clock of stamps [ns].
    strays : Strays, optional
        Runs left behind by earlier readers, to be shared with later ones.

    """

    def __init__(
        self,
        lines: Sequence[Line],
        assembler: FrameAssembler,
        on_frame: Callable[[QueuedFrame], None],
        clock_ns: Callable[[], int] = time.time_ns,
        strays: Strays | None = None,
    ) -> None:
        self.lines = tuple(lines)
        self.assembler = assembler
        self.queue = FrameQueue(on_frame)
        """Of the present run, or of the last one."""
        self.strays = Strays() if strays is None else strays
        self._on_frame = on_frame
        self._clock_ns = clock_ns
        self._run: ReaderRun | None = None
        self._failure: BaseException | None = None
        self._past = (0, 0, 0)

    @property
    def is_running(self) -> bool:
        """Whether the lines are being read."""
        return self._run is not None and self._run.is_running

    @property
    def failure(self) -> BaseException | None:
        """Return what has ended a run that should be going on, None if all is well."""
        if self._run is None:
            return self._failure
        return self._run.failure or self._run.queue.failure

    @property
    def stalls(self) -> int:
        """How often the reading slept and skipped what had piled up."""
        return self._totals()[0]

    @property
    def stalled_ticks(self) -> int:
        """How many ticks the device sent meanwhile, about."""
        return self._totals()[1]

    @property
    def dropped(self) -> int:
        """How many frames had to go because the consumer was held up."""
        return self._totals()[2]

    def start(self) -> None:
        """
        Start a run; lines open their ports in its thread.

        Raises
        ------
        LinkError : if too many earlier runs have not ended.

        """
        assert self._run is None
        self._failure = None
        self.strays.check()
        self.queue = FrameQueue(self._on_frame)
        run = ReaderRun(self.lines, self.assembler, self.queue, self._clock_ns)
        run.start()
        self._run = run

    def stop(self) -> None:
        """Stop the devices, close the ports, end the run; harmless when not running."""
        run = self._run
        if run is None:
            return
        has_ended = run.stop(reader_run.JOIN_TIMEOUT_S)
        self._failure = self.failure
        self._past, self._run = self._totals(), None
        if not has_ended:
            self.strays.add(run)
            self.lines = tuple(line.successor() for line in run.lines)
            self.assembler = self.assembler.successor()

    def _totals(self) -> tuple[int, int, int]:
        stalls, ticks, dropped = self._past
        run = self._run
        if run is None:
            return self._past
        return stalls + run.stalls, ticks + run.stalled_ticks, dropped + run.queue.dropped
