# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip render`: performer and puppets at instants of a clip, as a PNG picture."""

import argparse
from pathlib import Path

from puppet_core.character import Character, default_capsules
from puppet_core.errors import ConfigError
from puppet_core.image_file import Picture, save_png
from puppet_core.posture import Motion
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.clip_retarget import retarget_motion, RetargetJob
from puppet_retarget.offline.line_up import Actor, line_up_picture
from puppet_retarget.offline.picture import MAX_SIDE_PX
from puppet_retarget.offline.picture_strip import even_instants, render_strip, StripRow
from puppet_retarget.offline.terminal_progress import progress
from puppet_retarget.parameters import PRESETS
from puppet_retarget.solvers.registry import SOLVER_NAMES

EXAMPLE = 'example: ./puppet render walk.bvh --strip 5 -o walk.png'
MAX_INSTANTS = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    add = parser.add_argument
    add('clip', nargs='?', metavar='CLIP', type=Path, help='.bvh, .amc or .c3d')
    add('--procedural', action='store_true', help='the built-in performer instead of a clip')
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add(
        '--characters', type=clip_arguments.listed, metavar='A,B',
        default=(PERFORMER, 'sally', 'blubby'),
        help=f'names or files; {PERFORMER} is the captured body; default performer,sally,blubby',
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--frame', type=int, metavar='I', help='one instant, bodies side by side')
    which.add_argument('--strip', type=int, metavar='N', help='N instants, a row for each body')
    add('--first', type=int, default=0, metavar='I', help='frame of the first instant')
    add('--last', type=int, metavar='I', help='frame of the last instant')
    add('--azimuth-deg', type=float, default=-60.0, metavar='A',
        help='of the viewer: 0 in front of the performer, 90 on its left; default %(default)s')
    add('--width-px', type=int, default=1600, metavar='W', help='default %(default)s')
    add('-o', '--out', type=Path, required=True, metavar='PNG', help='the picture')
    add('--solver', choices=SOLVER_NAMES, default=SOLVER_NAMES[0], help='default %(default)s')
    add('--preset', choices=PRESETS, default=PRESETS[0], help='tuning; default %(default)s')
    clip_arguments.add_tuning_options(parser, has_procedural=True)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Draw and save; return a line that says what.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    _check(arguments)
    motion = _motion(arguments, files)
    frames = _frames(arguments, motion.n_frames)
    actors = [_actor(name, motion, arguments, files) for name in arguments.characters]
    picture = _picture(actors, frames, arguments)
    save_png(arguments.out, picture)
    height, width = picture.shape[:2]
    return f'{arguments.out}: {width} x {height} pixels, frame {", ".join(map(str, frames))}'


def _picture(
    actors: list[Actor], frames: list[int], arguments: argparse.Namespace
) -> Picture:
    if arguments.strip is None:
        size_px = (arguments.width_px, arguments.width_px * 9 // 16)
        return line_up_picture(actors, frames[0], size_px, arguments.azimuth_deg)
    rows = [
        StripRow(actor.title, [[actor.body(frame)] for frame in frames]) for actor in actors
    ]
    captions = [f'{frame / actors[0].motion.rate_hz:.2f} s' for frame in frames]
    side = arguments.width_px // len(frames)
    return render_strip(rows, captions, (side, side * 10 // 9), arguments.azimuth_deg)


def _check(arguments: argparse.Namespace) -> None:
    clip_arguments.check_output(arguments.out, '--out', '.png')
    if (arguments.clip is None) != arguments.procedural:
        raise ConfigError('CLIP: expected a clip or --procedural, got both or neither')
    if not 200 <= arguments.width_px <= MAX_SIDE_PX:
        raise ConfigError(
            f'--width-px: expected 200 <= value <= {MAX_SIDE_PX}, got {arguments.width_px}'
        )
    if arguments.strip is not None and not 1 <= arguments.strip <= MAX_INSTANTS:
        raise ConfigError(f'--strip: expected 1 <= N <= {MAX_INSTANTS}, got {arguments.strip}')


def _motion(arguments: argparse.Namespace, files: ConfigFiles) -> Motion:
    if arguments.procedural:
        return clip_arguments.procedural_clip(files)
    return clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)


def _frames(arguments: argparse.Namespace, n_frames: int) -> list[int]:
    """Return the instants that are drawn."""
    last = n_frames - 1 if arguments.last is None else arguments.last
    if arguments.strip is not None:
        span = last - arguments.first + 1
        if span < 1:
            raise ConfigError(f'--first: expected at most --last {last}, got {arguments.first}')
        frames = [arguments.first + int(i) for i in even_instants(span, arguments.strip)]
    else:
        frames = [last // 2 if arguments.frame is None else arguments.frame]
    for frame in frames:
        if not 0 <= frame < n_frames:
            raise ConfigError(f'frames: expected 0 .. {n_frames - 1}, got {frame}')
    return frames


def _actor(
    name: str, motion: Motion, arguments: argparse.Namespace, files: ConfigFiles
) -> Actor:
    """Return the captured body, or a puppet with the motion that the solver gives it."""
    if name == PERFORMER:
        return Actor(_captured_body(motion, arguments, files), motion, PERFORMER.capitalize())
    character = clip_arguments.find_character(files, name, arguments.world_scale)
    tuning = clip_arguments.tuning(arguments.settings, arguments.preset)
    job = RetargetJob(
        character,
        clip_arguments.find_environment(files, arguments.environment, arguments.procedural),
        arguments.solver,
        tuning.importance,
        tuning.solver,
        tuning.self_interaction,
    )
    with progress(f'retarget to {character.name}', motion.n_frames) as advance:
        result = retarget_motion(motion, job, advance)
    return Actor(character, result.motion(character, motion.rate_hz), character.name.capitalize())


def _captured_body(
    motion: Motion, arguments: argparse.Namespace, files: ConfigFiles
) -> Character:
    performer = clip_arguments.find_character(files, PERFORMER)
    if arguments.procedural:
        return performer
    shape = default_capsules(motion.skeleton)
    return Character(PERFORMER, '', motion.skeleton, shape, performer.colour)
