# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Network ports of programs that died, kept from the ones that are started in their place.

A participant of DDS takes the first free ports of its domain. One that takes those of a dead
one is found slowly, up to two seconds after its start, because the others still address the
dead one there until its lease of 20 s is over; on ports that nobody knows it is found in a
tenth of a second. So while a program is started again the free ports below are occupied.

"""

from collections.abc import Callable
from contextlib import suppress
import os
import socket
import time

from puppet_ros.private_domain import (
    DOMAIN_GAIN,
    FIRST_UNICAST,
    PARTICIPANT_GAIN,
    PORT_BASE,
)

LEASE_S = 25.0  # a dead participant is forgotten by then
SPARE = 2  # further ports: the dead one's may have been the highest
MOST = 24  # participants; beyond 32 others do not look on this machine


class FreshPorts:
    """
    Occupies ports for a while.

    Parameters
    ----------
    domain : int
        ROS domain.
    clock_s : callable
        Steady time [s].

    """

    def __init__(
        self, domain: int | None = None, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._first = PORT_BASE + FIRST_UNICAST + DOMAIN_GAIN * (
            domain_of_environment() if domain is None else domain
        )
        self._clock_s = clock_s
        self._held: dict[int, tuple[socket.socket, float]] = {}

    def occupy(self) -> None:
        """Occupy the free ports next to those in use."""
        self.expire()
        now_s = self._clock_s()
        free: dict[int, socket.socket] = {}
        last = -1
        for number in range(MOST):
            if number in self._held:
                last = number
                continue
            bound = _bind(self._first + PARTICIPANT_GAIN * number)
            if bound is None:
                last = number
            else:
                free[number] = bound
        for number, bound in free.items():
            if number <= last + SPARE and last + SPARE < MOST:
                self._held[number] = bound, now_s
            else:
                bound.close()

    def expire(self) -> None:
        """Give up what was held long enough; to be called now and then."""
        now_s = self._clock_s()
        for number, (held, since_s) in list(self._held.items()):
            if now_s - since_s > LEASE_S:
                held.close()
                del self._held[number]

    def close(self) -> None:
        """Give all up."""
        for held, _ in self._held.values():
            held.close()
        self._held.clear()


def domain_of_environment() -> int:
    """Return the ROS domain that programs started from here are on."""
    with suppress(ValueError):
        return int(os.environ.get('ROS_DOMAIN_ID', '') or 0)
    return 0


def _bind(port: int) -> socket.socket | None:
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        bound.bind(('', port))
    except (OSError, OverflowError):
        bound.close()
        return None
    return bound
