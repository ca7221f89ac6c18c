# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Clips, characters and environments, by name or path."""

from pathlib import Path
from typing import Any

from puppet_core import body, clips, named_files
from puppet_core.body import Character, Motion
from puppet_core.named_files import sample
from puppet_retarget import importance
from puppet_retarget.importance import Environment

__all__ = ['load_character', 'load_clip', 'load_environment', 'sample', 'save_clip']


def load_clip(name_or_path: str | Path, asf: str | Path | None = None, **options: Any) -> Motion:
    """
    Read a motion clip.

    Parameters
    ----------
    name_or_path : str or Path
        A .bvh, .amc, .c3d, .glb, .gltf, .fbx or .npz (SMPL) file, or the name of a sample, `walk`.
    asf : str or Path, optional
        The skeleton of an .amc file.
    **options
        What the file does not say: fields of `puppet_core.clips.ClipOptions`, such as
        `unit_m=0.01`, `up_axis='z'` or `rate_hz=120.0`; also `name_map`, a YAML file.

    Returns
    -------
    Motion
        n frames: `root_positions` (n, 3) [m], joint `rotations` (n, 16, 4), `end_effectors`
        (n, 8, 3) [m]; `skeleton` and `rate_hz`.

    Raises
    ------
    PuppetError
        If the file cannot be read; the text names line and field.

    Examples
    --------
    >>> walk = load_clip('walk')
    >>> walk.n_frames, walk.rate_hz
    (846, 30.0)

    """
    names = named_files.available('clips', '.bvh')
    path = sample(str(name_or_path)) if name_or_path in names else name_or_path
    name_map = options.pop('name_map', None)
    return clips.load_clip(path, asf, name_map, clips.ClipOptions(**options))


def save_clip(motion: Motion, path: str | Path) -> None:
    """
    Write a motion as BVH: Y up, centimetres, a T-pose at rest.

    Examples
    --------
    >>> save_clip(load_clip('walk'), 'copy.bvh')

    """
    clips.write_bvh(motion, path)


def load_character(name_or_path: str | Path) -> Character:
    """
    Read a character or robot: `blubby`, `frog`, `performer`, `sally`, or a puppet-character file.

    `puppet character new` makes such a file from a clip or from a robot's URDF or MJCF. Raises
    PuppetError if there is no such name or the file cannot be read.

    Examples
    --------
    >>> load_character('sally').skeleton.leg_length > 1.0
    True

    """
    return body.load_character(named_files.character_file(str(name_or_path)))


def load_environment(name_or_path: str | Path = 'floor') -> Environment:
    """
    Read an environment, the solids around the performer and their counterparts around the puppet.

    By name (`floor`, `demo`, `carry`, `seated`, `ground`) or by the path of a puppet-environment
    file. Raises PuppetError if there is no such name or the file cannot be read.

    Examples
    --------
    >>> load_environment('demo').names[0]
    'floor'

    """
    return importance.load_environment(named_files.environment_file(str(name_or_path)))
