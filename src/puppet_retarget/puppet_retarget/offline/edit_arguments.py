# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What `edit` and the clip viewer share: how clips are read, and what an edit file may name."""

import argparse
from functools import partial
from pathlib import Path

from puppet_core.joint_limits import JointLimit
from puppet_core.posture import Motion
from puppet_core.skeleton import Skeleton
from puppet_retarget.editing.edit_file import Readers
from puppet_retarget.editing.edit_objects import flat
from puppet_retarget.editing.edit_tasks import do_tasks, function_of, heights_of, TaskSources
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how clips are read."""
    parser.add_argument('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    parser.add_argument(
        '--as-is', action='store_true',
        help='leave the floor and the first frames as the file has them',
    )
    clip_arguments.add_clip_options(parser)


def read_clip(path: Path, arguments: argparse.Namespace, asf: Path | None = None) -> Motion:
    """Return a clip; its end-effectors are those of its angles, which are what is edited."""
    mend = not arguments.as_is
    clip = clip_arguments.read_clip(path, arguments, asf or arguments.asf, mend)
    return Motion.from_rotations(
        clip.skeleton, clip.rate_hz, clip.root_positions, clip.rotations
    )


def readers(arguments: argparse.Namespace, files: ConfigFiles) -> Readers:
    """Return how the names in an edit file are understood."""

    def clip(path: Path, asf: Path | None) -> Motion:
        return read_clip(path, arguments, asf)

    def skeleton(name: str) -> Skeleton:
        return clip_arguments.find_character(files, name).skeleton

    def limits_of(name: str) -> tuple[JointLimit, ...]:
        return clip_arguments.find_character(files, name).joint_limits

    kinds = {'z_m': flat, 'function': function_of, 'heights': heights_of}
    return Readers(kinds, partial(do_tasks, sources=TaskSources(clip, skeleton)), limits_of)
