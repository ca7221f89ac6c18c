# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip character`: write a character file, check one, or follow clips with a robot."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core import named_files
from puppet_core.body import (
    Character,
    LIMB_SEGMENTS,
    load_character,
    Motion,
    person,
    save_character,
)
from puppet_core.io import ConfigError, write_text
from puppet_core.math import quaternions as qb
from puppet_core.procedural import SHOW
from puppet_core.robots import (
    character_from_urdf,
    findings,
    load_robot_map,
    require_t_pose,
    RobotMap,
)
from puppet_performer.calibration import load_calibration
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import number, retarget_motion, RetargetJob, table

HANDS, FEET = LIMB_SEGMENTS[:2, 2], LIMB_SEGMENTS[2:, 2]

EXAMPLE = 'example: ./puppet character new robot.yaml --from-urdf robot.urdf'


ROBOT_HEAD = (
    'motion',
    *('palms, mm', 'hands turned, deg', 'elbows, mm', 'soles, mm', 'feet turned, deg'),
    *('knees, mm', 'fastest joint, rad/s', 'limits violated'),
)


def robot_row(name: str, motion: Motion, job: RetargetJob) -> list[str]:
    """
    Let a robot follow a motion, and compare it with the same body without a robot's joints.

    Returns the cells of ROBOT_HEAD, medians and greatest values; ConfigError if it is no robot.
    """
    robot = job.character.robot
    if robot is None:
        raise ConfigError(f'{job.character.name}: expected a robot, got another character')
    done = retarget_motion(motion, job)
    asked = retarget_motion(motion, replace(job, character=replace(job.character, robot=None)))
    away = np.linalg.norm(done.puppet.end_effectors - asked.puppet.end_effectors, axis=2)
    palms, soles, elbows, knees = 1e3 * away.reshape(-1, 4, 2).swapaxes(0, 1)
    turned = np.linalg.norm(qb.log(qb.multiply(qb.conjugate(asked.q_world), done.q_world)), axis=2)
    hands, feet = np.degrees(turned[:, HANDS]), np.degrees(turned[:, FEET])
    angles = done.robot_angles[:, : len(robot.names)]
    steps = np.abs(np.diff(angles, axis=0)) if len(angles) > 1 else np.zeros(1)
    pairs = ((palms, 1), (hands, 0), (elbows, 0), (soles, 2), (feet, 1), (knees, 0))
    return [
        name,
        *(f'{number(float(np.median(v)), n)} / {number(float(v.max()), n)}' for v, n in pairs),
        number(float(steps.max()) * motion.rate_hz, 0),
        str(np.count_nonzero((angles < robot.lower) | (angles > robot.upper))),
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = 'new, check or follow'
    words = parser.add_subparsers(dest='action', metavar='ACTION', required=True, help=text)
    new = words.add_parser('new', help='write a character file')
    new.add_argument('file', metavar='OUT.yaml', type=Path, help='the file to write')
    source = new.add_mutually_exclusive_group(required=True)
    source.add_argument(
        '--from-clip', metavar='F', type=Path, help='take the body of a .bvh or .amc'
    )
    text = 'take the performer of a calibration file'
    source.add_argument('--from-calibration', metavar='F', type=Path, help=text)
    source.add_argument(
        '--from-urdf', metavar='F', type=Path, help='take a humanoid robot (URDF, xacro or MJCF)'
    )
    add = new.add_argument
    text = 'joints of each segment of the robot, and its forward direction'
    add('--map', metavar='MAP.yaml', type=Path, help=text)
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--world-scale', metavar='K', help="scale of the character's world: a number or auto")
    clip_arguments.add_clip_options(new)
    check = words.add_parser('check', help='look over a character file')
    check.add_argument('file', metavar='FILE', help='name or file of a character')
    follow = words.add_parser('follow', help='measure what a robot leaves undone of motions')
    follow.add_argument('file', metavar='FILE', help='name or file of a robot')
    text = '.bvh, .amc (its .asf beside it) or .c3d; default: the built-in performer'
    follow.add_argument(
        'clips', nargs='*', metavar='CLIP', type=clip_arguments.clip_path, help=text
    )
    clip_arguments.add_clip_options(follow)


def run(arguments: argparse.Namespace) -> str:
    """Write or check a character, or let it follow clips; return the report, or PuppetError."""
    if arguments.action == 'check':
        path = named_files.character_file(arguments.file)
        character = load_character(path)
        require_t_pose(character, path)
        return _told(f'{path}: {_summary(character)}', findings(character))
    if arguments.action == 'follow':
        return _followed(arguments)
    out = arguments.file
    clip_arguments.check_output(out, 'OUT.yaml', '.yaml')
    character, notes = _made(arguments)
    changes: dict = {'name': out.stem}
    if arguments.world_scale is not None:
        changes['world_scale'] = clip_arguments.parse_world_scale(arguments.world_scale)
    character = replace(character, **changes)
    robot = character.robot
    if robot is not None and robot.urdf.encode() != robot.urdf_path.read_bytes():
        # xacro and MJCF are read once: what uses the robot needs URDF alone
        robot = replace(robot, urdf_path=out.with_suffix('.urdf'))
        write_text(robot.urdf_path, robot.urdf)
        character = replace(character, robot=robot)
    save_character(character, out)
    found = findings(character)
    told = [note for note in notes if not any(note.split(':')[0] in text for text in found)]
    return _told(f'{out}: {_summary(character)}', [*told, *found])


def _followed(arguments: argparse.Namespace) -> str:
    character = clip_arguments.find_character(arguments.file)
    rows = []
    for path in arguments.clips or (None,):
        if path is None:
            motion = clip_arguments.procedural_clip()
        else:
            motion = clip_arguments.read_clip(path, arguments)
        environment = clip_arguments.find_environment(None, None if path else SHOW)
        name = 'built-in performance' if path is None else path.stem
        rows.append(robot_row(name, motion, RetargetJob(character, environment)))
    return table(ROBOT_HEAD, rows)


def _made(arguments: argparse.Namespace) -> tuple[Character, tuple[str, ...]]:
    if arguments.from_urdf is not None:
        chosen = load_robot_map(arguments.map) if arguments.map is not None else RobotMap()
        made = character_from_urdf(arguments.from_urdf, chosen)
        return made.character, made.notes
    if arguments.map is not None:
        raise ConfigError('--map: expected --from-urdf with it, got none')
    if arguments.from_clip is not None:
        path = arguments.from_clip
        skeleton = clip_arguments.read_clip(path, arguments, arguments.asf).skeleton
        return person(path.stem, skeleton, title=f'The body of {path.name}'), ()
    path = arguments.from_calibration
    calibration = load_calibration(path)
    # a calibration from a pose alone assumes the lengths of a character
    if calibration.skeleton is not None:
        return person(path.stem, calibration.skeleton, title=f'The body of {path.name}'), ()
    base = load_character(named_files.character_file(calibration.performer))
    return base, (
        f'lengths: those of {base.name}, which the calibration assumed; a range of '
        'motion would measure them',
    )


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
