# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that die are started again, later and later; those that are done are not."""

import os
import signal
import sys
import time

from puppet_bringup.respawner import (
    DELAYS_S,
    LASTING_S,
    MOST_ERRORS,
    News,
    NODE_NAME,
    ProcessReport,
    Respawner,
    Restarts,
)
from puppet_bringup.supervisor import Supervisor
from puppet_ros.interface_table import DIAGNOSTICS, TOPICS
from puppet_ros.testing import isolated_context
import pytest

DEADLINE_S = 60.0
SLEEPER = [sys.executable, '-c', 'import signal; signal.pause()']
KILLED = -signal.SIGKILL
DONE = [sys.executable, '-c', '']


@pytest.fixture
def group():
    with Supervisor(lambda name, line: None, os.environ) as supervisor:
        yield supervisor


def _until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < deadline:
        os.sched_yield()
    return condition()


def _keeper(group, command):
    respawner = Respawner(group, [('a', command)], lambda *_: False)
    respawner.start('a')
    return respawner, []


def test_killed_program_is_reported_and_restarted(group):
    respawner, news = _keeper(group, SLEEPER)
    first = group.child('a')
    os.kill(first.popen.pid, signal.SIGKILL)
    assert _until(lambda: bool(news.extend(respawner.tick())) or group.child('a') is not first)
    assert [(n.exit_code, n.text.split(';')[0]) for n in news] == [
        (-signal.SIGKILL, 'was ended by SIGKILL'),
        (None, 'started again'),
    ]
    assert not respawner.is_idle


def test_finished_program_is_not_restarted(group):
    respawner, news = _keeper(group, DONE)
    assert _until(lambda: bool(news.extend(respawner.tick())) or bool(news))
    assert news == [News('a', 'ended with exit code 0', 0, is_last=True)]
    assert respawner.is_idle


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_the_first_restart_comes_at_once_and_the_next_ones_later_and_later(clock):
    restarts = Restarts(clock)
    delays = []
    for _ in range(8):
        restarts.started('filter')
        delays.append(restarts.died('filter', KILLED))
    assert delays[0] == 0.0
    assert all(b > a or b == DELAYS_S[-1] for a, b in zip(delays, delays[1:]))
    assert delays[-1] == DELAYS_S[-1]


def test_a_program_that_lasted_begins_anew(clock):
    restarts = Restarts(clock)
    for _ in range(3):
        restarts.started('filter')
        restarts.died('filter', 1)
    restarts.started('filter')
    clock.now_s += LASTING_S
    assert restarts.died('filter', 1) == 0.0


@pytest.mark.parametrize('code', [0, 2])
def test_a_program_that_is_done_or_refuses_its_input_is_not_started_again(clock, code):
    assert Restarts(clock).died('filter', code) is None


def test_an_error_that_repeats_at_once_is_the_last():
    restarts = Restarts(Clock())
    found = [restarts.died('filter', code) for code in (1, KILLED, *[1] * MOST_ERRORS)]
    assert [delay_s is None for delay_s in found] == [False] * (MOST_ERRORS + 1) + [True]


def test_each_is_due_once_when_its_time_has_come_whatever_the_others_do(clock):
    restarts = Restarts(clock)
    for name in 'aaabb':  # the third death of a, the second of b
        restarts.started(name)
        restarts.died(name, KILLED)
    assert restarts.due() == []
    clock.now_s += DELAYS_S[1]
    assert restarts.due() == ['b']
    assert restarts.is_waiting
    clock.now_s += DELAYS_S[2]
    assert restarts.due() == ['a']
    assert restarts.due() == []
    assert not restarts.is_waiting


def test_early_restart_cancels_the_one_that_was_due(clock):
    restarts = Restarts(clock)
    restarts.died('a', KILLED)
    delay_s = restarts.died('a', KILLED)
    restarts.started('a')
    clock.now_s += 2.0 * delay_s
    assert restarts.due() == [] and not restarts.is_waiting


@pytest.mark.ros
def test_the_report_offers_no_service_that_nobody_would_answer():
    with isolated_context() as context:
        node = ProcessReport(['filter'], context=context)
        assert list(node.services) == []
        assert DIAGNOSTICS in {publisher.topic_name for publisher in node.publishers}
    assert any(t.name == DIAGNOSTICS and NODE_NAME in t.publishers for t in TOPICS)
