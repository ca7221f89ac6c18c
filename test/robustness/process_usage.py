# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What processes use, memory in full: what a leak is, and what is shared."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from puppet_bringup.monitor import UsageMeter

KIB_MB = 1024e-6


class Memory(NamedTuple):
    """Memory of one process [MB]."""

    rss_mb: float  # Resident, memory shared with others included
    heap_mb: float  # What it has made itself, swapped or not: what a leak is
    uss_mb: float  # What is its alone, pages of files included that just now no other has
    pss_mb: float  # Proportional set size: private memory and its part of the shared memory


class FullUsage(NamedTuple):
    """What one process uses: a fraction of a core since the last poll, memory, whole numbers."""

    cpu_percent: float
    rss_mb: float
    heap_mb: float
    uss_mb: float
    pss_mb: float
    threads: float
    files: float  # Open files, sockets and pipes


def memory_of(pid: int) -> Memory:
    """Return the memory of a process; raise OSError if it has ended."""
    lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()[1:]
    kib = {words[0]: int(words[1]) for words in map(str.split, lines)}
    parts = (('Rss:',), ('Anonymous:', 'Swap:'), ('Private_Clean:', 'Private_Dirty:'), ('Pss:',))
    return Memory(*(KIB_MB * sum(kib[name] for name in names) for names in parts))


def read_in_full(meter: UsageMeter) -> dict[str, FullUsage]:
    """Return name -> use since the last poll of what runs; takes milliseconds."""
    usage = {}
    for name, process in meter.processes.items():
        with suppress(psutil.Error, OSError), process.oneshot():
            usage[name] = FullUsage(
                process.cpu_percent(),
                *memory_of(process.pid),
                process.num_threads(),
                process.num_fds(),
            )
    return usage
