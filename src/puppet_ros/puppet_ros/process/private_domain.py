# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that nobody on this machine uses, so that two runs do not hear each other."""

from collections.abc import Iterator
import os
import socket

from puppet_core.io import ConfigError

# Ports of a domain, DDSI-RTPS 9.6.1.1: 7400 + 250 d; participant p listens at + 10 + 2 p.
PORT_BASE, DOMAIN_GAIN, FIRST_UNICAST, PARTICIPANT_GAIN = 7400, 250, 10, 2
N_PARTICIPANTS = 10  # probed; the first of a domain may have a later number
HIGHEST_DOMAIN = 101  # above it, ports reach into Linux' ephemeral range

# Of domains that this process was given: no participant may listen there yet.
_reserved: dict[int, socket.socket] = {}


def free_domain() -> int:
    """
    Return a domain id of which no participant listens on this machine.

    No other process is given it while this one lives.

    Raises
    ------
    ConfigError : if all are taken.

    """
    for domain in _candidates():
        first = PORT_BASE + DOMAIN_GAIN * domain + FIRST_UNICAST
        ports = (first + PARTICIPANT_GAIN * p for p in range(N_PARTICIPANTS))
        if all(_is_free(port) for port in ports) and _reserve(domain):
            return domain
    raise ConfigError(f'ROS_DOMAIN_ID: expected a free one in 1 to {HIGHEST_DOMAIN}, got none')


def _candidates() -> Iterator[int]:
    # begin somewhere else in each process, so that simultaneous starts rarely meet
    start = os.getpid()
    return (1 + (start + i) % HIGHEST_DOMAIN for i in range(HIGHEST_DOMAIN))


def _reserve(domain: int) -> bool:
    """Return whether this process may have a domain: of a name only one socket is bound."""
    if domain not in _reserved:
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            mark.bind(f'\0puppet_domain_{domain}')  # no file, gone with the process
        except OSError:
            mark.close()
            return False
        _reserved[domain] = mark
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True
