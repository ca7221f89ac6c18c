# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Performers whose truth is known, as perfect, noisy and badly worn sensors measure them."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, Motion, N_SEGMENTS, PARENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Vec3s
from puppet_core.procedural import range_of_motion
from puppet_core.sensor_frames import FILTER_OK, FilteredFrame
from puppet_performer.calibration import (
    calibrate_motion,
    Calibration,
    CalibrationLimits,
    measured_joints,
    MotionRecording,
    Outcome,
    part_of,
)
from puppet_performer.sensor_layout import SensorLayout
from puppet_performer.synthetic_recording import Mounting, random_mounting, RATE_HZ, sensor_poses

SYNTHETIC_T_POSE_S, RANGE_S = 2.0, 25.0
LIMITS = CalibrationLimits()
SLIP_M, SLIP_DEG = 0.025, 12.0

TRACKER_M = (0.0, 0.0, 1.0)
OUTLIER_M = 0.3  # size of a wild position
TRUNK = (1, 2, 3)  # segments
FADE_S = 1.0  # in which the errors of a pose go when the motion begins


@dataclass(frozen=True, slots=True)
class Disturbances:
    """How a measurement differs from the truth; nothing by default."""

    noise_mm: float = 0.0  # White noise of positions, standard deviation per axis [mm]
    noise_deg: float = 0.0  # White noise of rotations, standard deviation per axis [deg]
    outliers: float = 0.0  # Fraction of the samples that are wild
    # Movement of a sensor on its segment at the largest angle of its joint [mm]
    skin_mm: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            high = 0.5 if name == 'outliers' else 1e3
            if not 0.0 <= value < high:
                raise ConfigError(f'{name}: expected 0.0 <= value < {high:g}, got {value}')


def measure(
    motion: Motion, layout: SensorLayout, mounting: Mounting, disturbances: Disturbances, seed: int
) -> MotionRecording:
    rng = np.random.default_rng(seed)
    places = mounting.positions + _skin(motion, layout, disturbances.skin_mm, rng)
    positions, rotations = sensor_poses(motion, layout, places, mounting.rotations)
    positions += rng.normal(size=positions.shape) * 1e-3 * disturbances.noise_mm
    turned = rng.normal(size=positions.shape) * np.radians(disturbances.noise_deg)
    rotations = quaternions.multiply(rotations, quaternions.exp(turned))
    wild = rng.random(positions.shape[:2]) < disturbances.outliers
    n_wild = int(np.sum(wild))
    positions[wild] += rng.normal(size=(n_wild, 3)) * OUTLIER_M
    rotations[wild] = quaternions.normalize(rng.normal(size=(n_wild, 4)))
    usable = np.ones(wild.shape, dtype=bool)
    return MotionRecording(positions, rotations, usable, motion.rate_hz)


def _skin(
    motion: Motion, layout: SensorLayout, skin_mm: float, rng: np.random.Generator
) -> Floats:
    """Return how far each sensor has moved on its segment, shape (frames, n, 3) [m]."""
    directions = rng.normal(size=(len(layout.sensors), 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    angles = np.linalg.norm(quaternions.log(motion.rotations[:, layout.segments]), axis=2)
    shares = angles / np.maximum(angles.max(axis=0), 1e-9)
    return 1e-3 * skin_mm * shares[..., None] * directions


def posed_badly(motion: Motion, pose_s: float, off: Vec3s) -> Motion:
    """
    Return a motion in whose opening T-pose of `pose_s` seconds the segments are turned.

    The errors `off` (16, 3) are rotation vectors in the world [rad] and fade in FADE_S after it.
    """
    t = np.arange(motion.n_frames) / motion.rate_hz - pose_s
    share = np.clip(1.0 - t / FADE_S, 0.0, 1.0)
    world, _ = motion.world_segments()
    world = quaternions.multiply(world, quaternions.exp(share[:, None, None] * off))
    rotations = world.copy()
    rotations[:, 1:] = quaternions.multiply(
        quaternions.conjugate(world[:, PARENTS[1:]]), world[:, 1:]
    )
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def believed_lengths(skeleton: Skeleton, factors: Floats) -> Skeleton:
    """Return a skeleton whose four limbs and trunk are longer by factors, shape (5,)."""
    offsets, points = np.array(skeleton.offsets), np.array(skeleton.interaction_points)
    for limb, (_, lower, hand) in enumerate(LIMB_SEGMENTS):
        offsets[[lower, hand]] *= factors[limb]
        points[limb] *= factors[limb]
    offsets[list(TRUNK)] *= factors[4]
    return Skeleton(offsets, points)


class SyntheticRecording(NamedTuple):
    """One performer's recording with its truth."""

    skeleton: Skeleton  # The performer's own
    motion: Motion  # What was done
    mounting: Mounting  # How the sensors sit
    recording: MotionRecording  # What they measured, the T-pose first
    layout: SensorLayout  # Which sensors
    ordinary: Character  # Whose proportions are known

    def calibrate(self, recording: MotionRecording | None = None) -> Outcome:
        """Return the calibration, by an ordinary body's proportions."""
        whole = self.recording if recording is None else recording
        return calibrate_motion(
            part_of(whole, 0.0, SYNTHETIC_T_POSE_S),
            part_of(whole, SYNTHETIC_T_POSE_S, SYNTHETIC_T_POSE_S + RANGE_S),
            self.layout,
            self.ordinary,
            LIMITS,
            '2026-11-21',
        )

    def centre_errors(self, calibration: Calibration) -> Floats:
        """Return how far each joint centre is off in both sensors' frames, (joints, 2) [m]."""
        assert calibration.skeleton is not None
        true = _centres(self.skeleton, self.mounting, self.layout)
        found = _centres(
            calibration.skeleton,
            Mounting(calibration.positions, calibration.rotations),
            self.layout,
        )
        return np.linalg.norm(found - true, axis=2)

    def length_errors(self, calibration: Calibration) -> Floats:
        """Return how far the limb segments' lengths are off, shape (4, 2) [m]."""
        assert calibration.skeleton is not None
        return np.abs(calibration.skeleton.limb_lengths - self.skeleton.limb_lengths)


def make_recording(
    ordinary: Character,
    layout: SensorLayout,
    disturbances: Disturbances,
    seed: int,
    rate_hz: float = RATE_HZ,
    stretch: float = 0.1,
    pose_deg: float = 0.0,
) -> SyntheticRecording:
    """
    Return what a performer does, measured with sensors put on anyhow.

    The performer differs from the ordinary body along each axis by the fraction `stretch`, and
    each segment is turned from the T-pose by a standard deviation of `pose_deg` per axis.
    """
    rng = np.random.default_rng(seed)
    factors = 1.0 + rng.uniform(-stretch, stretch, 3)
    body = ordinary.skeleton
    skeleton = Skeleton(body.offsets * factors, body.interaction_points * factors)
    off = np.radians(pose_deg) * np.random.default_rng(seed + 3000).normal(size=(N_SEGMENTS, 3))
    motion = posed_badly(
        range_of_motion(skeleton, rate_hz, SYNTHETIC_T_POSE_S), SYNTHETIC_T_POSE_S, off
    )
    mounting = random_mounting(layout, seed + 1000)
    recording = measure(motion, layout, mounting, disturbances, seed + 2000)
    return SyntheticRecording(skeleton, motion, mounting, recording, layout, ordinary)


def exchanged(recording: MotionRecording, layout: SensorLayout, *names: str) -> MotionRecording:
    """Return the recording with pairs of sensors exchanged."""
    order = np.arange(len(layout.sensors))
    for first, second in zip(names[::2], names[1::2]):
        i, j = layout.sensors.index(first), layout.sensors.index(second)
        order[[i, j]] = order[[j, i]]
    return recording[:, order]


def slipped(
    recording: MotionRecording, layout: SensorLayout, name: str, when_s: float, seed: int = 0
) -> MotionRecording:
    """Return the recording with a sensor that moves by SLIP_M and turns by SLIP_DEG."""
    rng = np.random.default_rng(seed)
    shift, axis = rng.normal(size=(2, 3))
    shift, axis = SLIP_M * shift / np.linalg.norm(shift), axis / np.linalg.norm(axis)
    row = layout.sensors.index(name)
    start = round((SYNTHETIC_T_POSE_S + when_s) * recording.rate_hz)
    positions, rotations = recording.positions.copy(), recording.rotations.copy()
    after = recording.rotations[start:, row]
    positions[start:, row] += quaternions.rotate(after, shift)
    rotations[start:, row] = quaternions.multiply(
        after, quaternions.exp(np.radians(SLIP_DEG) * axis)
    )
    return replace(recording, positions=positions, rotations=rotations)


def _centres(skeleton: Skeleton, mounting: Mounting, layout: SensorLayout) -> Vec3s:
    """Return joint centres in the sensors' frames, shape (joints, 2, 3) [m]."""
    inverse = quaternions.conjugate(mounting.rotations)
    joints = measured_joints(layout)
    parents, children = ([joint[side] for joint in joints] for side in (1, 2))
    apart = skeleton.offsets[[joint.segment for joint in joints]] - mounting.positions[parents]
    near = quaternions.rotate(inverse[parents], apart)
    far = quaternions.rotate(inverse[children], -mounting.positions[children])
    return np.stack((near, far), axis=1)


def sensor_frames(motion: Motion, layout: SensorLayout) -> list[FilteredFrame]:
    """Return what a perfect tracker and filter make of a motion, frame by frame."""
    q_world, p_world = motion.world_segments()
    q = q_world[:, layout.segments]
    mounted = quaternions.rotate(q, layout.mountings)
    positions = p_world[:, layout.segments] + mounted - TRACKER_M
    rotations = quaternions.multiply(q, _mounting_rotations(layout))
    linear, angular = np.zeros_like(positions), np.zeros_like(positions)
    linear[1:] = np.diff(positions, axis=0) * motion.rate_hz
    turns = quaternions.multiply(q[1:], quaternions.conjugate(q[:-1]))
    angular[1:] = quaternions.log(turns) * motion.rate_hz
    n = len(layout.sensors)
    covariances, status = np.zeros((n, 6, 6)), np.full(n, FILTER_OK, dtype=np.uint8)
    period_ns = round(1e9 / motion.rate_hz)
    return [
        FilteredFrame(i * period_ns, i, layout.sensors, *rows, covariances, status)
        for i, rows in enumerate(zip(positions, rotations, linear, angular))
    ]


def known_calibration(layout: SensorLayout) -> Calibration:
    """Return the calibration that knows how `sensor_frames` wears the sensors."""
    worn = layout.sensors, layout.segments, _mounting_rotations(layout), layout.mountings
    zeros = np.zeros(len(layout.sensors))
    return Calibration('', layout.name, '', *worn, zeros, zeros)


def _mounting_rotations(layout: SensorLayout) -> Vec3s:
    """Return how each sensor is turned on its segment: somehow, as in real life, shape (n, 4)."""
    angles = np.arange(1.0, 1.0 + 3 * len(layout.sensors)).reshape(-1, 3)
    return quaternions.exp(np.sin(angles))
