# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Load a clip of any known format as a Motion of our skeleton."""

from dataclasses import replace
from pathlib import Path

from puppet_core.clip_amc import DEFAULT_RATE_HZ, read_amc
from puppet_core.clip_asf import read_asf
from puppet_core.clip_bvh import DEFAULT_UNIT_M, read_bvh
from puppet_core.clip_file import ClipFile
from puppet_core.clip_name_map import built_in_map, KNOWN_MAPS, load_name_map, NameMap
from puppet_core.clip_options import ClipOptions, DEFAULT_OPTIONS
from puppet_core.clip_skeleton_map import to_motion
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.posture import Motion

SUFFIXES = ('.bvh', '.amc')


def load_clip(
    path: str | Path,
    asf: str | Path | None = None,
    name_map: str | Path | NameMap | None = None,
    options: ClipOptions = DEFAULT_OPTIONS,
) -> Motion:
    """
    Read a clip file, by its suffix, and map it to our skeleton.

    Parameters
    ----------
    path : str or Path
        A .bvh or .amc file.
    asf : str or Path, optional
        The skeleton of an .amc file.
    name_map : str, Path or NameMap, optional
        Name of a built-in map, or a puppet-name-map/1 file; without it the built-in maps are
        tried.
    options : ClipOptions
        What the file does not say: unit, rate, up axis; what to mend.

    Returns
    -------
    motion : Motion
        Z up, floor at zero; end-effectors from the file's own joints.

    Raises
    ------
    InputFileError : naming file, line, field and what was expected.
    ConfigError : if an argument does not fit.

    """
    return to_motion(read_clip_file(path, asf, options), _name_map(name_map), options)


def read_clip_file(
    path: str | Path, asf: str | Path | None = None, options: ClipOptions = DEFAULT_OPTIONS
) -> ClipFile:
    """Return the file's own joints and motion; see `load_clip`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        wanted = ' or '.join(SUFFIXES)
        raise InputFileError(path, f'a {wanted} file', f'suffix {suffix!r}')
    if suffix == '.amc':
        if asf is None:
            raise _no_skeleton(path)
        skeleton = read_asf(asf, options.unit_m)
        return read_amc(path, skeleton, options.rate_hz or DEFAULT_RATE_HZ)
    if asf is not None:
        raise ConfigError(f'asf: expected none with a {suffix} file, got {str(asf)!r}')
    clip = read_bvh(path, options.unit_m or DEFAULT_UNIT_M)
    return replace(clip, rate_hz=options.rate_hz or clip.rate_hz)


def _name_map(name_map: str | Path | NameMap | None) -> NameMap | None:
    if name_map is None or isinstance(name_map, NameMap):
        return name_map
    if str(name_map) in KNOWN_MAPS:
        return built_in_map(str(name_map))
    if Path(name_map).suffix.lower() in ('.yaml', '.yml'):
        return load_name_map(name_map)
    return built_in_map(str(name_map))


def _no_skeleton(path: Path) -> InputFileError:
    near = ', '.join(sorted(other.name for other in path.parent.glob('*.[aA][sS][fF]')))
    hint = 'name it with --asf' + (f'; beside the motion there is {near}' if near else '')
    return InputFileError(path, 'the .asf skeleton of this motion', 'none', hint=hint)
