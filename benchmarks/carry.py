# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench carry`: a box of another size in the hands of puppets.

The built-in performer carries a box from a stand to a table and back. While its palms are on the
sides of its box, those of the puppet have to be on the sides of theirs, and not to slide; a box
that stands has to stand on the counterpart of what it stands on. With `--gaze` the performer looks
at the box, and what counts is how far the puppets' lines of sight pass theirs.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
import sys
from typing import NamedTuple

from benchmarks.command import bench_command, bench_parser
import numpy as np
from puppet_core import named_files
from puppet_core.body import ADULT_LEG_M, Character, Motion, PARENTS
from puppet_core.math import Floats, Quat, quaternions, values, Vec3, Vec3s
from puppet_core.procedural import carry_motion
from puppet_retarget.importance import Environment, load_environment
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import (
    number,
    PERFORMER,
    retarget_motion,
    RetargetJob,
    RetargetResult,
    smoothness,
    table,
)
from puppet_retarget.offline.smoothness import jerk_ratio
from puppet_retarget.solvers import HEAD
from puppet_retarget.solvers.whole_body.gaze import AHEAD, EYES_M

EXAMPLE = 'example: ./puppet bench carry --characters sally --sizes 0.5,2'
DESCRIPTION = 'Measure how puppets carry a box of another size.'
AIMS = 12  # steps of a search
BOX = 'box'
RATE_HZ = 120.0
GAZE_RAD = np.radians(30.0)
TOUCH_M, STILL_M_S = 1e-4, 1e-6  # a palm on the box, and a box that stands
TRUNK, CORE_POINTS = range(3), 9  # pelvis, spine and chest; points along a capsule


class CarryFigures(NamedTuple):
    """How a puppet carried its box."""

    palms_m: float  # greatest distance of a palm from the surface while the performer holds on
    slip_m_s: float  # fastest slide of a palm in the box's frame then
    fastest: float  # of the box, over the performer's, both in their own worlds
    acceleration_m_s2: float  # greatest of the box
    gap_m: float  # least and
    float_m: float  # greatest gap between a box that stands and what it stands on
    moves_m_s: float  # of a box that stands
    trunk_m: float  # how deep the box was in pelvis, spine or chest while held
    root_jerk: float  # RMS of the pelvis's, over the performer's in the scaled world
    whips: int  # joint-frames over 1000 deg/s while the performer's are below 300


def with_size(environment: Environment, factor: float) -> Environment:
    """Return an environment whose box is another size for the puppet."""
    objects = (
        replace(o, puppet=replace(o.puppet, size=factor * o.puppet.size)) if o.name == BOX else o
        for o in environment.objects
    )
    return Environment(tuple(objects))


def carry_figures(motion: Motion, character: Character, environment: Environment) -> CarryFigures:
    """Return how a puppet carries the box of an environment in the performance `carry`."""
    result = retarget_motion(motion, RetargetJob(character, environment))
    scale = character.scale_for(motion.skeleton.leg_length)
    (thing,) = (o for o in environment.objects if o.name == BOX)
    (table_top,) = {o.real.size[2] for o in environment.objects if o.name == 'table'}
    row = motion.props.names.index(BOX)
    places = motion.props.positions[:, row]
    held = _held(motion, environment)
    row = result.puppet_moving.names.index(BOX)
    own = result.puppet_moving.positions[:, row]
    own_size = scale * thing.puppet.size
    own_turns = result.puppet_moving.orientations[:, row]
    own_palms = _in_box(result.puppet.end_effectors[:, :2], own, own_turns)
    rate_hz = motion.rate_hz
    slips = np.linalg.norm(np.diff(own_palms, axis=0), axis=2)[held[1:] & held[:-1]] * rate_hz
    speeds, performers = (_speeds(track, rate_hz) for track in (own, places))
    stands = np.append(performers < STILL_M_S, False)
    stands &= places[:, 2] < table_top + 0.5 * thing.real.size[2] + TOUCH_M
    gaps = own[stands, 2] - 0.5 * own_size[2] - scale * table_top
    turns_of_joints = result.puppet.rotations, motion.rotations
    return CarryFigures(
        float(np.max(np.abs(_distances(own_palms, own_size)[held]))),
        float(np.max(slips)),
        float(np.max(speeds) / np.max(performers)),
        float(np.max(np.linalg.norm(np.diff(own, 2, axis=0), axis=1)) * rate_hz**2),
        float(np.min(gaps)),
        float(np.max(gaps)),
        float(np.max(speeds[stands[:-1] & stands[1:]])),
        float(np.max(_trunk_depths(result, character, own_size)[held])),
        jerk_ratio(result.puppet.root_positions, motion.root_positions, scale),
        int(np.sum(smoothness.whips(*turns_of_joints, rate_hz, np.zeros(len(own), dtype=bool)))),
    )


def looking_at_the_box(motion: Motion) -> Motion:
    """Return the performance with its head turned to the middle of the box, wherever that is."""
    (q_world, p_world), rotations = motion.world_segments(), motion.rotations.copy()
    eyes = np.array(EYES_M) * motion.skeleton.leg_length / ADULT_LEG_M
    for i, place in enumerate(motion.props.positions[:, motion.props.names.index(BOX)]):
        turned = looking(q_world[i, HEAD], p_world[i, HEAD], eyes, place)
        above = quaternions.conjugate(q_world[i, PARENTS[HEAD]])
        rotations[i, HEAD] = quaternions.multiply(above, turned)
    return replace(motion, rotations=rotations)


def looking(q: Quat, joint: Vec3, eyes: Vec3, target: Vec3) -> Quat:
    """
    Return the orientation of a head whose line of sight is brought onto a target [m].

    The eyes, in the head's frame [m], go with it, so it is aimed again from where they come to.
    """
    ahead = np.array(AHEAD)
    for _ in range(AIMS):
        line = target - joint - quaternions.rotate(q, eyes)
        turn = np.array(values.between(quaternions.rotate(q, ahead), line))
        q = quaternions.multiply(turn, q)
    return q


def sight_misses(
    motion: Motion, character: Character, environment: Environment, gaze_rad: float
) -> tuple[float, float]:
    """Return how far a puppet's line of sight passes the middle of the held box, RMS [cm, deg]."""
    objects = (replace(o, gaze_rad=gaze_rad) if o.name == BOX else o for o in environment.objects)
    result = retarget_motion(motion, RetargetJob(character, Environment(tuple(objects))))
    eyes = np.array(EYES_M) * character.skeleton.leg_length / ADULT_LEG_M
    q = result.q_world[:, HEAD]
    row = result.puppet_moving.names.index(BOX)
    line = result.puppet_moving.positions[:, row] - result.p_world[:, HEAD]
    line = (line - quaternions.rotate(q, eyes))[_held(motion, environment)]
    ahead = quaternions.rotate(q, np.array(AHEAD))[_held(motion, environment)]
    beside, along = np.linalg.norm(np.cross(ahead, line), axis=1), np.sum(ahead * line, axis=1)
    rms_m, rms_rad = (float(np.sqrt(np.mean(x**2))) for x in (beside, np.arctan2(beside, along)))
    return 100.0 * rms_m, float(np.degrees(rms_rad))


def _held(motion: Motion, environment: Environment) -> np.ndarray:
    """Return in which frames the performer's palms are on the box."""
    (thing,) = (o for o in environment.objects if o.name == BOX)
    row = motion.props.names.index(BOX)
    places = motion.props.positions[:, row], motion.props.orientations[:, row]
    palms = _in_box(motion.end_effectors[:, :2], *places)
    return np.all(np.abs(_distances(palms, thing.real.size)) < TOUCH_M, axis=1)


def _trunk_depths(result: RetargetResult, character: Character, size: Floats) -> Floats:
    """Return how deep the trunk is in its box in each frame, 0 outside, shape (n,) [m]."""
    row = result.puppet_moving.names.index(BOX)
    places, turns = (part[:, row] for part in result.puppet_moving[1:])
    depths = np.zeros(len(places))
    for capsule in character.capsules:
        if capsule.segment in TRUNK:
            core = np.linspace(capsule.start, capsule.end, CORE_POINTS)
            q, p = (x[:, capsule.segment, None] for x in (result.q_world, result.p_world))
            apart = _distances(_in_box(p + quaternions.rotate(q, core), places, turns), size)
            depths = np.maximum(depths, capsule.radius - apart.min(axis=1))
    return depths


def _in_box(points: Vec3s, places: Vec3s, turns: Floats) -> Vec3s:
    """Return points (n, k, 3) of every frame in the frame of a box."""
    return quaternions.rotate(quaternions.conjugate(turns)[:, None], points - places[:, None])


def _distances(points: Vec3s, size: Floats) -> Floats:
    """Return distances of points from the surface of a box, negative inside [m]."""
    out = np.abs(points) - 0.5 * size
    return np.linalg.norm(np.maximum(out, 0.0), axis=-1) + np.minimum(out.max(axis=-1), 0.0)


def _speeds(track: Vec3s, rate_hz: float) -> Floats:
    return np.linalg.norm(np.diff(track, axis=0), axis=1) * rate_hz


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, listed = parser.add_argument, clip_arguments.listed
    names = ('sally', 'blubby', 'frog')
    add('--characters', type=listed, metavar='A,B', default=names, help='names or YAML files')
    text = "of the puppet's box over the performer's; default 0.7,1,1.4"
    add('--sizes', type=_factors, metavar='K,K', default=(0.7, 1.0, 1.4), help=text)
    text = 'measure only the gaze while the performer looks at the box'
    add('--gaze', action='store_true', help=text)


def _factors(text: str) -> tuple[float, ...]:
    factors = tuple(float(word) for word in text.split(','))
    if not all(0.1 <= factor <= 10.0 for factor in factors):
        raise argparse.ArgumentTypeError(f'expected numbers in 0.1 .. 10, got {text!r}')
    return factors


def run(arguments: argparse.Namespace) -> str:
    """Return the figures of each character and size as a Markdown table, or raise PuppetError."""
    environment = load_environment(named_files.environment_file('carry'))
    motion = carry_motion(clip_arguments.find_character(PERFORMER), RATE_HZ)
    rows, looking = [], looking_at_the_box(motion) if arguments.gaze else None
    for name in arguments.characters:
        character = clip_arguments.find_character(name)
        for factor in arguments.sizes:
            own = with_size(environment, factor)
            if looking is None:
                cells = _cells(carry_figures(motion, character, own))
            else:
                pair = [sight_misses(looking, character, own, d) for d in (0.0, GAZE_RAD)]
                cells = [' → '.join(number(x, 1) for x in both) for both in zip(*pair)]
            rows.append([name, f'{factor:g}', *cells])
    if looking is not None:
        return table(['puppet', 'box', 'sight misses its middle, cm', 'degrees'], rows)
    head = ['puppet', 'box', 'palms off it, mm', 'slip, mm/s', "speed over the performer's"]
    head += ['acceleration, m/s²', 'gap while it stands, mm', 'moves then, mm/s']
    head += ['in the trunk, mm', "root jerk over the performer's", 'whips']
    return table(head, rows)


def _cells(figures: CarryFigures) -> list[str]:
    low, high = (number(round(1e3 * gap, 2) + 0.0, 2) for gap in (figures.gap_m, figures.float_m))
    return [
        number(1e3 * figures.palms_m, 2),
        number(1e3 * figures.slip_m_s, 1),
        number(figures.fastest, 2),
        number(figures.acceleration_m_s2, 1),
        f'{low} .. {high}',
        number(1e3 * figures.moves_m_s, 2),
        number(1e3 * figures.trunk_m, 1),
        number(figures.root_jerk, 2),
        str(figures.whips),
    ]


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('carry', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
