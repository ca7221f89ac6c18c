# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Characters: a skeleton with a shape, from one YAML file each; right sides mirror left ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from puppet_core.body.capsules import Capsule, default_capsules
from puppet_core.body.joint_limits import joint_limits_tree, JointLimit, read_joint_limits, SECTION
from puppet_core.body.robot import read_robot, Robot, robot_section
from puppet_core.body.robot import SECTION as ROBOT
from puppet_core.body.skeleton import END_EFFECTORS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import brief, ConfigError, dump_yaml, load_yaml, Section, write_text
from puppet_core.math import Floats

FORMAT = 'puppet-character/1'
GREY = (0.6, 0.65, 0.7)
AUTO = 'auto'  # world_scale: the leg-length ratio
LEGS = 'legs'  # root_height_ratio: the leg-length ratio

MAX_OFFSET_M = 10.0  # of a joint from its parent; more is another unit
_MIRROR = np.array([1.0, -1.0, 1.0])


@dataclass(frozen=True, slots=True)
class Character:
    name: str  # Short name, as used on the command line
    title: str  # One line for people
    skeleton: Skeleton  # Lengths and interaction points
    capsules: tuple[Capsule, ...]  # Shape, for pictures and self-interaction
    colour: tuple[float, float, float] = GREY  # Red, green, blue in 0 .. 1
    # Size of the puppet's world over the performer's, or AUTO for the leg-length ratio
    world_scale: float | str = 1.0
    # Reference height of the root over the performer's, or LEGS (errata 2)
    root_height_ratio: float | str = LEGS
    # Of the joints that have any, in the order of SEGMENTS
    joint_limits: tuple[JointLimit, ...] = ()
    robot: Robot | None = None  # The robot that this is, with its own joints

    def colour_of(self, capsule: Capsule) -> tuple[float, float, float]:
        return self.colour if capsule.colour is None else capsule.colour

    def scale_for(self, performer_leg_length: float) -> float:
        """Return the world scale for a performer of this leg length [m]."""
        if self.world_scale == AUTO:
            return self.skeleton.leg_length / performer_leg_length
        return float(self.world_scale)

    def root_ratio_for(self, performer_leg_length: float) -> float:
        """Return reference root height over the performer's root height, both in own world."""
        if self.root_height_ratio == LEGS:
            return self.skeleton.leg_length / performer_leg_length
        return float(self.root_height_ratio)


def person(
    name: str, skeleton: Skeleton, colour: tuple[float, float, float] = GREY, title: str = ''
) -> Character:
    """Return somebody of a skeleton, in an ordinary person's shape."""
    return Character(name, title, skeleton, default_capsules(skeleton), colour)


def load_character(path: str | Path) -> Character:
    """Return a file's character; InputFileError names file, line and key of what does not fit."""
    source = load_yaml(path, FORMAT)
    skeleton = _read_skeleton(source)
    character = Character(
        name=source.text('name', Path(path).stem),
        title=source.text('title', ''),
        skeleton=skeleton,
        capsules=_read_capsules(source),
        colour=_read_colour(source) or (0.6, 0.65, 0.7),
        world_scale=_ratio(source, 'world_scale', 1.0, AUTO),
        root_height_ratio=_ratio(source, 'root_height_ratio', LEGS, LEGS),
        joint_limits=read_joint_limits(source),
        robot=read_robot(source),
    )
    source.finish()
    return character


def save_character(character: Character, path: str | Path) -> None:
    """Write a character file that `load_character` reads back to the same values."""
    skeleton = character.skeleton
    tree = {
        'format': FORMAT,
        'name': character.name,
        'title': character.title,
        'colour': [float(c) for c in character.colour],
        'world_scale': character.world_scale,
        'root_height_ratio': character.root_height_ratio,
        'joints_m': {s: skeleton.offsets[i].tolist() for i, s in enumerate(SEGMENTS) if i},
        'interaction_points_m': {
            name: skeleton.interaction_points[i].tolist() for i, name in enumerate(END_EFFECTORS)
        },
        'capsules': [
            {
                'segment': SEGMENTS[c.segment],
                'start_m': c.start.tolist(),
                'end_m': c.end.tolist(),
                'radius_m': float(c.radius),
                **({} if c.colour is None else {'colour': [float(v) for v in c.colour]}),
            }
            for c in character.capsules
        ],
        **({SECTION: joint_limits_tree(limits)} if (limits := character.joint_limits) else {}),
        **({ROBOT: robot_section(robot, Path(path))} if (robot := character.robot) else {}),
    }
    write_text(path, dump_yaml(tree))


def _read_skeleton(source: Section) -> Skeleton:
    joints = source.section('joints_m')
    offsets = np.zeros((len(SEGMENTS), 3))
    for i, segment in enumerate(SEGMENTS[1:], start=1):
        offsets[i] = _sided(joints, segment)
    joints.finish()
    _require_size(joints, offsets[1:], SEGMENTS[1:])
    points = source.section('interaction_points_m')
    interaction = np.array([_sided(points, name) for name in END_EFFECTORS])
    _require_size(points, interaction, END_EFFECTORS)
    points.finish()
    try:
        return Skeleton(offsets, interaction)
    except ConfigError as err:
        field, _, rest = str(err).partition(': expected ')
        expected, _, got = rest.partition(', got ')
        raise joints.error(field, expected, got) from err


def _require_size(section: Section, rows: Floats, names: Sequence[str]) -> None:
    """Refuse places that no body has, as of a file in other units."""
    for name, row in zip(names, rows):
        if not np.abs(row).max() <= MAX_OFFSET_M:
            key = name if name in section else name.replace('right_', 'left_')
            got = f'{np.abs(row).max():g} m'
            raise section.error(
                key, f'up to {MAX_OFFSET_M:g} m from its parent', got, 'lengths are in metres'
            )


def _sided(section: Section, name: str) -> Floats:
    left = name.replace('right_', 'left_')
    if name.startswith('right_') and name not in section:
        return section.numbers(left, 3) * _MIRROR
    return section.numbers(name, 3)


def _read_capsules(source: Section) -> tuple[Capsule, ...]:
    capsules = []
    for entry in source.sections('capsules'):
        segment = entry.text('segment', choices=SEGMENTS)
        start = entry.numbers('start_m', 3)
        end = entry.numbers('end_m', 3, start)
        radius = entry.number('radius_m', above=0.0, high=10.0)
        colour = _read_colour(entry)
        entry.finish()
        capsules.append(Capsule(SEGMENT_INDEX[segment], start, end, radius, colour))
    shaped = {SEGMENTS[c.segment] for c in capsules}
    for capsule in tuple(capsules):
        name = SEGMENTS[capsule.segment]
        other = name.replace('left_', 'right_')
        if other != name and other not in shaped:
            start, end = capsule.start * _MIRROR, capsule.end * _MIRROR
            mirrored = replace(capsule, segment=SEGMENT_INDEX[other], start=start, end=end)
            capsules.append(mirrored)
    return tuple(capsules)


def _read_colour(section: Section) -> tuple[float, float, float] | None:
    if 'colour' not in section:
        return None
    red, green, blue = section.numbers('colour', 3)
    if min(red, green, blue) < 0.0 or max(red, green, blue) > 1.0:
        got = section.raw('colour')
        raise section.error('colour', 'red, green, blue in 0 .. 1', got)
    return float(red), float(green), float(blue)


def _ratio(source: Section, key: str, default: float | str, word: str) -> float | str:
    value = source.raw(key, default)
    if value == word:
        return word
    if isinstance(value, str):
        raise source.error(key, f'a number > 0 or {word}', brief(value))
    return source.number(key, default, above=0.0, high=100.0)
