# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Failures of tools become one sentence with the fix."""

from puppet_setup.faults import last_lines, likely_cause
import pytest


@pytest.mark.parametrize(('output', 'words'), [
    ("OSError: [Errno 28] No space left on device: '/x'", 'disk is full'),
    ('NewConnectionError(...): Failed to establish a new connection', 'cannot be reached'),
    ('socket.gaierror: [Errno -3] Temporary failure in name resolution', 'cannot be reached'),
    ('SSLError(SSLCertVerificationError(1, ...))', 'PIP_CERT'),
    ('ERROR: No matching distribution found for ros-rclpy==7.1.6', 'has no ros-rclpy==7.1.6'),
    ('the requirement setuptools==79.0.1 (from versions: none)', 'check the network'),
    ('No CMAKE_CXX_COMPILER could be found.', 'build-essential'),
    ('Could NOT find Python3 (missing: Python3_INCLUDE_DIRS Development)', 'python3-dev'),
    ("PermissionError: [Errno 13] Permission denied: '/x'", 'cannot be written'),
])
def test_known_causes_are_named(output: str, words: str) -> None:
    """One sentence, with what to do."""
    sentence = likely_cause(f'some line\n{output}\nanother line')
    assert words in sentence
    assert '\n' not in sentence


def test_network_comes_before_missing_package() -> None:
    """Without a network pip says both; the network is the reason."""
    output = 'NewConnectionError\nERROR: No matching distribution found for numpy==2.4.6'
    assert 'cannot be reached' in likely_cause(output)


def test_unknown_cause_is_not_guessed() -> None:
    """Then the end of the log is shown instead."""
    assert likely_cause('error: expected ; before }') == ''


def test_last_lines_leave_out_noise() -> None:
    """What pip says of a local package index is not why it failed."""
    output = "a\n\nWARNING: Location 'file:///x/' is ignored: it is neither ...\nb\n"
    assert last_lines(output) == 'a\nb'
    assert last_lines(output, count=1) == 'b'
