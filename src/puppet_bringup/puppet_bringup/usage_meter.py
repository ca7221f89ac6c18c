# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What each process of a running graph uses, the watching one included."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import psutil
from puppet_bringup.supervisor import Child
from puppet_ros.process import memory_of

MONITOR = 'monitor'
MB = 1e6


class Usage(NamedTuple):
    """What one process uses."""

    cpu_percent: float
    """Fraction of a core since the last poll."""

    rss_mb: float
    """Resident memory, memory shared with others included."""

    heap_mb: float = float('nan')
    """Memory that it has made itself, swapped or not: what a leak is; NaN if not asked for."""

    uss_mb: float = float('nan')
    """Memory that is its alone, pages of files included that just now no other has."""

    pss_mb: float = float('nan')
    """Proportional set size: private memory and its part of the shared memory."""

    threads: float = float('nan')
    """Threads, a whole number."""

    files: float = float('nan')
    """Open files, sockets and pipes, a whole number."""


class UsageMeter:
    """
    CPU load and memory of children from poll to poll.

    Parameters
    ----------
    children : sequence of Child
        Those that run.

    """

    def __init__(self, children: Sequence[Child]) -> None:
        self._processes = {MONITOR: psutil.Process()}
        for child in children:
            with suppress(psutil.Error):
                self._processes[child.name] = psutil.Process(child.popen.pid)
        for process in self._processes.values():
            process.cpu_percent()

    @property
    def names(self) -> tuple[str, ...]:
        """All processes, in the order of their start."""
        return tuple(self._processes)

    def read(self, in_full: bool = False) -> dict[str, Usage]:
        """
        Return name -> what it used since the last poll; what has ended is left out.

        Parameters
        ----------
        in_full : bool
            Whether to ask for more than processor and resident memory. The kernel then walks
            the pages of each process, for milliseconds.

        """
        usage = {}
        for name, process in self._processes.items():
            with suppress(psutil.Error, OSError), process.oneshot():
                if in_full:
                    memory = memory_of(process.pid)
                    usage[name] = Usage(
                        process.cpu_percent(),
                        *memory,
                        process.num_threads(),
                        process.num_fds(),
                    )
                else:
                    usage[name] = Usage(process.cpu_percent(), process.memory_info().rss / MB)
        return usage
