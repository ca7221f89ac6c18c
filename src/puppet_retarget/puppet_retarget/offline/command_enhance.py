# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip enhance`: a captured motion made better by measured end-effectors."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.arrays import Vec3s
from puppet_core.character import Character, default_capsules
from puppet_core.clip_bvh_write import write_bvh
from puppet_core.errors import ConfigError
from puppet_core.image_file import save_png
from puppet_core.io.progress import progress
from puppet_core.posture import Motion
from puppet_retarget.editing.enhance import enhance
from puppet_retarget.editing.enhance_report import enhance_report, solver_figures
from puppet_retarget.editing.online_enhance import enhance_online
from puppet_retarget.editing.targets import Targets
from puppet_retarget.offline import clip_arguments, enhance_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.enhance_arguments import KEYFRAMES
from puppet_retarget.offline.enhance_picture import before_and_after
from puppet_retarget.offline.enhance_tables import study_tables
from puppet_retarget.offline.report_file import write_report

EXAMPLE = (
    'example: ./puppet enhance take.bvh better.bvh --targets hands.csv '
    '--meet left_hand,right_hand:0.09 --report report.json'
)
MAX_SEEDS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    add = parser.add_argument
    add('clip', nargs='?', metavar='CLIP', type=Path, help='.bvh, .amc or .c3d: joint angles')
    add('out', nargs='?', metavar='OUT', type=Path, help='.bvh, as retarget writes it')
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--report', type=Path, metavar='JSON', help='errors before and after')
    add('--preview', type=Path, metavar='PNG', help='a strip of instants before and after')
    enhance_arguments.add_target_options(parser)
    enhance_arguments.add_curve_options(parser)
    clip_arguments.add_clip_options(parser)
    add = parser.add_argument_group('error study').add_argument
    add('--study', action='store_true',
        help='a known motion, CLIP or the built-in performer, measured with errors: tables')
    add('--seeds', type=int, default=20, metavar='N',
        help='how often the study draws noise; default %(default)s')
    add('--json', type=Path, metavar='FILE', help='the figures of the study')


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Enhance, write the files and return a summary; or return the tables of the study.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    if arguments.study:
        return _study(arguments, files)
    if arguments.clip is None or arguments.out is None:
        raise ConfigError('CLIP, OUT: expected both, or --study')
    if arguments.json is not None:
        raise ConfigError('--json: expected --study with it; the figures of a clip are --report')
    _check_outputs(arguments)
    config = enhance_arguments.enhance_config(arguments)
    motion = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf, mend=False)
    found = enhance_arguments.read_targets(motion, arguments)
    targets = found.targets
    title = f'enhance {arguments.clip.name}'
    keys: Mapping[int, str] = {}
    solver: dict[str, Any] = {}
    if arguments.method == KEYFRAMES:
        keys = enhance_arguments.keyframes(found, motion, arguments)
        follows = config.follow and config.detail_s > 0.0
        count = int(targets.measured.any(axis=1).sum()) if follows else len(keys)
        with progress(title, count) as advance:
            done = enhance(motion, targets, keys, config, advance)
        better, keys, goals, solver = (
            done.motion, done.keyframes, done.goals, solver_figures(done)
        )  # fmt: skip
    else:
        with progress(title, motion.n_frames) as advance:
            better = enhance_online(motion, targets, config.root, config.weight, advance)
        goals = targets.goals(range(motion.n_frames))
    _require_finite(better)
    figures = {
        'clip': str(arguments.clip), 'method': arguments.method, 'weight': config.weight,
    }  # fmt: skip
    figures |= enhance_report(motion, better, targets, keys, goals) | solver
    _write(arguments, files, (motion, better), (targets, goals, keys), figures)
    return f'{arguments.out}: {summary(figures)}'


def summary(figures: Mapping[str, Any]) -> str:
    """Return a report in a sentence."""
    text = f'{figures["frames"]} frames; {", ".join(figures["end_effectors"])}'
    errors = figures['error_mm']['all']
    names = {'at_keyframes': f'at {len(figures["keyframes"])} keyframes', 'between': 'between'}
    for where, name in names.items():
        before, after = (errors[where][when]['rms'] for when in ('before', 'after'))
        if np.isfinite(before):
            name = name if figures['keyframes'] else 'in every frame'
            text += f'; {name} {before:.1f} -> {after:.2f} mm'
    return f'{text}; joints turned by {figures["joint_change_deg"]["rms"]:.2f} deg (RMS)'


def _write(
    arguments: argparse.Namespace, files: ConfigFiles, motions: tuple[Motion, Motion],
    aims: tuple[Targets, Vec3s, Mapping[int, str]], figures: dict[str, Any],
) -> None:  # fmt: skip
    picture = None
    if arguments.preview:
        performer = clip_arguments.find_character(files, PERFORMER)
        shape = default_capsules(motions[0].skeleton)
        body = Character(PERFORMER, '', motions[0].skeleton, shape, performer.colour)
        picture = before_and_after(body, motions, aims[1], list(aims[2]))
    write_bvh(motions[1], arguments.out)
    if arguments.report:
        write_report(figures, arguments.report)
    if picture is not None:
        save_png(arguments.preview, picture)


def _study(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    if arguments.out is not None:
        raise ConfigError('--study: expected no OUT with it, only --json is written')
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        raise ConfigError(f'--seeds: expected 1 .. {MAX_SEEDS}, got {arguments.seeds}')
    if arguments.json:
        clip_arguments.check_output(arguments.json, '--json')
    truth = None
    if arguments.clip is not None:
        truth = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf, mend=False)
    performance = clip_arguments.procedural_clip(files)
    figures, text = study_tables(performance, arguments.seeds, truth)
    if arguments.json:
        write_report(figures, arguments.json)
    return text


def _check_outputs(arguments: argparse.Namespace) -> None:
    clip_arguments.check_output(arguments.out, 'OUT', '.bvh')
    if arguments.report is not None:
        clip_arguments.check_output(arguments.report, '--report')
    if arguments.preview is not None:
        clip_arguments.check_output(arguments.preview, '--preview', '.png')
    clip_arguments.require_other_files(
        {'CLIP': arguments.clip, '--targets': arguments.targets},
        {'OUT': arguments.out, '--report': arguments.report, '--preview': arguments.preview},
    )


def _require_finite(motion: Motion) -> None:
    if not np.isfinite(motion.end_effectors).all():
        frame = int(np.argmin(np.isfinite(motion.end_effectors).all(axis=(1, 2))))
        raise RuntimeError(f'frame {frame}: expected a finite posture, got another')
