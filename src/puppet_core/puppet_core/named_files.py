# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Characters, environments and the like that come with the suite, by short names."""

from functools import partial
from pathlib import Path

from puppet_core.io import check_name, ConfigError

DATA = Path(__file__).resolve().parent / 'data'


def available(folder: str, ending: str = '.yaml') -> tuple[str, ...]:
    """Return the names of the files in a folder of the suite's data."""
    return tuple(sorted(path.stem for path in (DATA / folder).glob(f'*{ending}')))


def named_file(
    kind: str, folder: str | Path, name_or_path: str, endings: tuple[str, ...] = ('.yaml', '.yml')
) -> Path:
    """
    Return an existing file, by its path or by its name in a folder of the suite's data.

    Raise ConfigError, with the names there are, if there is none; `kind` is its first word.
    """
    check_name(kind, name_or_path)
    is_path = '/' in name_or_path or name_or_path.endswith(endings)
    if is_path:
        path = Path(name_or_path).expanduser()
        if not path.is_file():
            raise ConfigError(f'{kind}: expected an existing file, got {name_or_path!r}')
        return path
    path = DATA / folder / f'{name_or_path}{endings[0]}'
    if not name_or_path or not path.is_file():
        names = ', '.join(sorted(p.stem for p in path.parent.glob(f'*{endings[0]}'))) or 'none'
        kind_of_file = 'a YAML file' if '.yaml' in endings else f'an {endings[0]} file'
        raise ConfigError(
            f'{kind}: expected one of {names}, or the path of {kind_of_file}, got {name_or_path!r}'
        )
    return path


character_file = partial(named_file, 'character', 'characters')
environment_file = partial(named_file, 'environment', 'environments')
layout_file = partial(named_file, 'layout', 'layouts')
marker_set_file = partial(named_file, 'markers', 'markersets')


def sample(name: str) -> Path:
    """Return the path of a sample clip, `walk` for one."""
    return named_file('sample', 'clips', name, endings=('.bvh',))
