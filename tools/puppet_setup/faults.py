# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Failures of the set-up, said in one sentence with the fix."""

import re

# What the output of a failed command says -> what it means and what to do.
KNOWN_CAUSES = (
    (r'No space left on device',
     'the disk is full; free some room (about 2 GB are needed) and run the command again'),
    (r'Temporary failure in name resolution|NewConnectionError|Network is unreachable'
     r'|Max retries exceeded|ConnectionResetError|ReadTimeoutError|ProxyError',
     'the Python package index cannot be reached; check the network, the proxy settings or'
     ' PIP_INDEX_URL, and run the command again'),
    (r'SSLError|CERTIFICATE_VERIFY_FAILED',
     'the certificate of the Python package index is not trusted; set PIP_CERT to your'
     ' certificates'),
    (r'requirement (\S+) \(from versions: none\)',
     'the Python package index does not answer for {0}, or does not have it; check the network'
     ' and PIP_INDEX_URL, and run the command again'),
    (r'No matching distribution found for (\S+)',
     'the Python package index has no {0} for this machine; wheels exist for Linux on x86-64 with'
     ' CPython 3.10 to 3.13, elsewhere install ROS 2 Jazzy or Kilted and source it'),
    (r'No CMAKE_CXX_COMPILER could be found|c\+\+: not found',
     'no C++ compiler; install one (Debian and Ubuntu: sudo apt install build-essential)'),
    (r'Could NOT find Python3? \(missing: [^)]*(?:Development|Include)',
     'the headers of Python are missing; install them (Debian and Ubuntu: sudo apt install'
     ' python3-dev)'),
    (r'Permission denied', 'a file cannot be written; check who owns the checkout'),
)

# What pip says on machines with a local package index, once per package: not worth reading.
NOISE = re.compile(r'^WARNING: Location .* is ignored')


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def likely_cause(output: str) -> str:
    """Return the sentence for the first known cause in the output; empty if none is known."""
    for pattern, sentence in KNOWN_CAUSES:
        match = re.search(pattern, output)
        if match:
            return sentence.format(*match.groups())
    return ''


def last_lines(output: str, count: int = 15) -> str:
    """Return the last lines of the output that are worth reading."""
    lines = [line for line in output.splitlines() if line.strip() and not NOISE.match(line)]
    return '\n'.join(lines[-count:])
