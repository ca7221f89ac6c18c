# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The performer's posture with and without enhancement (`enhance_weight`), against the truth.

Virtual sensors measure a known motion with an error of one kind, or with those that remain after
the performer was calibrated. Noise is what the filter leaves. Seeded.
"""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks import synthetic_recording as synthetic
import numpy as np
from puppet_core.body import (
    Character,
    general_end_effectors,
    LIMB_SEGMENTS,
    Motion,
    Skeleton,
    world_segments,
)
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.sensor_frames import FILTER_OK, FilteredFrame
from puppet_performer.calibration import calibrate_pose, Calibration, MotionRecording, part_of
from puppet_performer.posture import PostureConfig, PostureEstimator, warm_up
from puppet_performer.sensor_layout import SensorLayout
from puppet_performer.synthetic_recording import Mounting, random_mounting
from puppet_retarget.offline import table

WEIGHT = 0.97  # w1
N_ENDS = 4  # the first of the general end-effectors are palms and soles
TRACKER = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class SensorErrors(NamedTuple):
    """How sensors, or what is believed of them, differ from the truth: standard deviations."""

    noise_mm: float = 0.0  # White noise of positions, per axis
    noise_deg: float = 0.0  # White noise of orientations, per axis
    askew_deg: float = 0.0  # Constant turn of each sensor on its segment, per axis
    length_percent: float = 0.0  # Of each limb and of the trunk
    skin_mm: float = 0.0  # Movement of a sensor on its segment at the largest angle of its joint
    slipped: bool = False  # One sensor by 25 mm and 12 deg
    fallen_m: float = 0.0  # One sensor is so far away


ERRORS = {
    'nothing': SensorErrors(),
    'noise of 2 mm and 0.5 deg': SensorErrors(noise_mm=2.0, noise_deg=0.5),
    'sensors askew by 3 deg': SensorErrors(askew_deg=3.0),
    'lengths wrong by 2 %': SensorErrors(length_percent=2.0),
    'skin that moves by 10 mm': SensorErrors(skin_mm=10.0),
    'one sensor slipped': SensorErrors(slipped=True),
    'one sensor 0.5 m away': SensorErrors(fallen_m=0.5),
}
WORN = synthetic.Disturbances(noise_mm=0.5, noise_deg=0.05, skin_mm=10.0)
STRETCH, POSE_DEG = 0.05, 3.0  # of performers that are calibrated, and of their T-poses
BY_POSE, BY_MOTION = 'calibrated by a pose', 'calibrated by a range of motion'
CONDITIONS = (*ERRORS, BY_POSE, BY_MOTION)


class Worn(NamedTuple):
    """A motion, and what is measured and believed of it."""

    motion: Motion
    recording: MotionRecording
    calibration: Calibration
    skeleton: Skeleton  # Of the lengths that are believed


def worn(motion: Motion, layout: SensorLayout, errors: SensorErrors, seed: int) -> Worn:
    """Return what sensors with these errors measure of a motion."""
    rng = np.random.default_rng(seed)
    n, mounting = len(layout.sensors), random_mounting(layout, seed)
    noise = synthetic.Disturbances(errors.noise_mm, errors.noise_deg, skin_mm=errors.skin_mm)
    recording = synthetic.measure(motion, layout, mounting, noise, seed)
    name = str(rng.choice([s for s in layout.sensors if s != 'pelvis']))
    if errors.slipped:
        recording = synthetic.slipped(recording, layout, name, -synthetic.SYNTHETIC_T_POSE_S, seed)
    away = rng.normal(size=3)
    away *= errors.fallen_m / np.linalg.norm(away)
    recording.positions[:, layout.sensors.index(name)] += away
    askew = quaternions.exp(np.radians(errors.askew_deg) * rng.normal(size=(n, 3)))
    believed = Mounting(mounting.positions, quaternions.multiply(askew, mounting.rotations))
    factors = 1.0 + 0.01 * errors.length_percent * rng.normal(size=len(LIMB_SEGMENTS) + 1)
    skeleton = synthetic.believed_lengths(motion.skeleton, factors)
    return Worn(motion, recording, _calibration(layout, believed), skeleton)


def calibrated(
    motion: Motion, layout: SensorLayout, ordinary: Character, by_motion: bool, seed: int
) -> Worn:
    """Return what is measured when a performer of other proportions does a motion."""
    take = synthetic.make_recording(
        ordinary, layout, WORN, seed, stretch=STRETCH, pose_deg=POSE_DEG
    )
    if by_motion:
        calibration = take.calibrate().calibration
        assert calibration is not None and calibration.skeleton is not None
        skeleton = calibration.skeleton
    else:
        pose = part_of(take.recording, 0.0, synthetic.SYNTHETIC_T_POSE_S)
        calibration = calibrate_pose(pose, layout, ordinary, synthetic.LIMITS, '')
        skeleton = ordinary.skeleton
    size = take.skeleton.leg_length / motion.skeleton.leg_length
    done = Motion.from_rotations(
        take.skeleton, motion.rate_hz, size * motion.root_positions, motion.rotations
    )
    recording = synthetic.measure(done, layout, take.mounting, WORN, seed)
    return Worn(done, recording, calibration, skeleton)


def _calibration(layout: SensorLayout, believed: Mounting) -> Calibration:
    zeros = np.zeros(len(layout.sensors))
    where = believed.rotations, believed.positions
    return Calibration('', layout.name, '', layout.sensors, layout.segments, *where, zeros, zeros)


def estimated(take: Worn, weight: float) -> tuple[Motion, float]:
    """Return postures with the published end-effectors, and the median time of a frame [s]."""
    config = PostureConfig(enhance_weight=weight)
    estimator = PostureEstimator(take.skeleton, take.calibration, *TRACKER, config)
    sensors, period_ns = take.calibration.sensors, round(1e9 / take.motion.rate_hz)
    still, status = np.zeros((len(sensors), 3)), np.full(len(sensors), FILTER_OK, dtype=np.uint8)
    covariances = np.zeros((len(sensors), 6, 6))
    rows: list[tuple[Floats, Quats, Vec3s]] = []
    spent_s = []
    for i, poses in enumerate(zip(take.recording.positions, take.recording.rotations)):
        frame = FilteredFrame(i * period_ns, i, sensors, *poses, still, still, covariances, status)
        start_s = perf_counter()
        posture = estimator.step(frame).posture
        spent_s.append(perf_counter() - start_s)
        rows.append(
            (posture.root_position.copy(), posture.rotations.copy(), posture.end_effectors.copy())
        )
    roots, rotations, points = map(np.array, zip(*rows))
    motion = Motion(take.skeleton, take.motion.rate_hz, roots, rotations, points)
    return motion, float(np.median(spent_s))


def posture_errors(truth: Motion, found: Motion) -> dict[str, float]:
    """Return how far postures are off, RMS; joints are those of the limbs."""
    limbs = LIMB_SEGMENTS.ravel()
    turn = quaternions.multiply(quaternions.conjugate(truth.rotations), found.rotations)
    turned = quaternions.log(turn)[:, limbs]
    q, p = world_segments(found.skeleton, found.root_positions, found.rotations)
    _, p_true = truth.world_segments()
    ends = general_end_effectors(found.skeleton, q, p)[:, :N_ENDS]
    published = found.end_effectors - truth.end_effectors
    return {
        'joints_deg': float(np.degrees(_rms(turned))),
        'places_mm': 1e3 * _rms(p - p_true),
        'ends_by_angles_mm': 1e3 * _rms(ends - truth.end_effectors[:, :N_ENDS]),
        'ends_mm': 1e3 * _rms(published[:, :N_ENDS]),
        'middles_mm': 1e3 * _rms(published[:, N_ENDS:]),
        'jitter_deg': float(np.degrees(_rms(np.diff(turned, axis=0)))),
    }


def _rms(vectors: Floats) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=-1))))


def live_study(
    truth: Motion,
    layout: SensorLayout,
    ordinary: Character,
    seeds: Sequence[int],
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]:
    """Return errors and times without and with enhancement for each condition."""
    warm_up(truth.skeleton)
    rows = []
    for name in CONDITIONS:
        pairs = []
        for seed in seeds:
            if name in ERRORS:
                take = worn(truth, layout, ERRORS[name], seed)
            else:
                take = calibrated(truth, layout, ordinary, name == BY_MOTION, seed)
            pair = []
            for weight in (0.0, WEIGHT):
                motion, frame_s = estimated(take, weight)
                pair.append(posture_errors(take.motion, motion) | {'frame_us': 1e6 * frame_s})
            pairs.append(pair)
            if progress is not None:
                progress(1)
        rows.append({'condition': name, 'seeds': len(pairs)} | _summary(pairs))
    return rows


def _summary(pairs: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, Any]:
    means = {
        when: {key: float(np.mean([pair[i][key] for pair in pairs])) for key in pairs[0][0]}
        for i, when in enumerate(('before', 'after'))
    }
    both = ('joints_deg', 'places_mm')
    better = sum(all(after[key] < before[key] for key in both) for before, after in pairs)
    return means | {'seeds_with_both_better': better}


def live_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for each condition, each figure without and with enhancement."""
    columns = {
        'joints_deg': 'joints of limbs, deg',
        'places_mm': 'joints, mm',
        'ends_by_angles_mm': 'palms and soles by angles, mm',
        'ends_mm': 'palms and soles, mm',
        'middles_mm': 'elbows and knees, mm',
        'jitter_deg': 'jitter, deg/frame',
        'frame_us': 'µs a frame',
    }
    digits = {'joints_deg': 2, 'jitter_deg': 3, 'frame_us': 0}
    lines = []
    for row in rows:
        cells = [
            ' → '.join(f'{row[when][key]:.{digits.get(key, 1)}f}' for when in ('before', 'after'))
            for key in columns
        ]
        better = f'{row["seeds_with_both_better"]} of {row["seeds"]}'
        lines.append([str(row['condition']), *cells, better])
    return table(['what errs', *columns.values(), 'both better, takes'], lines)
