# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A run that is held up is left behind."""

import os
import threading

from driver_session import driver_config
from puppet_driver.devices.line import LineState
from puppet_driver.devices.mock import MockPort
from puppet_driver.driver import make_reader, Reporter
from puppet_driver.errors import LinkError
from puppet_driver.frames import line_reader as reader_run
import pytest

GIVEN = {'device': 'mock', 'ports': ['mock'], 'sensors': ['a', 'b'], 'rate_hz': 200.0}


class Held:
    def __init__(self):
        self.config = driver_config(**GIVEN)
        self.frames = []
        self.news = []
        self.ports = []
        self.may_open = threading.Event()
        self.may_take = threading.Event()
        self.is_opening = threading.Event()
        self.is_taking = threading.Event()
        self.may_open.set()
        self.may_take.set()
        self.reader = make_reader(self.config, self._take, lambda _, text: self.news.append(text))
        self.reader.lines[0]._tracker.open_port = self._open

    def _take(self, frame):
        self.is_taking.set()
        self.may_take.wait(30.0)
        self.frames.append((threading.current_thread(), frame))

    def _open(self):
        self.is_opening.set()
        self.may_open.wait(30.0)
        port = MockPort('mock', range(2), 200.0)
        self.ports.append(port)
        return port

    def has(self, n_frames):
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted


@pytest.fixture
def held(monkeypatch):
    monkeypatch.setattr(reader_run, 'JOIN_TIMEOUT_S', 0.05)
    one = Held()
    yield one
    one.may_open.set()
    one.may_take.set()
    one.reader.stop()


def test_a_run_held_up_in_opening_says_nothing_to_anybody_later(held, wait_until):
    held.may_open.clear()
    held.reader.start()
    assert held.is_opening.wait(10.0)
    held.reader.stop()
    assert not held.reader.is_running
    assert held.reader.is_held_up
    held.may_open.set()
    assert wait_until(lambda: not held.reader.is_held_up)
    (late_port,) = held.ports
    assert late_port._has_ended.is_set() and not held.frames and not held.news
    held.reader.start()
    assert wait_until(held.has(5))
    assert held.reader.lines[0].state is LineState.STREAMING
    assert held.news == ['mock: mock tracker streams 2 sensor(s)']
    assert len({thread for thread, _ in held.frames}) <= 2  # of the new run


def test_a_run_held_up_in_a_consumer_delivers_nothing_later(held, wait_until):
    held.reader.start()
    assert wait_until(held.has(5))
    held.is_taking.clear()
    held.may_take.clear()
    assert held.is_taking.wait(10.0)
    records = held.reader.lines[0].status.counters.records
    held.reader.stop()
    assert held.reader.is_held_up
    old_threads = {held.reader._thread}
    n_before = len(held.frames)
    held.may_take.set()
    assert wait_until(lambda: not held.reader.is_held_up)
    held.reader.start()
    assert wait_until(held.has(20))
    assert sum(thread in old_threads for thread, _ in held.frames[n_before:]) <= 1
    assert held.reader.lines[0].status.counters.records > records
    stamps_ns = [f.stamp_ns for thread, f in held.frames if thread not in old_threads]
    assert stamps_ns == sorted(set(stamps_ns))


def test_no_run_starts_beside_one_that_is_held_up(held, wait_until):
    held.may_open.clear()
    held.reader.start()
    assert held.is_opening.wait(10.0)
    held.reader.stop()
    n_threads = threading.active_count()
    for _ in range(3):
        with pytest.raises(LinkError, match='holds up'):
            held.reader.start()
        held.reader.stop()
    assert threading.active_count() == n_threads
    report = Reporter(held.config).poll(held.reader)
    assert any('the last run has not ended' in text for text in report.warnings)
    held.may_open.set()
    assert wait_until(lambda: not held.reader.is_held_up)
    held.reader.start()
    assert wait_until(held.has(5))


def test_lines_are_closed_whatever_one_of_them_raises(held, wait_until):
    n_open = len(os.listdir('/proc/self/fd'))
    held.reader.start()
    assert wait_until(held.has(5))
    (port,) = held.ports
    close = port.close

    def fail():
        close()
        raise RuntimeError('a defect')

    port.close = fail
    held.reader.stop()
    assert str(held.reader.failure) == 'a defect' and not held.reader.is_running
    assert len(os.listdir('/proc/self/fd')) == n_open
    held.reader.start()
    assert held.reader.failure is None and wait_until(held.has(5))
