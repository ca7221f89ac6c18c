# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Load a clip of any known format as a Motion of our skeleton.

`load_clip` is for callers that want the motion alone, `read_clip` also reports what was
detected. Discontinuities, joints faster than any body, are described but not corrected.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from puppet_core.body import Motion, SEGMENTS
from puppet_core.clips import c3d
from puppet_core.clips.asf_amc import DEFAULT_RATE_HZ, read_amc, read_asf
from puppet_core.clips.bvh import DEFAULT_UNIT_M, read_bvh
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import find_unit, find_up_axis, Finding
from puppet_core.clips.name_map import (
    built_in_map,
    KNOWN_MAPS,
    load_name_map,
    match_joints,
    NameMap,
)
from puppet_core.clips.options import AUTO, ClipOptions, DEFAULT_OPTIONS
from puppet_core.clips.skeleton_map import to_motion
from puppet_core.io import ConfigError, InputFileError

# Lengths of a leg in a second; for a leg of 0.84 m 25 m/s. A pitcher's or golfer's hand, the
# fastest of all, stays below.
MAX_LEGS_PER_S = 30.0
_ONE_PLACE_S = 0.25  # tears this near to each other are one

SUFFIXES = ('.bvh', '.amc', c3d.SUFFIX)
_FRAMES_TO_JUDGE = 500  # for the up axis


def describe_discontinuities(motion: Motion) -> str | None:
    """
    Describe the discontinuities of a clip in words; None if it has none.

    Frames are counted from 1 as read, without those that were dropped.

    Parameters
    ----------
    motion : Motion
        The clip.

    """
    if motion.n_frames < 2:
        return None
    steps = np.linalg.norm(np.diff(motion.world_segments()[1], axis=0), axis=2)
    speeds = steps * motion.rate_hz
    torn = np.flatnonzero(speeds.max(axis=1) > MAX_LEGS_PER_S * motion.skeleton.leg_length)
    if not len(torn):
        return None
    breaks = np.flatnonzero(np.diff(torn) > _ONE_PLACE_S * motion.rate_hz) + 1
    places = np.split(torn, breaks)
    worst = max(places, key=lambda place: float(speeds[place].max()))
    segment = int(np.argmax(speeds[worst].max(axis=0)))
    others = {1: '', 2: ' and in another place'}.get(
        len(places), f' and in {len(places) - 1} other places'
    )
    return (
        f'torn in frames {worst[0] + 1} to {worst[-1] + 2}: {SEGMENTS[segment]} at '
        f'{speeds[worst].max():.0f} m/s, which no body reaches{others}'
    )


@dataclass(frozen=True, slots=True)
class ReadClip:
    """A clip, and what was found out about its file."""

    motion: Motion
    """Of our skeleton."""

    path: Path
    """Where it was read from."""

    names: str
    """The map that fitted."""

    unit: Finding
    """Length of the file's unit."""

    up_axis: Finding
    """The file's vertical."""

    notes: tuple[str, ...] = ()
    """What else a user should know."""

    @property
    def text(self) -> str:
        """Return all this as one line."""
        parts = [f'names of {self.names}']
        for what, finding, option in (
            ('unit', self.unit, '--unit'),
            ('up', self.up_axis, '--up-axis'),
        ):
            check = '' if finding.is_sure else f', check with {option}'
            parts.append(f'{what} {finding.value} ({finding.why}{check})')
        return f'{self.path}: {"; ".join([*parts, *self.notes])}'


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
        A .bvh, .amc or .c3d file.
    asf : str or Path, optional
        The skeleton of an .amc file.
    name_map : str, Path or NameMap, optional
        Name of a built-in map, or a puppet-name-map/1 file; without it the built-in maps are
        tried.
    options : ClipOptions
        What the file leaves open: unit, rate, up axis; what to correct.

    Returns
    -------
    motion : Motion
        Z up, floor at zero; end-effectors from the file's own joints.

    Raises
    ------
    InputFileError : naming file, line, field and what was expected.
    ConfigError : if an argument does not fit.

    """
    return read_clip(path, asf, name_map, options).motion


def read_clip(
    path: str | Path,
    asf: str | Path | None = None,
    name_map: str | Path | NameMap | None = None,
    options: ClipOptions = DEFAULT_OPTIONS,
) -> ReadClip:
    """Return the clip with what was found out about it; see `load_clip`."""
    if Path(path).suffix.lower() == c3d.SUFFIX:
        return _read_markers(Path(path), asf, options)
    clip = read_clip_file(path, asf, options)
    joints = match_joints(clip, _name_map(name_map))
    if options.unit_m is None:
        assumed_m = DEFAULT_UNIT_M if asf is None else read_asf(asf).unit_m
        found = find_unit(clip, joints, assumed_m)
        clip = clip.scaled(found.unit_m / assumed_m)
        unit = found.finding
    else:
        unit = Finding(f'{options.unit_m:g} m', 'as given')
    up_axis = Finding(options.up_axis, 'as given')
    if options.up_axis == AUTO:
        few = clip.thinned(_FRAMES_TO_JUDGE)
        up_axis = find_up_axis(few, joints, few.world()[1])
        options = replace(options, up_axis=up_axis.value)
    motion = to_motion(clip, joints.map, options)
    return ReadClip(motion, Path(path), joints.map.name, unit, up_axis, _tears(motion))


def _read_markers(path: Path, asf: str | Path | None, options: ClipOptions) -> ReadClip:
    if asf is not None:
        raise _no_asf_wanted(path, asf)
    clip, names, unit, up_axis, notes = c3d.read_c3d(path, options)
    motion = to_motion(clip, names, replace(options, up_axis='z'))
    return ReadClip(motion, path, names.name, unit, up_axis, notes + _tears(motion))


def _tears(motion: Motion) -> tuple[str, ...]:
    text = describe_discontinuities(motion)
    return () if text is None else (text,)


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
        raise _no_asf_wanted(path, asf)
    return read_bvh(path, options.unit_m or DEFAULT_UNIT_M, options.rate_hz)


def _name_map(name_map: str | Path | NameMap | None) -> NameMap | None:
    if name_map is None or isinstance(name_map, NameMap):
        return name_map
    if str(name_map) in KNOWN_MAPS:
        return built_in_map(str(name_map))
    if Path(name_map).suffix.lower() in ('.yaml', '.yml'):
        return load_name_map(name_map)
    return built_in_map(str(name_map))


def _no_asf_wanted(path: Path, asf: str | Path) -> ConfigError:
    suffix = path.suffix.lower()
    return ConfigError(f'asf: expected none with a {suffix} file, got {str(asf)!r}')


def _no_skeleton(path: Path) -> InputFileError:
    near = ', '.join(sorted(other.name for other in path.parent.glob('*.[aA][sS][fF]')))
    hint = 'name it with --asf' + (f'; beside the motion there is {near}' if near else '')
    return InputFileError(path, 'the .asf skeleton of this motion', 'none', hint=hint)
