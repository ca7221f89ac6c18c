# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Serial and network ports, and the thread that reads them."""

from puppet_driver.transport.line_capacity import (
    burst_seconds,
    check_bandwidth,
    sensors_per_line,
    spread,
)
from puppet_driver.transport.network_port import (
    Endpoint,
    is_network_name,
    open_network_port,
    parse_endpoint,
    SCHEMES,
    TcpPort,
    UdpPort,
)
from puppet_driver.transport.port import open_port, Port
from puppet_driver.transport.serial_port import MAX_READ_BYTES

__all__ = [
    'Endpoint',
    'MAX_READ_BYTES',
    'Port',
    'SCHEMES',
    'TcpPort',
    'UdpPort',
    'burst_seconds',
    'check_bandwidth',
    'is_network_name',
    'open_network_port',
    'open_port',
    'parse_endpoint',
    'sensors_per_line',
    'spread',
]
