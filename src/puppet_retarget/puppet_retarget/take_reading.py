# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A file as a take: a bag as it was recorded, or a clip, and the puppets that were asked for."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core.character import Character, default_capsules
from puppet_core.io.progress import progress
from puppet_core.posture import Motion
from puppet_edit import edit_session
from puppet_retarget.bag_io import read_bag_motion
from puppet_retarget.bag_take import read_bag_take
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.clip_retarget import retarget_motion, RetargetJob
from puppet_retarget.offline.take import captured_body, solved_body, Take
from puppet_retarget.parameters import PRESETS


def read_take(path: Path, arguments: argparse.Namespace, files: ConfigFiles) -> Take:
    """
    Return what a file and the puppets of `--characters` show.

    Raises
    ------
    PuppetError : naming the file or option that does not fit.

    """
    characters = [
        clip_arguments.find_character(files, name, arguments.world_scale)
        for name in arguments.characters
    ]
    if not clip_arguments.is_bag(path):
        motion = edit_session.read_clip(path, arguments)
        colour = clip_arguments.find_character(files, PERFORMER).colour
        shape = Character(
            PERFORMER, '', motion.skeleton, default_capsules(motion.skeleton), colour
        )
        clip = Take(path.stem, motion.rate_hz, (captured_body(path.stem, motion, shape),))
        return _with_puppets(clip, motion, characters, arguments, files)
    recorded = read_bag_take(path)
    if not characters:
        return recorded
    return _with_puppets(recorded, read_bag_motion(path)[0], characters, arguments, files)


def _with_puppets(
    take: Take, motion: Motion, characters: list[Character], arguments: argparse.Namespace,
    files: ConfigFiles,
) -> Take:  # fmt: skip
    """Return a take with what the solver makes of its performer beside it."""
    environment = clip_arguments.find_environment(files, arguments.environment)
    tuning = clip_arguments.tuning(arguments.settings, PRESETS[0])
    times = np.arange(motion.n_frames) / motion.rate_hz
    for character in characters:
        job = RetargetJob(
            character, environment, importance=tuning.importance, tuning=tuning.solver,
            self_interaction=tuning.self_interaction,
        )  # fmt: skip
        with progress(f'retarget to {character.name}', motion.n_frames) as advance:
            result = retarget_motion(motion, job, advance)
        body, importance = solved_body(character, times, result)
        take = replace(
            take, bodies=(*take.bodies, body), importance=take.importance or importance
        )
    return take
