# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The units of differences, and how much of each is allowed where nothing else is said."""

from typing import NamedTuple


class Unit(NamedTuple):
    """A unit that a difference is measured in."""

    text: str
    """As in tables."""

    tolerance: float
    """Greatest difference that is not one."""

    meaning: str
    """What is measured in it."""


# Far above what compilers and processors differ by, far below what anybody sees.
UNITS = {
    'mm': Unit('mm', 0.1, 'positions, lengths'),
    'deg': Unit('deg', 0.05, 'rotations'),
    'rad': Unit('rad', 0.002, 'joint angles'),
    'mm_s': Unit('mm/s', 10.0, 'velocities'),
    'deg_s': Unit('deg/s', 5.0, 'angular velocities'),
    'ms': Unit('ms', 0.001, 'stamps, ages'),
    'ratio': Unit('', 1e-4, 'importance; other numbers, of the greater of 1 and their size'),
    'count': Unit('', 0.0, 'flags, counts, texts: 1 where they differ; messages'),
}
