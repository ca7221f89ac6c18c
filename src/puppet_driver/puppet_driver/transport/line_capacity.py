# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How sensors are spread over serial lines, and how many a line can carry."""

from puppet_core.io import ConfigError

BITS_PER_BYTE_ON_LINE = 10  # start and stop bit, 8N1


def spread(n_sensors: int, n_lines: int) -> tuple[int, ...]:
    """
    Return the number of sensors on each line: as even as possible, more on the first ones.

    Raises
    ------
    ConfigError : if there are more lines than sensors, or none.

    """
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
    """
    Refuse lines that would have to carry more than they can.

    Raises
    ------
    ConfigError : saying how many lines are needed.

    """
    limit = sensors_per_line(baud_rate_bps, record_bytes, rate_hz)
    if max(counts) <= limit:
        return
    at = f'at {baud_rate_bps} bps and {rate_hz:g} Hz'
    if limit == 0:
        raise ConfigError(f'baud_rate_bps: expected enough for one sensor {at}; use a higher rate')
    needed = -(-sum(counts) // limit)
    raise ConfigError(
        f'ports: expected {needed} or more lines for {sum(counts)} sensors {at} '
        f'({limit} per line), got {len(counts)}'
    )


def burst_seconds(n_sensors: int, baud_rate_bps: int, record_bytes: int) -> float:
    """Return how long a line takes to send one tick's records [s]."""
    return n_sensors * record_bytes * BITS_PER_BYTE_ON_LINE / baud_rate_bps
