# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Mounting, noise, faults and bytes of the emulator."""

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.math import quaternions
from puppet_core.procedural.calibration_motion import range_of_motion
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator import performer
from puppet_driver.emulator.emulator import (
    EmulatorConfig,
    measured_poses,
    SIMULATORS,
    within_range,
)
from puppet_driver.emulator.emulator import performance as performed
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.emulator.simulator import FaultRates, Faults, LinePackets
from puppet_driver.parameters import DEFAULT_SENSORS
import pytest

RATE_HZ = 120.0


@pytest.fixture
def poses(rng):
    """Return an array of poses within range, shape (20, 3, 7)."""
    poses = rng.normal(size=(20, 3, 7))
    poses[..., 3:] = quaternions.normalize(poses[..., 3:])
    return poses


def test_noise_has_the_levels_asked_for():
    noise = performer.SensorNoise(performer.NoiseLevels(0.5, 0.05, 0.3, 0.03), 14, RATE_HZ, 1)
    block = np.concatenate([noise.block(k * 60, 60) for k in range(60)])
    assert np.std(block[..., :3]) == pytest.approx(np.hypot(0.5e-3, 0.3e-3), rel=0.1)
    assert np.std(block[..., 3:]) == pytest.approx(np.radians(np.hypot(0.05, 0.03)), rel=0.1)


def test_source_plays_the_opening_once_and_the_loop_for_ever():
    source = performer.SensorPoses(np.zeros((10, 1, 7)), loop_start=4)
    frames = source.frames(np.arange(20))
    expected = list(range(10)) + [4, 5, 6, 7, 8, 9] + [4, 5, 6, 7]
    np.testing.assert_array_equal(frames, expected)


def test_bursts_follow_the_devices_choices(poses):
    device = FlockSimulator(3)
    packets = LinePackets(device, slice(0, 3), Faults(FaultRates(), 1))
    packets.load(100, poses)
    assert len(packets.burst(100)) == 12
    device.receive(flock.change(flock.GROUP_MODE, [1]), 0.0)
    for address in (2, 3, 4):
        device.receive(flock.address_prefix(address) + b']', 0.0)
    assert len(packets.burst(119)) == 45 and packets.burst(119)[14::15] == bytes((2, 3, 4))


def test_a_line_without_any_sensor_sends_nothing_until_one_is_back(poses):
    device = FlockSimulator(3)
    packets = LinePackets(device, slice(0, 3), Faults(FaultRates(), 1))
    packets.load(0, poses)
    whole, units = packets.burst(0), device.sensor_units
    for unit in units:
        unit.has_sensor = False
    device.version += 1
    assert packets.burst(0) == b'' == packets.burst(len(poses) - 1)
    units[0].has_sensor = True
    device.version += 1
    assert packets.burst(0) == whole != b''


def test_a_range_of_motion_can_be_performed_instead_of_the_show(tmp_path):
    config = EmulatorConfig(links=(tmp_path / 'line0',), rate_hz=60.0)
    body = load_character(named_files.character_file('performer'))
    looped = performed(config, body, None, 1.0, 'range')
    expected = range_of_motion(body, 60.0, 1.0)
    np.testing.assert_array_equal(looped.motion.rotations, expected.rotations)
    assert within_range(config, looped) is looped


@pytest.mark.parametrize('device', SIMULATORS)
def test_sensors_on_props_are_measured_as_the_worn_ones_are(device, tmp_path):
    sensors = (*DEFAULT_SENSORS, 'box', 'table')
    n_lines = -(-len(sensors) // min(SIMULATORS[device].max_sensors, len(sensors)))
    links = tuple(tmp_path / f'line{i}' for i in range(n_lines))
    config = EmulatorConfig(links, device, sensors, transmitter_position_m=(0.5, 0.0, 1.0))
    body = load_character(named_files.character_file('performer'))
    looped = performed(config, body, None, 1.0, 'carry')
    assert within_range(config, looped) is looped
    assert len(config.make_devices()) == n_lines
    measured = measured_poses(config, looped, Faults(FaultRates(), 1)).block(0, 2000)[:, 14:]
    props = looped.motion.props.at(np.arange(2000))
    away = measured[..., :3] - (props.positions - [0.5, 0.0, 1.0])
    turn = quaternions.multiply(quaternions.conjugate(props.orientations), measured[..., 3:])
    noise = np.std(away), np.std(quaternions.log(turn))
    np.testing.assert_allclose(noise, (0.58e-3, np.radians(0.058)), rtol=0.2)


def test_props_are_moved_with_the_performer_into_range(tmp_path):
    config = EmulatorConfig(links=(tmp_path / 'x',), transmitter_position_m=(20.0, 0.0, 1.0))
    body = load_character(named_files.character_file('performer'))
    looped = performed(config, body, None, 1.0, 'carry')
    moved, own = within_range(config, looped).motion, looped.motion
    way = moved.root_positions[0] - own.root_positions[0]
    np.testing.assert_allclose(moved.props.positions, own.props.positions + way)
