# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_clip character`: write a character file, check one, or follow clips with a robot.

`load_character` refuses descriptions that cannot be a body. The checks here report what is
unusual about one that can: sides that differ, lengths unlike any person's, limits that exclude
the T-pose, a robot section that no longer fits its URDF. For robots a table compares the posture
of the robot with the one that the solver asked for.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import re

import numpy as np
from puppet_core.body import (
    Character,
    default_capsules,
    LIMB_SEGMENTS,
    load_character,
    Motion,
    save_character,
    Skeleton,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_core.math import quaternions as qb
from puppet_core.robots import character_from_urdf, findings, load_robot_map, RobotMap
from puppet_performer.calibration import load_calibration
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import ConfigFiles, number, retarget_motion, RetargetJob, table

HANDS, FEET = LIMB_SEGMENTS[:2, 2], LIMB_SEGMENTS[2:, 2]
PARTS = ('palms', 'elbows', 'soles', 'knees')
_POINTS = {'palms': [0, 1], 'soles': [2, 3], 'elbows': [4, 5], 'knees': [6, 7]}

EXAMPLE = 'example: ./puppet character new robot.yaml --from-urdf robot.urdf'
_COLOUR = re.compile(r'#?([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})')


@dataclass(frozen=True, slots=True)
class RobotFigures:
    """One motion, frame by frame and side by side."""

    name: str  # of the motion
    # Distance of each of PARTS from where it was asked for, each of shape (frames, 2) [m]
    away_m: dict[str, Floats]
    hands_rad: Floats  # turn of the hands against the one asked for, shape (frames, 2) [rad]
    feet_rad: Floats  # likewise of the feet [rad]
    rates: Floats  # greatest speed of each joint, shape (joints,) [rad/s]
    n_violations: int  # angles outside of their limits


def robot_figures(name: str, motion: Motion, job: RetargetJob) -> RobotFigures:
    """
    Let a robot follow a motion, and compare it with the same body without a robot's joints.

    Raises ConfigError if the job's character is no robot.
    """
    robot = job.character.robot
    if robot is None:
        raise ConfigError(f'{job.character.name}: expected a robot, got another character')
    done = retarget_motion(motion, job)
    asked = retarget_motion(motion, replace(job, character=replace(job.character, robot=None)))
    away = np.linalg.norm(done.puppet.end_effectors - asked.puppet.end_effectors, axis=2)
    turned = np.linalg.norm(qb.log(qb.multiply(qb.conjugate(asked.q_world), done.q_world)), axis=2)
    angles = done.robot_angles[:, : len(robot.names)]
    steps = np.abs(np.diff(angles, axis=0)) if len(angles) > 1 else np.zeros((1, len(robot.names)))
    return RobotFigures(
        name,
        {part: away[:, _POINTS[part]] for part in PARTS},
        turned[:, HANDS],
        turned[:, FEET],
        steps.max(axis=0) * motion.rate_hz,
        int(np.count_nonzero((angles < robot.lower) | (angles > robot.upper))),
    )


def robot_table(figures: Sequence[RobotFigures]) -> str:
    """Return figures of motions as a Markdown table, medians and greatest values."""
    head = [
        'motion',
        'palms, mm',
        'hands turned, deg',
        'elbows, mm',
        'soles, mm',
        'feet turned, deg',
        'knees, mm',
        'fastest joint, rad/s',
        'limits violated',
    ]
    return table(head, [_cells(one) for one in figures])


def _cells(one: RobotFigures) -> list[str]:
    mm = {part: 1e3 * values for part, values in one.away_m.items()}
    return [
        one.name,
        _pair(mm['palms'], 1),
        _pair(np.degrees(one.hands_rad), 0),
        _pair(mm['elbows'], 0),
        _pair(mm['soles'], 2),
        _pair(np.degrees(one.feet_rad), 1),
        _pair(mm['knees'], 0),
        number(float(one.rates.max()), 0),
        str(one.n_violations),
    ]


def _pair(values: Floats, digits: int) -> str:
    return f'{number(float(np.median(values)), digits)} / {number(float(values.max()), digits)}'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    words = parser.add_subparsers(
        dest='action', metavar='ACTION', required=True, help='what is to be done'
    )
    new = words.add_parser('new', help='write a character file')
    new.add_argument('file', metavar='OUT.yaml', type=Path, help='the file to write')
    source = new.add_mutually_exclusive_group(required=True)
    source.add_argument('--from-clip', metavar='F', type=Path, help='the body of a .bvh or .amc')
    source.add_argument(
        '--from-calibration', metavar='F', type=Path, help='the performer of a calibration file'
    )
    source.add_argument('--from-urdf', metavar='F', type=Path, help='a humanoid robot')
    add = new.add_argument
    add(
        '--map',
        metavar='MAP.yaml',
        type=Path,
        help="joints of the robot's segments, and where it faces",
    )
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
        'clips',
        nargs='*',
        metavar='CLIP',
        type=Path,
        help='.bvh, .amc (its .asf beside it) or .c3d; the built-in performer if there is none',
    )
    clip_arguments.add_clip_options(follow)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Write or check a character, or let it follow clips; return the report.

    Raises PuppetError for bad input; nothing is written then.
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
    return base, (
        f'lengths: those of {base.name}, which the calibration assumed; a range of '
        'motion would measure them',
    )


def _body(skeleton: Skeleton, path: Path) -> Character:
    return Character(path.stem, f'The body of {path.name}', skeleton, default_capsules(skeleton))


def _dressed(character: Character, arguments: argparse.Namespace) -> Character:
    """Return the character with the findings about it."""
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
