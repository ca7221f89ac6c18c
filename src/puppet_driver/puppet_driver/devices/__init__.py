# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The trackers that the driver supports; a new one is a module and an entry in `DEVICES`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from puppet_driver.devices.flock_of_birds import FlockOfBirds
from puppet_driver.devices.mock import MockTracker
from puppet_driver.devices.motionstar import MotionStar
from puppet_driver.devices.polhemus import Fastrak, FastrakAscii, Liberty, Patriot
from puppet_driver.tracker import Tracker

DEVICES: dict[str, type[Tracker]] = {
    'flock_of_birds': FlockOfBirds,
    'fastrak': Fastrak,
    'fastrak_ascii': FastrakAscii,
    'liberty': Liberty,
    'patriot': Patriot,
    'motionstar': MotionStar,
    'mock': MockTracker,
}
_OF_THE_LINE = {'sensors', 'port', 'first_row', 'n_all_sensors'}


def _fields(device: type[Tracker]) -> set[str]:
    return {field.name for field in fields(device.Config)}


def make_trackers(
    device: str,
    parameters: Any,
    ports: Sequence[str],
    sensors: Sequence[str],
    sensors_per_line: Sequence[int],
) -> tuple[Tracker, ...]:
    """Return each port's device, made of those attributes of `parameters` that it knows."""
    kind = DEVICES[device]
    names = _fields(kind)
    taken = {name: getattr(parameters, name) for name in names - _OF_THE_LINE}
    trackers: list[Tracker] = []
    first = 0
    for port, count in zip(ports, sensors_per_line):
        own = tuple(sensors[first : first + count])
        n = len(sensors)
        of_line = {'sensors': own, 'port': port, 'first_row': first, 'n_all_sensors': n}
        taken |= {name: value for name, value in of_line.items() if name in names}
        trackers.append(kind(kind.Config(**taken)))
        first += count
    return tuple(trackers)


def ignored_parameters(device: str) -> list[str]:
    """Return the names of other devices' parameters that mean nothing to this one."""
    known = set().union(*map(_fields, DEVICES.values()))
    return sorted(known - _fields(DEVICES[device]) - _OF_THE_LINE)
