# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip retarget`: the motion of one clip given to a character, with a report on it."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from puppet_core.body import Motion
from puppet_core.clips import write_bvh
from puppet_core.io import progress
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import (
    ConfigFiles,
    report,
    require_finite,
    retarget_motion,
    RetargetJob,
    RetargetResult,
    write_report,
)
from puppet_retarget.parameters import PRESETS
from puppet_retarget.solvers import SOLVER_NAMES

EXAMPLE = 'example: ./puppet retarget walk.bvh out.bvh --character sally --report report.json'
BVH, BAG = '.bvh', '.mcap'


class Bags(Protocol):
    """How bags are read and written, which needs ROS."""

    def read_bag_motion(self, path: Path) -> tuple[Motion, tuple[int, ...], str]:
        """Return the performer's motion in a bag, and the stamps of its frames [ns]."""
        ...

    def bag_files(self, path: Path) -> list[Path]:
        """Return the files that are read of a bag."""
        ...

    def write_bag_motion(
        self,
        path: Path,
        motion: Motion,
        job: RetargetJob,
        result: RetargetResult,
        stamps_ns: Sequence[int] = (),
    ) -> None:
        """Write a motion and what a puppet makes of it."""
        ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    add = parser.add_argument
    add('clip', metavar='IN', type=Path, help='.bvh, .amc, .c3d, or a bag with /performer/posture')
    add(
        'out',
        metavar='OUT',
        type=Path,
        help='.bvh: Y up, centimetres, T-pose at rest; or .mcap, a bag',
    )
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--character', default='blubby', metavar='C', help='name or file; default %(default)s')
    add(
        '--solver',
        choices=SOLVER_NAMES,
        default=SOLVER_NAMES[0],
        help='how puppets follow; default %(default)s',
    )
    add('--report', type=Path, metavar='JSON', help='figures of the outcome')
    add('--preset', choices=PRESETS, default=PRESETS[0], help='tuning; default %(default)s')
    clip_arguments.add_tuning_options(parser)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace, files: ConfigFiles, bags: Bags | None = None) -> str:
    """
    Retarget, write the files and return a summary.

    Raises PuppetError for bad input; nothing is written then. Raises RuntimeError if the outcome
    cannot be used; nothing is written then.
    """
    _check_outputs(arguments, bags is not None)
    tuning = clip_arguments.tuning(arguments.settings, arguments.preset)
    character = clip_arguments.find_character(files, arguments.character, arguments.world_scale)
    environment = clip_arguments.find_environment(files, arguments.environment)
    stamps_ns: tuple[int, ...] = ()
    if bags is not None and clip_arguments.is_bag(arguments.clip):
        motion, stamps_ns, _ = bags.read_bag_motion(arguments.clip)
    else:
        motion = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)
    job = RetargetJob(
        character,
        environment,
        arguments.solver,
        tuning.importance,
        tuning.solver,
        tuning.self_interaction,
    )
    with progress(f'retarget {arguments.clip.name}', motion.n_frames) as advance:
        result = retarget_motion(motion, job, advance)
    require_finite(result)
    figures = report(motion, job, result)
    if bags is not None and arguments.out.suffix.lower() == BAG:
        bags.write_bag_motion(arguments.out, motion, job, result, stamps_ns)
    else:
        write_bvh(result.motion(character, motion.rate_hz), arguments.out)
    if arguments.report:
        write_report(figures, arguments.report)
    return f'{arguments.out}: {summary(figures)}'


def summary(figures: dict[str, Any]) -> str:
    """Return a report in a sentence."""
    slide, jerk = figures['planted_foot_slide_mm_s'], figures['jerk_ratio']
    text = f'{figures["frames"]} frames of {figures["character"]} by {figures["solver"]}'
    if np.isfinite(slide['puppet']):
        text += (
            f'; planted feet slide {slide["puppet"]:.0f} mm/s (performer {slide["performer"]:.0f},'
            f' joint angles {slide["joint_angles_baseline"]:.0f})'
        )
    if np.isfinite(jerk['root']) and np.isfinite(jerk['feet']):
        text += f'; jerk root {jerk["root"]:.2f} x, feet {jerk["feet"]:.2f} x'
    return f'{text}; {figures["ms_per_frame"]["median"]:.3f} ms a frame'


def _check_outputs(arguments: argparse.Namespace, has_bags: bool) -> None:
    is_bag = has_bags and arguments.out.suffix.lower() == BAG
    clip_arguments.check_output(arguments.out, 'OUT', BAG if is_bag else BVH)
    if arguments.report:
        clip_arguments.check_output(arguments.report, '--report')
    clip_arguments.require_other_files(
        {'IN': arguments.clip}, {'OUT': arguments.out, '--report': arguments.report}
    )
