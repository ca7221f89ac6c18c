# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose and repeatably: bad samples and bytes, and a transport that fails."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
import termios

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions
from puppet_driver.emulator.pty_transport import PtyTransport
from puppet_driver.emulator.server import Transport

OUTLIER_M = 0.3  # standard deviation per axis of a wild sample
OUTLIER_RAD = 0.5


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Probabilities."""

    drop_out: float = 0.0
    """That a record is not sent, per record."""

    outlier: float = 0.0
    """That a sample is far off, per record."""

    bad_byte: float = 0.0
    """That a byte is lost, doubled or garbled on the line, per byte."""

    def __post_init__(self) -> None:
        for name in ('drop_out', 'outlier', 'bad_byte'):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f'{name}: expected 0.0 <= value <= 1.0, got {value}')


class Faults:
    """A seeded source of faults."""

    def __init__(self, rates: FaultRates, seed: int) -> None:
        self._rates = rates
        self._rng = np.random.default_rng((seed, 1))

    def add_outliers(self, poses: Floats) -> Floats:
        """Return poses (..., 7) of which some are far off."""
        if self._rates.outlier == 0.0:
            return poses
        wild = self._rng.random(poses.shape[:-1]) < self._rates.outlier
        thrown = poses.copy()
        n_wild = int(wild.sum())
        thrown[wild, :3] += self._rng.normal(0.0, OUTLIER_M, (n_wild, 3))
        turns = quaternions.exp(self._rng.normal(0.0, OUTLIER_RAD, (n_wild, 3)))
        thrown[wild, 3:] = quaternions.multiply(thrown[wild, 3:], turns)
        return thrown

    def drops(self, n_ticks: int, n_sensors: int) -> np.ndarray:
        """Return which records are not sent, bool, shape (n_ticks, n_sensors)."""
        if self._rates.drop_out == 0.0:
            return np.zeros((n_ticks, n_sensors), dtype=bool)
        return self._rng.random((n_ticks, n_sensors)) < self._rates.drop_out

    def corrupt(self, data: bytes) -> bytes:
        """Return `data` with some bytes lost, doubled or replaced."""
        if self._rates.bad_byte == 0.0:
            return data
        bad = np.flatnonzero(self._rng.random(len(data)) < self._rates.bad_byte)
        garbled = bytearray(data)
        for i in bad[::-1]:
            kind = self._rng.integers(3)
            if kind == 0:
                del garbled[i]
            elif kind == 1:
                garbled.insert(i, garbled[i])
            else:
                garbled[i] = self._rng.integers(256)
        return bytes(garbled)


SPEEDS_BPS = {
    getattr(termios, f'B{rate}'): rate
    for rate in (2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)
    if hasattr(termios, f'B{rate}')
}


class FaultyTransport:
    """
    A transport with faults, set by its attributes from any thread.

    Parameters
    ----------
    cable : Transport
        The transport without faults.
    remake : callable, optional
        Makes another one of the same name when it is plugged in again; without it, a
        pseudo-terminal.
    baud_rate_bps : int
        Speed of the device [bit/s].
    seed : int
        Of bit errors and of what a wrong speed makes of bytes.

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
        self.is_cut = False
        """Whether bytes get lost both ways while the port stays."""
        self.bit_error_rate = 0.0
        """Probability that a bit on its way to the host is turned."""
        self.baud_rate_bps = baud_rate_bps
        self.keep_of_next = -1
        """How many bytes of the next packet pass; -1 for all."""
        self.n_sent = 0
        """Bytes that have gone to the host."""
        self._transport: Transport | None = cable
        self._rng = np.random.default_rng(seed)

    def fileno(self) -> int:
        """Return the descriptor, for select; meaningful while `is_open`."""
        return self._transport.fileno() if self._transport is not None else -1

    def look(self) -> bool:
        """See whether a host has the port open; plug and unplug, in the server's thread."""
        was_open = self.is_open
        if self._transport is not None and not self.is_plugged:
            self._transport.close()
            self._transport = None
        elif self._transport is None and self.is_plugged:
            self._transport = self._remake()
        if self._transport is not None:
            self._transport.look()
        self.is_open = self._transport is not None and self._transport.is_open
        return self.is_open != was_open

    def receive(self) -> bytes:
        """Return what the host has sent and the device understands."""
        data = self._transport.receive() if self._transport is not None else b''
        return b'' if self.is_cut or not self._has_right_speed() else data

    def send(self, data: bytes) -> None:
        """Send to the host what the faults leave of it."""
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

    def check_backlog(self) -> None:
        """See how much the host has not read."""
        if self._transport is not None:
            self._transport.check_backlog()

    def close(self) -> None:
        """Close the transport for good."""
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
