# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip enhance`: a captured motion made better by measured end-effectors."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import Character, END_EFFECTORS, Motion, person
from puppet_core.clips import SUFFIXES
from puppet_core.drawing import Picture
from puppet_core.io import ConfigError, InputFileError, progress
from puppet_core.math import Vec3s
from puppet_edit import enhancement
from puppet_edit.edit_session import check_outputs, write_outputs
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER

AUTO_KEYFRAMES = 'auto'
KEYFRAMES, ONLINE = 'keyframes', 'online'
METHODS = (KEYFRAMES, ONLINE)
OTHER_BODY_M = 0.5  # a median error above it is another body or another world
_DEFAULT = enhancement.EnhanceConfig()

EXAMPLE = (
    'example: ./puppet enhance data/clips/walk.bvh better.bvh '
    '--targets data/clips/hands.yaml --report report.json'
)
# Returns a strip of a body in motions before and after, with measured places and keyframes.
Draw = Callable[[Character, tuple[Motion, Motion], Vec3s, list[int]], Picture]

# By group: option, kind of value or its choices, name of the value, default, help.
OPTIONS: Mapping[str, Sequence[tuple[str, Any, str | None, Any, str]]] = {
    'what was measured': (
        ('--targets', Path, 'F', None, 'measured end-effectors of the same body: .csv, .yaml, or '
         "a clip (.bvh, .amc, .c3d); default: the clip's own, as in a .c3d"),
        ('--targets-start-s', float, 'T', 0.0,
         'time in CLIP of the first frame of a --targets clip; default %(default)g'),
        ('--end-effectors', clip_arguments.listed, 'A,B', None,
         f'only these; {", ".join(END_EFFECTORS)} of a clip, elbows and knees of a file too'),
        ('--meet', list, 'A,B[:M]', [], 'make these two meet, M metres apart; may be repeated'),
    ),
    'keyframes': (
        ('--keyframes', str, '0,30,..', None,
         f'frames, or {AUTO_KEYFRAMES}: from meetings, contacts and speeds (the default)'),
        ('--most-s', float, 'T', enhancement.MOST_S,
         'longest time between automatic keyframes; default %(default)g'),
        ('--tolerance-mm', float, 'E', 0.0,
         'add keyframes where errors are larger than this; default %(default)g: none'),
    ),
    'curves': (
        ('--method', METHODS, None, METHODS[0],
         'keyframes and curves, or frame by frame as in the live graph; default %(default)s'),
        ('--weight', float, 'W1', None, 'weight of end-effectors against angles, below 1; default '
         f'{_DEFAULT.weight:g}, {ONLINE} {enhancement.SOFT_WEIGHT:g}'),
        ('--channels', tuple(enhancement.CHANNEL_KINDS), None, _DEFAULT.channels,
         'rotation parameters to which curves are fitted; default %(default)s'),
        ('--detail-s', float, 'T', _DEFAULT.detail_s,
         'knot spacing between keyframes; 0: no knots, as in the paper; default %(default)g'),
        ('--only-keyframes', bool, None, False,
         'ignore measured end-effectors between keyframes'),
        ('--segment', int, 'K', _DEFAULT.segment,
         'with --detail-s 0: join segments of K keyframes; default %(default)s: one'),
        ('--root', enhancement.ROOT_CHOICES, None, _DEFAULT.root,
         'whether the pelvis may move; auto: only if a foot is measured'),
    ),
}  # fmt: skip


def enhance_config(arguments: argparse.Namespace) -> enhancement.EnhanceConfig:
    """Return the options; raise ConfigError naming one that does not fit."""
    weight = arguments.weight
    if weight is None:
        weight = enhancement.SOFT_WEIGHT if arguments.method == ONLINE else _DEFAULT.weight
    if arguments.method == ONLINE:
        enhancement.rate_config(weight)  # refuses what this method cannot have
    tolerance_mm = arguments.tolerance_mm
    if not 0.0 <= tolerance_mm <= 1e4:
        raise ConfigError(f'--tolerance-mm: expected 0 <= value <= 10000, got {tolerance_mm:g}')
    follow, tolerance_m = not arguments.only_keyframes, 1e-3 * tolerance_mm
    curve = (arguments.channels, arguments.detail_s, follow, arguments.segment, arguments.root)
    return enhancement.EnhanceConfig(weight, *curve, tolerance_m)


def read_targets(motion: Motion, arguments: argparse.Namespace) -> enhancement.TargetFile:
    path = arguments.targets
    if arguments.targets_start_s != 0.0 and (path is None or path.suffix.lower() not in SUFFIXES):
        raise ConfigError('--targets-start-s: expected a clip as --targets with it')
    if path is None:
        found = enhancement.TargetFile(_targets_of_clip(motion, motion, 0.0), None)
    elif path.suffix.lower() in enhancement.SUFFIXES:
        found = enhancement.read_targets(path, motion.n_frames, motion.rate_hz)
    elif path.suffix.lower() in SUFFIXES:
        other = clip_arguments.read_clip(path, arguments, mend=False)
        targets = _targets_of_clip(motion, other, arguments.targets_start_s)
        found = enhancement.TargetFile(targets, None)
    else:
        known = ', '.join((*enhancement.SUFFIXES, *SUFFIXES))
        raise InputFileError(path, f'one of {known}', f'suffix {path.suffix!r}')
    targets = found.targets
    if arguments.end_effectors:
        targets = targets.only(arguments.end_effectors)
    meetings = tuple(_meeting(text) for text in arguments.meet)
    targets = replace(targets, meetings=(*targets.meetings, *meetings))
    _require_same_body(motion, targets)
    return enhancement.TargetFile(targets, found.keyframes)


def keyframes(
    targets: enhancement.TargetFile, motion: Motion, arguments: argparse.Namespace
) -> dict[int, str]:
    """Return the keyframes that are given, in the file of targets too, or that are found."""
    text = arguments.keyframes
    if text is None and targets.keyframes is not None:
        return enhancement.given_keyframes(targets.keyframes, motion.n_frames)
    if text is None or text.strip() == AUTO_KEYFRAMES:
        return enhancement.choose_keyframes(
            targets.targets, motion.rate_hz, most_s=arguments.most_s
        )
    try:
        frames = [int(word) for word in text.split(',')]
    except ValueError:
        wanted = f'{AUTO_KEYFRAMES} or frames with commas between'
        raise ConfigError(f'--keyframes: expected {wanted}, got {text!r}') from None
    return enhancement.given_keyframes(frames, motion.n_frames)


def _targets_of_clip(motion: Motion, other: Motion, start_s: float) -> enhancement.Targets:
    """Return the palms and soles of a clip as targets of another."""
    if not np.isfinite(start_s):
        raise ConfigError(f'--targets-start-s: expected a finite number, got {start_s}')
    measured = np.array(other.end_effectors)
    measured[:, len(END_EFFECTORS) :] = np.nan
    times = start_s + np.arange(other.n_frames) / other.rate_hz
    at = np.arange(motion.n_frames) / motion.rate_hz
    positions = enhancement.resampled(times, measured, at)
    if not np.isfinite(positions).any():
        wanted, got = f'0 .. {at[-1]:g} s of CLIP', f'{times[0]:g} .. {times[-1]:g} s'
        raise ConfigError(f'--targets: expected frames within {wanted}, got {got}')
    return enhancement.Targets(positions)


def _meeting(text: str) -> enhancement.Meeting:
    names, _, distance = text.partition(':')
    pair = [name.strip() for name in names.split(',')]
    try:
        apart = float(distance) if distance else 0.0
    except ValueError:
        apart = float('nan')
    if len(pair) != 2 or not np.isfinite(apart):
        raise ConfigError(f'--meet: expected A,B or A,B:METRES, got {text!r}')
    first, second = map(enhancement.end_effector_row, pair)
    return enhancement.Meeting((first, second), apart)


def _require_same_body(motion: Motion, targets: enhancement.Targets) -> None:
    """Refuse targets that are nowhere near the body, or that are where it is already."""
    apart = enhancement.end_effector_errors(motion, targets.positions)
    apart = apart[np.isfinite(apart)]
    if np.median(apart) > OTHER_BODY_M:
        wanted = 'end-effectors of the same body in the same world'
        got = f'a median distance of {np.median(apart):.2f} m'
        raise ConfigError(f'--targets: expected {wanted}, got {got}')
    if apart.max() < 1e-6:
        wanted = 'positions that differ from those given by the angles'
        raise ConfigError(f'--targets: expected {wanted}, got the same')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        'clip',
        metavar='CLIP',
        type=clip_arguments.clip_path,
        help='.bvh, .amc or .c3d: joint angles',
    )
    add('out', metavar='OUT', type=Path, help='.bvh, as retarget writes it')
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--report', type=Path, metavar='JSON', help='errors before and after')
    add('--preview', type=Path, metavar='PNG', help='draw instants before and after')
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        for name, kind, metavar, default, text in options:
            how: dict[str, Any] = {'default': default, 'help': text}
            if kind is bool:
                how['action'] = 'store_true'
            elif kind is list:
                how |= {'action': 'append', 'metavar': metavar}
            elif isinstance(kind, tuple):
                how['choices'] = kind
            else:
                how |= {'type': kind, 'metavar': metavar}
            group.add_argument(name, **how)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace, draw: Draw) -> str:
    """Enhance, write the files, return a summary; raise PuppetError for bad input."""
    check_outputs(arguments, {'CLIP': arguments.clip, '--targets': arguments.targets})
    config = enhance_config(arguments)
    motion = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf, mend=False)
    if motion.n_frames < 2:
        raise InputFileError(arguments.clip, 'at least 2 frames', '1')
    found = read_targets(motion, arguments)
    targets = found.targets
    title = f'enhance {arguments.clip.name}'
    keys: Mapping[int, str] = {}
    if arguments.method == KEYFRAMES:
        keys = keyframes(found, motion, arguments)
        follows = config.follow and config.detail_s > 0.0
        count = int(targets.measured.any(axis=1).sum()) if follows else len(keys)
        with progress(title, count) as advance:
            done = enhancement.enhance(motion, targets, keys, config, advance)
        better, keys, goals = done.motion, done.keyframes, done.goals
    else:
        with progress(title, motion.n_frames) as advance:
            how = (config.root, config.weight, advance)
            better = enhancement.enhance_online(motion, targets, *how)
        goals = targets.goals(range(motion.n_frames))
    figures: dict[str, Any] = {'clip': str(arguments.clip), 'method': arguments.method}
    figures['weight'] = config.weight
    figures |= enhancement.enhance_report(motion, better, targets, keys, goals)
    picture = None
    if arguments.preview:
        performer = clip_arguments.find_character(PERFORMER)
        body = person(PERFORMER, motion.skeleton, performer.colour)
        picture = draw(body, (motion, better), goals, list(keys))
    write_outputs(arguments, better, figures, picture)
    return f'{arguments.out}: {summary(figures)}'


def summary(figures: Mapping[str, Any]) -> str:
    text = f'{figures["frames"]} frames; {", ".join(figures["end_effectors"])}'
    errors = figures['error_mm']['all']
    names = {'at_keyframes': f'at {len(figures["keyframes"])} keyframes', 'between': 'between'}
    for where, name in names.items():
        before, after = (errors[where][when]['rms'] for when in ('before', 'after'))
        if np.isfinite(before):
            name = name if figures['keyframes'] else 'in every frame'
            text += f'; {name} {before:.1f} -> {after:.2f} mm'
    return f'{text}; joints turned by {figures["joint_change_deg"]["rms"]:.2f} deg (RMS)'
