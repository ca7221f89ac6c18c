# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From the driver's parameters to Polhemus devices, and what these cannot do."""

from typing import TYPE_CHECKING

from puppet_core.errors import ConfigError
from puppet_driver import polhemus_fastrak as fastrak
from puppet_driver.line_plan import check_bandwidth
from puppet_driver.polhemus_fastrak import FastrakLine
from puppet_driver.polhemus_liberty import LIBERTY, LibertyLine, Model, PATRIOT
from puppet_driver.polhemus_line import PolhemusLineConfig

if TYPE_CHECKING:
    from puppet_driver.parameters import DriverConfig

RATE_SLACK = 1.001  # for rates such as 120 / 7


def make_fastrak(config: 'DriverConfig', sensors: tuple[str, ...]) -> FastrakLine:
    """Return a FASTRAK with the named sensors; the device's name says how it writes numbers."""
    return FastrakLine(_line_config(config, sensors), config.device == 'fastrak_ascii')


def make_liberty(config: 'DriverConfig', sensors: tuple[str, ...]) -> LibertyLine:
    """Return a LIBERTY or PATRIOT with the named sensors."""
    return LibertyLine(_line_config(config, sensors), model_of(config.device))


def model_of(device: str) -> Model:
    """Return what is peculiar to the device of a name."""
    return PATRIOT if device == 'patriot' else LIBERTY


def fastrak_bytes(config: 'DriverConfig') -> int:
    """Return the size of a FASTRAK's record."""
    return make_fastrak(config, config.sensors[:1]).layout.record_bytes


def liberty_bytes(config: 'DriverConfig') -> int:
    """Return the size of a LIBERTY's or PATRIOT's record."""
    return make_liberty(config, config.sensors[:1]).layout.record_bytes


def check_fastrak(config: 'DriverConfig') -> None:
    """Refuse more sensors or a higher rate than FASTRAKs have."""
    _check_stations(config, fastrak.MAX_STATIONS)
    n_sensors = max(config.sensors_per_line)
    limit_hz = fastrak.RATE_HZ / n_sensors
    if config.rate_hz > RATE_SLACK * limit_hz:
        raise ConfigError(
            f'rate_hz: expected value <= {limit_hz:g} for {n_sensors} sensor(s) on a FASTRAK, '
            f'which share {fastrak.RATE_HZ:g} records a second, got {config.rate_hz:g}'
        )
    _check_bandwidth(config)


def check_liberty(config: 'DriverConfig') -> None:
    """Refuse more sensors or a higher rate than LIBERTYs or PATRIOTs have."""
    model = model_of(config.device)
    _check_stations(config, model.max_stations)
    if config.rate_hz > RATE_SLACK * model.max_rate_hz:
        raise ConfigError(
            f'rate_hz: expected value <= {model.max_rate_hz:g} of a {model.title}, '
            f'got {config.rate_hz:g}'
        )
    _check_bandwidth(config)


def _line_config(config: 'DriverConfig', sensors: tuple[str, ...]) -> PolhemusLineConfig:
    return PolhemusLineConfig(
        sensors=sensors,
        rate_hz=config.rate_hz,
        hemisphere=config.hemisphere,
        inverted=config.inverted_quaternion,
        max_speed_mps=config.max_speed_mps,
        baud_rate_bps=config.baud_rate_bps,
        reply_timeout_s=config.reply_timeout_s,
    )


def _check_stations(config: 'DriverConfig', limit: int) -> None:
    counts = config.sensors_per_line
    if max(counts) > limit:
        needed = -(-sum(counts) // limit)
        raise ConfigError(
            f'ports: expected {needed} or more for {sum(counts)} sensors of device '
            f'{config.device!r}, which has {limit} stations, got {len(counts)}'
        )


def _check_bandwidth(config: 'DriverConfig') -> None:
    check_bandwidth(
        config.sensors_per_line, config.baud_rate_bps, config.record_bytes, config.rate_hz
    )
