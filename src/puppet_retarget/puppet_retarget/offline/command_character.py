# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip character`: make a character file, look over one, see a robot follow clips."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
import re

from puppet_core.character import Character, default_capsules, load_character, save_character
from puppet_core.character_check import findings
from puppet_core.errors import ConfigError
from puppet_core.robot_character import character_from_urdf
from puppet_core.robot_map import load_robot_map, RobotMap
from puppet_core.skeleton import Skeleton
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles
from puppet_retarget.offline.clip_retarget import RetargetJob
from puppet_retarget.offline.robot_report import robot_figures, robot_table
from puppet_retarget.performer.calibration import load_calibration

EXAMPLE = 'example: ./puppet character new robot.yaml --from-urdf robot.urdf'
_COLOUR = re.compile(r'#?([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    words = parser.add_subparsers(dest='action', metavar='ACTION', required=True,
                                  help='what is to be done')  # fmt: skip
    new = words.add_parser('new', help='write a character file')
    new.add_argument('file', metavar='OUT.yaml', type=Path, help='the file to write')
    source = new.add_mutually_exclusive_group(required=True)
    source.add_argument('--from-clip', metavar='F', type=Path, help='the body of a .bvh or .amc')
    source.add_argument(
        '--from-calibration', metavar='F', type=Path, help='the performer of a calibration file'
    )
    source.add_argument('--from-urdf', metavar='F', type=Path, help='a humanoid robot')
    add = new.add_argument
    add('--map', metavar='MAP.yaml', type=Path,
        help="joints of the robot's segments, and where it faces")
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--name', help="short name; default the file's")
    add('--title', default='', help='one line for people')
    add('--colour', metavar='RRGGBB', help='of the body, as six hexadecimal digits')
    add('--world-scale', metavar='K', help="size of the character's world, a number or auto")
    clip_arguments.add_clip_options(new)
    check = words.add_parser('check', help='look over a character file')
    check.add_argument('file', metavar='FILE', help='name or file of a character')
    follow = words.add_parser('follow', help='measure what a robot leaves undone of motions')
    follow.add_argument('file', metavar='FILE', help='name or file of a robot')
    follow.add_argument(
        'clips', nargs='*', metavar='CLIP', type=Path,
        help='.bvh, .amc (its .asf beside it) or .c3d; the built-in performer if there is none',
    )  # fmt: skip
    clip_arguments.add_clip_options(follow)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Write or look over a character, or let it follow clips; return what there is to say.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    if arguments.action == 'check':
        path = files.character_file(arguments.file)
        character = load_character(path)
        return _told(f'{path}: {_summary(character)}', findings(character))
    if arguments.action == 'follow':
        return _followed(arguments, files)
    out = arguments.file
    clip_arguments.check_output(out, 'OUT.yaml', '.yaml')
    character, notes = _made(arguments, files)
    character = _dressed(character, arguments)
    save_character(character, out)
    found = findings(character)
    told = [note for note in notes if not any(note.split(':')[0] in text for text in found)]
    return _told(f'{out}: {_summary(character)}', [*told, *found])


def _followed(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    character = clip_arguments.find_character(files, arguments.file)
    figures = []
    for path in arguments.clips or (None,):
        if path is None:
            motion = clip_arguments.procedural_clip(files)
        else:
            motion = clip_arguments.read_clip(path, arguments)
        environment = clip_arguments.find_environment(files, None, path is None)
        name = 'built-in performance' if path is None else path.stem
        figures.append(robot_figures(name, motion, RetargetJob(character, environment)))
    return robot_table(figures)


def _made(arguments: argparse.Namespace, files: ConfigFiles) -> tuple[Character, tuple[str, ...]]:
    if arguments.from_urdf is not None:
        chosen = load_robot_map(arguments.map) if arguments.map is not None else RobotMap()
        made = character_from_urdf(arguments.from_urdf, chosen)
        return made.character, made.notes
    if arguments.map is not None:
        raise ConfigError('--map: expected with --from-urdf, got it without')
    if arguments.from_clip is not None:
        path = arguments.from_clip
        clip = clip_arguments.read_clip(path, arguments, arguments.asf)
        return _body(clip.skeleton, path), ()
    calibration = load_calibration(arguments.from_calibration)
    # a calibration from a pose alone assumes the lengths of a character
    if calibration.skeleton is not None:
        return _body(calibration.skeleton, arguments.from_calibration), ()
    base = load_character(files.character_file(calibration.performer))
    return base, (f'lengths: those of {base.name}, which the calibration assumed; a range of '
                  'motion would measure them',)  # fmt: skip


def _body(skeleton: Skeleton, path: Path) -> Character:
    return Character(path.stem, f'The body of {path.name}', skeleton, default_capsules(skeleton))


def _dressed(character: Character, arguments: argparse.Namespace) -> Character:
    """Return the character with what was said about it."""
    changes: dict = {'name': arguments.name or arguments.file.stem}
    if arguments.title:
        changes['title'] = arguments.title
    if arguments.colour is not None:
        parts = _COLOUR.fullmatch(arguments.colour)
        if parts is None:
            raise ConfigError(
                f'--colour: expected six hexadecimal digits, got {arguments.colour!r}'
            )
        changes['colour'] = tuple(round(int(part, 16) / 255.0, 3) for part in parts.groups())
    if arguments.world_scale is not None:
        changes['world_scale'] = clip_arguments.parse_world_scale(arguments.world_scale)
    return replace(character, **changes)


def _summary(character: Character) -> str:
    text = f'{character.name}, legs {character.skeleton.leg_length:.3f} m'
    if character.robot is not None:
        text += f', {len(character.robot.names)} robot joints'
    if character.joint_limits:
        text += f', limits on {len(character.joint_limits)} joints'
    return text


def _told(first: str, rest: Iterable[str]) -> str:
    lines = [f'  {text}' for text in rest]
    return '\n'.join([first, *(lines or ['  nothing odd about it'])])
