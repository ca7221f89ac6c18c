# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Words by which a program asks the system to run it at once, on processors of its own.

What the system refuses is said in a sentence, and the program runs as ordinary ones do. It is to
be asked for when a program has started: what takes long then must not hold up those that run.

"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
import os
import struct
from typing import Any, NamedTuple

from puppet_core.errors import ConfigError

REALTIME, PIN = '--realtime', '--pin='
PRIORITY = 10  # of 1 to 99: before all ordinary programs, after what the system itself needs
NO_CLASSES = 'realtime: expected a system with scheduling classes, got another'
SLEEP_STATES = '/dev/cpu_dma_latency'  # the kernel's PM QoS: held open, it bounds the wake-up


class Scheduling(NamedTuple):
    """How a program wants to run."""

    realtime: bool = False
    """Before all ordinary programs, on processors that do not go to sleep."""

    cores: tuple[int, ...] = ()
    """Only on these processors; empty for all."""

    def words(self) -> tuple[str, ...]:
        """Return the arguments that say so."""
        pin = (PIN + ','.join(map(str, self.cores)),) if self.cores else ()
        return ((REALTIME,) if self.realtime else ()) + pin

    def of_node(self, number: int) -> 'Scheduling':
        """
        Return how the n-th node on the way of a frame runs: on one of the processors, in turns.

        Its receiving thread then wakes the working one where the caches have both, and with two
        processors or more the next node's is free meanwhile.

        """
        if not self.cores:
            return self
        return self._replace(cores=(self.cores[number % len(self.cores)],))

    def apply(self) -> list[str]:
        """Ask for it for all threads of this process; return what was refused, a sentence each."""
        refused = []
        threads = _threads()
        if self.cores:
            try:
                for thread in threads:
                    os.sched_setaffinity(thread, self.cores)
            except (OSError, AttributeError):
                got = ', '.join(map(str, self.cores))
                refused.append(f'pin: expected processors of this machine, got {got}')
        if self.realtime:
            refused += _run_first(threads) + _stay_awake()
        return refused


ORDINARY = Scheduling()


def cores_of(text: str) -> tuple[int, ...]:
    """
    Return the processors of a list such as 2,3; none of an empty text.

    Raises
    ------
    ConfigError : for another text.

    """
    words = [word.strip() for word in text.split(',')] if text.strip() else []
    if not all(word.isdecimal() for word in words):
        raise ConfigError(f'pin: expected numbers of processors such as 2,3, got {text!r}')
    return tuple(int(word) for word in words)


def split_words(words: Sequence[str]) -> tuple[Scheduling, list[str]]:
    """Return what a command line asks for, and its other words."""
    cores = [cores_of(word[len(PIN):]) for word in words if word.startswith(PIN)]
    rest = [word for word in words if word != REALTIME and not word.startswith(PIN)]
    return Scheduling(REALTIME in words, cores[-1] if cores else ()), rest


@contextmanager
def running_first() -> Iterator[list[str]]:
    """
    Run this process before ordinary programs, then as before; yield what was refused.

    Processors may sleep meanwhile, unless another program keeps them awake.

    """
    before = _class_of_caller()
    refused = [NO_CLASSES] if before is None else _run_first(_threads())
    try:
        yield refused
    finally:
        if before is not None and not refused:
            for thread in _threads():  # also those that began meanwhile
                with suppress(OSError):  # it may have ended
                    os.sched_setscheduler(thread, *before)


def _threads() -> list[int]:
    """Return the threads of this process; where they cannot be listed, what means the caller."""
    try:
        return [int(name) for name in os.listdir('/proc/self/task')]
    except OSError:
        return [0]


def _class_of_caller() -> tuple[int, Any] | None:
    """Return scheduling class and parameters of this thread; None where there are none."""
    try:
        return os.sched_getscheduler(0), os.sched_getparam(0)
    except (OSError, AttributeError):
        return None


def _run_first(threads: Sequence[int]) -> list[str]:
    try:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (OSError, AttributeError):
        return [
            f'realtime: expected the right to priority {PRIORITY}, got none; '
            f'give it by a line such as "@puppet - rtprio {PRIORITY}" in /etc/security/limits.conf'
        ]
    return []


def _stay_awake() -> list[str]:
    """Keep processors from sleeping while this process lives: its descriptor is left open."""
    try:
        descriptor = os.open(SLEEP_STATES, os.O_RDWR | os.O_CLOEXEC)
        os.write(descriptor, struct.pack('i', 0))  # [us]
    except OSError as err:
        return [f'realtime: expected to write to {SLEEP_STATES}, got {err.strerror}; '
                'processors may sleep between frames']  # fmt: skip
    return []
