# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body of a clip's performer as a character file, for the performer node to calibrate."""

from collections.abc import Mapping
from pathlib import Path

from puppet_core.body import Character, default_capsules, save_character
from puppet_core.clips import AUTO, ClipOptions, load_clip, skeleton_beside, unit_length_m


def write_clip_performer(given: Mapping[str, str], folder: Path) -> Path:
    """
    Write the character that performs a clip; return its file.

    Parameters
    ----------
    given : mapping
        The launch arguments clip, asf, name_map, unit and up_axis; those absent or empty are
        found out.
    folder : Path
        Where to write.

    Raises
    ------
    PuppetError : if the clip cannot be read; the text reports where and why.

    """
    options = ClipOptions(
        unit_m=unit_length_m(given['unit']) if given.get('unit') else None,
        up_axis=given.get('up_axis') or AUTO,
    )
    clip, asf, names = (given.get(key) or None for key in ('clip', 'asf', 'name_map'))
    motion = load_clip(clip or '', skeleton_beside(Path(clip or ''), asf), names, options)
    name = Path(clip or '').stem
    character = Character(
        name, f'The performer of {name}', motion.skeleton, default_capsules(motion.skeleton)
    )
    path = folder / f'{name}.yaml'
    save_character(character, path)
    return path
