# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The driver's parameters: file and table agree, and what cannot work is refused."""

from driver_session import driver_config
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
from puppet_driver.devices import DEVICES, ignored_parameters
from puppet_driver.emulator.emulator import SIMULATORS
from puppet_driver.parameters import DRIVER_ROWS
from puppet_driver.transport import sensors_per_line, spread
import pytest


def config(**given):
    return driver_config(**{name.replace('__', '.'): value for name, value in given.items()})


def polhemus(device, n_lines, rate_hz):
    return {'device': device, 'ports': [f'p{i}' for i in range(n_lines)], 'rate_hz': rate_hz}


def motionstar(*ports, **given):
    return {'device': 'motionstar', 'ports': ports, **given}


def test_defaults_fit_the_nominal_load():
    assert config().sensors_per_line == (5, 5, 4)


@pytest.mark.parametrize(
    'given, text',
    [
        ({'ports': ['/dev/a', '/dev/b']}, r'ports: expected 3 or more lines for 14 .* got 2'),
        ({'ports': ['a', 'a', 'b']}, r"ports: expected different names, got 'a' twice"),
        ({'sensors': ['a', 'a'], 'ports': ['a']}, r"sensors: .* names, got 'a' twice"),
        ({'sensors': ['a', ''], 'ports': ['a']}, r'sensors: .* names, got an empty'),
        ({'range_in': 100}, r'range_in: expected one of 36, 72, 144, got 100'),
        ({'group_mode': False}, r'group_mode: expected true for 14 sensors on 3 port\(s\)'),
        ({'first_address': 123}, r'first_address: expected addresses up to 126, got 127'),
        ({'record_format': 'matrix'}, r"record_format: .* position_matrix, got 'matrix'"),
        ({'hemisphere': 'inner'}, r"hemisphere: expected one of front, .* got 'inner'"),
        ({'transmitter__position_m': [0.0, 1.0]}, r'transmitter.position_m: expected 3 element'),
        ({'rate_hz': -1.0}, r'rate_hz: expected 1.0 <= value <= 1000.0, got -1.0'),
        (
            {'baud_rate_bps': 9600},
            r'baud_rate_bps: expected a rate that is enough for one sensor at 9600 bps',
        ),
        ({'retry_first_s': 0.5}, r'retry_first_s: expected value <= retry_last_s = 0.1, got 0.5'),
        ({'rate_hz': 2.0}, r'silence_timeout_s: expected value > 0.5, a period of rate_hz = 2'),
        ({'baud_rate_bps': 100000}, r'baud_rate_bps: expected one of .* got 100000'),
        ({'ports': ['tcp://']}, r"ports: expected tcp://HOST\[:PORT\] or udp://.* got 'tcp://'"),
        ({'ports': ['tcp://lab:port']}, r"ports: expected a port number .* in 'tcp://lab:port'"),
        (polhemus('fastrak', 3, 10.0), 'ports: expected 4 or more for 14 .* 4 stations'),
        (polhemus('fastrak', 4, 120.0), r'rate_hz: expected value <= 30 for 4 sensor\(s\) on'),
        (polhemus('patriot', 6, 30.0), 'ports: expected 7 or more .* 2 stations, got 6'),
        (polhemus('patriot', 7, 120.0), 'rate_hz: expected value <= 60 of a .* PATRIOT'),
        (polhemus('liberty', 1, 240.0), 'ports: expected 14 or more lines for 14'),
        (motionstar('/dev/ttyUSB0'), r"ports: expected tcp://.* motionstar, got '/dev/ttyUSB0'"),
        (motionstar('tcp://host:70000'), 'ports: expected a port number'),
        (
            motionstar('tcp://a', 'udp://b'),
            'ports: expected all tcp://, all udp:// or .* tcp://a,',
        ),
        (motionstar('tcp://a', rate_hz=150.0), 'rate_hz: expected 20.0 <= value <= 144.0 for'),
        (motionstar('tcp://a', first_address=108), 'first_address: .* up to 120 .* got 121'),
        ({'device': 'sextant'}, r"device: expected one of flock_of_birds.* got 'sextant'"),
    ],
)
def test_impossible_parameters_are_refused_by_name(given, text):
    with pytest.raises(ConfigError, match=text):
        config(**given)


def test_frame_timeout_follows_from_rate_and_speed():
    assert config().frame_wait_s == pytest.approx(5 * 15 * 10 / 115200 + 0.02 + 3.0 / 120)
    assert config(frame_timeout_s=0.1).frame_wait_s == 0.1


def test_transmitter_turns_roll_first_and_yaw_last():
    rotation = config(transmitter__rpy_deg=[90.0, 0.0, 90.0]).transmitter[1]
    # up of the transmitter: rolled to the right (-y), then yawed to +x
    np.testing.assert_allclose(
        quaternions.rotate(rotation, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0], atol=1e-12
    )


@pytest.mark.parametrize(
    'device, given, ignored',
    [
        ('flock_of_birds', {'record_format': 'position_angles', 'range_in': 72}, ()),
        ('patriot', {}, ()),
        ('patriot', {'group_mode': False, 'range_in': 72}, ('group_mode', 'range_in')),
        ('fastrak', {'point_mode': True, 'first_address': 1}, ('point_mode', 'first_address')),
        ('motionstar', {'first_address': 1, 'baud_rate_bps': 57600}, ('baud_rate_bps',)),
        ('motionstar', {'record_format': 'position_angles'}, ('record_format',)),
        ('mock', {'hemisphere': 'aft', 'rate_hz': 60.0}, ('hemisphere',)),
    ],
)
def test_parameters_without_meaning_for_the_device_are_reported(device, given, ignored):
    ports = ['tcp://host'] if device == 'motionstar' else ['/dev/a']
    one = config(device=device, **{'ports': ports, 'sensors': ['a'], 'rate_hz': 50.0, **given})
    assert set(one.ignored) == set(ignored)


def test_every_device_knows_the_parameters_that_it_ignores():
    names = {row.name for row in DRIVER_ROWS}
    assert all(set(ignored_parameters(name)) <= names for name in DEVICES)
    assert {n for n, kind in DEVICES.items() if not kind.is_serial} == {'motionstar', 'mock'}


@pytest.mark.parametrize(
    'given, n_sensors, record_bytes',
    [
        ({}, (5, 5, 4), 15),
        (polhemus('fastrak', 4, 30.0), (4, 4, 3, 3), 33),
        (polhemus('fastrak_ascii', 4, 30.0), (4, 4, 3, 3), 54),
        (polhemus('liberty', 1, 20.0), (14,), 38),
        (polhemus('patriot', 7, 60.0), (2,) * 7, 38),
        ({'device': 'motionstar', 'ports': ['udp://a', 'udp://b']}, (7, 7), 16),
    ],
)
def test_trackers_share_the_sensors_out_and_read_what_simulators_send(
    given, n_sensors, record_bytes
):
    trackers = config(**given).trackers
    assert tuple(t.n_sensors for t in trackers) == n_sensors
    assert {t.record_bytes for t in trackers} == {record_bytes}
    assert SIMULATORS[given.get('device', 'flock_of_birds')].record_bytes == record_bytes


@given(st.integers(1, 100), st.integers(1, 20))
def test_sensors_are_spread_evenly(n_sensors, n_lines):
    if n_lines > n_sensors:
        return
    counts = spread(n_sensors, n_lines)
    assert sum(counts) == n_sensors and max(counts) - min(counts) <= 1
    assert sorted(counts, reverse=True) == list(counts)


@pytest.mark.parametrize('n_lines', [0, 15])
def test_impossible_numbers_of_lines_are_refused(n_lines):
    with pytest.raises(ConfigError, match=r'ports: expected 1 to 14 line\(s\)'):
        spread(14, n_lines)


@pytest.mark.parametrize('rate_hz, count', [(144.0, 5), (120.0, 6), (100.0, 7)])
def test_line_capacity_is_the_documented_one(rate_hz, count):
    # TRACKERS.md: 768 records/s at 115200 bps: 5 sensors at 144 Hz or 6 at 120 Hz
    assert sensors_per_line(115200, 15, rate_hz) == count
