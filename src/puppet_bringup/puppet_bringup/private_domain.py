# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that nobody on this machine uses, so that two runs do not hear each other."""

from collections.abc import Iterator
import os
import socket

from puppet_core.errors import ConfigError

# Ports of a domain, DDSI-RTPS 9.6.1.1: 7400 + 250 d, unicast of the first participant at + 10.
PORT_BASE, DOMAIN_GAIN, FIRST_UNICAST = 7400, 250, 10
HIGHEST_DOMAIN = 101  # above it, ports reach into Linux' ephemeral range


def free_domain() -> int:
    """
    Return a domain id whose first participant port is free.

    Raises
    ------
    ConfigError : if all are taken.

    """
    for domain in _candidates():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', PORT_BASE + DOMAIN_GAIN * domain + FIRST_UNICAST))
            except OSError:
                continue
            return domain
    raise ConfigError(f'ROS_DOMAIN_ID: expected a free one in 1 to {HIGHEST_DOMAIN}, got none')


def _candidates() -> Iterator[int]:
    # begin somewhere else in each process, so that simultaneous starts rarely meet
    start = os.getpid()
    return (1 + (start + i) % HIGHEST_DOMAIN for i in range(HIGHEST_DOMAIN))
