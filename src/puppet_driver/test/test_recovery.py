# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How soon records come again after each kind of fault has ended, by a clock made of numbers.

The waiting times are the parameters' defaults; whenever a fault may end within the driver's
round of attempts, it has a second at most. The same faults are in test_fault_run.py, on real
pseudo-terminals and the real node.

"""

from collections.abc import Callable

from line_bench import Bench, MS
import numpy as np
from puppet_core.io import defaults
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.line import LineState, RetryPolicy
from puppet_driver.errors import LinkError
from puppet_driver.parameters import DRIVER_ROWS
import pytest

PERIOD_MS = 8
LIMIT_MS = 1000
VALUES = defaults(DRIVER_ROWS)


@pytest.fixture
def bench() -> Bench:
    """Return a line that streams, with the default waiting times."""
    names = ('silence_timeout_s', 'retry_first_s', 'retry_last_s')
    one = Bench(retry_policy=RetryPolicy(*(VALUES[name] for name in names)))
    one.stream()
    one.play(200)
    assert one.records > 30
    return one


def unplug(bench: Bench) -> Callable[[], None]:
    """Take the port away."""
    bench.port.is_gone = True
    bench.port.arrived = b'x'
    open_port = bench.line._tracker.open_port

    def refuse() -> None:
        raise LinkError('port: expected a serial port, got no such file')

    bench.line._tracker.open_port = refuse

    def plug() -> None:
        bench.line._tracker.open_port = open_port

    return plug


def cut(bench: Bench) -> Callable[[], None]:
    """Let no byte pass either way."""
    device = bench.device
    hear, device.receive = device.receive, lambda data, now_s: b''
    bench.distort = lambda data: b''

    def mend() -> None:
        device.receive = hear
        bench.distort = bytes

    return mend


def other_speed(bench: Bench) -> Callable[[], None]:
    """Let the device speak and hear at another speed."""
    device, rng = bench.device, np.random.default_rng(4)
    hear = device.receive
    device.receive = lambda data, now_s: rng.bytes(len(data))
    bench.distort = lambda data: rng.bytes(len(data))

    def mend() -> None:
        device.receive = hear
        bench.distort = bytes

    return mend


def turn_bits(bench: Bench) -> Callable[[], None]:
    """Turn one bit in a hundred on the way to the host."""
    rng = np.random.default_rng(5)

    def turn(data: bytes) -> bytes:
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
        return np.packbits(bits ^ (rng.random(len(bits)) < 0.01)).tobytes()

    bench.distort = turn
    return lambda: setattr(bench, 'distort', bytes)


def lose_sensor(bench: Bench) -> Callable[[], None]:
    """Take one sensor off its unit."""
    unit = bench.device.sensor_units[1]
    unit.has_sensor = False
    return lambda: setattr(unit, 'has_sensor', True)


@pytest.mark.parametrize('fault', [unplug, cut, other_speed, turn_bits, lose_sensor])
@pytest.mark.parametrize('lasts_ms', [40, 520, 3000, 3111, 3222, 3333, 3444, 3555, 3666])
def test_records_come_again_within_a_second_of_the_faults_end(bench, fault, lasts_ms):
    end = fault(bench)
    bench.play(lasts_ms)
    end()
    ended_ns, before = bench.now_ns, bench.records
    while bench.records < before + 6 and bench.now_ns - ended_ns < 5 * LIMIT_MS * MS:
        bench.play(1)
    assert (bench.now_ns - ended_ns) / MS <= LIMIT_MS
    bench.play(600)
    # two sensors, each tick
    assert bench.records - before >= 2 * (600 // PERIOD_MS) - 2
    assert bench.line.state is LineState.STREAMING


def test_an_xoff_by_noise_is_undone_within_a_second(bench):
    bench.device.receive(flock.XOFF, bench.now_ns * 1e-9)
    assert not bench.device.is_sending
    before, since_ns = bench.records, bench.now_ns
    while bench.records < before + 6 and bench.now_ns - since_ns < 5 * LIMIT_MS * MS:
        bench.play(1)
    assert (bench.now_ns - since_ns) / MS <= LIMIT_MS


def test_a_device_that_lost_power_is_configured_again_within_a_second(bench):
    device = bench.device
    unit = device.sensor_units[0]
    told = unit.command, unit.hemisphere
    device.power_cycle()
    assert not device.is_sending and (unit.command, device.has_group_mode) != (told[0], True)
    before, since_ns = bench.records, bench.now_ns
    while bench.records < before + 6 and bench.now_ns - since_ns < 5 * LIMIT_MS * MS:
        bench.play(1)
    silence_ms = 1000.0 * VALUES['silence_timeout_s'] + 1000.0 * VALUES['auto_configure_pause_s']
    assert (bench.now_ns - since_ns) / MS <= LIMIT_MS + silence_ms
    assert (unit.command, unit.hemisphere) == told and device.has_group_mode
    assert bench.line.status.starts == 2


@pytest.mark.parametrize('index', [0, 1])
def test_a_single_unit_that_lost_power_is_configured_again(bench, index):
    """It goes on in a format that nobody asked for, while the other is understood."""
    unit = bench.device.sensor_units[index]
    told = unit.command
    unit.power_cycle()
    # the bench's records are fixed: what such a unit sends is encoded by the simulator itself
    bench.burst = lambda: b''.join(
        record.tobytes()
        for record in bench.device.encode(
            np.tile([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (1, 2, 1)), 0
        )
    )
    before = bench.records
    bench.play(4000)
    assert unit.command == told
    assert bench.line.state is LineState.STREAMING
    assert bench.records - before > 2 * 100


def test_half_a_record_costs_itself_only(bench):
    counters = bench.line.status.counters
    bench.distort = lambda data: data[:7]
    bench.play(PERIOD_MS)
    bench.distort = bytes
    bench.play(10 * PERIOD_MS)
    after = bench.line.status.counters
    assert after.records == counters.records + 2 * 10
    assert after.resyncs == counters.resyncs + 1
    assert after.discarded_bytes == counters.discarded_bytes + 7
    assert bench.line.status.starts == 1


def test_every_byte_of_a_noisy_line_is_a_record_or_counted(bench):
    sent = []
    turn_bits(bench)
    turned = bench.distort
    bench.distort = lambda data: sent.append(turned(data)) or sent[-1]
    first = bench.line.status.counters
    bench.play(3000)
    bench.distort = bytes
    bench.play(1)
    last = bench.line.status.counters
    n_bytes = sum(map(len, sent))
    accounted = 15 * (last.records - first.records)
    accounted += last.discarded_bytes - first.discarded_bytes
    # at most one record is still being collected
    assert 0 <= n_bytes - accounted <= 15
    assert last.records - first.records > 0.1 * n_bytes / 15
    assert bench.line.status.starts == 1


def test_a_missing_sensor_does_not_stop_the_other(bench):
    end = lose_sensor(bench)
    before = bench.records
    bench.play(3000)
    assert bench.records - before >= 3000 // PERIOD_MS - 1
    assert bench.line.status.starts == 1
    end()
