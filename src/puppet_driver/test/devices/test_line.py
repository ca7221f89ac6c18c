# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A line's life, told by a clock made of numbers."""

from line_bench import Bench, MS
from puppet_driver.errors import LinkError
import pytest


@pytest.fixture
def bench():
    return Bench()


def test_a_line_opens_starts_and_streams(bench):
    bench.stream()
    assert bench.device.is_sending and not bench.line.has_records
    bench.send(bench.bursts(4))
    assert bench.line.has_records
    assert bench.news == [(False, 'port: Flock of Birds streams 2 sensor(s)')]


@pytest.mark.parametrize('error, wait_ms', [(1, 100), (2, 200), (3, 400), (6, 1000)])
def test_retries_wait_longer_each_time_up_to_a_second(bench, error, wait_ms):
    bench.refusals = [LinkError(f'port: nothing there {i}') for i in range(error)]
    while bench.refusals:
        bench.run(1)
    assert bench.line.deadline_ns - bench.now_ns == wait_ms * MS


def test_the_same_error_is_reported_once(bench):
    bench.refusals = [LinkError('port: expected a free port, got a busy one')] * 5
    bench.run(3000)
    errors = [text for is_error, text in bench.news if is_error]
    assert errors == ['port: expected a free port, got a busy one; trying again']


def test_bytes_without_records_hint_at_the_speed(bench):
    bench.stream()
    for _ in range(5):
        bench.send(bytes((0x80, 0x01, 0x02)) * 20)
        bench.run(99)
    bench.run(20)
    assert 'check baud rate, format and addresses' in bench.line.status.error


def test_skipping_a_backlog_also_forgets_half_a_record(bench):
    bench.stream()
    bench.send(bench.bursts(1)[:7])
    n_before = bench.port.discards
    bench.line.skip_backlog(bench.now_ns)
    bench.send(bench.burst()[7:15])
    bench.run(2)
    assert bench.line.status.counters.records == 0 and bench.port.discards == n_before + 1


def test_an_error_code_is_asked_for_again_when_a_silent_device_comes_back(bench):
    bench.stream()
    bench.send(bench.bursts(2))
    assert bench.line.status.notes == ()
    bench.device.error_code = 29
    bench.run(510)
    bench.stream()
    (note,) = bench.line.status.notes
    assert note == 'before this start the device had error 29 (transmitter off)'
    bench.run(510)
    bench.stream()
    assert bench.line.status.notes == ()
