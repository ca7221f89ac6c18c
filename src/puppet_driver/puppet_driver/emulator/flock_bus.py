# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The units of an emulated Flock of Birds, and the bus that connects them."""

from dataclasses import dataclass, field

from puppet_driver import flock_of_birds as flock

POWER_UP_FORMAT = b'\x59'


@dataclass(slots=True)
class Unit:
    """One unit on the bus."""

    address: int
    has_sensor: bool
    command: bytes = POWER_UP_FORMAT
    hemisphere: bytes = flock.HEMISPHERES['front']
    scale_code: int = 0
    values: dict[int, bytes] = field(default_factory=dict)
    """What CHANGE VALUE has set, by number."""

    def power_cycle(self) -> None:
        """Forget what it was told."""
        self.command, self.hemisphere = POWER_UP_FORMAT, flock.HEMISPHERES['front']
        self.scale_code = 0
        self.values.clear()


@dataclass(slots=True)
class Bus:
    """What connects the units, and that it has been configured since they have power."""

    units: dict[int, Unit]
    is_configured: bool = False

    def power_cycle(self) -> None:
        """Let all units have lost power."""
        self.is_configured = False
        for unit in self.units.values():
            unit.power_cycle()
