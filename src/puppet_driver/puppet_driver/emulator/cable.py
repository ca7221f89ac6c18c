# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the emulator's loop needs of a cable and of what is sent over it: interfaces."""

from typing import Protocol

from puppet_core.arrays import Floats


class Cable(Protocol):
    """The way to one host; nothing in it ever blocks."""

    is_open: bool
    """Whether a host is there."""

    @property
    def link(self) -> object:
        """Name under which a host finds it, as a text."""

    def fileno(self) -> int:
        """Return the descriptor, for select; meaningful while `is_open`."""

    def look(self) -> bool:
        """See whether a host is there; return whether that is news."""

    def receive(self) -> bytes:
        """Return what the host has sent, empty if nothing or gone."""

    def send(self, data: bytes) -> None:
        """Send to the host, or drop what it does not take."""

    def check_backlog(self) -> None:
        """See how much the host has not read; to be called a few times a second."""

    def close(self) -> None:
        """Pull it."""


class Bursts(Protocol):
    """What one device sends at each tick."""

    def load(self, start_tick: int, poses: Floats) -> None:
        """Take the poses (n_ticks, all sensors, 7) of the ticks from `start_tick` on."""

    def prepare(self) -> None:
        """Do beforehand what takes time, in the form that the host wants now."""

    def burst(self, tick: int) -> bytes:
        """Return what is sent at a tick of the block."""
