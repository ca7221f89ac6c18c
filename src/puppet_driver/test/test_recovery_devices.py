# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How soon every kind of device is back after each kind of fault, by a clock made of numbers.

As test_recovery.py for the Flock of Birds; the same faults on real pseudo-terminals and sockets
are in test_fault_devices.py.

"""

from collections.abc import Callable
from dataclasses import replace

from line_bench import MS
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import LineState, RetryPolicy
from puppet_driver.devices.polhemus import XOFF
import pytest
from simulator_bench import PERIODS_MS, TwinBench
from test_recovery import cut, LIMIT_MS, other_speed, turn_bits, unplug, VALUES

SERIAL = ('fastrak', 'fastrak_ascii', 'liberty', 'patriot')
LASTS_MS = (60, 520, 3000, 3137, 3274, 3411, 3548)


@pytest.fixture
def bench(name: str) -> TwinBench:
    """Return a line that streams, with the default waiting times."""
    names = ('silence_timeout_s', 'retry_first_s', 'retry_last_s')
    one = TwinBench(name, RetryPolicy(*(VALUES[name] for name in names)))
    one.warm()
    return one


def lose_sensor(bench: TwinBench) -> Callable[[], None]:
    """Take one sensor off."""
    bench.lose_sensor()
    return bench.find_sensor


def reset(bench: TwinBench) -> Callable[[], None]:
    """Break the connection off; a new one stands at once."""
    bench.port.is_gone = True
    bench.port.arrived = b'x'
    return lambda: None


def half_open(bench: TwinBench) -> Callable[[], None]:
    """Let the device forget the connection, without a word to the host."""
    mend = cut(bench)
    bench.device.on_disconnect()
    open_port = bench.line._tracker.open_port

    def open_anew() -> object:
        mend()
        return open_port()

    bench.line._tracker.open_port = open_anew
    return lambda: None


def since(bench: TwinBench, began_ns: int, before: int) -> float:
    """Play until records come again; return the time since then [ms]."""
    while bench.records < before + 6 and bench.now_ns - began_ns < 5 * LIMIT_MS * MS:
        bench.play(1)
    return (bench.now_ns - began_ns) / MS


@pytest.mark.parametrize('lasts_ms', LASTS_MS)
@pytest.mark.parametrize(
    'name, fault',
    [
        *((name, fault) for name in PERIODS_MS for fault in (unplug, cut, turn_bits, lose_sensor)),
        *((name, other_speed) for name in SERIAL),
    ],
)
def test_records_come_again_within_a_second_of_the_faults_end(bench, fault, lasts_ms):
    end = fault(bench)
    bench.play(lasts_ms)
    end()
    before = bench.records
    assert since(bench, bench.now_ns, before) <= LIMIT_MS
    bench.play(600)
    assert bench.records - before >= 2 * (600 // bench.period_ms - CONFIRMATIONS)
    assert bench.line.state is LineState.STREAMING


@pytest.mark.parametrize('fault', [reset, half_open])
@pytest.mark.parametrize('name', ['motionstar'])
def test_a_lost_connection_is_made_anew_within_a_second(bench, fault):
    began_ns, before = bench.now_ns, bench.records
    fault(bench)
    assert since(bench, began_ns, before) <= LIMIT_MS
    assert bench.line.status.starts == 2


@pytest.mark.parametrize('name', SERIAL)
def test_an_xoff_by_noise_is_undone_within_a_second(bench):
    began_ns, before = bench.now_ns, bench.records
    bench.device.receive(XOFF, began_ns * 1e-9)
    assert not bench.device.is_sending
    assert since(bench, began_ns, before) <= LIMIT_MS
    assert bench.line.status.starts == 2


@pytest.mark.parametrize('name', PERIODS_MS)
def test_half_a_record_costs_itself_only(bench):
    counters = bench.line.status.counters
    half = bench.config.trackers[0].record_bytes // 2
    bench.distort = lambda data: data[:half]
    bench.play(bench.period_ms)
    bench.distort = bytes
    bench.play(10 * bench.period_ms)
    after = bench.line.status.counters
    assert after.records == counters.records + 2 * 10
    assert after.resyncs == counters.resyncs + 1
    assert after.discarded_bytes == counters.discarded_bytes + half
    assert (
        replace(after, records=0, resyncs=0, discarded_bytes=0)
        == replace(counters, records=0, resyncs=0, discarded_bytes=0)
        and bench.line.status.starts == 1
    )


@pytest.mark.parametrize('name', PERIODS_MS)
def test_a_missing_sensor_does_not_stop_the_other(bench):
    bench.run(1)
    bench.lose_sensor()
    counters = bench.line.status.counters
    bench.play(100 * bench.period_ms)
    bench.run(1)
    after = bench.line.status.counters
    assert after == replace(counters, records=counters.records + 100)
    assert bench.line.status.starts == 1
