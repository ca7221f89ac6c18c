# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Serial and network ports, which kind a name stands for, and how much a serial line carries."""

from typing import Protocol

from puppet_core.io import ConfigError
from puppet_driver.transport.network_port import (
    Endpoint,
    is_network_name,
    NetworkPort,
    parse_endpoint,
    SCHEMES,
)
from puppet_driver.transport.serial_port import MAX_READ_BYTES, SerialPort

BITS_PER_BYTE_ON_LINE = 10  # start and stop bit, 8N1


class Port(Protocol):
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
    return NetworkPort(name) if is_network_name(name) else SerialPort(name, baud_rate_bps)


def spread(n_sensors: int, n_lines: int) -> tuple[int, ...]:
    """Return the sensors on each line, evenly, more on the first; ConfigError if one has none."""
    if not 1 <= n_lines <= n_sensors:
        raise ConfigError(
            f'ports: expected 1 to {n_sensors} line(s) for {n_sensors} sensor(s), got {n_lines}'
        )
    each, rest = divmod(n_sensors, n_lines)
    return tuple(each + (line < rest) for line in range(n_lines))


def sensors_per_line(baud_rate_bps: int, record_bytes: int, rate_hz: float) -> int:
    """Return how many sensors' records a line carries at a rate."""
    records_per_second = baud_rate_bps / BITS_PER_BYTE_ON_LINE / record_bytes
    return int(records_per_second / rate_hz)


def check_bandwidth(
    counts: tuple[int, ...], baud_rate_bps: int, record_bytes: int, rate_hz: float
) -> None:
    """Refuse lines that would carry too much; the ConfigError says how many are needed."""
    limit = sensors_per_line(baud_rate_bps, record_bytes, rate_hz)
    if max(counts) <= limit:
        return
    at = f'at {baud_rate_bps} bps and {rate_hz:g} Hz'
    if limit == 0:
        raise ConfigError(
            f'baud_rate_bps: expected a rate that is enough for one sensor {at}; use a higher one'
        )
    needed = -(-sum(counts) // limit)
    raise ConfigError(
        f'ports: expected {needed} or more lines for {sum(counts)} sensors {at} '
        f'({limit} per line), got {len(counts)}'
    )


def burst_seconds(n_sensors: int, baud_rate_bps: int, record_bytes: int) -> float:
    """Return how long a line takes to send one tick's records [s]."""
    return n_sensors * record_bytes * BITS_PER_BYTE_ON_LINE / baud_rate_bps
