# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where the installed configuration of nodes is, and characters as nodes read them."""

from functools import lru_cache
from pathlib import Path

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from puppet_core import named_files
from puppet_core.body import Character, load_character
from puppet_core.io import ConfigError, InputFileError

CONFIG_PACKAGE = 'puppet_bringup'


def config_dir() -> Path:
    """Return the folder of the installed configuration; raise ConfigError if there is none."""
    try:
        return Path(get_package_share_directory(CONFIG_PACKAGE)) / 'config'
    except (PackageNotFoundError, LookupError) as err:
        raise ConfigError(
            f'{CONFIG_PACKAGE}: expected an installed package, found none; '
            'build the workspace and source its setup file'
        ) from err


def rviz_file(name_or_path: str) -> Path:
    """Return a configuration of RViz, by a short name or a path; raise ConfigError."""
    return named_files.named_file('rviz', config_dir() / 'rviz', name_or_path, ('.rviz',))


def character(name_or_path: str) -> Character:
    """Return a character, read anew if its file has changed; raise ConfigError if it cannot be."""
    path = named_files.character_file(name_or_path)
    try:
        return _read_character(path, path.stat().st_mtime_ns)
    except InputFileError as err:
        raise ConfigError(f'character: {err}') from err


@lru_cache(maxsize=8)
def _read_character(path: Path, changed_ns: int) -> Character:
    return load_character(path)  # 0.1 s, too long for every slider
