# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory a process has, and how much of it is its own, as Linux tells it."""

from pathlib import Path
from typing import NamedTuple

MB = 1e6
KIB_MB = 1024 / MB


class Memory(NamedTuple):
    """Memory of one process [MB]."""

    rss_mb: float
    """Resident, memory shared with others included."""

    heap_mb: float
    """What it has made itself, swapped or not: what a leak is."""

    uss_mb: float
    """What is its alone, pages of files included that just now no other has."""

    pss_mb: float
    """Proportional set size: private memory and its part of the shared memory."""


def memory_of(pid: int) -> Memory:
    """
    Return the memory of a process.

    Raises
    ------
    OSError : if it has ended.

    """
    lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()[1:]
    kib = {words[0]: int(words[1]) for words in map(str.split, lines)}
    return Memory(
        kib['Rss:'] * KIB_MB,
        (kib['Anonymous:'] + kib['Swap:']) * KIB_MB,
        (kib['Private_Clean:'] + kib['Private_Dirty:']) * KIB_MB,
        kib['Pss:'] * KIB_MB,
    )
