# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A transport of the tracker emulator with faults, for tests of several packages."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
import termios

import numpy as np
from puppet_driver.emulator.transports import PtyTransport, Transport

SPEEDS_BPS = {
    getattr(termios, f'B{rate}'): rate
    for rate in (2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)
    if hasattr(termios, f'B{rate}')
}


class FaultyTransport:
    """
    A transport with faults, set by its attributes from any thread.

    `remake` makes another one of the same name when it is plugged in again; without it, a
    pseudo-terminal. `seed` is of bit errors and of what a wrong speed makes of bytes.
    """

    def __init__(
        self,
        cable: Transport,
        baud_rate_bps: int = 115200,
        seed: int = 1,
        remake: Callable[[], Transport] | None = None,
    ) -> None:
        self.link = cable.link
        self._remake = remake or partial(PtyTransport, Path(str(cable.link)))
        self.is_open = cable.is_open
        self.is_plugged = True
        self.is_cut = False  # Whether bytes get lost both ways while the port stays
        self.bit_error_rate = 0.0  # Probability that a bit on its way to the host is turned
        self.baud_rate_bps = baud_rate_bps
        self.keep_of_next = -1  # How many bytes of the next packet pass; -1 for all
        self.n_sent = 0  # Bytes that have gone to the host
        self._transport: Transport | None = cable
        self._rng = np.random.default_rng(seed)

    def fileno(self) -> int:
        return self._transport.fileno() if self._transport is not None else -1

    def poll(self) -> None:
        if self._transport is not None and not self.is_plugged:
            self._transport.close()
            self._transport = None
        elif self._transport is None and self.is_plugged:
            self._transport = self._remake()
        if self._transport is not None:
            self._transport.poll()
        self.is_open = self._transport is not None and self._transport.is_open

    def receive(self) -> bytes:
        data = self._transport.receive() if self._transport is not None else b''
        return b'' if self.is_cut or not self._has_right_speed() else data

    def send(self, data: bytes) -> None:
        if self._transport is None or self.is_cut or not data:
            return
        if self.keep_of_next >= 0:
            data, self.keep_of_next = data[: self.keep_of_next], -1
        if not self._has_right_speed():
            data = self._rng.bytes(len(data))
        if self.bit_error_rate > 0.0:
            bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
            turned = self._rng.random(len(bits)) < self.bit_error_rate
            data = np.packbits(bits ^ turned).tobytes()
        self.n_sent += len(data)
        self._transport.send(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _has_right_speed(self) -> bool:
        if self._transport is None:
            return True
        try:
            speed = termios.tcgetattr(self._transport.fileno())[5]
        except termios.error:
            return True
        return SPEEDS_BPS.get(speed, self.baud_rate_bps) == self.baud_rate_bps
