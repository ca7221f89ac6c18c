# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A cable that can be pulled, cut, disturbed and set to another speed while it is in use."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
import termios

import numpy as np
from puppet_driver.emulator.cable import Cable
from puppet_driver.emulator.pty_line import PtyLine

SPEEDS_BPS = {
    getattr(termios, f'B{rate}'): rate
    for rate in (2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)
    if hasattr(termios, f'B{rate}')
}


class FaultyCable:
    """
    A cable with faults; what it does is set by its attributes, from any thread.

    Parameters
    ----------
    cable : Cable
        The sound cable.
    remake : callable, optional
        Makes another one of the same name when it is plugged in again; without it, a
        pseudo-terminal.
    baud_rate_bps : int
        Speed of the device [bit/s].
    seed : int
        Of bit errors and of what a wrong speed makes of bytes.

    """

    def __init__(
        self, cable: Cable, baud_rate_bps: int = 115200, seed: int = 1,
        remake: Callable[[], Cable] | None = None,
    ) -> None:  # fmt: skip
        self.link = cable.link
        self._remake = remake or partial(PtyLine, Path(str(cable.link)))
        self.is_open = cable.is_open
        self.is_plugged = True
        self.is_cut = False
        """Whether bytes get lost both ways while the port stays."""
        self.bit_error_rate = 0.0
        """Probability that a bit on its way to the host is turned."""
        self.baud_rate_bps = baud_rate_bps
        self.keep_of_next = -1
        """How many bytes of the next burst pass; -1 all."""
        self.n_sent = 0
        """Bytes that have gone to the host."""
        self._cable: Cable | None = cable
        self._rng = np.random.default_rng(seed)

    def fileno(self) -> int:
        """Return the descriptor, for select; meaningful while `is_open`."""
        return self._cable.fileno() if self._cable is not None else -1

    def look(self) -> bool:
        """See whether a host has the port open; plug and unplug, in the server's thread."""
        was_open = self.is_open
        if self._cable is not None and not self.is_plugged:
            self._cable.close()
            self._cable = None
        elif self._cable is None and self.is_plugged:
            self._cable = self._remake()
        if self._cable is not None:
            self._cable.look()
        self.is_open = self._cable is not None and self._cable.is_open
        return self.is_open != was_open

    def receive(self) -> bytes:
        """Return what the host has sent and the device understands."""
        data = self._cable.receive() if self._cable is not None else b''
        return b'' if self.is_cut or not self._has_right_speed() else data

    def send(self, data: bytes) -> None:
        """Send to the host what the faults leave of it."""
        if self._cable is None or self.is_cut or not data:
            return
        if self.keep_of_next >= 0:
            data, self.keep_of_next = data[:self.keep_of_next], -1
        if not self._has_right_speed():
            data = self._rng.bytes(len(data))
        if self.bit_error_rate > 0.0:
            bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
            turned = self._rng.random(len(bits)) < self.bit_error_rate
            data = np.packbits(bits ^ turned).tobytes()
        self.n_sent += len(data)
        self._cable.send(data)

    def check_backlog(self) -> None:
        """See how much the host has not read."""
        if self._cable is not None:
            self._cable.check_backlog()

    def close(self) -> None:
        """Pull the cable for good."""
        if self._cable is not None:
            self._cable.close()
            self._cable = None

    def _has_right_speed(self) -> bool:
        if self._cable is None:
            return True
        try:
            speed = termios.tcgetattr(self._cable.fileno())[5]
        except termios.error:
            return True
        return SPEEDS_BPS.get(speed, self.baud_rate_bps) == self.baud_rate_bps
