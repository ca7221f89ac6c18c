# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip retarget`: the motion of one clip given to a character, with a report on it."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.io import progress, write_bytes
from puppet_retarget import offline
from puppet_retarget.offline import arguments as clip_arguments

EXAMPLE = 'example: ./puppet retarget walk.bvh out.bvh --character sally --report report.json'
BAG = '.mcap'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        'clip',
        metavar='IN',
        type=clip_arguments.clip_path,
        help='a clip, or a bag with /performer/posture',
    )
    text = (
        '.bvh: Y up, centimetres, T-pose at rest; .npz, .csv, .pkl: joints and links; .mcap: bag'
    )
    add('out', metavar='OUT', type=Path, help=text)
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--character', default='blubby', metavar='C', help='name or file; default %(default)s')
    add('--report', type=Path, metavar='JSON', help='write quality figures')
    clip_arguments.add_solver_options(parser)
    clip_arguments.add_tuning_options(parser)
    clip_arguments.add_clip_options(parser, has_props=True)


def run(arguments: argparse.Namespace) -> str:
    """Retarget, write the files and return a summary; after an error nothing is written."""
    _check_outputs(arguments)
    tuning = clip_arguments.tuning(arguments.settings)
    character = clip_arguments.find_character(arguments.character, arguments.world_scale)
    environment = clip_arguments.find_environment(arguments.environment)
    stamps_ns: tuple[int, ...] = ()
    if clip_arguments.is_bag(arguments.clip) and not arguments.props:
        from puppet_view.bag_motion import read_bag_motion  # with ROS, which clips do not need

        motion, stamps_ns, _ = read_bag_motion(arguments.clip)
    else:
        motion = clip_arguments.read_clip_and_props(arguments)
    job = tuning.job(character, environment, arguments.solver)
    with progress(f'retarget {arguments.clip.name}', motion.n_frames) as advance:
        result = offline.retarget_motion(motion, job, advance)
    offline.require_finite(result)
    figures = offline.report(motion, job, result)
    suffix = arguments.out.suffix.lower()
    if suffix == BAG:
        from puppet_view.bag_motion import write_bag_motion

        write_bag_motion(arguments.out, motion, job, result, stamps_ns)
    else:
        write_bytes(arguments.out, result.file_data(character, motion.rate_hz, suffix))
    if arguments.report:
        offline.write_report(figures, arguments.report)
    return f'{arguments.out}: {summary(figures)}; {motion.rate_hz:g} Hz'


def summary(figures: dict[str, Any]) -> str:
    slide, jerk = figures['planted_foot_slide_mm_s'], figures['jerk_ratio']
    text = f'{figures["frames"]} frames of {figures["character"]} by {figures["solver"]}'
    if np.isfinite(slide['puppet']):
        text += (
            f'; planted feet slide {slide["puppet"]:.0f} mm/s (performer {slide["performer"]:.0f},'
            f' joint angles {slide["joint_angles_baseline"]:.0f})'
        )
    if np.isfinite(jerk['root']) and np.isfinite(jerk['feet']):
        text += f'; jerk root {jerk["root"]:.2f} x, feet {jerk["feet"]:.2f} x'
    text += f'; flips {figures["flips"]}, whips {figures["whips"]}'
    return f'{text}; {figures["ms_per_frame"]["median"]:.3f} ms a frame'


def _check_outputs(arguments: argparse.Namespace) -> None:
    clip_arguments.check_output(arguments.out, 'OUT', *offline.MOTION_SUFFIXES, BAG)
    if arguments.report:
        clip_arguments.check_output(arguments.report, '--report')
    clip_arguments.require_other_files(
        {'IN': arguments.clip, '--props': arguments.props},
        {'OUT': arguments.out, '--report': arguments.report},
    )
