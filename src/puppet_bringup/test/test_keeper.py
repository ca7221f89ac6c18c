# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that die are started again, those that are done or held are not."""

from collections.abc import Callable, Iterator
import os
import signal
import sys
import time

from puppet_bringup.keeper import Keeper, News
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


def _keeper(group: Supervisor, command: list[str]) -> tuple[Keeper, list[News]]:
    keeper = Keeper(group, [('a', command)], lambda _, code: code == 0)
    keeper.start('a')
    return keeper, []


def test_what_was_killed_is_told_and_started_again(group: Supervisor) -> None:
    keeper, news = _keeper(group, SLEEPER)
    first = group.child('a')
    os.kill(first.popen.pid, signal.SIGKILL)
    assert _until(lambda: bool(news.extend(keeper.tick())) or group.child('a') is not first)
    assert [(n.exit_code, n.text.split(';')[0]) for n in news] == [
        (-signal.SIGKILL, 'was ended by SIGKILL'), (None, 'started again'),
    ]  # fmt: skip
    assert not keeper.is_idle


def test_what_is_done_stays_down(group: Supervisor) -> None:
    keeper, news = _keeper(group, DONE)
    assert _until(lambda: bool(news.extend(keeper.tick())) or bool(news))
    assert news == [News('a', 'ended with exit code 0', 0)]
    assert keeper.is_idle


def test_what_is_held_stays_down_until_it_is_released(group: Supervisor) -> None:
    keeper, news = _keeper(group, SLEEPER)
    first = group.child('a')
    keeper.hold('a')
    os.kill(first.popen.pid, signal.SIGKILL)
    deadline = time.monotonic() + 1.0  # ten times the first delay
    assert not _until_deadline(keeper, lambda: group.child('a') is not first, deadline)
    keeper.release('a')
    assert _until(lambda: bool(keeper.tick()) or group.child('a') is not first)


def _until_deadline(keeper: Keeper, condition: Callable[[], bool], deadline: float) -> bool:
    while not condition() and time.monotonic() < deadline:
        keeper.tick()
    return condition()
