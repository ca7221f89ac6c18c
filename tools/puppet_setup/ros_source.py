# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which ROS 2 to use: the sourced one, or the wheels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = ('jazzy', 'kilted')
WHEELS_DISTRO = 'jazzy'

# Overrides the choice: 'wheels' or 'system'.
CHOICE_VARIABLE = 'PUPPET_ROS'


@dataclass(frozen=True)
class RosSource:
    """A source of ROS 2."""

    distro: str
    """The distribution's name."""

    is_system: bool
    """Whether it is an installation that the user's shell has sourced."""

    notice: str = ''
    """What the user should know about the choice; empty if it is the expected one."""

    @property
    def flavour(self) -> str:
        """Folder name for what is built with it."""
        return self.distro if self.is_system else 'wheels'


def has_module(environ: Mapping[str, str], module: str) -> bool:
    """Tell whether PYTHONPATH leads to the module, without starting that Python."""
    folders = [Path(entry) for entry in environ.get('PYTHONPATH', '').split(':') if entry]
    return any((folder / module / '__init__.py').is_file() for folder in folders)


def choose(environ: Mapping[str, str]) -> RosSource:
    """Return the source of ROS for this environment."""
    distro = environ.get('ROS_DISTRO', '')
    wheels = RosSource(WHEELS_DISTRO, is_system=False)
    if environ.get(CHOICE_VARIABLE) == 'wheels' or not distro:
        return wheels
    if distro not in SUPPORTED:
        return RosSource(WHEELS_DISTRO, False, f'ROS 2 {distro} is sourced, which the suite does'
                         f' not support ({", ".join(SUPPORTED)}); using its own ROS 2 wheels')
    if not has_module(environ, 'rclpy'):
        return RosSource(WHEELS_DISTRO, False, f'ROS_DISTRO is {distro}, but rclpy is not on'
                         " PYTHONPATH; using the suite's own ROS 2 wheels")
    return RosSource(distro, is_system=True)
