# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""When programs are started again, by a clock of the test."""

from puppet_bringup.respawner import FIRST_DELAY_S, LASTING_S, MAX_DELAY_S, Restarts
import pytest


class Clock:
    """Time that the test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_first_restart_comes_at_once_and_the_next_ones_later_and_later() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    delays = []
    for _ in range(8):
        restarts.started('filter')
        delays.append(restarts.died('filter'))
    assert delays[0] == FIRST_DELAY_S
    assert all(b > a or b == MAX_DELAY_S for a, b in zip(delays, delays[1:]))
    assert delays[-1] == MAX_DELAY_S


def test_a_program_that_lasted_begins_anew() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    for _ in range(3):
        restarts.started('filter')
        restarts.died('filter')
    restarts.started('filter')
    clock.now_s += LASTING_S
    assert restarts.died('filter') == FIRST_DELAY_S


def test_each_is_due_once_when_its_time_has_come_whatever_the_others_do() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    restarts.started('a')
    restarts.died('a')
    restarts.started('a')
    late_s = restarts.died('a')
    restarts.started('b')
    early_s = restarts.died('b')
    assert restarts.due() == []
    clock.now_s += early_s
    assert restarts.due() == ['b']
    assert restarts.is_waiting
    clock.now_s += late_s
    assert restarts.due() == ['a']
    assert restarts.due() == []
    assert not restarts.is_waiting


def test_what_was_started_before_it_was_due_is_not_due_any_more() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    delay_s = restarts.died('a')
    restarts.started('a')
    clock.now_s += 2.0 * delay_s
    assert restarts.due() == [] and not restarts.is_waiting


def test_never_faster_than_a_tenth_of_a_second() -> None:
    restarts = Restarts(Clock())
    assert restarts.died('never started') == pytest.approx(0.1)
