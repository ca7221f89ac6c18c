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

__all__ = ['DEVICES', 'ignored_parameters', 'make_trackers']


def _parameters(device: type[Tracker]) -> set[str]:
    return {field.name for field in fields(device.Config)} - _OF_THE_LINE


def make_trackers(
    device: str,
    parameters: Any,
    ports: Sequence[str],
    sensors: Sequence[str],
    sensors_per_line: Sequence[int],
) -> tuple[Tracker, ...]:
    """
    Return the device on each line, in the order of the ports.

    `parameters` has the driver's parameters as attributes; the device takes those that it knows.
    The sensors are in the order of the lines.
    """
    kind = DEVICES[device]
    taken = {name: getattr(parameters, name) for name in _parameters(kind)}
    known = {field.name for field in fields(kind.Config)}
    trackers = []
    first = 0
    for port, count in zip(ports, sensors_per_line):
        line = {
            'sensors': tuple(sensors[first : first + count]),
            'port': port,
            'first_row': first,
            'n_all_sensors': len(sensors),
        }
        line = {name: value for name, value in line.items() if name in known}
        trackers.append(kind(kind.Config(**taken, **line)))
        first += count
    return tuple(trackers)


def ignored_parameters(device: str) -> list[str]:
    """Return the names of other devices' parameters that mean nothing to this one."""
    known = set().union(*(_parameters(kind) for kind in DEVICES.values()))
    return sorted(known - _parameters(DEVICES[device]))
