# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a line needs of its port, and which kind of port a name stands for."""

from typing import Protocol

from puppet_driver.transport.network_port import is_network_name, open_network_port
from puppet_driver.transport.serial_port import SerialPort


class Port(Protocol):
    """What a line needs of a serial port or socket."""

    name: str

    def fileno(self) -> int:
        """Return the descriptor, for select."""

    def read(self) -> bytes:
        """Return what has arrived; raise LinkError if the device is gone."""

    def write(self, data: bytes) -> None:
        """Send a short command or raise LinkError."""

    def discard_input(self) -> None:
        """Forget the bytes that have arrived."""

    def close(self) -> None:
        """Close it; never raises."""


def open_port(name: str, baud_rate_bps: int) -> Port:
    """Return the open port of a name, the network's or a file's; raise LinkError."""
    return open_network_port(name) if is_network_name(name) else SerialPort(name, baud_rate_bps)
