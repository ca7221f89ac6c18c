# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""When a program that has died is started again: at once, then later and later."""

from collections.abc import Callable, Collection
import time

FIRST_DELAY_S = 0.1
GROWTH = 3.0
MAX_DELAY_S = 8.1
LASTING_S = 10.0  # a program that ran longer starts with the first delay again


class Restarts:
    """
    The programs that are to be started again, and when.

    Parameters
    ----------
    clock_s : callable
        Steady time [s].

    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._delays: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def started(self, name: str) -> None:
        """Take note that a program was started, when it was due or before."""
        self._started[name] = self._clock_s()
        self._due.pop(name, None)

    def died(self, name: str) -> float:
        """Return in how many seconds a program is to be started again [s]."""
        now_s = self._clock_s()
        lasted = now_s - self._started.get(name, now_s) >= LASTING_S
        delay_s = FIRST_DELAY_S
        if name in self._delays and not lasted:
            delay_s = min(self._delays[name] * GROWTH, MAX_DELAY_S)
        self._delays[name], self._due[name] = delay_s, now_s + delay_s
        return delay_s

    def due(self, held: Collection[str] = ()) -> list[str]:
        """Return the programs whose time has come, each once; not yet those that are held."""
        now_s = self._clock_s()
        names = [n for n, due_s in self._due.items() if due_s <= now_s and n not in held]
        for name in names:
            del self._due[name]
        return names

    @property
    def is_waiting(self) -> bool:
        """Whether a program is still to be started."""
        return bool(self._due)
