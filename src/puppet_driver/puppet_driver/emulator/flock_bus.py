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


@dataclass(slots=True)
class Bus:
    """What connects the units, and that it has been configured since they have power."""

    units: dict[int, Unit]
    is_configured: bool = False
