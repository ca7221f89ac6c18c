# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Computer puppetry: retarget a performer's motion to a character or robot of another size and shape.

>>> import puppet
>>> walk = puppet.load_clip('walk')
>>> sally = puppet.retarget(walk, 'sally')
>>> sally.save('sally.bvh')

Positions are in metres with Z up, quaternions are unit Hamilton quaternions (w, x, y, z). Bad
input raises `puppet.PuppetError`, whose text says what was expected.
"""

from importlib import import_module
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from puppet.clips import load_character, load_clip, load_environment, sample, save_clip
    from puppet.correcting import edit, enhance, filter_poses
    from puppet.page import view
    from puppet.pictures import render
    from puppet.retargeting import retarget, Retargeted
    from puppet_core.body import Character, Motion
    from puppet_core.io import PuppetError

__version__ = '0.1.0'

# Where each name is; a module is imported when one of its names is first used.
_HOMES = {
    'puppet.clips': ('load_character', 'load_clip', 'load_environment', 'sample', 'save_clip'),
    'puppet.correcting': ('edit', 'enhance', 'filter_poses'),
    'puppet.retargeting': ('retarget', 'Retargeted'),
    'puppet.page': ('view',),
    'puppet.pictures': ('render',),
    'puppet_core.body': ('Character', 'Motion'),
    'puppet_core.io': ('PuppetError',),
}

__all__ = [
    'Character',
    'Motion',
    'PuppetError',
    'Retargeted',
    'edit',
    'enhance',
    'filter_poses',
    'load_character',
    'load_clip',
    'load_environment',
    'render',
    'retarget',
    'sample',
    'save_clip',
    'view',
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(home), name)
            return found
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
