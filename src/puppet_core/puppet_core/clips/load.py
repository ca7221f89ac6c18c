# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Load a clip of any format as a Motion (`load_clip`), with what was detected (`read_clip`)."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from puppet_core.body import Motion, SEGMENTS
from puppet_core.clips import c3d
from puppet_core.clips.asf_amc import DEFAULT_RATE_HZ, read_amc, read_asf
from puppet_core.clips.bvh import DEFAULT_UNIT_M, read_bvh
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import check_body, find_unit, find_up_axis, Finding
from puppet_core.clips.name_map import (
    built_in_map,
    BY_STRUCTURE,
    load_name_map,
    match_joints,
    NameMap,
    PUPPET,
    SegmentJoints,
)
from puppet_core.clips.options import (
    AUTO,
    clip_options,
    ClipOptions,
    DEFAULT_OPTIONS,
    skeleton_beside,
)
from puppet_core.clips.scenes import read_fbx, read_gltf
from puppet_core.clips.skeleton_map import infer_rest, to_motion
from puppet_core.clips.smpl import read_smpl
from puppet_core.io import ConfigError, InputFileError

# Lengths of a leg in a second; for a leg of 0.84 m 25 m/s. A pitcher's or golfer's hand, the
# fastest of all, stays below.
MAX_LEGS_PER_S = 30.0
_FLOOR_GAP, _OFTEN = 0.12, 0.8  # of the lower sole over the leg; in these frames it floats
_ONE_PLACE_S = 0.25  # jumps this near to each other are one

_READERS = {'.glb': read_gltf, '.gltf': read_gltf, '.fbx': read_fbx, '.npz': read_smpl}
SUFFIXES = ('.bvh', '.amc', c3d.SUFFIX, *_READERS)
_FRAMES_TO_JUDGE = 500  # for the up axis


def describe_discontinuities(motion: Motion) -> str | None:
    """Return a clip's discontinuities in words, frames counted from 1; None without any."""
    if motion.n_frames < 2:
        return None
    steps = np.linalg.norm(np.diff(motion.world_segments()[1], axis=0), axis=2)
    speeds = steps * motion.rate_hz
    jumps = np.flatnonzero(speeds.max(axis=1) > MAX_LEGS_PER_S * motion.skeleton.leg_length)
    if not len(jumps):
        return None
    breaks = np.flatnonzero(np.diff(jumps) > _ONE_PLACE_S * motion.rate_hz) + 1
    places = np.split(jumps, breaks)
    worst = max(places, key=lambda place: float(speeds[place].max()))
    segment = int(np.argmax(speeds[worst].max(axis=0)))
    text = f'discontinuity in frames {worst[0] + 1} to {worst[-1] + 2}: {SEGMENTS[segment]} at '
    text += f'{speeds[worst].max():.0f} m/s, which no body reaches'
    if len(places) == 1:
        return text
    others = 'another place' if len(places) == 2 else f'{len(places) - 1} other places'
    return f'{text} and in {others}'


@dataclass(frozen=True, slots=True)
class ReadClip:
    motion: Motion  # Of our skeleton
    path: Path  # Where it was read from
    names: str  # The map that fitted
    unit: Finding  # Length of the file's unit
    up_axis: Finding  # The file's vertical
    notes: tuple[str, ...] = ()  # What else a user should know

    @property
    def text(self) -> str:
        found = f'unit {self.unit.text("--unit")}; up {self.up_axis.text("--up-axis")}'
        return f'{self.path}: {"; ".join([f"names of {self.names}", found, *self.notes])}'


def load_clip(
    path: str | Path,
    asf: str | Path | None = None,
    name_map: str | Path | NameMap | None = None,
    options: ClipOptions = DEFAULT_OPTIONS,
) -> Motion:
    """
    Read a clip file, one of SUFFIXES, and map it to our skeleton.

    The motion has Z up, the floor at zero, and end-effectors from the file's own joints. `asf` is
    the skeleton of an .amc; `name_map` names a built-in map or a puppet-name-map/1 file, without
    it the built-in maps are tried.

    Raise InputFileError naming file, line, field and what was expected, ConfigError if an argument
    does not fit.
    """
    return read_clip(path, asf, name_map, options).motion


def read_clip(
    path: str | Path,
    asf: str | Path | None = None,
    name_map: str | Path | NameMap | None = None,
    options: ClipOptions = DEFAULT_OPTIONS,
) -> ReadClip:
    """Return the clip with what was found out about it; see `load_clip`."""
    path = Path(path)
    if path.suffix.lower() == c3d.SUFFIX:
        _refuse_asf(path, asf)
        clip, names, unit, up_axis, notes = c3d.read_c3d(path, options)
        joints, options = match_joints(clip, names), replace(options, up_axis='z')
        clip = replace(clip, notes=notes)
    else:
        clip = read_clip_file(path, asf, options)
        clip, joints = infer_rest(clip, match_joints(clip, _name_map(name_map)))
        if options.unit_m is not None:
            unit = Finding(f'{options.unit_m:g} m', 'as given')
        else:
            unit_m, unit = find_unit(clip, joints, clip.unit_m)
            clip = clip.scaled(unit_m / clip.unit_m)
        up_axis = Finding(options.up_axis, 'as given')
        if options.up_axis == AUTO:
            few = clip.thinned(_FRAMES_TO_JUDGE)
            up_axis = find_up_axis(few, joints, few.world()[1])
            if clip.up_axis and not up_axis.is_sure:
                up_axis = Finding(clip.up_axis, 'as the file says')
            options = replace(options, up_axis=up_axis.value)
    motion = to_motion(clip, joints, options)
    notes = (*clip.notes, *_notes(path, motion, joints))
    return ReadClip(motion, path, joints.map.name, unit, up_axis, notes)


def read_clip_by_options(
    path: str | Path,
    arguments: argparse.Namespace,
    asf: str | Path | None,
    report: Callable[[str], None],
    correct: bool = True,
    joints_as_props: bool = False,
) -> Motion:
    """
    Return the clip, read with the options of `add_reading_options`; report what was detected.

    The skeleton of an .amc is `asf`, or the one beside it. Without `correct` the floor is not
    levelled or moved and no first frames are dropped. `joints_as_props` gives the motion the
    file's own joints as props.

    Raise InputFileError naming file, line and what was expected, ConfigError if an option does not
    fit.
    """
    options = replace(clip_options(arguments, correct), joints_as_props=joints_as_props)
    read = read_clip(path, skeleton_beside(Path(path), asf), arguments.name_map, options)
    if read.names != PUPPET:  # of our own files there is nothing to find out
        report(read.text)
    return read.motion


def _notes(path: Path, motion: Motion, joints: SegmentJoints) -> Iterator[str]:
    """Say what was found out about the body and its motion; our own are as they are meant."""
    if joints.map.name == BY_STRUCTURE:
        roles = joints.map.joints.items()
        yield 'joints by the tree: ' + ', '.join(f'{role} {names[0]}' for role, names in roles)
    if joints.map.name != PUPPET:
        yield from check_body(path, motion.skeleton)
    far = _FLOOR_GAP * motion.skeleton.leg_length
    often = float(np.mean(motion.end_effectors[:, 2:4, 2].min(axis=1) > far))
    if often > _OFTEN:
        yield f'soles over {far:.2f} m above the floor in {often:.0%} of the frames'
    if (text := describe_discontinuities(motion)) is not None:
        yield text


def read_clip_file(
    path: str | Path, asf: str | Path | None = None, options: ClipOptions = DEFAULT_OPTIONS
) -> ClipFile:
    """Return the file's own joints and motion; see `load_clip`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputFileError(path, f'a {" or ".join(SUFFIXES)} file', f'suffix {suffix!r}')
    if suffix == '.amc':
        if asf is None:
            near = ', '.join(sorted(other.name for other in path.parent.glob('*.[aA][sS][fF]')))
            hint = 'name it with --asf' + (f'; beside the motion there is {near}' if near else '')
            raise InputFileError(path, 'the .asf skeleton of this motion', 'none', hint=hint)
        skeleton = read_asf(asf, options.unit_m)
        return read_amc(path, skeleton, options.rate_hz or DEFAULT_RATE_HZ)
    _refuse_asf(path, asf)
    if suffix in _READERS:
        return _READERS[suffix](path, options)
    return read_bvh(path, options.unit_m or DEFAULT_UNIT_M, options.rate_hz)


def _refuse_asf(path: Path, asf: str | Path | None) -> None:
    if asf is not None:
        suffix = path.suffix.lower()
        raise ConfigError(f'asf: expected none with a {suffix} file, got {str(asf)!r}')


def _name_map(name_map: str | Path | NameMap | None) -> NameMap | None:
    if name_map is None or isinstance(name_map, NameMap):
        return name_map
    is_file = Path(name_map).suffix.lower() in ('.yaml', '.yml')
    return load_name_map(name_map) if is_file else built_in_map(str(name_map))
