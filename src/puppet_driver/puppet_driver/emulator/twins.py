# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The devices that the emulator can play: a new one is a module and an entry here."""

from collections.abc import Callable
from typing import NamedTuple, TYPE_CHECKING

from puppet_core.errors import ConfigError
from puppet_driver import flock_of_birds as flock
from puppet_driver.birdnet import MAX_UNITS
from puppet_driver.birdnet_records import POSITION_QUATERNION, record_bytes
from puppet_driver.birdnet_status import RATE_RANGE_HZ
from puppet_driver.emulator import polhemus_twins as polhemus
from puppet_driver.emulator.device import FlockDevice
from puppet_driver.emulator.motionstar_device import MotionStarDevice
from puppet_driver.emulator.twin import DeviceTwin

if TYPE_CHECKING:
    from puppet_driver.emulator.assembly import EmulatorConfig


class TwinKind(NamedTuple):
    """What the emulator must know of a kind of device."""

    make: 'Callable[[EmulatorConfig, int], DeviceTwin]'
    """Make the device of a line with so many sensors; may raise ConfigError."""

    range_m: 'Callable[[EmulatorConfig], float]'
    """Give the largest coordinate that the device can measure [m]."""

    record_bytes: int
    """Size of the records that the driver asks for."""

    max_sensors: int
    """How many a device has at most."""


def _flock(config: 'EmulatorConfig', n_sensors: int) -> DeviceTwin:
    last = config.first_address + len(config.sensors) - 1
    if not 1 <= config.first_address <= last <= flock.MAX_ADDRESS:
        raise ConfigError(
            f'first_address: expected addresses within 1 to {flock.MAX_ADDRESS}, '
            f'got {config.first_address} to {last}'
        )
    return FlockDevice(n_sensors, config.first_address, config.range_in, config.rate_hz)


def _motionstar(config: 'EmulatorConfig', n_sensors: int) -> DeviceTwin:
    low, high = RATE_RANGE_HZ
    if not low <= config.rate_hz <= high:
        raise ConfigError(
            f'rate_hz: expected {low} <= value <= {high} for a MotionStar, got {config.rate_hz}'
        )
    last = config.first_address + n_sensors - 1
    if not 1 <= config.first_address <= last <= MAX_UNITS:
        raise ConfigError(
            f'first_address: expected addresses within 1 to {MAX_UNITS}, '
            f'got {config.first_address} to {last}'
        )
    return MotionStarDevice(n_sensors, config.first_address, config.range_in, config.rate_hz)


TWINS = {
    'flock_of_birds': TwinKind(
        _flock,
        lambda config: flock.full_scale_m(config.range_in),
        flock.POSITION_QUATERNION_BYTES + 1,
        flock.MAX_ADDRESS,
    ),
    'motionstar': TwinKind(
        _motionstar,
        lambda config: flock.full_scale_m(config.range_in),
        record_bytes(POSITION_QUATERNION),
        MAX_UNITS,
    ),
    'fastrak': TwinKind(polhemus.make_fastrak, polhemus.range_m, 33, 4),
    'fastrak_ascii': TwinKind(polhemus.make_fastrak, polhemus.range_m, 54, 4),
    'liberty': TwinKind(polhemus.make_liberty, polhemus.range_m, 38, 16),
    'patriot': TwinKind(polhemus.make_liberty, polhemus.range_m, 38, 2),
}


def make_twins(config: 'EmulatorConfig', counts: tuple[int, ...]) -> list[DeviceTwin]:
    """
    Return the device of each line.

    Raises
    ------
    ConfigError : if a line has more sensors than a device.

    """
    kind = TWINS[config.device]
    if max(counts) > kind.max_sensors:
        needed = -(-sum(counts) // kind.max_sensors)
        raise ConfigError(
            f'lines: expected {needed} or more for {sum(counts)} sensors, '
            f'{kind.max_sensors} each, got {len(counts)}'
        )
    return [kind.make(config, count) for count in counts]
