# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that die are started again, those that are done or held are not."""

from collections.abc import Callable, Iterator
import os
import signal
import sys
import time

from puppet_bringup.respawner import News, Respawner
from puppet_bringup.supervisor import Supervisor
import pytest

DEADLINE_S = 60.0
SLEEPER = [sys.executable, '-c', 'import signal; signal.pause()']
DONE = [sys.executable, '-c', '']


@pytest.fixture
def group() -> Iterator[Supervisor]:
    """Return a supervisor that ends with the test."""
    with Supervisor(lambda name, line: None, os.environ) as supervisor:
        yield supervisor


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < deadline:
        os.sched_yield()
    return condition()


def _keeper(group: Supervisor, command: list[str]) -> tuple[Respawner, list[News]]:
    respawner = Respawner(group, [('a', command)], lambda _, code: code == 0)
    respawner.start('a')
    return respawner, []


def test_what_was_killed_is_told_and_started_again(group: Supervisor) -> None:
    respawner, news = _keeper(group, SLEEPER)
    first = group.child('a')
    os.kill(first.popen.pid, signal.SIGKILL)
    assert _until(lambda: bool(news.extend(respawner.tick())) or group.child('a') is not first)
    assert [(n.exit_code, n.text.split(';')[0]) for n in news] == [
        (-signal.SIGKILL, 'was ended by SIGKILL'),
        (None, 'started again'),
    ]
    assert not respawner.is_idle


def test_what_is_done_stays_down(group: Supervisor) -> None:
    respawner, news = _keeper(group, DONE)
    assert _until(lambda: bool(news.extend(respawner.tick())) or bool(news))
    assert news == [News('a', 'ended with exit code 0', 0)]
    assert respawner.is_idle


def test_what_is_held_stays_down_until_it_is_released(group: Supervisor) -> None:
    respawner, news = _keeper(group, SLEEPER)
    first = group.child('a')
    respawner.hold('a')
    os.kill(first.popen.pid, signal.SIGKILL)
    deadline = time.monotonic() + 1.0  # ten times the first delay
    assert not _until_deadline(respawner, lambda: group.child('a') is not first, deadline)
    respawner.release('a')
    assert _until(lambda: bool(respawner.tick()) or group.child('a') is not first)


def _until_deadline(respawner: Respawner, condition: Callable[[], bool], deadline: float) -> bool:
    while not condition() and time.monotonic() < deadline:
        respawner.tick()
    return condition()
