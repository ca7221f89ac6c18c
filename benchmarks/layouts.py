# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet layouts`: how accurately each sensor layout measures a posture.

A known motion is measured by exact sensors at their calibrated places and estimated again. The
remaining errors are what the layout cannot observe.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys

from benchmarks.command import bench_command, bench_parser
from benchmarks.synthetic_recording import known_calibration, sensor_frames, TRACKER_M
import numpy as np
from puppet_core import named_files
from puppet_core.body import END_EFFECTORS, general_end_effectors, LIMB_SEGMENTS, Motion, SEGMENTS
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.procedural import procedural_motion
from puppet_performer.posture import PostureConfig, PostureEstimator
from puppet_performer.sensor_layout import load_layout, SensorLayout
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import number, PERFORMER, table

_N_ENDS = len(END_EFFECTORS)
_PLURALS = {'hand': 'hands', 'foot': 'feet'}

EXAMPLE = 'example: ./puppet layouts walk.bvh --layouts six_point,default14'
DESCRIPTION = 'Measure how well each sensor layout captures a motion.'
LAYOUTS = ('six_point', 'enhance11', 'no_feet12', 'choi_ko13', 'default14', 'head15', 'girdle17')
RATE_HZ = 30.0  # of the built-in performer: no error depends on it


@dataclass(frozen=True, slots=True)
class LayoutErrors:
    """RMS errors of the posture that a layout gives of a motion."""

    layout: SensorLayout  # which sensors
    joints_m: float  # places of all joints [m]
    middles_m: float  # elbows and knees [m]
    ends_m: float  # palms and soles [m]
    # Orientations in world of the segments without a sensor; NaN if there are none [rad]
    inferred_rad: float


def layout_errors(motion: Motion, layout: SensorLayout) -> LayoutErrors:
    q_true, p_true = motion.world_segments()
    q, p = _estimated(motion, layout)
    away = np.linalg.norm(p - p_true, axis=2)
    ends, ends_true = (
        general_end_effectors(motion.skeleton, *pose)[:, :_N_ENDS]
        for pose in ((q, p), (q_true, p_true))
    )
    inferred = np.setdiff1d(np.arange(len(SEGMENTS)), layout.segments)
    turned = quaternions.multiply(quaternions.conjugate(q_true), q)[:, inferred]
    angles = np.linalg.norm(quaternions.log(turned), axis=2)
    middles, ends = away[:, LIMB_SEGMENTS[:, 1]], np.linalg.norm(ends - ends_true, axis=2)
    inferred_rad = _rms(angles) if inferred.size else np.nan
    return LayoutErrors(layout, _rms(away), _rms(middles), _rms(ends), inferred_rad)


def accuracy_table(errors: Sequence[LayoutErrors]) -> str:
    head = ['layout', 'sensors', 'inferred', 'joints, mm', 'elbows and knees, mm']
    head += ['palms and soles, mm', 'inferred segments, deg']
    return table(head, [_cells(error) for error in errors])


def _described(segments: Sequence[str]) -> str:
    """Return names of segments as text, both sides of a pair as one."""
    words = []
    for name in segments:
        side, _, part = name.partition('_')
        other = {'left': f'right_{part}', 'right': f'left_{part}'}.get(side)
        if other not in segments:
            words.append(name.replace('_', ' '))
        elif side == 'left':
            words.append(_PLURALS.get(part, f'{part}s').replace('_', ' '))
    return ', '.join(words)


def _cells(error: LayoutErrors) -> list[str]:
    layout = error.layout
    inferred = [name for name in SEGMENTS if name not in layout.segment_names]
    angle = None if np.isnan(error.inferred_rad) else np.degrees(error.inferred_rad)
    lengths = (error.joints_m, error.middles_m, error.ends_m)
    sensors = str(len(layout.sensors) + len(layout.unused))
    cells = [layout.name, sensors, _described(inferred)]
    return [*cells, *(number(1e3 * length, 1) for length in lengths), number(angle, 1)]


def _estimated(motion: Motion, layout: SensorLayout) -> tuple[Quats, Vec3s]:
    place = (1.0, 0.0, 0.0, 0.0), TRACKER_M
    calibration = known_calibration(layout)
    estimator = PostureEstimator(motion.skeleton, calibration, *place, PostureConfig())
    q, p = np.empty((motion.n_frames, len(SEGMENTS), 4)), np.empty((motion.n_frames, 16, 3))
    for i, frame in enumerate(sensor_frames(motion, layout)):
        estimate = estimator.step(frame)
        q[i], p[i] = estimate.q_world, estimate.p_world
    return q, p


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = '.bvh or .amc; default: the built-in performer'
    add('clip', nargs='?', metavar='CLIP', type=Path, help=text)
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    text, listed = (
        'names or YAML files; default: all that come with the suite',
        clip_arguments.listed,
    )
    add('--layouts', type=listed, metavar='A,B', default=LAYOUTS, help=text)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace) -> str:
    """Return the errors of each layout as a Markdown table, or raise PuppetError."""
    layouts = [load_layout(named_files.layout_file(name)) for name in arguments.layouts]
    if arguments.clip is None:
        motion = procedural_motion(clip_arguments.find_character(PERFORMER), RATE_HZ)
    else:
        motion = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)
    return accuracy_table([layout_errors(motion, layout) for layout in layouts])


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('layouts', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
