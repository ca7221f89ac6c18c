# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body of a clip's performer as a character file, for the performer node to calibrate."""

from pathlib import Path

from puppet_core.character import Character, default_capsules, save_character
from puppet_core.clip import load_clip


def write_clip_performer(clip: str, asf: str, folder: Path) -> Path:
    """
    Write the character that performs a clip; return its file.

    Raises
    ------
    PuppetError : if the clip cannot be read; the text says where and why.

    """
    motion = load_clip(clip, asf=asf or None)
    name = Path(clip).stem
    character = Character(
        name, f'The performer of {name}', motion.skeleton, default_capsules(motion.skeleton)
    )
    path = folder / f'{name}.yaml'
    save_character(character, path)
    return path
