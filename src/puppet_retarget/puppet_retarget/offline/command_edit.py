# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip edit`: a motion made to meet the constraints of a file, its detail kept."""

import argparse
from pathlib import Path

import numpy as np
from puppet_core.clip_bvh_write import write_bvh
from puppet_core.image_file import save_png
from puppet_core.io.progress import progress
from puppet_core.posture import Motion
from puppet_retarget.editing.edit_config import EditConfig, EditResult
from puppet_retarget.editing.edit_file import EditPlan, load_edit
from puppet_retarget.editing.motion_edit import edit_motion
from puppet_retarget.offline import clip_arguments, edit_arguments
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.edit_picture import edit_preview
from puppet_retarget.offline.edit_report import edit_report, report_lines, summary
from puppet_retarget.offline.edit_warm_up import warm_up
from puppet_retarget.offline.report_file import write_report

EXAMPLE = (
    'example: ./puppet edit walk.bvh reach.yaml out.bvh --report report.json '
    '--preview strip.png'
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    add = parser.add_argument
    add('clip', metavar='CLIP', type=Path, help='.bvh, .amc or .c3d')
    add('edit', metavar='EDIT.yaml', type=Path, help='constraints and options, puppet-edit/1')
    add('out', metavar='OUT', type=Path, help='.bvh, as retarget writes it')
    add('--report', type=Path, metavar='JSON', help='errors and times by level, each constraint')
    add('--preview', type=Path, metavar='PNG', help='a strip of instants before and after')
    edit_arguments.add_reading_arguments(parser)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Edit, write the files and return a report.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    _check_outputs(arguments)
    motion = edit_arguments.read_clip(arguments.clip, arguments)
    plan = load_edit(arguments.edit, motion, edit_arguments.readers(arguments, files))
    result = edited(plan, f'edit {arguments.clip.name}')
    figures = {'clip': str(arguments.clip), 'edit': str(arguments.edit)}
    figures |= edit_report(motion, plan, result)
    picture = None
    if arguments.preview:
        performer = clip_arguments.find_character(files, PERFORMER)
        picture = edit_preview(performer, motion, plan, result.motion)
    write_bvh(result.motion, arguments.out)
    if arguments.report:
        write_report(figures, arguments.report)
    if picture is not None:
        save_png(arguments.preview, picture)
    text = report_lines(figures)
    return f'{text}\n\n{arguments.out}: {summary(figures)}' if text else summary(figures)


def edited(plan: EditPlan, title: str) -> EditResult:
    """
    Return what a plan comes to; tell of each level.

    Raises
    ------
    RuntimeError : if a frame of it is not finite.

    """
    warm_up(plan.prepared.motion)
    with progress(title, steps(plan.config), unit='level') as advance:
        def report_level(text: str, percent: float) -> None:
            advance(1, note=f'{text}: max. error {percent:.3f} %')

        result = edit_motion(
            plan.prepared.motion, plan.constraints, plan.config, report_level, plan.prepared.bodies
        )
    _require_finite(result.motion)
    return result


def steps(config: EditConfig) -> int:
    """Return the number of levels, the exact pass among them."""
    return config.levels + int(config.exact)


def _check_outputs(arguments: argparse.Namespace) -> None:
    clip_arguments.check_output(arguments.out, 'OUT', '.bvh')
    if arguments.report is not None:
        clip_arguments.check_output(arguments.report, '--report')
    if arguments.preview is not None:
        clip_arguments.check_output(arguments.preview, '--preview', '.png')
    clip_arguments.require_other_files(
        {'CLIP': arguments.clip, 'EDIT.yaml': arguments.edit},
        {'OUT': arguments.out, '--report': arguments.report, '--preview': arguments.preview},
    )


def _require_finite(motion: Motion) -> None:
    good = np.isfinite(motion.end_effectors).all(axis=(1, 2))
    if not good.all():
        raise RuntimeError(f'frame {int(np.argmin(good))}: expected a finite posture')
