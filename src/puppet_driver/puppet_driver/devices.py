# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The trackers that the driver knows: a new one is a module and an entry here."""

from collections.abc import Callable
from typing import NamedTuple, TYPE_CHECKING

from puppet_core.errors import ConfigError
from puppet_driver import flock_of_birds as flock
from puppet_driver import polhemus_devices as polhemus
from puppet_driver.birdnet_records import POSITION_QUATERNION, record_bytes
from puppet_driver.flock_line import FlockLine, FlockLineConfig
from puppet_driver.line_plan import check_bandwidth
from puppet_driver.link import Port
from puppet_driver.mock_tracker import make_mock, open_mock, RECORD
from puppet_driver.motionstar import check_motionstar, MotionStar, MotionStarConfig
from puppet_driver.motionstar_port import has_datagrams, open_motionstar_port
from puppet_driver.tracker import Tracker

if TYPE_CHECKING:  # the parameters are checked by the entries below
    from puppet_driver.parameters import DriverConfig


class DeviceKind(NamedTuple):
    """What the driver must know of a kind of tracker."""

    make: 'Callable[[DriverConfig, tuple[str, ...]], Tracker]'
    """Make the device on a line with the named sensors."""

    record_bytes: 'Callable[[DriverConfig], int]'
    """Give the size of a record on a line."""

    check: 'Callable[[DriverConfig], None]'
    """Refuse by ConfigError, naming the parameter, what the device cannot do."""

    open_port: 'Callable[[DriverConfig, str], Port] | None' = None
    """Open the port of a name, for a device that is not on a serial line."""

    is_serial: bool = True
    """Whether its line has a speed that limits what it carries."""

    ignores: tuple[str, ...] = ()
    """Names of the parameters that mean nothing to it."""


def make_trackers(config: 'DriverConfig') -> tuple[Tracker, ...]:
    """Return the device on each line, in the order of the ports."""
    make = DEVICES[config.device].make
    trackers = []
    first = 0
    for count in config.sensors_per_line:
        trackers.append(make(config, config.sensors[slice(first, first + count)]))
        first += count
    return tuple(trackers)


def _flock_of_birds(config: 'DriverConfig', sensors: tuple[str, ...]) -> Tracker:
    return FlockLine(
        FlockLineConfig(
            sensors=sensors,
            first_address=config.first_address,
            range_in=config.range_in,
            hemisphere=config.hemisphere,
            inverted=config.inverted_quaternion,
            group_mode=config.group_mode,
            n_units=0 if config.group_mode else config.first_address - 1 + len(config.sensors),
            record_format=config.record_format,
            max_speed_mps=config.max_speed_mps,
            point_mode=config.point_mode,
            rate_hz=config.rate_hz,
            baud_rate_bps=config.baud_rate_bps,
            auto_configure_pause_s=config.auto_configure_pause_s,
            reply_timeout_s=config.reply_timeout_s,
        )
    )


def _motionstar(config: 'DriverConfig', sensors: tuple[str, ...]) -> Tracker:
    return MotionStar(
        MotionStarConfig(
            sensors=sensors,
            first_address=config.first_address,
            rate_hz=config.rate_hz,
            hemisphere=config.hemisphere,
            inverted=config.inverted_quaternion,
            max_speed_mps=config.max_speed_mps,
            has_datagrams=has_datagrams(config.ports[0]),
            reply_timeout_s=config.reply_timeout_s,
        )
    )


def _check_motionstar(config: 'DriverConfig') -> None:
    last = config.first_address + max(config.sensors_per_line) - 1
    check_motionstar(config.ports, config.rate_hz, last)


def _flock_record_bytes(config: 'DriverConfig') -> int:
    command = flock.FORMAT_COMMANDS[config.record_format]
    return 2 * flock.RECORD_FORMATS[command].n_words + int(config.group_mode)


def _check_flock(config: 'DriverConfig') -> None:
    problem = flock.format_problem(config.record_format)
    if problem:
        raise ConfigError(
            f'record_format: expected one of {", ".join(flock.POSE_FORMATS)}, '
            f'got {config.record_format!r}, {problem}'
        )
    if config.range_in not in flock.RANGES_IN:
        raise ConfigError(f'range_in: expected one of 36, 72, 144, got {config.range_in}')
    counts = config.sensors_per_line
    if not config.group_mode and max(counts) > 1:
        raise ConfigError(
            f'group_mode: expected true for {len(config.sensors)} sensors on '
            f'{len(config.ports)} port(s), got false, which needs a port for each'
        )
    last = config.first_address + max(counts) - 1
    if last > flock.MAX_ADDRESS:
        raise ConfigError(
            f'first_address: expected addresses up to {flock.MAX_ADDRESS}, got {last}'
        )
    check_bandwidth(counts, config.baud_rate_bps, config.record_bytes, config.rate_hz)


_FLOCK_ONLY = (
    'group_mode', 'record_format', 'point_mode', 'range_in', 'auto_configure_pause_s',
)  # fmt: skip
_NO_ADDRESS = (*_FLOCK_ONLY, 'first_address')
_FASTRAK = DeviceKind(
    polhemus.make_fastrak, polhemus.fastrak_bytes, polhemus.check_fastrak, ignores=_NO_ADDRESS
)
_LIBERTY = DeviceKind(
    polhemus.make_liberty, polhemus.liberty_bytes, polhemus.check_liberty, ignores=_NO_ADDRESS
)
DEVICES = {
    'flock_of_birds': DeviceKind(_flock_of_birds, _flock_record_bytes, _check_flock),
    'fastrak': _FASTRAK,
    'fastrak_ascii': _FASTRAK,
    'liberty': _LIBERTY,
    'patriot': _LIBERTY,
    'motionstar': DeviceKind(
        _motionstar, lambda config: record_bytes(POSITION_QUATERNION), _check_motionstar,
        open_motionstar_port, is_serial=False, ignores=(*_FLOCK_ONLY, 'baud_rate_bps'),
    ),
    'mock': DeviceKind(
        make_mock, lambda _: RECORD.size, lambda _: None, open_mock, is_serial=False,
        ignores=(
            *_NO_ADDRESS, 'baud_rate_bps', 'hemisphere', 'inverted_quaternion', 'max_speed_mps',
            'reply_timeout_s',
        ),
    ),
}  # fmt: skip
