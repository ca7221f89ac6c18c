# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip layouts`: what each sensor layout can tell of a motion."""

import argparse
from pathlib import Path

from puppet_core.posture import Motion
from puppet_core.procedural_performer import procedural_motion
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.layout_accuracy import accuracy_table, layout_errors
from puppet_retarget.performer.sensor_layout import load_layout

EXAMPLE = 'example: ./puppet layouts walk.bvh --layouts six_point,default14'
LAYOUTS = (
    'six_point', 'enhance11', 'no_feet12', 'choi_ko13', 'default14', 'head15', 'girdle17',
)  # fmt: skip
RATE_HZ = 30.0  # of the built-in performer: no error depends on it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    add = parser.add_argument
    add('clip', nargs='?', metavar='CLIP', type=Path,
        help='.bvh or .amc; the built-in performer if there is none')
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add(
        '--layouts', type=clip_arguments.listed, metavar='A,B', default=LAYOUTS,
        help='names or YAML files; default all of the suite',
    )  # fmt: skip
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Return the errors of each layout as a Markdown table.

    Raises
    ------
    PuppetError : for bad input.

    """
    layouts = [load_layout(files.layout_file(name)) for name in arguments.layouts]
    motion = _motion(arguments, files)
    return accuracy_table([layout_errors(motion, layout) for layout in layouts])


def _motion(arguments: argparse.Namespace, files: ConfigFiles) -> Motion:
    if arguments.clip is None:
        return procedural_motion(clip_arguments.find_character(files, PERFORMER), RATE_HZ)
    return clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)
