# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where installed configuration files are, and short names for characters and the like."""

from functools import lru_cache, partial
from pathlib import Path

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from puppet_core.body import Character, load_character
from puppet_core.io import check_name, ConfigError, InputFileError

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


def available(folder: str, ending: str = '.yaml') -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (config_dir() / folder).glob(f'*{ending}')))


def _find(
    kind: str, folder: str, name_or_path: str, endings: tuple[str, ...] = ('.yaml', '.yml')
) -> Path:
    """Return an existing file; raise ConfigError, with the names there are, if there is none."""
    check_name(kind, name_or_path)
    is_path = '/' in name_or_path or name_or_path.endswith(endings)
    if is_path:
        path = Path(name_or_path).expanduser()
        if not path.is_file():
            raise ConfigError(f'{kind}: expected an existing file, got {name_or_path!r}')
        return path
    path = config_dir() / folder / f'{name_or_path}{endings[0]}'
    if not name_or_path or not path.is_file():
        names = ', '.join(available(folder, endings[0])) or 'none'
        kind_of_file = 'a YAML file' if '.yaml' in endings else f'an {endings[0]} file'
        raise ConfigError(
            f'{kind}: expected one of {names}, or the path of {kind_of_file}, got {name_or_path!r}'
        )
    return path


# By a short name or a path: the YAML file of a character, an environment, a sensor layout, and the
# configuration file of RViz.
character_file = partial(_find, 'character', 'characters')
environment_file = partial(_find, 'environment', 'environments')
layout_file = partial(_find, 'layout', 'layouts')
rviz_file = partial(_find, 'rviz', 'rviz', endings=('.rviz',))


def character(name_or_path: str) -> Character:
    """Return a character, read anew if its file has changed; raise ConfigError if it cannot be."""
    path = character_file(name_or_path)
    try:
        return _read_character(path, path.stat().st_mtime_ns)
    except InputFileError as err:
        raise ConfigError(f'character: {err}') from err


@lru_cache(maxsize=8)
def _read_character(path: Path, changed_ns: int) -> Character:
    return load_character(path)  # 0.1 s, too long for every slider
