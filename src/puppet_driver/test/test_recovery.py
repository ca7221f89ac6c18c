# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How soon every kind of device is back after each kind of fault, by a clock made of numbers.

The waiting times are the parameters' defaults; whenever a fault may end within the driver's
round of attempts, it has a second at most.
"""

from dataclasses import replace

from line_bench import Bench, MS, PERIODS_MS
import numpy as np
from puppet_core.io import defaults
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import LineState, RetryPolicy
from puppet_driver.devices.polhemus import XOFF
from puppet_driver.errors import LinkError
from puppet_driver.parameters import DRIVER_ROWS
import pytest

pytestmark = pytest.mark.slow

SERIAL = ('flock_of_birds', 'fastrak', 'fastrak_ascii', 'liberty', 'patriot')
LASTS_MS = (60, 3000, 3274, 3548)
LIMIT_MS = 1000
VALUES = defaults(DRIVER_ROWS)


@pytest.fixture
def bench(name):
    names = ('silence_timeout_s', 'retry_first_s', 'retry_last_s')
    one = Bench(name, RetryPolicy(*(VALUES[name] for name in names)))
    one.warm()
    return one


def unplug(bench):
    bench.port.is_gone = True
    bench.port.arrived = b'x'
    open_port = bench.line._tracker.open_port

    def refuse():
        raise LinkError('port: expected a serial port, got no such file')

    bench.line._tracker.open_port = refuse

    def plug():
        bench.line._tracker.open_port = open_port

    return plug


def cut(bench, heard=lambda data: b''):
    device = bench.device
    hear, device.receive = device.receive, lambda data, now_s: heard(data)
    bench.distort = heard

    def mend():
        device.receive = hear
        bench.distort = bytes

    return mend


def other_speed(bench):
    rng = np.random.default_rng(4)
    return cut(bench, lambda data: rng.bytes(len(data)))


def turn_bits(bench):
    rng = np.random.default_rng(5)

    def turn(data):
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
        return np.packbits(bits ^ (rng.random(len(bits)) < 0.01)).tobytes()

    bench.distort = turn
    return lambda: setattr(bench, 'distort', bytes)


def lose_sensor(bench):
    bench.set_sensor(False)
    return lambda: bench.set_sensor(True)


def reset(bench):
    bench.port.is_gone = True
    bench.port.arrived = b'x'
    return lambda: None


def half_open(bench):
    mend = cut(bench)
    bench.device.on_disconnect()
    open_port = bench.line._tracker.open_port

    def open_anew():
        mend()
        return open_port()

    bench.line._tracker.open_port = open_anew
    return lambda: None


def since(bench, began_ns, before):
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
    bench.set_sensor(False)
    counters = bench.line.status.counters
    bench.play(100 * bench.period_ms)
    bench.run(1)
    after = bench.line.status.counters
    assert after == replace(counters, records=counters.records + 100)
    assert bench.line.status.starts == 1


@pytest.mark.parametrize('name', ['flock_of_birds'])
def test_a_device_that_lost_power_is_configured_again_within_a_second(bench):
    device = bench.device
    unit = device.sensor_units[0]
    told = unit.command, unit.hemisphere
    device.power_cycle()
    assert not device.is_sending and (unit.command, device.has_group_mode) != (told[0], True)
    silence_ms = 1000.0 * VALUES['silence_timeout_s'] + 1000.0 * VALUES['auto_configure_pause_s']
    assert since(bench, bench.now_ns, bench.records) <= LIMIT_MS + silence_ms
    assert (unit.command, unit.hemisphere) == told and device.has_group_mode
    assert bench.line.status.starts == 2
