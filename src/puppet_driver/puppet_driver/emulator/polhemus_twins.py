# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From what the emulator is asked for to Polhemus devices."""

from typing import TYPE_CHECKING

from puppet_driver.emulator.polhemus_fastrak_twin import FastrakTwin
from puppet_driver.emulator.polhemus_liberty_twin import LibertyTwin
from puppet_driver.polhemus_devices import model_of

if TYPE_CHECKING:
    from puppet_driver.emulator.assembly import EmulatorConfig

RANGE_M = 3.0  # with the large transmitter


def make_fastrak(config: 'EmulatorConfig', n_sensors: int) -> FastrakTwin:
    """Return a FASTRAK with so many sensors; the host chooses how it writes numbers."""
    return FastrakTwin(n_sensors)


def make_liberty(config: 'EmulatorConfig', n_sensors: int) -> LibertyTwin:
    """Return a LIBERTY or PATRIOT with so many sensors."""
    return LibertyTwin(n_sensors, config.rate_hz, model_of(config.device))


def range_m(config: 'EmulatorConfig') -> float:
    """Return the largest coordinate that is measured [m]."""
    return RANGE_M
