# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs from a standby are children as others are: heard, ended, waited for."""

from collections.abc import Callable, Iterator
import os
import signal
import sys
import time

import psutil
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.process import Process  # noqa: E402,I100
from puppet_bringup.program import child_environment, command_line  # noqa: E402
from puppet_bringup.standby_client import ForkedProcess  # noqa: E402
from puppet_bringup.supervisor import Supervisor  # noqa: E402
from puppet_core.errors import ConfigError  # noqa: E402
from puppet_ros import share  # noqa: E402
from puppet_ros.private_domain import free_domain  # noqa: E402

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(sys.platform != 'linux', reason='only Linux has subreapers'),
]
DEADLINE_S = 60.0
PROGRAM = 'pose_filter'


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < deadline:
        os.sched_yield()
    return condition()


def _command(*words: str) -> list[str]:
    try:
        process = Process('filter', 'puppet_filter', PROGRAM, is_node=False, arguments=words)
        return command_line(process, share.config_dir())
    except ConfigError:
        pytest.skip('the suite is not installed: build the workspace first')


@pytest.fixture(scope='module')
def group() -> Iterator[Supervisor]:
    """Return a supervisor whose standby is ready."""
    environ = child_environment(os.environ, ROS_DOMAIN_ID=str(free_domain()))
    _command()
    with Supervisor(lambda name, line: None, environ) as supervisor:
        supervisor.prepare([PROGRAM])
        assert supervisor._standby is not None
        assert _until(lambda: supervisor._standby.is_ready)
        standby = psutil.Process(supervisor._standby._popen.pid)
        yield supervisor
    assert not standby.is_running()


def test_exit_codes_and_lines_come_through(group: Supervisor) -> None:
    helped = group.start('help', _command('--help'))
    refused = group.start('refused', _command('--nonsense'))
    assert isinstance(helped.popen, ForkedProcess)
    assert _until(lambda: helped.exit_code is not None and refused.exit_code is not None)
    assert (helped.exit_code, refused.exit_code) == (0, 2)
    group.ended()
    assert any('pose_filter' in line for line in helped.lines)
    assert any('--nonsense' in line for line in refused.lines)


def test_a_node_is_ended_and_killed_as_any_other(group: Supervisor) -> None:
    for name, number, code in (('a', signal.SIGINT, 0), ('b', signal.SIGKILL, -signal.SIGKILL)):
        child = group.start(name, _command('--ros-args', '-r', f'__node:={name}', '--log-level',
                                           'debug'))  # fmt: skip
        assert isinstance(child.popen, ForkedProcess)
        assert _until(lambda child=child: len(child.lines) > 0)
        assert os.getpgid(child.popen.pid) == child.popen.pid
        child.popen.send_signal(number)
        assert _until(lambda child=child: child.exit_code is not None)
        assert child.exit_code == code, list(child.lines)


def test_programs_that_it_does_not_know_start_in_the_usual_way(group: Supervisor) -> None:
    child = group.start('other', [sys.executable, '-c', 'print("here")'])
    assert not isinstance(child.popen, ForkedProcess)
    assert _until(lambda: child.exit_code == 0)
