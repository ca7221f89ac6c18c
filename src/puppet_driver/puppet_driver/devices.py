# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The trackers that the driver knows: a new one is a module and an entry here."""

from collections.abc import Callable

from puppet_driver.flock_line import FlockLine, FlockLineConfig
from puppet_driver.parameters import DriverConfig
from puppet_driver.tracker import Tracker

TrackerFactory = Callable[[DriverConfig, tuple[str, ...]], Tracker]


def make_trackers(config: DriverConfig) -> tuple[Tracker, ...]:
    """Return the device on each line, in the order of the ports."""
    make = _FACTORIES[config.device]
    trackers = []
    first = 0
    for count in config.sensors_per_line:
        trackers.append(make(config, config.sensors[slice(first, first + count)]))
        first += count
    return tuple(trackers)


def _flock_of_birds(config: DriverConfig, sensors: tuple[str, ...]) -> Tracker:
    return FlockLine(
        FlockLineConfig(
            sensors=sensors,
            first_address=config.first_address,
            range_in=config.range_in,
            hemisphere=config.hemisphere,
            inverted=config.inverted_quaternion,
            group_mode=config.group_mode,
            baud_rate_bps=config.baud_rate_bps,
            auto_configure_pause_s=config.auto_configure_pause_s,
            reply_timeout_s=config.reply_timeout_s,
        )
    )


_FACTORIES: dict[str, TrackerFactory] = {'flock_of_birds': _flock_of_birds}
