# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A closed terminal ends a graph with its processes and its folder."""

from collections.abc import Callable
import fcntl
import os
import pty
import subprocess
import sys
import termios
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from marked_processes import program  # noqa: E402,I100
from puppet_ros.process import free_domain  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DEADLINE_S = 280.0  # a first compilation of the kernels fits
FOLDERS = 'puppet_up_*'


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return condition()


@pytest.fixture
def environ(mark, tmp_path):
    """Return that of a graph of its own, with its own place for temporary files."""
    return {
        **os.environ,
        'TMPDIR': str(tmp_path),
        'ROS_DOMAIN_ID': str(free_domain()),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }


@pytest.fixture
def terminal():
    """Yield both ends of a terminal; a test may close the first."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(theirs)


def test_up_whose_terminal_is_closed_leaves_nothing(environ, terminal, tmp_path):
    ours, theirs = terminal
    up = subprocess.Popen(
        [sys.executable, program('puppet_up'), 'sim'],
        env=environ,
        start_new_session=True,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    )
    try:
        assert _until(lambda: any(tmp_path.glob(FOLDERS)))
        os.close(ours)
        up.wait(DEADLINE_S)
    finally:
        up.kill()
    assert not any(tmp_path.glob(FOLDERS))
