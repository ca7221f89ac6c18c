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
arms swing, fists meet three times. `live_enhancement` measures the performer node's. `--figures`
draws figure 6 of the paper from what that node's model does, frame by frame, and a strip of the
fists before and after the enhancement of a whole take.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
import sys
from typing import Any, NamedTuple

from benchmarks.command import bench_command, bench_parser
from benchmarks.live_enhancement import CONDITIONS as LIVE_CONDITIONS
from benchmarks.live_enhancement import (
    estimated,
    live_study,
    live_table,
    SensorErrors,
    WEIGHT,
    Worn,
    worn,
)
from benchmarks.synthetic_recording import believed_lengths
import numpy as np
from puppet_clips.edit_pictures import before_and_after
from puppet_core import named_files
from puppet_core.body import (
    Character,
    LIMB_SEGMENTS,
    Motion,
    PARENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
    world_segments,
)
from puppet_core.drawing import DARK, GREY, new_figure, PALE, Picture, RED, save_png, styled
from puppet_core.io import check_writable, ConfigError, progress
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
from puppet_performer.sensor_layout import load_layout, SensorLayout
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER, table, write_report

DESCRIPTION = 'Measure how much measurement error enhancement removes from a known motion.'
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
FIST_LAYOUT = 'enhance11'  # the sensors of ChoiParkKo section 5
ASKEW = SensorErrors(noise_mm=2.0, noise_deg=0.5, askew_deg=3.0)
DRAWN_SEED = 5  # its fists miss each other by about the mean
STRIP_SEED = 4  # of a take that stands nearly upright
STRIP_SHARES = (0.5, 1.0, 1.5, 2.0, 2.5)  # of a period: at meetings and between them
ALONE, LIVE = 'orientations alone', f'performer, enhance_weight {WEIGHT:g}'
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


def sensors_alone(take: Worn, layout: SensorLayout) -> Motion:
    """Return the postures of the orientations alone: forward kinematics from the pelvis on."""
    pelvis, calibration = layout.sensors.index('pelvis'), take.calibration
    turns = quaternions.conjugate(calibration.rotations)
    worn_by = quaternions.multiply(take.recording.rotations, turns)
    world = np.repeat(worn_by[:, [pelvis]], len(SEGMENTS), axis=1)  # legs are not measured
    world[:, list(layout.segments)] = worn_by
    root, spine, chest = (SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest'))
    world[:, spine] = quaternions.slerp(world[:, root], world[:, chest], 0.5)
    mount = quaternions.rotate(world[:, root], calibration.positions[pelvis])
    rotations = world.copy()
    above = quaternions.conjugate(world[:, PARENTS[1:]])
    rotations[:, 1:] = quaternions.multiply(above, world[:, 1:])
    roots = take.recording.positions[:, pelvis] - mount
    return Motion.from_rotations(take.skeleton, take.motion.rate_hz, roots, rotations)


def live_fists(
    fist: FistMotion, layout: SensorLayout, seed: int
) -> tuple[Vec3s, dict[str, Motion]]:
    """Return the palms as measured, (n, 2, 3) [m], and the postures whose angles are compared."""
    take = worn(fist.motion, layout, ASKEW, seed)
    found = {name: estimated(take, w)[0] for name, w in (('performer', 0.0), (LIVE, WEIGHT))}
    measured = found['performer'].end_effectors[:, list(fist.meeting.pair)]
    postures = {
        name: Motion.from_rotations(m.skeleton, m.rate_hz, m.root_positions, m.rotations)
        for name, m in found.items()
    }
    return measured, {ALONE: sensors_alone(take, layout)} | postures


def live_fist_table(fist: FistMotion, layout: SensorLayout, seeds: Sequence[int]) -> str:
    """Return a line for each kind of posture, means over the takes."""
    figures: dict[str, list[list[float]]] = {}
    arms, pair = LIMB_SEGMENTS[:2].ravel(), list(fist.meeting.pair)
    for seed in seeds:
        measured, postures = live_fists(fist, layout, seed)
        for name, motion in postures.items():
            gaps = fist.meeting.distances(motion.end_effectors)[fist.meetings]
            apart = np.linalg.norm(motion.end_effectors[:, pair] - measured, axis=-1)
            turned = joint_angles_between(fist.motion.rotations, motion.rotations)[:, arms]
            missed = MM_PER_M * float(np.abs(gaps - fist.meeting.distance_m).max())
            row = [missed, MM_PER_M * rms(apart), float(np.degrees(rms(turned)))]
            figures.setdefault(name, []).append(row)
    head = ['posture', 'fists miss each other by, mm', 'palms from the measured, mm (RMS)']
    lines = [
        [name, *(f'{mean:.1f}' for mean in np.mean(rows, axis=0))]
        for name, rows in figures.items()
    ]
    return table([*head, 'joints of the arms, deg (RMS)'], lines)


def fist_picture(fist: FistMotion, measured: Vec3s, postures: Mapping[str, Motion]) -> Picture:
    """Return ChoiParkKo fig. 6: from above, at the second meeting, the ways of the palms."""
    frame, pair = int(fist.meetings[1]), list(fist.meeting.pair)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure, grid = new_figure([1.0, 1.0], 720)
        panels = [axes for (axes,) in grid]
        for axes, name in zip(panels, (ALONE, LIVE)):
            motion = postures[name]
            p = 100.0 * motion.world_segments()[1][frame]
            ends = 100.0 * motion.end_effectors[:, pair]
            shown, trunk = 100.0 * measured, p[list(LIMB_SEGMENTS[:, 0])].mean(axis=0)
            for k, limb in enumerate(LIMB_SEGMENTS[:2]):
                arm = np.array([p[SEGMENT_INDEX['chest']], *p[list(limb)], ends[frame, k]])
                axes.plot(-arm[:, 1], arm[:, 0], color=PALE, lw=13.0, solid_joinstyle='round',
                          solid_capstyle='round')  # fmt: skip
                label = ('palms as measured', 'palms by the angles') if k == 0 else ('', '')
                axes.plot(-shown[:, k, 1], shown[:, k, 0], color=GREY, lw=2.4, label=label[0])
                axes.plot(-ends[:, k, 1], ends[:, k, 0], color=DARK, label=label[1])
                axes.plot(-shown[frame, k, 1], shown[frame, k, 0], 's', mec=RED, mfc='none', ms=9)
                axes.plot(-ends[frame, k, 1], ends[frame, k, 0], 'o', color=DARK, ms=5)
            axes.plot(-trunk[1], trunk[0], 'o', color=GREY, ms=40)
            axes.set_title(name)
            axes.set_aspect('equal')
            axes.set_ylim(bottom=-8.0)
            axes.set_ylabel('forward [cm]')
        panels[1].set_xlabel('to the right [cm]')
        panels[0].legend(loc='lower left')
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def fist_strip(fist: FistMotion, performer: Character) -> Picture:
    """Return the fists at their meetings and between them, as measured and enhanced."""
    take = fist_take(fist, STRIP_SEED)
    keys = choose_keyframes(take.targets, fist.motion.rate_hz)
    done = enhance(take.motion, take.targets, keys)
    period = PERIOD_S * fist.motion.rate_hz
    frames = [round(share * period) for share in STRIP_SHARES]
    return before_and_after(performer, (take.motion, done.motion), done.goals, frames)


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
        'taken as the truth; default: a walk of the built-in performer')  # fmt: skip
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add(
        '--seeds',
        type=int,
        default=20,
        metavar='N',
        help='number of noise realisations; default 20',
    )
    add('--json', type=Path, metavar='FILE', help='also write the figures to this file')
    add('--figures', type=Path, metavar='FOLDER', help='measure only the fists of the performer '
        "node's posture; draw the paper's figure 6 and a strip of the fists there")  # fmt: skip
    clip_arguments.add_clip_options(p)


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('enhance', DESCRIPTION, EXAMPLE, add_arguments)


def run(arguments: argparse.Namespace) -> str:
    """Measure, write the figures, return the tables; raise PuppetError for bad input."""
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        raise ConfigError(f'--seeds: expected 1 .. {MAX_SEEDS}, got {arguments.seeds}')
    if arguments.json:
        clip_arguments.check_output(arguments.json, '--json')
    performance, seeds = clip_arguments.procedural_clip(), range(arguments.seeds)
    if arguments.figures:
        check_writable(arguments.figures / 'x.png', '--figures')
        fist, worn_by = fist_motion(performance.skeleton), named_files.layout_file(FIST_LAYOUT)
        picture = fist_picture(fist, *live_fists(fist, load_layout(worn_by), DRAWN_SEED))
        save_png(arguments.figures / 'enhance_figure_6.png', picture)
        performer = clip_arguments.find_character(PERFORMER)
        save_png(arguments.figures / 'enhance_fists.png', fist_strip(fist, performer))
        return live_fist_table(fist, load_layout(worn_by), seeds)
    truth = walking_truth(performance)
    if arguments.clip is not None:
        clip = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf, mend=False)
        truth = Motion.from_rotations(
            clip.skeleton, clip.rate_hz, clip.root_positions, clip.rotations
        )
    ordinary = clip_arguments.find_character(PERFORMER)
    layout = load_layout(named_files.layout_file(LAYOUT))
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
