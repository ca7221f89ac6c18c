# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench enhance`: whether enhancement brings a motion nearer to the truth.

A noisy recording is what a capture session measures of a known motion. Angles err by a constant
rotation of each joint, as from sensors that slipped or were put on askew, and by white noise;
positions by white noise; lengths of the body by a fraction of each limb and of the trunk. Seeded.

Each condition is measured with several seeds; forward kinematics alone, the enhancement of
every frame (online) and that of keyframes and curves (offline) are compared with what was
really done. The fist-matching experiment of ChoiParkKo section 5 is measured in the same way:
arms swing, fists meet three times. `live_enhancement` measures the performer node's.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
import sys
from typing import Any, NamedTuple

from benchmarks.command import bench_command, bench_parser
from benchmarks.live_enhancement import CONDITIONS as LIVE_CONDITIONS
from benchmarks.live_enhancement import live_study, live_table
from benchmarks.synthetic_recording import believed_lengths
import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Motion, SEGMENT_INDEX, Skeleton, world_segments
from puppet_core.io import ConfigError, progress
from puppet_core.math import Floats, Ints, quaternions, Vec3s
from puppet_core.procedural import (
    ADULT_ARM_LENGTH_M,
    Gesture,
    hand_rotations,
    hanging_arm,
    Palm,
    placed_arm,
    rest_rotations,
    unit,
)
from puppet_edit.enhancement import (
    choose_keyframes,
    end_effector_errors,
    enhance,
    enhance_online,
    EnhanceConfig,
    joint_angles_between,
    Meeting,
    rms,
    SOFT_WEIGHT,
    Targets,
)
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import ConfigFiles, PERFORMER, table, write_report

DESCRIPTION = 'Measure a known motion with errors, and how much of them enhancement mends.'
EXAMPLE = 'example: ./puppet bench enhance --json e.json'
MAX_SEEDS = 1000
MM_PER_M = 1000.0

PERIOD_S = 1.5  # from one meeting to the next
N_MEETINGS = 3
FIST_M = 0.09  # between palm centres when the knuckles touch
AHEAD_M, UP_M = 0.36, 0.02  # of where they meet, from the chest joint
LEFT, RIGHT = 0, 1  # rows of the end-effectors
_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)

FIST_CURVES = {
    "the paper's curve": EnhanceConfig(detail_s=0.0),
    'with detail': EnhanceConfig(follow=False),
    'with detail, followed': EnhanceConfig(),
}
LAYOUT = 'default14'  # of the live enhancement
WALK = (690, 1650, 2)  # frames of the built-in performance at 120 Hz
_JOINTS = slice(1, None)  # all but the root

_NAMES = {
    'forward_kinematics': 'angles alone',
    'online': f'online, w1 = {SOFT_WEIGHT:g}',
    'online_exact': 'online, exact',
    'offline': 'keyframes, exact',
    'offline_soft': f'keyframes, w1 = {SOFT_WEIGHT:g}',
    'paper': "keyframes, the paper's curve",
}
METHODS = tuple(_NAMES)


class TakeErrors(NamedTuple):
    """How a measurement differs from the truth: standard deviations."""

    angle_bias_deg: float = 0.0  # Constant rotation of each joint, per axis
    angle_noise_deg: float = 0.0  # White noise of each joint, per axis
    position_noise_mm: float = 0.0  # White noise of roots and end-effectors, per axis
    length_percent: float = 0.0  # Of each limb and of the trunk


class Take(NamedTuple):
    """What was measured."""

    motion: Motion
    """Measured angles and roots on a body of the lengths that are believed."""

    targets: Targets


def measured_take(
    truth: Motion,
    errors: TakeErrors,
    seed: int,
    meetings: tuple[Meeting, ...] = (),
    end_effectors: tuple[int, ...] = (0, 1, 2, 3),
) -> Take:
    """
    Return what is measured of a motion; meetings are end-effectors that are known to meet.

    The same seed gives the same directions of errors whatever their sizes. `end_effectors` are
    rows of the general end-effectors.
    """
    rng = np.random.default_rng(seed)
    n = truth.n_frames
    bias, white = rng.normal(size=(16, 3)), rng.normal(size=(n, 16, 3))
    root, points = rng.normal(size=(n, 3)), rng.normal(size=(n, 8, 3))
    shares = rng.normal(size=len(LIMB_SEGMENTS) + 1)
    turns = np.radians(errors.angle_bias_deg * bias + errors.angle_noise_deg * white)
    rotations = quaternions.multiply(truth.rotations, quaternions.exp(turns))
    spread_m = 1e-3 * errors.position_noise_mm
    measured = np.full((n, 8, 3), np.nan)
    rows = list(end_effectors)
    measured[:, rows] = (truth.end_effectors + spread_m * points)[:, rows]
    skeleton = believed_lengths(truth.skeleton, 1.0 + 0.01 * errors.length_percent * shares)
    motion = Motion.from_rotations(
        skeleton, truth.rate_hz, truth.root_positions + spread_m * root, rotations
    )
    return Take(motion, Targets(measured, meetings))


class FistMotion(NamedTuple):
    """What was really done."""

    motion: Motion

    meetings: Ints  # Frames in which the fists meet, shape (3,)
    meeting: Meeting  # Which they are, and how far apart then


def fist_motion(skeleton: Skeleton, rate_hz: float = 60.0) -> FistMotion:
    """
    Return a body that swings its arms and makes its fists meet three times.

    Smooth curves throughout; the feet stand, the trunk follows the arms a little. A rate that
    is a multiple of 4/3 puts the meetings on frames.
    """
    n = round(N_MEETINGS * PERIOD_S * rate_hz) + 1
    t = np.arange(n) / rate_hz
    phase = 2.0 * np.pi * t / PERIOD_S
    share = 0.5 - 0.5 * np.cos(phase)
    rotations = rest_rotations(n, np.array([1.0, 0.0, 0.0, 0.0]))
    lean = np.stack((0.03 * np.sin(0.5 * phase), 0.08 * share, 0.10 * np.sin(phase)), axis=-1)
    for segment in ('spine', 'chest'):
        rotations[:, SEGMENT_INDEX[segment]] = quaternions.exp(lean)
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    q_world, p_world = world_segments(skeleton, roots, rotations)
    chest = SEGMENT_INDEX['chest']
    chests = (q_world[:, chest], p_world[:, chest])
    for side in (LEFT, RIGHT):
        upper, lower, hand = LIMB_SEGMENTS[side]
        swing = Gesture(
            np.radians(62.0) + 0.15 * np.sin(phase),
            0.25 * np.cos(2.0 * phase + 0.8 * side),
            0.5 + 0.1 * np.sin(phase),
        )
        free = [*hanging_arm(swing, side), rest_rotations(n, np.array([1.0, 0, 0, 0]))[:, hand]]
        met = placed_arm(skeleton, side, chests, _palm(skeleton, side, share, chests))
        arm = [quaternions.slerp(a, b, share) for a, b in zip(free, met)]
        rotations[:, upper], rotations[:, lower], rotations[:, hand] = arm
    frames = np.round((np.arange(N_MEETINGS) + 0.5) * PERIOD_S * rate_hz).astype(np.int64)
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    return FistMotion(motion, frames, Meeting((LEFT, RIGHT), FIST_M))


def _palm(skeleton: Skeleton, side: int, share: Floats, chests: tuple[Floats, Vec3s]) -> Palm:
    mirror = 1.0 if side == LEFT else -1.0
    scale = float(skeleton.limb_lengths[side].sum()) / ADULT_ARM_LENGTH_M
    aside = 0.5 * mirror * FIST_M * _Y_AXIS
    centre = chests[1] + scale * (AHEAD_M * _X_AXIS + UP_M * _Z_AXIS)
    n = len(share)
    fingers = np.broadcast_to(unit(0.5 * _X_AXIS - mirror * _Y_AXIS), (n, 3))
    # the back of the hand faces up and ahead
    rotation = hand_rotations(side, fingers, -_Z_AXIS)
    pole = np.broadcast_to(mirror * _Y_AXIS - 0.5 * _Z_AXIS, (n, 3))
    return Palm(share, centre + aside, rotation, pole)


CONDITIONS = {
    'angles, noise 2 deg': TakeErrors(0.0, 2.0),
    'angles, bias 3 deg': TakeErrors(3.0, 0.0),
    'angles, bias 3 and noise 1 deg': TakeErrors(3.0, 1.0),
    'these, and positions 3 mm': TakeErrors(3.0, 1.0, 3.0),
    'these, and lengths 2 %': TakeErrors(3.0, 1.0, 3.0, 2.0),
}
FIST_ERRORS = TakeErrors(3.0, 1.0, 3.0)


def study(
    truth: Motion, seeds: Sequence[int], progress: Callable[[int], object] | None = None
) -> list[dict[str, Any]]:
    """Return errors against the truth for each condition."""
    rows = []
    for name, errors in CONDITIONS.items():
        figures = _repeated(partial(_compared, truth, errors), seeds, progress)
        rows.append({'condition': name} | _summary(figures))
    return rows


def fist_study(
    fist: FistMotion, seeds: Sequence[int], progress: Callable[[int], object] | None = None
) -> list[dict[str, Any]]:
    """Return errors of the fist-matching experiment for each kind of curve; as `study`."""
    rows = []
    for name, config in FIST_CURVES.items():
        figures = _repeated(partial(_fists, fist, config), seeds, progress)
        row: dict[str, Any] = {'curve': name}
        for key in figures[0]:
            values = [f[key] for f in figures]
            row[key] = float(np.max(values) if key.endswith('max') else np.mean(values))
        rows.append(row)
    return rows


def _repeated(
    measure: Callable[[int], Any], seeds: Sequence[int], progress: Callable[[int], object] | None
) -> list[Any]:
    figures = []
    for seed in seeds:
        figures.append(measure(seed))
        if progress is not None:
            progress(1)
    return figures


def fist_take(fist: FistMotion, seed: int) -> Take:
    """Return what is measured of the fist-matching experiment: angles and hands."""
    return measured_take(fist.motion, FIST_ERRORS, seed, (fist.meeting,), fist.meeting.pair)


def walking_truth(performance: Motion) -> Motion:
    """Return the walk of the built-in performance (120 Hz) at 60 Hz, as truth."""
    frames = slice(*WALK)
    return Motion.from_rotations(
        performance.skeleton,
        performance.rate_hz / WALK[2],
        performance.root_positions[frames],
        performance.rotations[frames],
    )


def _compared(truth: Motion, errors: TakeErrors, seed: int) -> dict[str, dict[str, float]]:
    motion, targets = measured_take(truth, errors, seed)
    keys = choose_keyframes(targets, truth.rate_hz)
    motions = (
        motion,
        enhance_online(motion, targets),
        enhance_online(motion, targets, weight=EnhanceConfig().weight),
        enhance(motion, targets, keys).motion,
        enhance(motion, targets, keys, EnhanceConfig(weight=SOFT_WEIGHT)).motion,
        enhance(motion, targets, keys, EnhanceConfig(detail_s=0.0)).motion,
    )
    return {name: _errors(truth, motion) for name, motion in zip(METHODS, motions)}


def _errors(truth: Motion, motion: Motion) -> dict[str, float]:
    apart = np.linalg.norm(motion.end_effectors - truth.end_effectors, axis=-1)[:, :4]
    turned = joint_angles_between(truth.rotations, motion.rotations)[:, _JOINTS]
    return {
        'end_effector_rms_mm': MM_PER_M * rms(apart),
        'joint_rms_deg': float(np.degrees(rms(turned))),
    }


def _summary(figures: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    row: dict[str, Any] = {'seeds': len(figures)}
    base = METHODS[0]
    for method in METHODS:
        row[method] = {
            key: float(np.mean([f[method][key] for f in figures])) for key in figures[0][base]
        }
        if method != base:
            row[method]['seeds_with_both_better'] = sum(
                all(f[method][key] < f[base][key] for key in f[base]) for f in figures
            )
    return row


def _fists(fist: FistMotion, config: EnhanceConfig, seed: int) -> dict[str, float]:
    take = fist_take(fist, seed)
    keys = choose_keyframes(take.targets, fist.motion.rate_hz)
    done = enhance(take.motion, take.targets, keys, config)
    rows, at = list(fist.meeting.pair), np.zeros(fist.motion.n_frames, dtype=bool)
    at[list(done.keyframes)] = True
    before, after = (
        end_effector_errors(motion, done.goals)[:, rows] for motion in (take.motion, done.motion)
    )
    gaps = [
        fist.meeting.distances(motion.end_effectors)[fist.meetings]
        for motion in (take.motion, done.motion)
    ]
    met = [np.abs(gap - fist.meeting.distance_m).max() for gap in gaps]
    real = [_errors(fist.motion, motion) for motion in (take.motion, done.motion)]
    return {
        'keyframes': len(keys),
        'meeting_before_mm_max': MM_PER_M * float(met[0]),
        'meeting_after_mm_max': MM_PER_M * float(met[1]),
        'keyframe_error_mm_max': MM_PER_M * float(after[at].max()),
        'between_before_rms_mm': MM_PER_M * rms(before[~at]),
        'between_after_rms_mm': MM_PER_M * rms(after[~at]),
        'joint_before_rms_deg': real[0]['joint_rms_deg'],
        'joint_after_rms_deg': real[1]['joint_rms_deg'],
    }


def error_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return errors against the truth: a line for each condition and method."""
    head = ['measured with errors of', 'method', 'end-effectors, mm', 'joints, deg']
    head.append('both better, takes')
    lines = []
    for row in rows:
        for method in METHODS:
            better = row[method].get('seeds_with_both_better')
            lines.append(
                [
                    str(row['condition']) if method == METHODS[0] else '',
                    _NAMES[method],
                    f'{row[method]["end_effector_rms_mm"]:.1f}',
                    f'{row[method]["joint_rms_deg"]:.2f}',
                    '–' if better is None else f'{better} of {row["seeds"]}',
                ]
            )
    return table(head, lines)


def fist_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the fist-matching experiment: a line for each kind of curve."""
    head = [
        'curve',
        'keyframes',
        'fists miss each other by, mm',
        'error at keyframes, mm (max)',
        'between them, mm (RMS)',
        'joints, deg (RMS)',
    ]
    lines = [
        [
            str(row['curve']),
            f'{row["keyframes"]:.0f}',
            f'{row["meeting_before_mm_max"]:.1f} -> {row["meeting_after_mm_max"]:.4f}',
            f'{row["keyframe_error_mm_max"]:.4f}',
            f'{row["between_before_rms_mm"]:.1f} -> {row["between_after_rms_mm"]:.1f}',
            f'{row["joint_before_rms_deg"]:.2f} -> {row["joint_after_rms_deg"]:.2f}',
        ]
        for row in rows
    ]
    return table(head, lines)


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = p.add_argument
    add('clip', nargs='?', metavar='CLIP', type=Path, help='.bvh, .amc or .c3d whose angles are '
        'the truth; without it the built-in performer walks')  # fmt: skip
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add('--seeds', type=int, default=20, metavar='N', help='how often noise is drawn; default 20')
    add('--json', type=Path, metavar='FILE', help='also write the figures there')
    clip_arguments.add_clip_options(p)


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('enhance', DESCRIPTION, EXAMPLE, add_arguments)


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """Measure, write the figures, return the tables; raise PuppetError for bad input."""
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        raise ConfigError(f'--seeds: expected 1 .. {MAX_SEEDS}, got {arguments.seeds}')
    if arguments.json:
        clip_arguments.check_output(arguments.json, '--json')
    performance = clip_arguments.procedural_clip(files)
    truth = walking_truth(performance)
    if arguments.clip is not None:
        clip = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf, mend=False)
        truth = Motion.from_rotations(
            clip.skeleton, clip.rate_hz, clip.root_positions, clip.rotations
        )
    seeds = range(arguments.seeds)
    ordinary = clip_arguments.find_character(files, PERFORMER)
    layout = load_layout(files.layout_file(LAYOUT))
    total = len(seeds) * (len(CONDITIONS) + len(FIST_CURVES) + len(LIVE_CONDITIONS))
    with progress('bench enhance', total, unit='take') as advance:
        rows = study(truth, seeds, advance)
        fists = fist_study(fist_motion(performance.skeleton), seeds, advance)
        live = live_study(truth, layout, ordinary, seeds, advance)
    if arguments.json:
        figures = {'seeds': len(seeds), 'frames': truth.n_frames, 'rate_hz': truth.rate_hz}
        write_report(figures | {'conditions': rows, 'fists': fists, 'live': live}, arguments.json)
    return '\n\n'.join((error_table(rows), fist_table(fists), live_table(live)))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
